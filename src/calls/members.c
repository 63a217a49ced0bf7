/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lists the members of structures in their order in memory, with the names of the manual pages.
 * Their offsets follow from their types.
 */
#include "calls/members.h"

#include "calls/sets.h"

#define STRUCTURE(type, members)        { type, members, ARRAY_SIZE(members), false, false }
#define SINGLE(type, members)           { type, members, ARRAY_SIZE(members), false, true }
#define SCALAR(type, members)           { type, members, 1, true, false }
#define NUMBER(name, type)              { name, type, FORM_NUMBER, 0, 0, false, NULL }
#define NATURAL(name, type)             { name, type, FORM_NATURAL, 0, 0, false, NULL }
#define EXTRA(name, type)               { name, type, FORM_NATURAL, 0, 0, true, NULL }
#define MEMBER(name, type, form)        { name, type, form, 0, 0, false, NULL }
#define MEMBER_EXTRA(name, type, form)  { name, type, form, 0, 0, true, NULL }
#define WITH_SET(name, type, form, set) { name, type, form, set, 0, false, NULL }
#define INNER(name, inner)              { name, TYPE_INNER, FORM_NONE, 0, 0, false, &(inner) }
#define INNER_EXTRA(name, inner)        { name, TYPE_INNER, FORM_NONE, 0, 0, true, &(inner) }
#define PADDING(bytes)                  { NULL, TYPE_U8, FORM_NONE, 0, bytes, false, NULL }
#define TEXT(name, bytes)               { name, TYPE_U8, FORM_TEXT, 0, bytes, false, NULL }
#define TEXT_EXTRA(name, bytes)         { name, TYPE_U8, FORM_TEXT, 0, bytes, true, NULL }

/* --- times -------------------------------------------------------------------------------------- */

static const struct member timespec[] = { NUMBER("tv_sec", TYPE_LONG),
					  NUMBER("tv_nsec", TYPE_LONG) };
static const struct member timespec64[] = { NUMBER("tv_sec", TYPE_S64),
					    NUMBER("tv_nsec", TYPE_S64) };
static const struct member timeval[] = { NUMBER("tv_sec", TYPE_LONG),
					 NUMBER("tv_usec", TYPE_LONG) };

static const struct structure timespec_structure = STRUCTURE("timespec", timespec);
static const struct structure timespec64_structure = STRUCTURE("timespec64", timespec64);
static const struct structure timeval_structure = STRUCTURE("timeval", timeval);

static const struct member itimerspec[] = { INNER("it_interval", timespec_structure),
					    INNER("it_value", timespec_structure) };
static const struct member itimerspec64[] = { INNER("it_interval", timespec64_structure),
					      INNER("it_value", timespec64_structure) };
static const struct member itimerval[] = { INNER("it_interval", timeval_structure),
					   INNER("it_value", timeval_structure) };
static const struct member timezone_[] = { NUMBER("tz_minuteswest", TYPE_S32),
					   NUMBER("tz_dsttime", TYPE_S32) };
static const struct member utimbuf[] = { NUMBER("actime", TYPE_LONG),
					 NUMBER("modtime", TYPE_LONG) };
static const struct member tms[] = { NUMBER("tms_utime", TYPE_LONG), NUMBER("tms_stime", TYPE_LONG),
				     NUMBER("tms_cutime", TYPE_LONG),
				     NUMBER("tms_cstime", TYPE_LONG) };

#define TIMEX(word)                                                                        \
	MEMBER("modes", TYPE_U32, FORM_HEX), NUMBER("offset", word), NUMBER("freq", word), \
		NUMBER("maxerror", word), NUMBER("esterror", word),                        \
		MEMBER("status", TYPE_S32, FORM_HEX), NUMBER("constant", word),            \
		NUMBER("precision", word), NUMBER("tolerance", word)
