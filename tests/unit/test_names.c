/* SPDX-License-Identifier: BSD-2-Clause */
/* System call names and numbers; the expected values are those of the system's own headers. */
#include "test.h"

#include "syscalls/names.h"

static const struct {
	enum syscall_abi abi;
	int nr;
	const char *name;
} known[] = {
	{ ABI_X86_64, 0, "read" },
	{ ABI_X86_64, 5, "fstat" },
	{ ABI_X86_64, 17, "pread64" },
	{ ABI_X86_64, 59, "execve" },
	{ ABI_X86_64, 60, "exit" },
	{ ABI_X86_64, 219, "restart_syscall" },
	{ ABI_X86_64, 231, "exit_group" },
	{ ABI_X86_64, 257, "openat" },
	{ ABI_X86_64, 262, "newfstatat" },
	{ ABI_X86_64, 334, "rseq" },
	{ ABI_X86_64, 424, "pidfd_send_signal" },
	{ ABI_X86_64, 462, "mseal" },
	{ ABI_I386, 0, "restart_syscall" },
	{ ABI_I386, 3, "read" },
	{ ABI_I386, 7, "waitpid" },
	{ ABI_I386, 17, "break" },
	{ ABI_I386, 18, "oldstat" },
	{ ABI_I386, 106, "stat" },
	{ ABI_I386, 195, "stat64" },
	{ ABI_I386, 243, "set_thread_area" },
	{ ABI_I386, 252, "exit_group" },
	{ ABI_I386, 422, "futex_time64" },
	{ ABI_X32, 0, "read" },
	{ ABI_X32, 60, "exit" },
	{ ABI_X32, 512, "rt_sigaction" },
	{ ABI_X32, 520, "execve" },
	{ ABI_X32, 547, "pwritev2" },
	{ ABI_ARM64, 0, "io_setup" },
	{ ABI_ARM64, 25, "fcntl" },
	{ ABI_ARM64, 38, "renameat" },
	{ ABI_ARM64, 62, "lseek" },
	{ ABI_ARM64, 63, "read" },
	{ ABI_ARM64, 79, "newfstatat" },
	{ ABI_ARM64, 80, "fstat" },
	{ ABI_ARM64, 93, "exit" },
	{ ABI_ARM64, 163, "getrlimit" },
	{ ABI_ARM64, 222, "mmap" },
	{ ABI_ARM64, 447, "memfd_secret" },
	{ ABI_ARM, 0, "restart_syscall" },
	{ ABI_ARM, 3, "read" },
	{ ABI_ARM, 191, "ugetrlimit" },
	{ ABI_ARM, 192, "mmap2" },
	{ ABI_ARM, 248, "exit_group" },
	{ ABI_ARM, 270, "arm_fadvise64_64" },
	{ ABI_ARM, 322, "openat" },
	{ ABI_ARM, 0x0f0001, "breakpoint" },
	{ ABI_ARM, 0x0f0002, "cacheflush" },
	{ ABI_ARM, 0x0f0003, "usr26" },
	{ ABI_ARM, 0x0f0004, "usr32" },
	{ ABI_ARM, 0x0f0005, "set_tls" },
	{ ABI_ARM, 0x0f0006, "get_tls" },
};

/* Holes, ends of the tables, and numbers that only another ABI has. */
static const struct {
	enum syscall_abi abi;
	int nr;
} unknown[] = {
	{ ABI_X86_64, -1 },       { ABI_X86_64, INT_MIN },
	{ ABI_X86_64, INT_MAX },  { ABI_X86_64, 337 },
	{ ABI_X86_64, 423 },      { ABI_X86_64, 512 },
	{ ABI_X86_64, 520 },      { ABI_X86_64, 0x40000000 },
	{ ABI_X86_64, 0x0f0002 }, { ABI_I386, 222 },
	{ ABI_I386, 415 },        { ABI_I386, INT_MAX },
	{ ABI_X32, 13 },          { ABI_X32, 59 },
	{ ABI_X32, 511 },         { ABI_X32, 548 },
	{ ABI_ARM64, 415 },       { ABI_ARM64, 244 },
	{ ABI_ARM64, 258 },       { ABI_ARM64, 403 },
	{ ABI_ARM, 7 },           { ABI_ARM, 13 },
	{ ABI_ARM, 0x0f0000 },    { ABI_ARM, 0x0f0007 },
	{ ABI_ARM, INT_MAX },     { ABI_ARM, INT_MIN },
	{ NR_SYSCALL_ABI, 0 },    { (enum syscall_abi)0xffff, 0 },
};

TEST(test_known_both_ways)
{
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		char buf[SYSCALL_NAME_MAX];

		assert_non_null(syscall_find_name(known[i].abi, known[i].nr));
		assert_string_equal(syscall_find_name(known[i].abi, known[i].nr), known[i].name);
		assert_int_equal(syscall_find(known[i].abi, known[i].name), known[i].nr);
		syscall_name(known[i].abi, known[i].nr, buf, sizeof(buf));
		assert_string_equal(buf, known[i].name);
	}
}

