/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests structures that another argument asks for, and those that say themselves what they have. */
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/timex.h>
#include <termios.h>

#include "call_fixture.h"

/* A call of which both forms are the same. */
#define SAME(name, result, piece, text, ...) \
	{ name, { __VA_ARGS__ }, result, { piece }, text, NULL }

#define CHECK_ABI(abi, ...)                                                  \
	do {                                                                 \
		__cleanup(call_decoder_freep) struct call_decoder *decoder = \
			decoder_make(false, NULL, NULL);                     \
		const struct call_given given[] = { __VA_ARGS__ };           \
		lines_check(decoder, abi, given, ARRAY_SIZE(given));         \
	} while (0)

#define LOCK_IS(type, whence, rest) "{l_type=" type ", l_whence=" whence ", " rest "}) = 0"

static const struct flock lock = { F_WRLCK, SEEK_SET, 0, 4096, 77 };

static void check_locks(enum syscall_abi abi)
{
	const struct piece_given piece = THING_AT(2, lock);

	CHECK_ABI(abi,
		  SAME("fcntl", 0, piece,
		       "fcntl(3, F_SETLK, " LOCK_IS("F_WRLCK", "SEEK_SET", "l_start=0, l_len=4096"),
		       3, F_SETLK, 0x10),
		  SAME("fcntl", 0, piece,
		       "fcntl(3, F_GETLK, " LOCK_IS("F_WRLCK", "SEEK_SET",
						    "l_start=0, l_len=4096, l_pid=77"),
		       3, F_GETLK, 0x10));
}

TEST(test_locks)
{
	const int32_t narrow[] = { F_RDLCK | SEEK_END << 16, -1, 5, 77 };
	const int32_t packed[] = { F_UNLCK, 1, 0, 2, 0, 77 };
	const int32_t padded[] = { F_UNLCK, -1, 1, 0, 2, 0, 77, 0 };
	const struct piece_given of_i386 = THING_AT(2, narrow), wide = THING_AT(2, packed);
	const struct piece_given of_arm = THING_AT(2, padded);

	check_locks(ABI_X86_64);
	check_locks(ABI_ARM64);
	CHECK_ABI(ABI_I386,
		  SAME("fcntl", 0, of_i386,
		       "fcntl(3, F_SETLKW, " LOCK_IS("F_RDLCK", "SEEK_END", "l_start=-1, l_len=5"),
		       3, F_SETLKW, 0x10),
		  SAME("fcntl64", 0, wide,
		       "fcntl64(3, F_OFD_GETLK, " LOCK_IS("F_UNLCK", "SEEK_SET",
							  "l_start=1, l_len=2, l_pid=77"),
		       3, F_OFD_GETLK, 0x10));
	CHECK_ABI(ABI_ARM, SAME("fcntl64", 0, of_arm,
				"fcntl64(3, F_OFD_GETLK, " LOCK_IS("F_UNLCK", "SEEK_SET",
								   "l_start=1, l_len=2, l_pid=77"),
				3, F_OFD_GETLK, 0x10));
}

TEST(test_requests)
{
	const struct winsize size = { 25, 80, 0, 1 };
	const uint32_t modes[9] = { 0x500, 5, 0xbf, 0x8a3b };
	const int bytes = 7;
	const struct piece_given window = THING_AT(2, size), terminal = THING_AT(2, modes);
	const struct piece_given number = THING_AT(2, bytes), name = TEXT_AT(1, "a\n");
	const struct piece_given got = { 1, PART_SELF, PIECE_AT_EXIT, "b", 1 }, none = { 0 };

	CHECK(SAME("ioctl", 0, window,
		   "ioctl(3, TIOCGWINSZ, {ws_row=25, ws_col=80, ws_xpixel=0, ws_ypixel=1}) = 0", 3,
		   TIOCGWINSZ, 0x10),
	      SAME("ioctl", 0, terminal,
		   "ioctl(3, TCGETS, {c_iflag=0x500, c_oflag=0x5, c_cflag=0xbf, c_lflag=0x8a3b, "
		   "...}) = 0",
		   3, TCGETS, 0x10),
	      SAME("ioctl", 0, number, "ioctl(3, FIONREAD, [7]) = 0", 3, FIONREAD, 0x10),
	      SAME("ioctl", 0, none, "ioctl(3, FIONREAD, 0x10) = 0", 3, FIONREAD, 0x10),
	      SAME("prctl", 0, name, "prctl(PR_SET_NAME, \"a\\n\") = 0", PR_SET_NAME, 0x10),
	      SAME("prctl", 0, got, "prctl(PR_GET_NAME, \"b\") = 0", PR_GET_NAME, 0x10));
}

