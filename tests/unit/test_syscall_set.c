/* SPDX-License-Identifier: BSD-2-Clause */
/* Parsing and matching of -t lists, sane and hostile. */
#include "test.h"

#include "syscalls/names.h"
#include "syscalls/syscall_set.h"

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

static const struct text_pair lists[] = {
	{ "read", "rRA" },
	{ "read,write", "rwRA" },
	{ "read write", "rwRA" },
	{ "read, write", "rwRA" },
	{ " read ,\twrite ", "rwRA" },
	{ "read,read", "rRA" },
	{ "waitpid", "" },
	{ "cacheflush", "f" },
	{ "all", "rwospREAfxy" },
	{ "!all", "" },
	{ "!read,write", "ospEfxy" },
	{ "!read,!write", "ospEfxy" },
	{ "! read, write", "ospEfxy" },
	{ "!%io", "ospEfxy" },
	{ "%file", "o" },
	{ "%desc", "rwosRA" },
	{ "%desc,!read", "wos" },
	{ "%desc !read", "wos" },
	{ "%desc,!%network,!%file", "rwRA" },
	{ "%desc,!%io,read", "rosRA" },
	{ "read,!read", "" },
	{ "read,!read,read", "rRA" },
	{ "all,!%desc", "pEfxy" },
	{ "all,!%desc,write", "wpEfxy" },
	{ "%process", "E" },
	{ "0", "r" },
	{ "1", "wE" },
	{ "0x1", "wE" },
	{ "0001", "wE" },
	{ "1,!exit", "w" },
	{ "1000", "x" },
	{ "syscall_0x3e8", "x" },
	{ "syscall_0xffffffff", "y" },
	{ "4294967295", "y" },
	{ "syscall_0x0", "r" },
	{ "983042", "f" },
	{ "!syscall_0x3e8", "rwospREAfy" },
};

TEST(test_lists)
{
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		__cleanup(syscall_set_freep) struct syscall_set *set = NULL;
		char buf[ARRAY_SIZE(probes) + 1];
		struct diag d = { .text = "" };

		if (syscall_set_parse(lists[i].given, &set, &d))
			fail_msg("\"%s\": %s", lists[i].given, d.text);
		matches(set, buf);
		if (strcmp(buf, lists[i].expected))
			fail_msg("\"%s\" has %s, not %s", lists[i].given, buf, lists[i].expected);
	}
}

/* What a report prints for any call, a user can give back to -t. */
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

static const struct text_pair bad_lists[] = {
	{ "opnat", "no system call or class named \"opnat\"; did you mean \"openat\"?" },
	{ "read,wriet", "no system call or class named \"wriet\"; did you mean \"write\"?" },
	{ "!raed", "no system call or class named \"raed\"; did you mean \"read\"?" },
	{ "read,!raed", "no system call or class named \"raed\"; did you mean \"read\"?" },
	{ "xyzzy", "no system call or class named \"xyzzy\"" },
	{ "file", "no system call named \"file\"; did you mean the class \"%file\"?" },
	{ "%fil", "no class named \"fil\"; the classes are %file %desc %network %memory %process "
		  "%signal %ipc %io %creds %clock %stat %lstat %fstat %statfs %fstatfs" },
	{ "", "needs a list of system calls, such as read,write" },
	{ " ", "needs a list of system calls, such as read,write" },
	{ ",", "needs a list of system calls, such as read,write" },
	{ ",,,,,,", "needs a list of system calls, such as read,write" },
	{ "!", "needs a list of system calls, such as read,write" },
	{ "! ", "needs a list of system calls, such as read,write" },
	{ "!,", "needs a list of system calls, such as read,write" },
	{ "!!", "a \"!\" needs a system call right after it" },
	{ "! !read", "a \"!\" needs a system call right after it" },
	{ "!!read", "a \"!\" needs a system call right after it" },
	{ "read,!!write", "a \"!\" needs a system call right after it" },
	{ "read,!", "a \"!\" needs a system call right after it" },
	{ "read,! write", "a \"!\" needs a system call right after it" },
	{ "read,", "a comma needs a system call on both sides" },
	{ ",read", "a comma needs a system call on both sides" },
	{ "read,,write", "a comma needs a system call on both sides" },
	{ "read, ,write", "a comma needs a system call on both sides" },
};

TEST(test_messages)
{
	for (size_t i = 0; i < ARRAY_SIZE(bad_lists); i++) {
		struct syscall_set *set = (void *)1;
		struct diag d = { .text = "" };

		assert_int_equal(syscall_set_parse(bad_lists[i].given, &set, &d), -EINVAL);
		assert_ptr_equal(set, (void *)1);
		assert_int_equal(d.kind, DIAG_USAGE);
		assert_string_equal(d.text, bad_lists[i].expected);
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

TEST(test_refused)
{
	static const char words[] =
		"% !% %%file %file%desc !!read read;write -1 +1 1x 0x syscall_0x syscall_0x-1 0x1g "
		"4294967296 0x100000000 syscall_0x100000000 99999999999999999999999999 "
		"99999999999999999999999999999999999999999999 r\xc3\xa9\x61\x64 \xff\xfe "
		"\x01\x1b[2J \xe2\x80\xa6 *";
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

TEST(test_no_set_has_all)
{
	struct syscall_set *none = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(probes); i++)
		assert_true(syscall_set_has(NULL, probes[i].abi, probes[i].nr));
	assert_true(syscall_set_has(NULL, NR_SYSCALL_ABI, 0));
	syscall_set_free(NULL);
	syscall_set_freep(&none);
}