TEST(test_unknown)
{
	for (size_t i = 0; i < ARRAY_SIZE(unknown); i++) {
		const char *name = syscall_find_name(unknown[i].abi, unknown[i].nr);

		if (name)
			fail_msg("%s %d is %s", abi_name(unknown[i].abi), unknown[i].nr, name);
	}
}

TEST(test_names_only_some_have)
{
	assert_int_equal(syscall_find(ABI_ARM64, "open"), -ENOENT);
	assert_int_equal(syscall_find(ABI_X86_64, "waitpid"), -ENOENT);
	assert_int_equal(syscall_find(ABI_X86_64, "cacheflush"), -ENOENT);
	assert_int_equal(syscall_find(ABI_ARM, "riscv_flush_icache"), -ENOENT);
	assert_int_equal(syscall_find(ABI_ARM, "socketcall"), -ENOENT);
	assert_int_equal(syscall_find(ABI_X86_64, ""), -ENOENT);
	assert_int_equal(syscall_find(ABI_X86_64, "Read"), -ENOENT);
	assert_int_equal(syscall_find(ABI_X86_64, "rea"), -ENOENT);
	assert_int_equal(syscall_find(ABI_X86_64, "readd"), -ENOENT);
	assert_int_equal(syscall_find(NR_SYSCALL_ABI, "read"), -ENOENT);
}

TEST(test_fallback)
{
	char buf[SYSCALL_NAME_MAX];
	char small[8];

	syscall_name(ABI_X86_64, 1000, buf, sizeof(buf));
	assert_string_equal(buf, "syscall_0x3e8");
	syscall_name(ABI_X86_64, -1, buf, sizeof(buf));
	assert_string_equal(buf, "syscall_0xffffffff");
	syscall_name(ABI_I386, INT_MIN, buf, sizeof(buf));
	assert_string_equal(buf, "syscall_0x80000000");
	syscall_name(NR_SYSCALL_ABI, 0, buf, sizeof(buf));
	assert_string_equal(buf, "syscall_0x0");
	syscall_name(ABI_X86_64, 231, small, sizeof(small));
	assert_string_equal(small, "exit_gr");
}

TEST(test_abi_names)
{
	assert_string_equal(abi_name(ABI_X86_64), "x86_64");
	assert_string_equal(abi_name(ABI_I386), "i386");
	assert_string_equal(abi_name(ABI_X32), "x32");
	assert_string_equal(abi_name(ABI_ARM64), "arm64");
	assert_string_equal(abi_name(ABI_ARM), "arm");
	assert_string_equal(abi_name(NR_SYSCALL_ABI), "unknown");
}

/* Going through an ABI meets every call once, in order, and each leads back to itself. */
TEST(test_next_is_complete)
{
	for (int abi = 0; abi < NR_SYSCALL_ABI; abi++) {
		int met = 0, counted = 0, last = -1;

		for (int nr = syscall_next(abi, -1); nr >= 0; nr = syscall_next(abi, nr)) {
			const char *name = syscall_find_name(abi, nr);

			assert_true(nr > last);
			assert_non_null(name);
			assert_in_range(strlen(name), 1, SYSCALL_NAME_MAX - 1);
			assert_int_equal(syscall_find(abi, name), nr);
			last = nr;
			met++;
		}
		for (int nr = -10; nr < 0x100000; nr++)
			counted += syscall_find_name(abi, nr) != NULL;
		assert_int_equal(met, counted);
		assert_true(met > 300);
	}
}

TEST(test_next_at_the_edges)
{
	assert_int_equal(syscall_next(ABI_X86_64, INT_MIN), 0);
	assert_int_equal(syscall_next(ABI_X86_64, INT_MAX), -1);
	assert_int_equal(syscall_next(ABI_X86_64, 100000), -1);
	assert_int_equal(syscall_next(ABI_X86_64, 336), 424);
	assert_int_equal(syscall_next(ABI_ARM, 1000), 0x0f0001);
	assert_int_equal(syscall_next(ABI_ARM, 0x0f0006), -1);
	assert_int_equal(syscall_next(ABI_ARM, INT_MAX), -1);
	assert_int_equal(syscall_next(NR_SYSCALL_ABI, -1), -1);
}

TEST(test_near)
{
	static const char *const pairs[][2] = {
		{ "opnat", "openat" },
		{ "raed", "read" },
		{ "READ", "read" },
		{ "wriet", "write" },
		{ "epol_wait", "epoll_wait" },
		{ "wiatpid", "waitpid" },
		{ "waitpd", "waitid" },
		{ "nanosleeep", "nanosleep" },
		{ "flcok", "flock" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		const char *near = syscall_find_near(pairs[i][0]);

		assert_non_null(near);
		assert_string_equal(near, pairs[i][1]);
	}
	assert_null(syscall_find_near(""));
	assert_null(syscall_find_near("xyzzy"));
	assert_null(syscall_find_near("qq"));
	assert_null(syscall_find_near("frobnicate_everything"));
	assert_null(syscall_find_near("a_name_that_is_longer_than_any_call_could_have"));
}
