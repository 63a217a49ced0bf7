/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names and numbers of system calls, their classes, errnos, and -t lists, sane and hostile. Numbers
 * are those of the system's own headers.
 */
#include "test.h"

#include "base/nearest.h"
#include "syscalls/families.h"
#include "syscalls/names.h"
#include "syscalls/syscall_set.h"

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
	static const char *const names[NR_SYSCALL_ABI + 1] = {
		[ABI_X86_64] = "x86_64", [ABI_I386] = "i386", [ABI_X32] = "x32",
		[ABI_ARM64] = "arm64",   [ABI_ARM] = "arm",   [NR_SYSCALL_ABI] = "unknown",
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
	for (int abi = 0; abi <= NR_SYSCALL_ABI; abi++)
		assert_string_equal(abi_name(abi), names[abi]);
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
		assert_string_equal(at, "");
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

static const char *find_near(const char *name)
{
	struct nearest near = nearest_to(name);

	for (int abi = 0; abi < NR_SYSCALL_ABI; abi++) {
		for (int nr = syscall_next(abi, -1); nr >= 0; nr = syscall_next(abi, nr))
			nearest_look(&near, syscall_find_name(abi, nr));
	}
	return near.best;
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
	/* Each misspelt name is followed by the one that was meant. */
	const char *at =
		"opnat openat raed read READ read wriet write epol_wait epoll_wait wiatpid waitpid "
		"waitpd waitid nanosleeep nanosleep flcok flock";
	char word[MAX_WORD], meant[MAX_WORD];

	while (word_read(&at, word)) {
		assert_true(word_read(&at, meant));
		assert_string_equal(find_near(word) ?: "", meant);
	}
	assert_all(!find_near(""), !find_near("xyzzy"), !find_near("qq"),
		   !find_near("frobnicate_everything"),
		   !find_near("a_name_that_is_longer_than_any_call_could_have"));
}

/* --- classes and traits -------------------------------------------------------------------------- */

static const struct text_number rows[] = {
#include "syscalls/classes.inc"
};

/* A misspelt row would never match, an unsorted one not be found. */
TEST(test_rows_are_sound)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!syscall_exists(rows[i].text))
			fail_msg("%s is in no table", rows[i].text);
		if (i && strcmp(rows[i - 1].text, rows[i].text) >= 0)
			fail_msg("%s is out of order", rows[i].text);
		assert_int_not_equal(rows[i].number, 0);
		assert_int_equal(syscall_name_traits(rows[i].text), rows[i].number);
	}
}

static size_t class_size(unsigned int trait)
{
	size_t size = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		size += (rows[i].number & trait) != 0;
	return size;
}

TEST(test_classes_have_members)
{
	unsigned int seen = 0;
	size_t i;

	for (i = 0; class_name(i); i++) {
		unsigned int trait = class_find(class_name(i));

		assert_true(strlen(class_name(i)) > 0);
		assert_int_not_equal(trait, 0);
		assert_int_equal(trait & (trait - 1), 0);
		assert_int_equal(seen & trait, 0);
		assert_true(class_size(trait) > 0);
		seen |= trait;
	}
	assert_int_equal(i, 15);
	assert_all(!class_name(i + 1), !class_name(SIZE_MAX));
	assert_int_equal(seen & (TRAIT_MOVES_DATA | TRAIT_NO_RETURN | TRAIT_WAITS), 0);
	assert_int_equal(class_size(TRAIT_WAITS), 31);
	assert_int_equal(class_find(""), 0);
	assert_int_equal(class_find("%file"), 0);
	assert_int_equal(class_find("File"), 0);
	assert_int_equal(class_find("read"), 0);
}

