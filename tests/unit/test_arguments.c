/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests the arguments of calls, and what is read of a call's memory. The expectations follow the
 * kernel and are written apart from the table.
 */
#include "test.h"

#include <linux/futex.h>
#include <mqueue.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <time.h>
#include <utime.h>

#include "syscalls/arguments.h"
#include "syscalls/names.h"

#ifdef __aarch64__
#define ABI_OF_BUILD ABI_ARM64
#else
#define ABI_OF_BUILD ABI_X86_64
#endif

static const char *const kind_names[NR_ARGUMENT_KIND] = {
	[ARG_INT] = "int",         [ARG_UINT] = "uint",       [ARG_LONG] = "long",
	[ARG_SIZE] = "size",       [ARG_OFFSET] = "offset",   [ARG_OFFSET_HIGH] = "high",
	[ARG_HEX] = "hex",         [ARG_ADDRESS] = "address", [ARG_FD] = "fd",
	[ARG_DIRFD] = "dirfd",     [ARG_PATH] = "path",       [ARG_STRING] = "string",
	[ARG_STRINGS] = "strings", [ARG_BUFFER] = "buffer",   [ARG_IOVEC] = "iovec",
	[ARG_MSGHDR] = "msghdr",   [ARG_MODE] = "mode",       [ARG_SIGNAL] = "signal",
	[ARG_SIGSET] = "sigset",   [ARG_PID] = "pid",         [ARG_UID] = "uid",
	[ARG_DEV] = "dev",         [ARG_FUTEX] = "futex",     [ARG_MS] = "ms",
	[ARG_UNUSED] = "unused",
};

static const struct call_arguments *call_named(enum syscall_abi abi, const char *name)
{
	int nr = syscall_find(abi, name);

	if (nr < 0)
		fail_msg("%s has no call %s", abi_name(abi), name);
	return call_arguments(abi, nr);
}

/* Goes through all calls of all ABIs. */
static void each_call(void (*check)(enum syscall_abi abi, const char *name,
				    const struct call_arguments *call))
{
	for (int abi = 0; abi < NR_SYSCALL_ABI; abi++) {
		for (int nr = syscall_next(abi, -1); nr >= 0; nr = syscall_next(abi, nr))
			check(abi, syscall_find_name(abi, nr), call_arguments(abi, nr));
	}
}

/* --- all rows ----------------------------------------------------------------------------------- */

static void check_row(enum syscall_abi abi, const char *name, const struct call_arguments *call)
{
	if (call == call_arguments(abi, -1))
		fail_msg("%s of %s has no row", name, abi_name(abi));
	assert_in_range(call->count, 0, CALL_ARGUMENTS);
	for (size_t i = 0; i < call->count; i++) {
		const struct argument *argument = &call->arguments[i];

		if (!*argument->name || argument->kind >= NR_ARGUMENT_KIND)
			fail_msg("%s has a bad argument %zu", name, i);
		for (size_t j = 0; j < i && argument->kind != ARG_UNUSED; j++)
			assert_string_not_equal(argument->name, call->arguments[j].name);
	}
}

TEST(test_every_call_has_a_row)
{
	each_call(check_row);
	assert_int_equal(call_arguments(ABI_X86_64, 100000)->count, CALL_ARGUMENTS);
	assert_int_equal(call_arguments(NR_SYSCALL_ABI, 0)->arguments[5].kind, ARG_HEX);
}

/* The argument with a length is a number, or the address of one. */
static void check_lengths(enum syscall_abi abi, const char *name, const struct call_arguments *call)
{
	(void)abi;
	for (size_t i = 0; i < call->count; i++) {
		const struct argument *argument = &call->arguments[i], *length;

		if (argument->kind == ARG_BUFFER || argument->kind == ARG_IOVEC)
			assert_int_not_equal(argument->length_kind, LENGTH_ONE);
		if (argument->length_kind == LENGTH_ONE || argument->length_kind == LENGTH_FIXED)
			continue;
		assert_in_range(argument->length, 0, call->count - 1);
		length = &call->arguments[argument->length];
		if (argument->length_kind == LENGTH_POINTED)
			assert_string_equal(length->type, "socklen");
		else if (length->kind != ARG_SIZE && length->kind != ARG_INT &&
			 length->kind != ARG_UINT && length->kind != ARG_LONG)
			fail_msg("%s: the length of %s is no number", name, argument->name);
		if (argument->length_kind == LENGTH_RESULT)
			assert_true(argument->is_written);
	}
}