#define TIMEX_MORE(word)                                                                \
	NUMBER("tick", word), EXTRA("ppsfreq", word), EXTRA("jitter", word),            \
		EXTRA("shift", TYPE_S32), EXTRA("stabil", word), EXTRA("jitcnt", word), \
		EXTRA("calcnt", word), EXTRA("errcnt", word), EXTRA("stbcnt", word),    \
		EXTRA("tai", TYPE_S32)

static const struct member timeval64[] = { NUMBER("tv_sec", TYPE_S64),
					   NUMBER("tv_usec", TYPE_S64) };
static const struct structure timeval64_structure = STRUCTURE("timeval64", timeval64);
static const struct member timex[] = { TIMEX(TYPE_LONG), INNER("time", timeval_structure),
				       TIMEX_MORE(TYPE_LONG) };
/* Its 32-bit members are padded, also where 64 bits are not aligned so. */
static const struct member timex64[] = {
	MEMBER("modes", TYPE_U32, FORM_HEX),
	PADDING(4),
	NUMBER("offset", TYPE_S64),
	NUMBER("freq", TYPE_S64),
	NUMBER("maxerror", TYPE_S64),
	NUMBER("esterror", TYPE_S64),
	MEMBER("status", TYPE_S32, FORM_HEX),
	PADDING(4),
	NUMBER("constant", TYPE_S64),
	NUMBER("precision", TYPE_S64),
	NUMBER("tolerance", TYPE_S64),
	INNER("time", timeval64_structure),
	NUMBER("tick", TYPE_S64),
};

/* --- numbers that an address points at ---------------------------------------------------------- */

static const struct member int_[] = { NUMBER("", TYPE_S32) };
static const struct member long_[] = { NUMBER("", TYPE_LONG) };
static const struct member s64[] = { NUMBER("", TYPE_S64) };
static const struct member u16[] = { NATURAL("", TYPE_U16) };
static const struct member u32[] = { NATURAL("", TYPE_U32) };
static const struct member u64[] = { NATURAL("", TYPE_U64) };
static const struct member size_[] = { NATURAL("", TYPE_ADDRESS) };
static const struct member ulong_[] = { MEMBER("", TYPE_ADDRESS, FORM_HEX) };
static const struct member fd[] = { MEMBER("", TYPE_S32, FORM_MADE_FD) };
static const struct member wait_status[] = { MEMBER("", TYPE_S32, FORM_WAIT) };
static const struct member errno_[] = { MEMBER("", TYPE_S32, FORM_ERRNO) };

/* --- files -------------------------------------------------------------------------------------- */

#define STAT_TIMES                                                                 \
	EXTRA("st_atime", TYPE_ULONG), EXTRA("st_atime_nsec", TYPE_ULONG),         \
		EXTRA("st_mtime", TYPE_ULONG), EXTRA("st_mtime_nsec", TYPE_ULONG), \
		EXTRA("st_ctime", TYPE_ULONG), EXTRA("st_ctime_nsec", TYPE_ULONG)

static const struct member stat_x86_64[] = {
	MEMBER_EXTRA("st_dev", TYPE_U64, FORM_DEVICE),
	EXTRA("st_ino", TYPE_U64),
	EXTRA("st_nlink", TYPE_U64),
	MEMBER("st_mode", TYPE_U32, FORM_MODE),
	EXTRA("st_uid", TYPE_U32),
	EXTRA("st_gid", TYPE_U32),
	PADDING(4),
	MEMBER("st_rdev", TYPE_U64, FORM_RDEVICE),
	MEMBER("st_size", TYPE_S64, FORM_SIZE),
	EXTRA("st_blksize", TYPE_S64),
	EXTRA("st_blocks", TYPE_S64),
	STAT_TIMES,
};