TEST(test_spot_members)
{
	static const struct {
		const char *name;
		unsigned int has, lacks;
	} spots[] = {
		{ "openat", TRAIT_FILE | TRAIT_DESC, TRAIT_IO | TRAIT_NETWORK },
		{ "open", TRAIT_FILE | TRAIT_DESC, TRAIT_IO },
		{ "close", TRAIT_DESC, TRAIT_FILE | TRAIT_IO },
		{ "read", TRAIT_DESC | TRAIT_IO, TRAIT_FILE | TRAIT_NETWORK },
		{ "socket", TRAIT_DESC | TRAIT_NETWORK, TRAIT_IO | TRAIT_IPC },
		{ "mmap", TRAIT_MEMORY | TRAIT_DESC, TRAIT_FILE | TRAIT_IO },
		{ "mmap2", TRAIT_MEMORY | TRAIT_DESC, TRAIT_FILE | TRAIT_IO },
		{ "munmap", TRAIT_MEMORY, TRAIT_DESC },
		{ "execve", TRAIT_PROCESS | TRAIT_FILE, TRAIT_DESC | TRAIT_NO_RETURN },
		{ "kill", TRAIT_PROCESS | TRAIT_SIGNAL, TRAIT_IPC },
		{ "shmat", TRAIT_IPC | TRAIT_MEMORY, TRAIT_DESC },
		{ "setuid32", TRAIT_CREDS, TRAIT_PROCESS },
		{ "clock_gettime64", TRAIT_CLOCK, TRAIT_SIGNAL },
		{ "stat64", TRAIT_STAT | TRAIT_FILE, TRAIT_DESC | TRAIT_LSTAT | TRAIT_FSTAT },
		{ "lstat", TRAIT_LSTAT | TRAIT_FILE, TRAIT_DESC | TRAIT_STAT },
		{ "newfstatat", TRAIT_FSTAT | TRAIT_FILE | TRAIT_DESC, TRAIT_STAT },
		{ "fstat", TRAIT_FSTAT | TRAIT_DESC, TRAIT_FILE },
		{ "statfs64", TRAIT_STATFS | TRAIT_FILE, TRAIT_FSTATFS },
		{ "fstatfs", TRAIT_FSTATFS | TRAIT_DESC, TRAIT_STATFS },
		{ "getpid", 0, ~0U },
		{ "clock_nanosleep", TRAIT_WAITS, TRAIT_CLOCK },
		{ "", 0, ~0U },
		{ "zzz", 0, ~0U },
	};

	for (size_t i = 0; i < ARRAY_SIZE(spots); i++) {
		unsigned int traits = syscall_name_traits(spots[i].name);

		if ((traits & spots[i].has) != spots[i].has || (traits & spots[i].lacks))
			fail_msg("%s has traits 0x%x", spots[i].name, traits);
	}
}

/* A wrong row here would print a sum of something else as bytes. */
TEST(test_moves_data)
{
	static const char yes[] =
		"read write pread64 pwrite64 readv writev preadv pwritev preadv2 "
		"pwritev2 sendto recvfrom sendmsg recvmsg send recv sendfile "
		"sendfile64 splice tee vmsplice copy_file_range getrandom getdents "
		"getdents64 process_vm_readv process_vm_writev msgrcv mq_timedreceive "
		"mq_timedreceive_time64";
	static const char no[] =
		"recvmmsg sendmmsg readlink readlinkat getcwd getxattr lseek msgsnd "
		"mq_timedsend io_uring_enter poll open mmap";
	char name[MAX_WORD];
	size_t count = 0;

	for (const char *at = yes; word_read(&at, name); count++)
		assert_true(syscall_name_traits(name) & TRAIT_MOVES_DATA);
	for (const char *at = no; word_read(&at, name);)
		assert_false(syscall_name_traits(name) & TRAIT_MOVES_DATA);
	assert_int_equal(count, 30);
	assert_int_equal(class_size(TRAIT_MOVES_DATA), count);
	assert_int_equal(class_size(TRAIT_NO_RETURN), 2);
}

/* 60 is exit in one ABI and umask in another. */
TEST(test_traits_by_number)
{
	assert_all(syscall_has_trait(ABI_X86_64, 60, TRAIT_NO_RETURN),
		   syscall_has_trait(ABI_X86_64, 231, TRAIT_NO_RETURN),
		   !syscall_has_trait(ABI_I386, 60, TRAIT_NO_RETURN),
		   syscall_has_trait(ABI_I386, 1, TRAIT_NO_RETURN),
		   syscall_has_trait(ABI_ARM64, 93, TRAIT_NO_RETURN),
		   syscall_has_trait(ABI_X86_64, 0, TRAIT_MOVES_DATA),
		   !syscall_has_trait(ABI_I386, 0, TRAIT_MOVES_DATA),
		   syscall_has_trait(ABI_X86_64, 0, TRAIT_FILE | TRAIT_IO),
		   !syscall_has_trait(ABI_X86_64, 0, TRAIT_FILE),
		   !syscall_has_trait(ABI_X86_64, 0, 0), !syscall_has_trait(ABI_X86_64, -1, ~0U),
		   !syscall_has_trait(ABI_X86_64, INT_MAX, ~0U),
		   !syscall_has_trait(NR_SYSCALL_ABI, 0, ~0U));
}