TEST(test_lengths)
{
	each_call(check_lengths);
}

static void check_sets(enum syscall_abi abi, const char *name, const struct call_arguments *call)
{
	(void)abi;
	for (size_t i = 0; i < call->count; i++) {
		const struct argument *argument = &call->arguments[i];
		bool has_set = argument->kind == ARG_FLAGS || argument->kind == ARG_ENUM;

		if (has_set != !!argument->set)
			fail_msg("%s: %s has no set, or should have none", name, argument->name);
		if (!has_set)
			continue;
		assert_ptr_equal(flag_set_find(argument->set->name), argument->set);
		if (!argument->set->count)
			fail_msg("%s: the set %s is empty", name, argument->set->name);
	}
}

TEST(test_sets_are_there)
{
	each_call(check_sets);
	assert_null(flag_set_find("no such set"));
}

static bool has_token(const char *text, const char *token)
{
	size_t length = strlen(token);

	for (; *text; text += strcspn(text, "|"), text += *text == '|') {
		if (!strncmp(text, token, length) && (!text[length] || text[length] == '|'))
			return true;
	}
	return false;
}

/* No name is out of reach: each is what its own value is called, but for the flag of FUTEX_WAIT_PRIVATE. */
static void check_names(enum syscall_abi abi, const char *name, const struct call_arguments *call)
{
	char text[FLAGS_MAX];

	(void)abi;
	for (size_t i = 0; i < call->count; i++) {
		const struct flag_set *set = call->arguments[i].set;

		for (size_t j = 0; set && j < set->count; j++) {
			flag_set_write(set, set->names[j].value,
				       call->arguments[i].kind == ARG_ENUM, text, sizeof(text));
			if (!has_token(text, set->names[j].name) &&
			    strcmp(set->names[j].name, "FUTEX_PRIVATE_FLAG") != 0)
				fail_msg("%s: %s is written as %s", name, set->names[j].name, text);
		}
	}
}

TEST(test_each_name_is_written)
{
	each_call(check_names);
}

static void check_structures(enum syscall_abi abi, const char *name,
			     const struct call_arguments *call)
{
	for (size_t i = 0; i < call->count; i++) {
		const struct argument *argument = &call->arguments[i];

		if (argument->kind == ARG_STRUCT && !structure_size(abi, argument->type))
			fail_msg("%s of %s: the size of %s is not known", name, abi_name(abi),
				 argument->type);
	}
}

TEST(test_every_structure_has_a_size)
{
	each_call(check_structures);
	assert_int_equal(structure_size(ABI_X86_64, "no such thing"), 0);
	assert_int_equal(structure_size(NR_SYSCALL_ABI, "stat"), 0);
}

/* --- known calls -------------------------------------------------------------------------------- */

/* Writes "fd >buffer[=2] size -> fd". */
static void row_write(const struct call_arguments *call, char *buf, size_t size)
{
	static const char *const lengths[] = { [LENGTH_ONE] = "",
					       [LENGTH_ARGUMENT] = "[%u]",
					       [LENGTH_RESULT] = "[=%u]",
					       [LENGTH_POINTED] = "[*%u]",
					       [LENGTH_FIXED] = "[x%u]" };
	static const char *const results[] = { "", " -> fd", " -> hex", " -> none" };
	FILE *out = fmemopen(buf, size, "w");

	*buf = 0;
	for (size_t i = 0; i < call->count; i++) {
		const struct argument *argument = &call->arguments[i];

		fprintf(out, "%s%s%s", i ? " " : "", argument->is_changed ? "<>" : "",
			argument->is_written ? ">" : "");
		if (argument->set)
			fprintf(out, "%c%s", argument->kind == ARG_ENUM ? '=' : '|',
				argument->set->name);
		else
			fputs(argument->kind == ARG_STRUCT ? argument->type
							   : kind_names[argument->kind],
			      out);
		fprintf(out, lengths[argument->length_kind], argument->length); /* NOLINT */
	}
	fputs(results[call->result], out);
	fclose(out);
}