TEST(test_signal_details)
{
	const uint32_t child[32] = { SIGCHLD, 0, CLD_KILLED, 0, 12, 1000, SIGKILL };
	const uint32_t narrow[32] = { SIGCHLD, 0, CLD_EXITED, 12, 1000, 3 };
	const uint32_t fault[32] = { SIGSEGV, 0, SEGV_ACCERR, 0, 0x7000, 1 };
	const uint32_t queued[32] = { SIGUSR1, 0, (uint32_t)SI_QUEUE, 0, 12, 0, 0x17 };
	const uint32_t nobody[32] = { 0 };
	const struct piece_given killed = THING_AT(2, child), exited = THING_AT(2, narrow);
	const struct piece_given faulted = THING_AT(1, fault), value = THING_AT(2, queued);
	const struct piece_given none = THING_AT(2, nobody);

	CHECK(SAME("waitid", 0, killed,
		   "waitid(P_ALL, 0, {si_signo=SIGCHLD, si_code=CLD_KILLED, si_pid=12, "
		   "si_uid=1000, si_status=SIGKILL}, WEXITED, NULL) = 0",
		   0, 0, 0x10, 4),
	      SAME("waitid", 0, none, "waitid(P_ALL, 0, {si_signo=0}, WEXITED, NULL) = 0", 0, 0,
		   0x10, 4),
	      SAME("rt_sigqueueinfo", 0, value,
		   "rt_sigqueueinfo(5, SIGUSR1, {si_signo=SIGUSR1, si_code=SI_QUEUE, si_pid=12, "
		   "si_uid=0, si_value=0x17}) = 0",
		   5, SIGUSR1, 0x10),
	      SAME("rt_sigtimedwait", SIGSEGV, faulted,
		   "rt_sigtimedwait(NULL, {si_signo=SIGSEGV, si_code=SEGV_ACCERR, "
		   "si_addr=0x100007000}, NULL, 8) = 11",
		   0, 0x10, 0, 8));
	CHECK_ABI(ABI_I386, SAME("waitid", 0, exited,
				 "waitid(P_ALL, 0, {si_signo=SIGCHLD, si_code=CLD_EXITED, "
				 "si_pid=12, si_uid=1000, si_status=3}, WEXITED, NULL) = 0",
				 0, 0, 0x10, 4));
}

struct directory_entry {
	uint64_t inode, offset;
	uint16_t length;
	char type, name[5];
} __attribute__((packed));

/* Of damaged entries nothing is shown. */
TEST(test_directories)
{
	struct directory_entry list[] = { { 1, 1, 24, 4, ".." }, { 2, 2, 24, 4, "a\n" } };
	const unsigned char old[16] = { 1, 0, 0, 0, 1, 0, 0, 0, 16, 0, 'a', 'b', 'c', 'd', 'e' };
	const struct piece_given piece = THING_AT(1, list), narrow = THING_AT(1, old);
	const struct piece_given cut = { 1, PART_SELF, PIECE_CUT, list, 47 };

	CHECK(SAME("getdents64", 48, piece,
		   "getdents64(3, [{d_name=\"..\"}, {d_name=\"a\\n\"}], 32768) = 48", 3, 0x10,
		   32768),
	      SAME("getdents64", 100, cut, "getdents64(3, [{d_name=\"..\"}, ...], 32768) = 100", 3,
		   0x10, 32768));
	CHECK_ABI(ABI_I386, SAME("getdents", 16, narrow,
				 "getdents(3, [{d_name=\"abcde\"}], 100) = 16", 3, 0x10, 100));
	for (uint16_t length = 0; length <= 19; length++) {
		list[0].length = length;
		CHECK(SAME("getdents64", 48, piece, "getdents64(3, [...], 32768) = 48", 3, 0x10,
			   32768));
	}
}

#define MESSAGE "msg_controllen=0, msg_flags=0, ...}, msg_len="

TEST(test_messages)
{
	const uint64_t list[16] = { 0, 0, 0x20, 1, 0, 0, 0, 5, 0x30, 16, 0x40, 2, 0, 0, 0, 6 };
	const uint32_t narrow[8] = { 0, 0, 0x20, 1, 0, 0, 0, 5 };
	const struct piece_given two = THING_AT(1, list), one = THING_AT(1, narrow);

	CHECK(SAME("sendmmsg", 2, two,
		   "sendmmsg(3, [{msg_hdr={msg_name=NULL, msg_namelen=0, msg_iov=0x20, "
		   "msg_iovlen=1, " MESSAGE "5}, {msg_hdr={msg_name=0x30, msg_namelen=16, "
		   "msg_iov=0x40, msg_iovlen=2, " MESSAGE "6}, ...], 3, 0) = 2",
		   3, 0x10, 3, 0));
	CHECK_ABI(ABI_I386, SAME("sendmmsg", 1, one,
				 "sendmmsg(3, [{msg_hdr={msg_name=NULL, msg_namelen=0, "
				 "msg_iov=0x20, msg_iovlen=1, " MESSAGE "5}], 1, 0) = 1",
				 3, 0x10, 1, 0));
}

TEST(test_file_systems)
{
	const uint32_t narrow[21] = { 0xef53, 4096, 10, 0, 9, 0,   8,    0,   7,
				      0,      6,    0,  1, 2, 255, 4096, 0x20 };
	const struct piece_given piece = THING_AT(2, narrow);

	CHECK_ABI(ABI_I386,
		  SAME("fstatfs64", 0, piece,
		       "fstatfs64(3, 84, {f_type=0xef53, f_bsize=4096, f_blocks=10, f_bfree=9, "
		       "f_bavail=8, f_files=7, f_ffree=6, f_fsid={val=[0x1, 0x2]}, f_namelen=255, "
		       "f_frsize=4096, f_flags=0x20}) = 0",
		       3, 84, 0x10));
}

TEST(test_clocks)
{
	const struct timex clock = {
		.modes = 1, .offset = -5, .status = 0x40, .time = { 3, 4 }, .tick = 10000
	};
	const struct piece_given piece = THING_AT(0, clock);

	CHECK(SAME("adjtimex", 5, piece,
		   "adjtimex({modes=0x1, offset=-5, freq=0, maxerror=0, esterror=0, status=0x40, "
		   "constant=0, precision=0, tolerance=0, time={tv_sec=3, tv_usec=4}, tick=10000, "
		   "...}) = 5",
		   0x10));
}