static const struct member stat_arm64[] = {
	MEMBER_EXTRA("st_dev", TYPE_U64, FORM_DEVICE),
	EXTRA("st_ino", TYPE_U64),
	MEMBER("st_mode", TYPE_U32, FORM_MODE),
	EXTRA("st_nlink", TYPE_U32),
	EXTRA("st_uid", TYPE_U32),
	EXTRA("st_gid", TYPE_U32),
	MEMBER("st_rdev", TYPE_U64, FORM_RDEVICE),
	PADDING(8),
	MEMBER("st_size", TYPE_S64, FORM_SIZE),
	EXTRA("st_blksize", TYPE_S32),
	PADDING(4),
	EXTRA("st_blocks", TYPE_S64),
	STAT_TIMES,
};

static const struct member stat_32[] = {
	MEMBER_EXTRA("st_dev", TYPE_U32, FORM_DEVICE),
	EXTRA("st_ino", TYPE_U32),
	MEMBER("st_mode", TYPE_U16, FORM_MODE),
	EXTRA("st_nlink", TYPE_U16),
	EXTRA("st_uid", TYPE_U16),
	EXTRA("st_gid", TYPE_U16),
	MEMBER("st_rdev", TYPE_U32, FORM_RDEVICE),
	MEMBER("st_size", TYPE_U32, FORM_SIZE),
	EXTRA("st_blksize", TYPE_U32),
	EXTRA("st_blocks", TYPE_U32),
	STAT_TIMES,
};

static const struct member stat64[] = {
	MEMBER_EXTRA("st_dev", TYPE_U64, FORM_DEVICE),
	PADDING(4),
	PADDING(4), /* the inode again, cut */
	MEMBER("st_mode", TYPE_U32, FORM_MODE),
	EXTRA("st_nlink", TYPE_U32),
	EXTRA("st_uid", TYPE_U32),
	EXTRA("st_gid", TYPE_U32),
	MEMBER("st_rdev", TYPE_U64, FORM_RDEVICE),
	PADDING(4),
	MEMBER("st_size", TYPE_S64, FORM_SIZE),
	EXTRA("st_blksize", TYPE_U32),
	EXTRA("st_blocks", TYPE_U64),
	STAT_TIMES,
	EXTRA("st_ino", TYPE_U64),
};

static const struct member statx_timestamp[] = { NUMBER("tv_sec", TYPE_S64),
						 NATURAL("tv_nsec", TYPE_U32), PADDING(4) };
static const struct structure statx_time = STRUCTURE("statx_timestamp", statx_timestamp);

static const struct member statx[] = {
	WITH_SET("stx_mask", TYPE_U32, FORM_FLAGS, OWN_STATX),
	EXTRA("stx_blksize", TYPE_U32),
	MEMBER("stx_attributes", TYPE_U64, FORM_HEX),
	EXTRA("stx_nlink", TYPE_U32),
	EXTRA("stx_uid", TYPE_U32),
	EXTRA("stx_gid", TYPE_U32),
	MEMBER("stx_mode", TYPE_U16, FORM_MODE),
	PADDING(2),
	EXTRA("stx_ino", TYPE_U64),
	NATURAL("stx_size", TYPE_U64),
	EXTRA("stx_blocks", TYPE_U64),
	MEMBER_EXTRA("stx_attributes_mask", TYPE_U64, FORM_HEX),
	INNER_EXTRA("stx_atime", statx_time),
	INNER_EXTRA("stx_btime", statx_time),
	INNER_EXTRA("stx_ctime", statx_time),
	INNER_EXTRA("stx_mtime", statx_time),
	EXTRA("stx_rdev_major", TYPE_U32),
	EXTRA("stx_rdev_minor", TYPE_U32),
	EXTRA("stx_dev_major", TYPE_U32),
	EXTRA("stx_dev_minor", TYPE_U32),
};

static const struct member fsid[] = { { "val", TYPE_U32, FORM_HEX, 0, 2, false, NULL } };
static const struct structure fsid_structure = STRUCTURE("fsid", fsid);