/* --- errnos -------------------------------------------------------------------------------------- */

/* Errnos have the names of the C library; two are free since Linux gave them up, being aliases now. */
TEST(test_errno_names)
{
	static const struct text_number known[] = {
		{ "EAGAIN", EAGAIN },
		{ "EDEADLK", EDEADLK },
		{ "EOPNOTSUPP", EOPNOTSUPP },
		{ "EHWPOISON", EHWPOISON },
		{ "EFTYPE", 134 },
		{ "ERESTARTSYS", 512 },
		{ "ERESTARTNOINTR", 513 },
		{ "ERESTARTNOHAND", 514 },
		{ "ENOIOCTLCMD", 515 },
		{ "ERESTART_RESTARTBLOCK", 516 },
		{ "EPROBE_DEFER", 517 },
		{ "ENOTSUPP", 524 },
		{ "ENOGRACE", 531 },
	};
	static const int unknown[] = { 0, -1, 400, 511, 520, 532, 4095, 4096, INT_MAX, INT_MIN };
	char buf[ERRNO_LABEL_MAX];

	for (int err = 1; err < 134; err++) {
		if (err == 41 || err == 58)
			assert_null(errno_name(err));
		else
			assert_string_equal(errno_name(err), strerrorname_np(err));
	}
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		assert_string_equal(errno_name((int)known[i].number), known[i].text);
	for (size_t i = 0; i < ARRAY_SIZE(unknown); i++)
		assert_null(errno_name(unknown[i]));
	errno_label(ENOENT, buf, sizeof(buf));
	assert_string_equal(buf, "ENOENT");
	errno_label(516, buf, sizeof(buf));
	assert_string_equal(buf, "ERESTART_RESTARTBLOCK");
	errno_label(123456, buf, sizeof(buf));
	assert_string_equal(buf, "errno_123456");
	errno_label(INT_MIN, buf, sizeof(buf));
	assert_string_equal(buf, "errno_-2147483648");
}

/* --- lists --------------------------------------------------------------------------------------- */

/* Some calls with different classes; a test names the ones it expects by their letters. */
static const struct {
	char letter;
	enum syscall_abi abi;
	int nr;
} probes[] = {
	{ 'r', ABI_X86_64, 0 },     /* read */
	{ 'w', ABI_X86_64, 1 },     /* write */
	{ 'o', ABI_X86_64, 257 },   /* openat */
	{ 's', ABI_X86_64, 41 },    /* socket */
	{ 'p', ABI_X86_64, 39 },    /* getpid */
	{ 'R', ABI_I386, 3 },       /* read */
	{ 'E', ABI_I386, 1 },       /* exit */
	{ 'A', ABI_ARM64, 63 },     /* read */
	{ 'f', ABI_ARM, 0x0f0002 }, /* cacheflush */
	{ 'x', ABI_X86_64, 1000 },  /* without a name */
	{ 'y', ABI_X86_64, -1 },
};

static void matches(const struct syscall_set *set, char *buf)
{
	for (size_t i = 0; i < ARRAY_SIZE(probes); i++) {
		if (syscall_set_has(set, probes[i].abi, probes[i].nr))
			*buf++ = probes[i].letter;
	}
	*buf = '\0';
}

/* The outcome of some lists, which all of them have. */
struct outcome {
	const char *expected, *lists[8];
};

static const struct outcome lists[] = {
	{ "rRA", { "read", "read,read", "read,!read,read" } },
	{ "rwRA", { "read,write", "read write", "read, write", " read ,\twrite " } },
	{ "", { "waitpid", "!all", "read,!read" } },
	{ "f", { "cacheflush", "983042" } },
	{ "o", { "open", "open*", "/^open/", "/^open", "?open,?nosuch", "=openat", "o[op]en?t" } },
	{ "", { "=open", "?nosuch", "?no*such", "none", "?=nosuch" } },
	{ "rRA", { "r?ad", "/^read$/", "none,read" } },
	{ "rwpREAfxy", { "!/socket/,open" } },
	{ "rwospREAfxy", { "all" } },
	{ "ospEfxy", { "!read,write", "!read,!write", "! read, write", "!%io" } },
	{ "o", { "%file" } },
	{ "rwosRA", { "%desc" } },
	{ "wos", { "%desc,!read", "%desc !read" } },
	{ "rwRA", { "%desc,!%network,!%file" } },
	{ "rosRA", { "%desc,!%io,read" } },
	{ "pEfxy", { "all,!%desc" } },
	{ "wpEfxy", { "all,!%desc,write" } },
	{ "E", { "%process" } },
	{ "r", { "0", "syscall_0x0" } },
	{ "wE", { "1", "0x1", "0001" } },
	{ "w", { "1,!exit" } },
	{ "x", { "1000", "syscall_0x3e8" } },
	{ "y", { "syscall_0xffffffff", "4294967295" } },
	{ "rwospREAfy", { "!syscall_0x3e8" } },
};

