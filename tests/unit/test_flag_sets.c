/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the names of the bits and values of arguments. */
#include "test.h"

#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

#include "syscalls/arguments.h"
#include "syscalls/names.h"

static const struct call_arguments *arguments_of(const char *name)
{
	return call_arguments(ABI_X86_64, syscall_find(ABI_X86_64, name));
}

static void assert_flags(const char *set, uint64_t value, const char *expected)
{
	char text[FLAGS_MAX];

	assert_non_null(flag_set_find(set));
	flag_set_write(flag_set_find(set), value, false, text, sizeof(text));
	assert_string_equal(text, expected);
}

static void assert_enum(const char *set, uint64_t value, const char *expected)
{
	char text[FLAGS_MAX];

	assert_non_null(flag_set_find(set));
	flag_set_write(flag_set_find(set), value, true, text, sizeof(text));
	assert_string_equal(text, expected);
}

TEST(test_flags_of_files)
{
	assert_flags("open", O_RDONLY, "O_RDONLY");
	assert_flags("open", O_RDONLY | O_CLOEXEC, "O_RDONLY|O_CLOEXEC");
	assert_flags("open", O_RDWR | 0x40000000, "O_RDWR|0x40000000");
	assert_flags("open", O_WRONLY | O_CREAT | O_TRUNC, "O_WRONLY|O_CREAT|O_TRUNC");
	assert_flags("open", O_ACCMODE, "0x3");
	assert_flags("open", O_WRONLY | O_SYNC, "O_WRONLY|O_SYNC");
	assert_flags("open", O_WRONLY | O_DSYNC, "O_WRONLY|O_DSYNC");
	assert_flags("open", O_RDWR | O_TMPFILE, "O_RDWR|O_TMPFILE");
	assert_flags("open", O_NDELAY, "O_RDONLY|O_NONBLOCK");
	assert_flags("pipe", O_CLOEXEC, "O_CLOEXEC");
	assert_flags("access", 0, "F_OK");
	assert_flags("access", 6, "R_OK|W_OK");
	assert_flags("at", 0, "0");
	assert_enum("seek", 2, "SEEK_END");
	assert_enum("seek", 77, "0x4d");
	assert_enum("fcntl", F_DUPFD_CLOEXEC, "F_DUPFD_CLOEXEC");
	assert_enum("fcntl", F_GETFL, "F_GETFL");
	assert_enum("ioctl", 0x5401, "TCGETS");
}

TEST(test_flags_of_memory)
{
	assert_flags("mmap_prot", PROT_NONE, "PROT_NONE");
	assert_flags("mmap_prot", PROT_READ | PROT_EXEC, "PROT_READ|PROT_EXEC");
	assert_flags("mmap", MAP_SHARED, "MAP_SHARED");
	assert_flags("mmap", MAP_PRIVATE | MAP_ANONYMOUS, "MAP_PRIVATE|MAP_ANONYMOUS");
	assert_flags("mmap", MAP_SHARED_VALIDATE | MAP_SYNC, "MAP_SHARED_VALIDATE|MAP_SYNC");
	assert_flags("mmap", MAP_PRIVATE | MAP_HUGETLB | (21 << MAP_HUGE_SHIFT),
		     "MAP_PRIVATE|MAP_HUGE_2MB|MAP_HUGETLB");
	assert_enum("madvise", MADV_DONTNEED, "MADV_DONTNEED");
	assert_flags("msync", MS_SYNC | MS_INVALIDATE, "MS_INVALIDATE|MS_SYNC");
}