static const struct member statfs[] = {
	MEMBER("f_type", TYPE_LONG, FORM_HEX),  NUMBER("f_bsize", TYPE_LONG),
	NATURAL("f_blocks", TYPE_ULONG),        NATURAL("f_bfree", TYPE_ULONG),
	NATURAL("f_bavail", TYPE_ULONG),        NATURAL("f_files", TYPE_ULONG),
	NATURAL("f_ffree", TYPE_ULONG),         INNER("f_fsid", fsid_structure),
	NUMBER("f_namelen", TYPE_LONG),         NUMBER("f_frsize", TYPE_LONG),
	MEMBER("f_flags", TYPE_LONG, FORM_HEX),
};

/* On 64 bits the same. */
static const struct member statfs64[] = {
	MEMBER("f_type", TYPE_ULONG, FORM_HEX),
	NATURAL("f_bsize", TYPE_ULONG),
	NATURAL("f_blocks", TYPE_U64),
	NATURAL("f_bfree", TYPE_U64),
	NATURAL("f_bavail", TYPE_U64),
	NATURAL("f_files", TYPE_U64),
	NATURAL("f_ffree", TYPE_U64),
	INNER("f_fsid", fsid_structure),
	NATURAL("f_namelen", TYPE_ULONG),
	NATURAL("f_frsize", TYPE_ULONG),
	MEMBER("f_flags", TYPE_ULONG, FORM_HEX),
};

static const struct member open_how[] = {
	WITH_SET("flags", TYPE_U64, FORM_FLAGS, OWN_OPEN),
	MEMBER("mode", TYPE_U64, FORM_MODE_IF),
	WITH_SET("resolve", TYPE_U64, FORM_FLAGS, OWN_RESOLVE),
};

/* Who holds a lock is only said where that is asked. */
#define FLOCK(word)                                                                           \
	WITH_SET("l_type", TYPE_S16, FORM_ENUM, OWN_LOCK),                                    \
		WITH_SET("l_whence", TYPE_S16, FORM_ENUM, OWN_SEEK), NUMBER("l_start", word), \
		NUMBER("l_len", word)

static const struct member flock_[] = { FLOCK(TYPE_LONG) };
static const struct member flock64_[] = { FLOCK(TYPE_S64) };
static const struct member flock_held[] = { FLOCK(TYPE_LONG), NUMBER("l_pid", TYPE_S32) };
static const struct member flock64_held[] = { FLOCK(TYPE_S64), NUMBER("l_pid", TYPE_S32) };

/* --- descriptors -------------------------------------------------------------------------------- */

static const struct member pollfd[] = {
	MEMBER("fd", TYPE_S32, FORM_FD),
	WITH_SET("events", TYPE_U16, FORM_FLAGS, OWN_POLL),
	WITH_SET("revents", TYPE_U16, FORM_READY, OWN_POLL),
};

static const struct member epoll_event[] = {
	WITH_SET("events", TYPE_U32, FORM_FLAGS, OWN_EPOLL),
	MEMBER("data", TYPE_EVENT, FORM_EVENT),
};

static const struct member winsize[] = { NATURAL("ws_row", TYPE_U16), NATURAL("ws_col", TYPE_U16),
					 NATURAL("ws_xpixel", TYPE_U16),
					 NATURAL("ws_ypixel", TYPE_U16) };

static const struct member termios[] = {
	MEMBER("c_iflag", TYPE_U32, FORM_HEX),
	MEMBER("c_oflag", TYPE_U32, FORM_HEX),
	MEMBER("c_cflag", TYPE_U32, FORM_HEX),
	MEMBER("c_lflag", TYPE_U32, FORM_HEX),
	EXTRA("c_line", TYPE_U8),
	{ "c_cc", TYPE_U8, FORM_NATURAL, 0, 19, true, NULL },
};