TEST(test_lists)
{
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		for (const char *const *list = lists[i].lists; *list; list++) {
			__cleanup(syscall_set_freep) struct syscall_set *set = NULL;
			char buf[ARRAY_SIZE(probes) + 1];

			if (syscall_set_parse(*list, &set, &d))
				fail_msg("\"%s\": %s", *list, d.text);
			matches(set, buf);
			if (strcmp(buf, lists[i].expected))
				fail_msg("\"%s\" has %s, not %s", *list, buf, lists[i].expected);
		}
	}
}

/* A user can give to -t what a report prints for any call. */
TEST(test_printed_names_parse)
{
	for (size_t i = 0; i < ARRAY_SIZE(probes); i++) {
		__cleanup(syscall_set_freep) struct syscall_set *set = NULL;
		char name[SYSCALL_NAME_MAX];

		syscall_name(probes[i].abi, probes[i].nr, name, sizeof(name));
		assert_int_equal(syscall_set_parse(name, &set, NULL), 0);
		assert_true(syscall_set_has(set, probes[i].abi, probes[i].nr));
	}
}

static const struct outcome bad_lists[] = {
	{ "no system call or class named \"opnat\"; did you mean \"openat\"?", { "opnat" } },
	{ "no system call or class named \"wriet\"; did you mean \"write\"?", { "read,wriet" } },
	{ "no system call or class named \"raed\"; did you mean \"read\"?",
	  { "!raed", "read,!raed" } },
	{ "no system call or class named \"xyzzy\"", { "xyzzy" } },
	{ "no system call named \"file\"; did you mean the class \"%file\"?", { "file" } },
	{ "no class named \"fil\"; did you mean \"%file\"?", { "%fil", "%%fil" } },
	{ "no system call matches \"nosuch*\"", { "nosuch*", "read,!nosuch*" } },
	{ "no class named \"xyzzy\"; the classes are %file %desc %network %memory %process "
	  "%signal %ipc %io %creds %clock %stat %lstat %fstat %statfs %fstatfs",
	  { "%xyzzy" } },
	{ "needs a list of system calls, such as read,write",
	  { "", " ", ",", ",,,,,,", "!", "! ", "!," } },
	{ "a \"!\" needs a system call right after it",
	  { "!!", "! !read", "!!read", "read,!!write", "read,!", "read,! write" } },
	{ "a comma needs a system call on both sides",
	  { "read,", ",read", "read,,write", "read, ,write" } },
};

TEST(test_messages)
{
	for (size_t i = 0; i < ARRAY_SIZE(bad_lists); i++) {
		for (const char *const *list = bad_lists[i].lists; *list; list++) {
			struct syscall_set *set = (void *)1;

			d = (struct diag){ .text = "" };
			assert_int_equal(syscall_set_parse(*list, &set, &d), -EINVAL);
			assert_ptr_equal(set, (void *)1);
			assert_int_equal(d.kind, DIAG_USAGE);
			assert_string_equal(d.text, bad_lists[i].expected);
		}
	}
}

static void assert_refused(const char *list)
{
	struct syscall_set *set = NULL;

	d = (struct diag){ .text = "" };
	if (syscall_set_parse(list, &set, &d) != -EINVAL)
		fail_msg("\"%s\" was accepted", list);
	assert_null(set);
	assert_int_equal(d.kind, DIAG_USAGE);
	assert_true(strlen(d.text) > 4 && d.text[0] != '-');
	assert_int_equal(syscall_set_parse(list, &set, NULL), -EINVAL);
}