struct known_call {
	enum syscall_abi abi;
	const char *name, *row;
};

static const struct known_call known[] = {
	{ ABI_X86_64, "read", "fd >buffer[=2] size" },
	{ ABI_X86_64, "write", "fd buffer[2] size" },
	{ ABI_X86_64, "open", "path |open mode -> fd" },
	{ ABI_X86_64, "openat", "dirfd path |open mode -> fd" },
	{ ABI_ARM64, "openat", "dirfd path |open mode -> fd" },
	{ ABI_X86_64, "openat2", "dirfd path open_how[3] size -> fd" },
	{ ABI_X86_64, "close", "fd" },
	{ ABI_X86_64, "newfstatat", "dirfd path >stat |at" },
	{ ABI_I386, "fstatat64", "dirfd path >stat64 |at" },
	{ ABI_X86_64, "fstat", "fd >stat" },
	{ ABI_X86_64, "statx", "dirfd path |statx_flags |statx_mask >statx" },
	{ ABI_X86_64, "lseek", "fd offset =seek" },
	{ ABI_I386, "_llseek", "fd hex hex >offset64 =seek" },
	{ ABI_X86_64, "mmap", "address size |mmap_prot |mmap fd offset -> hex" },
	{ ABI_I386, "mmap", "ulong[x6] -> hex" },
	{ ABI_I386, "mmap2", "address size |mmap_prot |mmap fd size -> hex" },
	{ ABI_X86_64, "mprotect", "address size |mmap_prot" },
	{ ABI_X86_64, "brk", "address -> hex" },
	{ ABI_X86_64, "pread64", "fd >buffer[=2] size offset" },
	{ ABI_I386, "pread64", "fd >buffer[=2] size offset high" },
	{ ABI_ARM, "pread64", "fd >buffer[=2] size unused offset high" },
	{ ABI_ARM, "pwrite64", "fd buffer[2] size unused offset high" },
	{ ABI_X86_64, "preadv2", "fd >iovec[2] size offset unused |rwf" },
	{ ABI_X32, "preadv2", "fd >iovec[2] size offset |rwf" },
	{ ABI_I386, "preadv2", "fd >iovec[2] size offset high |rwf" },
	{ ABI_I386, "truncate64", "path offset high" },
	{ ABI_ARM, "truncate64", "path unused offset high" },
	{ ABI_ARM, "ftruncate64", "fd unused offset high" },
	{ ABI_X86_64, "fallocate", "fd |fallocate offset offset" },
	{ ABI_I386, "fallocate", "fd |fallocate offset high offset high" },
	{ ABI_X86_64, "fadvise64", "fd offset size =fadvise" },
	{ ABI_I386, "fadvise64_64", "fd offset high offset high =fadvise" },
	{ ABI_ARM, "arm_fadvise64_64", "fd =fadvise offset high offset high" },
	{ ABI_ARM, "arm_sync_file_range", "fd |sync_file_range offset high offset high" },
	{ ABI_I386, "sync_file_range", "fd offset high offset high |sync_file_range" },
	{ ABI_I386, "readahead", "fd offset high size" },
	{ ABI_ARM, "readahead", "fd unused offset high size" },
	{ ABI_X86_64, "writev", "fd iovec[2] size" },
	{ ABI_X86_64, "pipe2", ">fd[x2] |pipe" },
	{ ABI_X86_64, "poll", ">pollfd[1] uint ms" },
	{ ABI_X86_64, "ppoll", ">pollfd[1] uint timespec sigset[4] size" },
	{ ABI_I386, "ppoll_time64", ">pollfd[1] uint timespec64 sigset[4] size" },
	{ ABI_X86_64, "select", "int <>fd_set <>fd_set <>fd_set timeval" },
	{ ABI_I386, "select", "ulong[x5]" },
	{ ABI_X86_64, "epoll_wait", "fd >epoll_event[=2] int ms" },
	{ ABI_X86_64, "epoll_ctl", "fd =epoll_ctl fd epoll_event" },
	{ ABI_X86_64, "socket", "=socket_family |socket_type =socket_protocol -> fd" },
	{ ABI_X86_64, "connect", "fd sockaddr[2] uint" },
	{ ABI_X86_64, "accept4", "fd >sockaddr[*2] <>socklen |socket_flags -> fd" },
	{ ABI_X86_64, "sendto", "fd buffer[2] size |msg sockaddr[5] uint" },
	{ ABI_X86_64, "recvfrom", "fd >buffer[=2] size |msg >sockaddr[*5] <>socklen" },
	{ ABI_X86_64, "recvmsg", "fd >msghdr |msg" },
	{ ABI_X86_64, "sendmsg", "fd msghdr |msg" },
	{ ABI_X86_64, "setsockopt", "fd =socket_level =socket_option buffer[4] uint" },
	{ ABI_X86_64, "getsockopt", "fd =socket_level =socket_option >buffer[*4] <>socklen" },
	{ ABI_I386, "socketcall", "=socketcall ulong[x6]" },
	{ ABI_I386, "ipc", "|ipc_call int size hex address hex" },
	{ ABI_X86_64, "clone", "|clone address >int >int hex" },
	{ ABI_I386, "clone", "|clone address >int hex >int" },
	{ ABI_ARM64, "clone", "|clone address >int hex >int" },
	{ ABI_X86_64, "clone3", "clone_args[1] size" },
	{ ABI_X86_64, "execve", "path strings strings" },
	{ ABI_X86_64, "execveat", "dirfd path strings strings |execveat" },
	{ ABI_X86_64, "exit_group", "int -> none" },
	{ ABI_X86_64, "wait4", "pid >wait_status |wait >rusage" },
	{ ABI_X86_64, "kill", "pid signal" },
	{ ABI_X86_64, "rt_sigaction", "signal sigaction >sigaction size" },
	{ ABI_X86_64, "rt_sigprocmask", "=signal_how sigset[3] >sigset[3] size" },
	{ ABI_I386, "sigprocmask", "=signal_how sigset >sigset" },
	{ ABI_ARM, "sigsuspend", "unused unused hex" },
	{ ABI_X86_64, "fcntl", "fd =fcntl hex" },
	{ ABI_X86_64, "ioctl", "fd =ioctl hex" },
	{ ABI_X86_64, "futex", "futex |futex uint timespec futex hex" },
	{ ABI_X86_64, "nanosleep", "timespec >timespec" },
	{ ABI_X86_64, "clock_nanosleep", "=clock |timer_flags timespec >timespec" },
	{ ABI_X86_64, "getcwd", ">path size" },
	{ ABI_X86_64, "readlink", "path >buffer[=2] size" },
	{ ABI_X86_64, "getrandom", ">buffer[=1] size |getrandom" },
	{ ABI_X86_64, "prlimit64", "pid =rlimit rlimit64 >rlimit64" },
	{ ABI_X86_64, "getdents64", "fd >dirent64[=2] uint" },
	{ ABI_X86_64, "utimensat", "dirfd path timespec[x2] |at" },
	{ ABI_X86_64, "mount", "string path string |mount string" },
	{ ABI_I386, "getresuid", ">uid16 >uid16 >uid16" },
	{ ABI_I386, "getresuid32", ">uid >uid >uid" },
	{ ABI_X86_64, "fanotify_mark", "fd |fanotify_mark |fanotify_events dirfd path" },
	{ ABI_I386, "fanotify_mark", "fd |fanotify_mark |fanotify_events hex dirfd path" },
	{ ABI_X86_64, "sched_yield", "" },
	{ ABI_ARM, "cacheflush", "address address hex" },
};