/* Buffers of several messages are not read. */
static const struct member message[] = {
	MEMBER("msg_name", TYPE_ADDRESS, FORM_ADDRESS),
	NATURAL("msg_namelen", TYPE_U32),
	MEMBER("msg_iov", TYPE_ADDRESS, FORM_ADDRESS),
	NATURAL("msg_iovlen", TYPE_ADDRESS),
	MEMBER_EXTRA("msg_control", TYPE_ADDRESS, FORM_ADDRESS),
	NATURAL("msg_controllen", TYPE_ADDRESS),
	WITH_SET("msg_flags", TYPE_U32, FORM_FLAGS, OWN_MSG),
};
static const struct structure message_structure = STRUCTURE("msghdr", message);
static const struct member mmsghdr[] = { INNER("msg_hdr", message_structure),
					 NATURAL("msg_len", TYPE_U32) };

/* --- processes ---------------------------------------------------------------------------------- */

static const struct member rlimit[] = { MEMBER("rlim_cur", TYPE_ULONG, FORM_LIMIT),
					MEMBER("rlim_max", TYPE_ULONG, FORM_LIMIT) };
static const struct member rlimit64[] = { MEMBER("rlim_cur", TYPE_U64, FORM_LIMIT64),
					  MEMBER("rlim_max", TYPE_U64, FORM_LIMIT64) };

static const struct member rusage[] = {
	INNER("ru_utime", timeval_structure), INNER("ru_stime", timeval_structure),
	EXTRA("ru_maxrss", TYPE_LONG),        EXTRA("ru_ixrss", TYPE_LONG),
	EXTRA("ru_idrss", TYPE_LONG),         EXTRA("ru_isrss", TYPE_LONG),
	EXTRA("ru_minflt", TYPE_LONG),        EXTRA("ru_majflt", TYPE_LONG),
	EXTRA("ru_nswap", TYPE_LONG),         EXTRA("ru_inblock", TYPE_LONG),
	EXTRA("ru_oublock", TYPE_LONG),       EXTRA("ru_msgsnd", TYPE_LONG),
	EXTRA("ru_msgrcv", TYPE_LONG),        EXTRA("ru_nsignals", TYPE_LONG),
	EXTRA("ru_nvcsw", TYPE_LONG),         EXTRA("ru_nivcsw", TYPE_LONG),
};

/* Bytes of a text of uname(), with its NUL. */
#define UTS_BYTES 65

static const struct member utsname[] = {
	TEXT("sysname", UTS_BYTES),       TEXT("nodename", UTS_BYTES),
	TEXT_EXTRA("release", UTS_BYTES), TEXT_EXTRA("version", UTS_BYTES),
	TEXT_EXTRA("machine", UTS_BYTES), TEXT_EXTRA("domainname", UTS_BYTES),
};

static const struct member sysinfo_[] = {
	NUMBER("uptime", TYPE_LONG),      { "loads", TYPE_ULONG, FORM_NATURAL, 0, 3, false, NULL },
	NATURAL("totalram", TYPE_ULONG),  NATURAL("freeram", TYPE_ULONG),
	NATURAL("sharedram", TYPE_ULONG), NATURAL("bufferram", TYPE_ULONG),
	NATURAL("totalswap", TYPE_ULONG), NATURAL("freeswap", TYPE_ULONG),
	NATURAL("procs", TYPE_U16),       PADDING(2),
	NATURAL("totalhigh", TYPE_ULONG), NATURAL("freehigh", TYPE_ULONG),
	NATURAL("mem_unit", TYPE_U32),
};

static const struct member clone_args[] = {
	WITH_SET("flags", TYPE_U64, FORM_FLAGS, OWN_CLONE),
	MEMBER("pidfd", TYPE_U64, FORM_PIDFD),
	MEMBER("child_tid", TYPE_U64, FORM_ADDRESS_IF),
	MEMBER("parent_tid", TYPE_U64, FORM_ADDRESS_IF),
	MEMBER("exit_signal", TYPE_U64, FORM_SIGNAL),
	MEMBER("stack", TYPE_U64, FORM_ADDRESS),
	MEMBER("stack_size", TYPE_U64, FORM_HEX),
	MEMBER("tls", TYPE_U64, FORM_ADDRESS_IF),
	MEMBER("set_tid", TYPE_U64, FORM_ADDRESS_IF),
	MEMBER("set_tid_size", TYPE_U64, FORM_ADDRESS_IF),
	MEMBER("cgroup", TYPE_U64, FORM_ADDRESS_IF),
};

