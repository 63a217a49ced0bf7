/* SPDX-License-Identifier: BSD-2-Clause */
/* System call names and numbers; the expected values are those of the system's own headers. */
#include "test.h"

#include "syscalls/names.h"

/* Numbers of calls, and the names of those that have one. */
struct calls {
	enum syscall_abi abi;
	const char *text;
};

static void assert_known(enum syscall_abi abi, int nr, const char *name)
{
	char buf[SYSCALL_NAME_MAX];

	assert_non_null(syscall_find_name(abi, nr));
	assert_string_equal(syscall_find_name(abi, nr), name);
	assert_int_equal(syscall_find(abi, name), nr);
	syscall_name(abi, nr, buf, sizeof(buf));
	assert_string_equal(buf, name);
}

TEST(test_known_both_ways)
{
	static const struct calls known[] = {
		{ ABI_X86_64, "0 read 5 fstat 17 pread64 59 execve 60 exit 219 restart_syscall "
			      "231 exit_group 257 openat 262 newfstatat 334 rseq "
			      "424 pidfd_send_signal 462 mseal" },
		{ ABI_I386, "0 restart_syscall 3 read 7 waitpid 17 break 18 oldstat 106 stat "
			    "195 stat64 243 set_thread_area 252 exit_group 422 futex_time64" },
		{ ABI_X32, "0 read 60 exit 512 rt_sigaction 520 execve 547 pwritev2" },
		{ ABI_ARM64, "0 io_setup 25 fcntl 38 renameat 62 lseek 63 read 79 newfstatat "
			     "80 fstat 93 exit 163 getrlimit 222 mmap 447 memfd_secret" },
		{ ABI_ARM, "0 restart_syscall 3 read 191 ugetrlimit 192 mmap2 248 exit_group "
			   "270 arm_fadvise64_64 322 openat 0x0f0001 breakpoint "
			   "0x0f0002 cacheflush 0x0f0003 usr26 0x0f0004 usr32 0x0f0005 set_tls "
			   "0x0f0006 get_tls" },
	};
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		const char *at = known[i].text;
		char name[32];

		for (int nr, size; sscanf(at, "%i %31s%n", &nr, name, &size) == 2;
		     at += size, count++)
			assert_known(known[i].abi, nr, name);
	}
	assert_int_equal(count, 51);
}

/* Holes, ends of the tables, and numbers that only another ABI has. */
TEST(test_unknown)
{
	static const struct calls unknown[] = {
		{ ABI_X86_64, "-1 -2147483648 2147483647 337 423 512 520 0x40000000 0x0f0002" },
		{ ABI_I386, "222 415 2147483647" },
		{ ABI_X32, "13 59 511 548" },
		{ ABI_ARM64, "415 244 258 403" },
		{ ABI_ARM, "7 13 0x0f0000 0x0f0007 2147483647 -2147483648" },
		{ NR_SYSCALL_ABI, "0" },
		{ (enum syscall_abi)0xffff, "0" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(unknown); i++) {
		const char *at = unknown[i].text, *name;

		for (int nr, size; sscanf(at, "%i%n", &nr, &size) == 1; at += size) {
			name = syscall_find_name(unknown[i].abi, nr);
			if (name)
				fail_msg("%s %d is %s", abi_name(unknown[i].abi), nr, name);
		}
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

			assert_all(nr > last, name);
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
	assert_all(!syscall_find_near(""), !syscall_find_near("xyzzy"), !syscall_find_near("qq"),
		   !syscall_find_near("frobnicate_everything"),
		   !syscall_find_near("a_name_that_is_longer_than_any_call_could_have"));
}