TEST(test_known_calls)
{
	char text[256];

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		row_write(call_named(known[i].abi, known[i].name), text, sizeof(text));
		if (strcmp(text, known[i].row))
			fail_msg("%s of %s: %s", known[i].name, abi_name(known[i].abi), text);
	}
}

TEST(test_names_of_arguments)
{
	const struct call_arguments *call = call_named(ABI_X86_64, "sendto");
	static const char *const names[] = {
		"sockfd", "buf", "len", "flags", "dest_addr", "addrlen"
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_string_equal(call->arguments[i].name, names[i]);
}

#define SIZE_IS(structure, name) \
	assert_int_equal(sizeof(structure), structure_size(ABI_OF_BUILD, name))

/* Against the headers of the system: the structures that libc does not change. */
TEST(test_sizes_of_this_system)
{
	SIZE_IS(struct stat, "stat");
	SIZE_IS(struct statx, "statx");
	SIZE_IS(struct statfs, "statfs");
	SIZE_IS(struct timespec, "timespec");
	SIZE_IS(struct timeval, "timeval");
	SIZE_IS(struct itimerspec, "itimerspec");
	SIZE_IS(struct itimerval, "itimerval");
	SIZE_IS(struct timex, "timex");
	SIZE_IS(struct tms, "tms");
	SIZE_IS(struct utimbuf, "utimbuf");
	SIZE_IS(struct utsname, "utsname");
	SIZE_IS(struct sysinfo, "sysinfo");
	SIZE_IS(struct rusage, "rusage");
	SIZE_IS(struct rlimit, "rlimit");
	SIZE_IS(struct sched_param, "sched_param");
	SIZE_IS(siginfo_t, "siginfo");
	SIZE_IS(stack_t, "stack");
	SIZE_IS(struct sigevent, "sigevent");
	SIZE_IS(struct pollfd, "pollfd");
	SIZE_IS(struct epoll_event, "epoll_event");
	SIZE_IS(fd_set, "fd_set");
	SIZE_IS(struct iovec, "iovec_array");
	SIZE_IS(struct msghdr, "msghdr");
	SIZE_IS(struct mmsghdr, "mmsghdr");
	SIZE_IS(struct mq_attr, "mq_attr");
	SIZE_IS(struct sembuf, "sembuf");
}

/* --- plans -------------------------------------------------------------------------------------- */

static const struct plan_options few = { .path_bytes = DEFAULT_PATHS, .data_bytes = DEFAULT_DATA };

static struct call_plan plan_of(enum syscall_abi abi, const char *name,
				const struct plan_options *options)
{
	struct call_plan plan;

	memset(&plan, 0xff, sizeof(plan));
	call_plan_fill(abi, syscall_find(abi, name), options, &plan);
	return plan;
}

#define FETCH_IS(fetch, kind_, argument_, length_, at_exit_, unit_, limit_)                     \
	assert_has(fetch, kind, kind_, argument, argument_, length, length_, at_exit, at_exit_, \
		   unit, unit_, limit, limit_)

TEST(test_plans_of_files)
{
	struct call_plan plan = plan_of(ABI_X86_64, "read", &few);

	assert_has(&plan, nr_fetches, 1, fd_arguments, 1, path_arguments, 0);
	FETCH_IS(&plan.fetches[0], FETCH_RETURNED, 1, 2, 1, 1, DEFAULT_DATA);
	plan = plan_of(ABI_I386, "pread64", &few);
	assert_has(&plan, nr_fetches, 1, fd_arguments, 1);
	FETCH_IS(&plan.fetches[0], FETCH_RETURNED, 1, 2, 1, 1, DEFAULT_DATA);
	plan = plan_of(ABI_X86_64, "write", &few);
	FETCH_IS(&plan.fetches[0], FETCH_COUNTED, 1, 2, 0, 1, DEFAULT_DATA);
	assert_has(&plan.fetches[0], length_is_32, 0);
	plan = plan_of(ABI_X86_64, "openat", &few);
	assert_has(&plan, nr_fetches, 1, fd_arguments, 1, path_arguments, 2);
	FETCH_IS(&plan.fetches[0], FETCH_STRING, 1, 0, 0, 1, DEFAULT_PATHS);
	plan = plan_of(ABI_X86_64, "getcwd", &few);
	assert_has(&plan, nr_fetches, 1, path_arguments, 0);
	FETCH_IS(&plan.fetches[0], FETCH_STRING, 0, 0, 1, 1, DEFAULT_PATHS);
	plan = plan_of(ABI_X86_64, "pipe2", &few);
	FETCH_IS(&plan.fetches[0], FETCH_BYTES, 0, 0, 1, 8, 8);
}

TEST(test_plans_of_others)
{
	struct call_plan plan = plan_of(ABI_X86_64, "recvmsg", &few);

	assert_has(&plan, nr_fetches, 1, fd_arguments, 1);
	FETCH_IS(&plan.fetches[0], FETCH_MSGHDR, 1, 0, 1, 56, DEFAULT_DATA);
	plan = plan_of(ABI_I386, "recvmsg", &few);
	FETCH_IS(&plan.fetches[0], FETCH_MSGHDR, 1, 0, 1, 28, DEFAULT_DATA);
	plan = plan_of(ABI_I386, "writev", &few);
	FETCH_IS(&plan.fetches[0], FETCH_IOVEC, 1, 2, 0, 8, DEFAULT_DATA);
	plan = plan_of(ABI_X86_64, "poll", &few);
	FETCH_IS(&plan.fetches[0], FETCH_COUNTED, 0, 1, 1, 8, 256);
	assert_has(&plan.fetches[0], length_is_32, 1);
	plan = plan_of(ABI_X86_64, "epoll_wait", &few);
	FETCH_IS(&plan.fetches[0], FETCH_RETURNED, 1, 2, 1, 12, 384);
	plan = plan_of(ABI_X86_64, "connect", &few);
	FETCH_IS(&plan.fetches[0], FETCH_COUNTED, 1, 2, 0, 1, 128);
	plan = plan_of(ABI_X86_64, "accept", &few);
	assert_int_equal(plan.nr_fetches, 3);
	FETCH_IS(&plan.fetches[0], FETCH_POINTED, 1, 2, 1, 1, 128);
	FETCH_IS(&plan.fetches[1], FETCH_BYTES, 2, 0, 0, 4, 4);
	FETCH_IS(&plan.fetches[2], FETCH_BYTES, 2, 0, 1, 4, 4);
	assert_has(&plan.fetches[2], part, PART_AFTER);
	plan = plan_of(ABI_X86_64, "nanosleep", &few);
	FETCH_IS(&plan.fetches[0], FETCH_BYTES, 0, 0, 0, 16, 16);
	plan = plan_of(ABI_I386, "nanosleep", &few);
	FETCH_IS(&plan.fetches[0], FETCH_BYTES, 0, 0, 0, 8, 8);
	plan = plan_of(ABI_X86_64, "getpid", &few);
	assert_has(&plan, nr_fetches, 0, fd_arguments, 0, path_arguments, 0);
}

TEST(test_plans_by_options)
{
	struct plan_options options = few;
	struct call_plan plan = plan_of(ABI_X86_64, "execve", &options);

	assert_int_equal(plan.nr_fetches, 2);
	FETCH_IS(&plan.fetches[0], FETCH_STRING, 0, 0, 0, 1, DEFAULT_PATHS);
	FETCH_IS(&plan.fetches[1], FETCH_STRINGS, 1, 0, 0, 8, DEFAULT_PATHS);
	options.environment = true;
	plan = plan_of(ABI_I386, "execve", &options);
	assert_int_equal(plan.nr_fetches, 3);
	FETCH_IS(&plan.fetches[2], FETCH_STRINGS, 2, 0, 0, 4, DEFAULT_PATHS);

	plan = plan_of(ABI_X86_64, "fstat", &options);
	assert_int_equal(plan.nr_fetches, 0);
	options.structs = true;
	plan = plan_of(ABI_X86_64, "fstat", &options);
	FETCH_IS(&plan.fetches[0], FETCH_BYTES, 1, 0, 1, 144, 144);
	plan = plan_of(ABI_I386, "fstat64", &options);
	FETCH_IS(&plan.fetches[0], FETCH_BYTES, 1, 0, 1, 96, 96);

	options.path_bytes = options.data_bytes = UINT16_MAX;
	plan = plan_of(ABI_X86_64, "openat", &options);
	assert_int_equal(plan.fetches[0].limit, MAX_FETCH - 2);
	plan = plan_of(ABI_X86_64, "read", &options);
	assert_int_equal(plan.fetches[0].limit, MAX_FETCH);
	options.data_bytes = 0;
	options.only_paths = true;
	plan = plan_of(ABI_X86_64, "execve", &options);
	FETCH_IS(&plan.fetches[0], FETCH_STRING, 0, 0, 0, 1, MAX_FETCH - 2);
	FETCH_IS(&plan.fetches[1], FETCH_STRINGS, 1, 0, 0, 8, 0);
	plan = plan_of(ABI_X86_64, "read", &options);
	FETCH_IS(&plan.fetches[0], FETCH_RETURNED, 1, 2, 1, 1, 0);
}

/* Another argument says what this one points at. */
TEST(test_conditional_plans)
{
	struct call_plan plan = plan_of(ABI_I386, "fcntl64", &few);

	assert_has(&plan, nr_fetches, 4);
	assert_has(&plan.fetches[0], kind, FETCH_BYTES, argument, 2, which, 1, at_exit, 0, limit,
		   16, base, 0, when, 1 << F_SETLK | 1 << F_SETLKW);
	assert_has(&plan.fetches[3], at_exit, 1, limit, 24, when, 1LL << 12 | 1LL << F_OFD_GETLK);
	plan = plan_of(ABI_ARM64, "ioctl", &few);
	assert_has(&plan, nr_fetches, 7);
	assert_has(&plan.fetches[0], argument, 2, which, 1, at_exit, 1, limit, 36, base, 0x5400,
		   when, 1 << 1);
	assert_has(&plan.fetches[6], argument, 2, at_exit, 0, limit, 4, base, 0x5440, when,
		   1 << 0x12);
	/* To delete a descriptor needs no event. */
	plan = plan_of(ABI_X86_64, "epoll_ctl", &few);
	assert_has(&plan, nr_fetches, 1);
	assert_has(&plan.fetches[0], argument, 3, which, 1, base, 0, when,
		   1 << EPOLL_CTL_ADD | 1 << EPOLL_CTL_MOD);
	plan = plan_of(ABI_X86_64, "prctl", &few);
	assert_has(&plan, nr_fetches, 2);
	assert_has(&plan.fetches[1], kind, FETCH_STRING, argument, 1, which, 0, at_exit, 1, limit,
		   15, when, 1 << 16);
}

/* Sets are read when the call begins and, once more, when it has ended. */
TEST(test_plans_of_changes)
{
	struct call_plan plan = plan_of(ABI_X86_64, "pselect6", &few);

	assert_has(&plan, nr_fetches, 7);
	for (int i = 0; i < 3; i++)
		assert_has(&plan.fetches[i], argument, i + 1, at_exit, 0, part, PART_SELF, limit,
			   128);
	for (int i = 0; i < 3; i++)
		assert_has(&plan.fetches[4 + i], argument, i + 1, at_exit, 1, part, PART_AFTER,
			   limit, 128);
	plan = plan_of(ABI_X86_64, "sendfile", &few);
	assert_has(&plan, nr_fetches, 2);
	assert_has(&plan.fetches[1], argument, 2, at_exit, 1, part, PART_AFTER, limit, 8);
}

/* No plan reads more than there is room for, nor what is no address. */
static void check_plan(enum syscall_abi abi, const char *name, const struct call_arguments *call)
{
	const struct plan_options all = { UINT16_MAX, UINT16_MAX, true, true, false };
	struct call_plan plan = plan_of(abi, name, &all);

	(void)call;
	assert_in_range(plan.nr_fetches, 0, CALL_FETCHES);
	for (size_t i = 0; i < plan.nr_fetches; i++) {
		const struct call_fetch *fetch = &plan.fetches[i];

		assert_in_range(fetch->kind, FETCH_NONE + 1, NR_FETCH_KIND - 1);
		assert_in_range(fetch->argument, 0, call->count - 1);
		assert_in_range(fetch->length, 0, call->count - 1);
		assert_in_range(fetch->limit, 1, MAX_FETCH);
		assert_in_range(fetch->unit, 1, MAX_FETCH);
		if (fetch->kind == FETCH_COUNTED || fetch->kind == FETCH_RETURNED)
			assert_int_equal(fetch->limit % fetch->unit, 0);
		/* Of one argument no two are done in one call. */
		for (size_t j = 0; j < i; j++)
			assert_true(fetch->argument != plan.fetches[j].argument ||
				    fetch->part != plan.fetches[j].part ||
				    (fetch->when && plan.fetches[j].when &&
				     !(fetch->when & plan.fetches[j].when)));
	}
}

TEST(test_all_plans)
{
	each_call(check_plan);
}