static const struct member stack[] = {
	MEMBER("ss_sp", TYPE_ADDRESS, FORM_ADDRESS),
	WITH_SET("ss_flags", TYPE_S32, FORM_FLAGS, OWN_STACK),
	NATURAL("ss_size", TYPE_ADDRESS),
};

static const struct member sembuf[] = { NATURAL("sem_num", TYPE_U16), NUMBER("sem_op", TYPE_S16),
					MEMBER("sem_flg", TYPE_S16, FORM_HEX) };

/* --- all ---------------------------------------------------------------------------------------- */

static const struct structure structures[] = {
	STRUCTURE("timespec", timespec),
	STRUCTURE("timespec64", timespec64),
	STRUCTURE("timeval", timeval),
	STRUCTURE("itimerspec", itimerspec),
	STRUCTURE("itimerspec64", itimerspec64),
	STRUCTURE("itimerval", itimerval),
	STRUCTURE("timezone", timezone_),
	STRUCTURE("utimbuf", utimbuf),
	STRUCTURE("tms", tms),
	SCALAR("int", int_),
	SCALAR("sched_param", int_),
	SCALAR("time", long_),
	SCALAR("off_t", long_),
	SCALAR("offset64", s64),
	SCALAR("uint", u32),
	SCALAR("socklen", u32),
	SCALAR("uid", u32),
	SCALAR("uid16", u16),
	SCALAR("u64", u64),
	SCALAR("size", size_),
	SCALAR("ulong", ulong_),
	SCALAR("fd", fd),
	SCALAR("wait_status", wait_status),
	SCALAR("errno", errno_),
	STRUCTURE("stat64", stat64),
	STRUCTURE("statx", statx),
	STRUCTURE("statfs", statfs),
	STRUCTURE("statfs64", statfs64),
	STRUCTURE("timex", timex),
	STRUCTURE("timex64", timex64),
	STRUCTURE("winsize", winsize),
	STRUCTURE("termios", termios),
	STRUCTURE("mmsghdr", mmsghdr),
	SINGLE("open_how", open_how),
	STRUCTURE("flock", flock_),
	STRUCTURE("flock64", flock64_),
	STRUCTURE("flock_held", flock_held),
	STRUCTURE("flock64_held", flock64_held),
	STRUCTURE("pollfd", pollfd),
	STRUCTURE("epoll_event", epoll_event),
	STRUCTURE("rlimit", rlimit),
	STRUCTURE("rlimit64", rlimit64),
	STRUCTURE("rusage", rusage),
	STRUCTURE("utsname", utsname),
	STRUCTURE("sysinfo", sysinfo_),
	SINGLE("clone_args", clone_args),
	STRUCTURE("stack", stack),
	STRUCTURE("sembuf", sembuf),
};

/* Its layout differs between architectures. */
static const struct structure stats[NR_SYSCALL_ABI] = {
	[ABI_X86_64] = STRUCTURE("stat", stat_x86_64), [ABI_X32] = STRUCTURE("stat", stat_x86_64),
	[ABI_ARM64] = STRUCTURE("stat", stat_arm64),   [ABI_I386] = STRUCTURE("stat", stat_32),
	[ABI_ARM] = STRUCTURE("stat", stat_32),
};

const struct structure *structure_find(const char *type, enum syscall_abi abi)
{
	if (!strcmp(type, "stat"))
		return &stats[abi];
	for (size_t i = 0; i < ARRAY_SIZE(structures); i++) {
		if (!strcmp(structures[i].type, type))
			return &structures[i];
	}
	return NULL;
}