TEST(test_refused_lists)
{
	static const char words[] =
		"% !% %file%desc = ? / =nosuch nosuch* /zzz/ /( ?/( /a{2}/ /\\1/ !!read "
		"read;write -1 +1 1x 0x syscall_0x syscall_0x-1 0x1g "
		"4294967296 0x100000000 syscall_0x100000000 99999999999999999999999999 "
		"99999999999999999999999999999999999999999999 r\xc3\xa9\x61\x64 \xff\xfe "
		"\x01\x1b[2J \xe2\x80\xa6";
	char word[MAX_WORD];

	for (const char *at = words; word_read(&at, word);)
		assert_refused(word);
	assert_refused("read\v");
}

/* Name lengths around the limit, and far beyond any buffer. */
TEST(test_long_terms)
{
	static const size_t lengths[] = { SYSCALL_NAME_MAX - 2,
					  SYSCALL_NAME_MAX - 1,
					  SYSCALL_NAME_MAX,
					  SYSCALL_NAME_MAX + 1,
					  511,
					  512,
					  100000 };

	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		__cleanup(freep) char *list = calloc(1, lengths[i] + 1);
		struct syscall_set *set = NULL;

		memset(list, 'a', lengths[i]);
		assert_int_equal(syscall_set_parse(list, &set, &d), -EINVAL);
		list[0] = '%';
		assert_int_equal(syscall_set_parse(list, &set, &d), -EINVAL);
		memset(list, '!', lengths[i]);
		assert_int_equal(syscall_set_parse(list, &set, &d), -EINVAL);
		memset(list, ',', lengths[i]);
		assert_int_equal(syscall_set_parse(list, &set, &d), -EINVAL);
		assert_null(set);
	}
}

TEST(test_many_terms)
{
	enum { TERMS = 20000 };
	__cleanup(freep) char *list = malloc(TERMS * strlen("read,") + strlen("write") + 1);
	__cleanup(syscall_set_freep) struct syscall_set *set = NULL;
	char buf[ARRAY_SIZE(probes) + 1];

	for (size_t i = 0; i < TERMS; i++)
		memcpy(list + i * strlen("read,"), "read,", strlen("read,"));
	strcpy(list + TERMS * strlen("read,"), "write");
	assert_int_equal(syscall_set_parse(list, &set, NULL), 0);
	matches(set, buf);
	assert_string_equal(buf, "rwRA");
}

TEST(test_many_patterns_are_refused)
{
	char list[34 * 3 + 1] = "";

	for (size_t i = 0; i < 33; i++)
		strcat(list, i ? ",r*" : "r*");
	assert_refused(list);
}

/* A name of the C library says what it stands for, unless that is just itself. */
TEST(test_names_explain_themselves)
{
	static const struct {
		const char *list, *text;
	} cases[] = {
		{ "read,open", "open means open, openat, openat2" },
		{ "waitpid", "waitpid means wait4, waitid" },
		{ "stat", "stat means stat, newfstatat, statx" },
		{ "fork,read,stat",
		  "fork means clone, fork, vfork, clone3; stat means stat, newfstatat, statx" },
		{ "=open,read,%file,open*", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		__cleanup(syscall_set_freep) struct syscall_set *set = NULL;
		char buf[256];

		assert_int_equal(syscall_set_parse(cases[i].list, &set, &d), 0);
		assert_int_equal(syscall_set_explain(set, ABI_X86_64, buf, sizeof(buf)),
				 cases[i].text != NULL);
		if (cases[i].text)
			assert_string_equal(buf, cases[i].text);
	}
	assert_false(syscall_set_explain(NULL, ABI_X86_64, (char[8]){ 0 }, 8));
}

/* Each call that a function stands for exists in some ABI, and each function means something. */
TEST(test_families_have_calls)
{
	const char *name;

	for (size_t i = 0; (name = family_name(i)); i++) {
		const char *at = family_of(name);
		char call[MAX_WORD];

		while (word_read(&at, call)) {
			if (!syscall_exists(call))
				fail_msg("%s: no call %s", name, call);
		}
	}
}

TEST(test_no_set_has_all)
{
	struct syscall_set *none = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(probes); i++)
		assert_true(syscall_set_has(NULL, probes[i].abi, probes[i].nr));
	assert_true(syscall_set_has(NULL, NR_SYSCALL_ABI, 0));
	syscall_set_free(NULL);
	syscall_set_freep(&none);
}