TEST(test_flags_of_others)
{
	assert_flags("futex", FUTEX_WAIT, "FUTEX_WAIT");
	assert_flags("futex", FUTEX_WAKE_PRIVATE, "FUTEX_WAKE_PRIVATE");
	assert_flags("futex", FUTEX_WAIT_BITSET_PRIVATE | FUTEX_CLOCK_REALTIME,
		     "FUTEX_WAIT_BITSET_PRIVATE|FUTEX_CLOCK_REALTIME");
	assert_flags("futex", 100 | FUTEX_PRIVATE_FLAG, "FUTEX_PRIVATE_FLAG|0x64");
	assert_flags("socket_type", SOCK_STREAM | SOCK_CLOEXEC, "SOCK_STREAM|SOCK_CLOEXEC");
	assert_enum("socket_family", AF_UNIX, "AF_UNIX");
	assert_flags("clone", CLONE_VM | CLONE_VFORK | SIGCHLD, "CLONE_VM|CLONE_VFORK|SIGCHLD");
	assert_flags("msg", MSG_DONTWAIT | MSG_NOSIGNAL, "MSG_DONTWAIT|MSG_NOSIGNAL");
	assert_flags("wait", WNOHANG | 0x40000000, "WNOHANG|__WALL");
	assert_enum("clock", CLOCK_MONOTONIC, "CLOCK_MONOTONIC");
	assert_enum("rusage", (uint64_t)-1, "RUSAGE_CHILDREN");
	assert_enum("rlimit", RLIMIT_NOFILE, "RLIMIT_NOFILE");
	assert_enum("prctl", 15, "PR_SET_NAME");
	assert_flags("quotactl", 0x80000700, "Q_GETQUOTA|USRQUOTA");
	assert_flags("personality", 0xffffffff, "0xffffffff");
	assert_flags("epoll_events", EPOLLIN | EPOLLET, "EPOLLIN|EPOLLET");
	assert_flags("clone3", 1ULL << 33, "CLONE_INTO_CGROUP");
	assert_enum("bpf", 5, "BPF_PROG_LOAD");
	assert_enum("waitid", 1, "P_PID");
	assert_enum("signal", SIGKILL, "SIGKILL");
}

/* An int's register may have anything in its upper half. */
TEST(test_upper_half)
{
	assert_flags("open", 0xdeadbeef00000000 | O_RDWR, "O_RDWR");
	assert_enum("seek", 0x100000001, "SEEK_CUR");
	assert_true(flag_set_find("clone3")->is_wide);
	assert_flags("clone3", 1ULL << 60, "0x1000000000000000");
}

/* Names that find no room are not cut: their bits are among the others. */
TEST(test_flags_are_bounded)
{
	const struct flag_set *set = flag_set_find("open");
	char text[64];

	for (size_t size = 24; size <= sizeof(text); size++) {
		uint64_t value = 0, rest;
		char copy[64], *last;

		memset(text, 'x', sizeof(text));
		flag_set_write(set, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, false, text, size);
		assert_in_range(strlen(text), 1, size - 1);
		memcpy(copy, text, sizeof(copy));
		for (char *word = strtok_r(copy, "|", &last); word;
		     word = strtok_r(NULL, "|", &last)) {
			for (size_t i = 0; i < set->count; i++)
				value |= strcmp(word, set->names[i].name) ? 0 : set->names[i].value;
			if (sscanf(word, "0x%" SCNx64, &rest) == 1)
				value |= rest;
		}
		assert_int_equal(value, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC);
	}
}

TEST(test_modes)
{
	static const struct {
		unsigned int mode;
		const char *text;
	} modes[] = {
		{ 0644, "0644" },
		{ 0, "000" },
		{ 04755, "04755" },
		{ S_IFREG | 0644, "S_IFREG|0644" },
		{ S_IFDIR | 01777, "S_IFDIR|01777" },
		{ S_IFSOCK | 0, "S_IFSOCK|000" },
		{ 0200644, "0x10000|0644" },
	};
	char text[MODE_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		mode_write(modes[i].mode, text, sizeof(text));
		assert_string_equal(text, modes[i].text);
	}
}

/* Which names an option of a socket has depends on its level. */
TEST(test_sets_by_other_arguments)
{
	const struct argument *option = &arguments_of("setsockopt")->arguments[2];
	const struct argument *protocol = &arguments_of("socket")->arguments[2];
	uint64_t values[CALL_ARGUMENTS] = { 3, SOL_SOCKET, 1 };

	assert_string_equal(argument_set(option, values)->name, "socket_option");
	values[1] = 6;
	assert_string_equal(argument_set(option, values)->name, "tcp_option");
	assert_enum("tcp_option", 1, "TCP_NODELAY");
	values[1] = 41;
	assert_enum(argument_set(option, values)->name, 26, "IPV6_V6ONLY");
	values[1] = 12345;
	assert_null(argument_set(option, values));
	values[0] = AF_UNIX;
	assert_null(argument_set(protocol, values));
	values[0] = AF_INET;
	assert_string_equal(argument_set(protocol, values)->name, "socket_protocol");
}
