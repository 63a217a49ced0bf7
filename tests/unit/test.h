/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs the tests of a file: each TEST(name) in it, in the order in which they stand there. */
#pragma once

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "base/diag.h"
#include "base/mem.h"

/* cmocka 2 has assert_in_range() for each signedness, and calls the one of cmocka 1 deprecated. */
#ifdef assert_uint_in_range
#undef assert_in_range
#define assert_in_range(value, least, most) assert_uint_in_range(value, least, most)
#endif

/* Goes through an argument list with a macro that names itself as MACRO_AGAIN does. */
#define EACH_2(...)  EACH_3(EACH_3(EACH_3(EACH_3(__VA_ARGS__))))
#define EACH_3(...)  __VA_ARGS__
#define EACH(...)    EACH_2(EACH_2(EACH_2(EACH_2(__VA_ARGS__))))
#define NO_ARGUMENTS ()

/* Members of a structure have these values: assert_has(&row, calls, 7, errors, 0). */
#define assert_has(at, ...) EACH(HAS_VALUE(at, __VA_ARGS__))
#define HAS_VALUE(at, member, value, ...)                                                   \
	member_check(#at "->" #member, (intmax_t)(at)->member, (intmax_t)(value), __FILE__, \
		     __LINE__) __VA_OPT__(, HAS_VALUE_AGAIN NO_ARGUMENTS(at, __VA_ARGS__))
#define HAS_VALUE_AGAIN() HAS_VALUE

/* Two structures have the same in these members: assert_same(a, b, calls, errors). */
#define assert_same(a, b, ...) EACH(HAS_SAME(a, b, __VA_ARGS__))
#define HAS_SAME(a, b, member, ...)                                                           \
	member_check(#a "->" #member, (intmax_t)(a)->member, (intmax_t)(b)->member, __FILE__, \
		     __LINE__) __VA_OPT__(, HAS_SAME_AGAIN NO_ARGUMENTS(a, b, __VA_ARGS__))
#define HAS_SAME_AGAIN() HAS_SAME

/* All of these hold. */
#define assert_all(...) EACH(ALL_HOLD(__VA_ARGS__))
#define ALL_HOLD(condition, ...)                                    \
	_assert_true(!!(condition), #condition, __FILE__, __LINE__) \
		__VA_OPT__(, ALL_HOLD_AGAIN NO_ARGUMENTS(__VA_ARGS__))
#define ALL_HOLD_AGAIN() ALL_HOLD

static inline void member_check(const char *name, intmax_t value, intmax_t expected,
				const char *file, int line)
{
	if (value != expected)
		fail_msg("%s:%d: %s is %jd, not %jd", file, line, name, value, expected);
}

/* Holds what the code under test has said of a failure, in this test. */
static struct diag d __attribute__((unused));

/* The call must not fail; its words tell why it does. */
#define must(call)                              \
	do {                                    \
		if (call)                       \
			fail_msg("%s", d.text); \
	} while (0)

/* The call must fail, and say this. */
#define must_fail(call, err, sentence)          \
	do {                                    \
		d.text[0] = 0;                  \
		assert_int_equal(call, err);    \
		if (!strstr(d.text, sentence))  \
			fail_msg("%s", d.text); \
	} while (0)

/*
 * Makes up a name for mkdtemp() or mkstemp(): in TMPDIR, which scripts/test removes whatever ends a test,
 * unless no address of a socket could be so long.
 */
#define TEMPORARY_SIZE 96
static inline void temporary_name(char *ret)
{
	static const char pattern[] = "bpftruss-test-XXXXXX";
	const char *place = getenv("TMPDIR");

	if (!place || !*place || strlen(place) + sizeof("/") + sizeof(pattern) > TEMPORARY_SIZE)
		place = "/tmp";
	snprintf(ret, TEMPORARY_SIZE, "%s/%s", place, pattern);
}

static struct {
	struct CMUnitTest list[64];
	size_t count;
} unit_tests;

static void unit_test_add(struct CMUnitTest test)
{
	assert_true(unit_tests.count < ARRAY_SIZE(unit_tests.list));
	unit_tests.list[unit_tests.count++] = test;
}

/* Begins a function that is a test of what set_up() leaves as its state; NULL: nothing to do. */
#define TEST_WITH(name, given, set_up, tear_down)                                              \
	static void name##_run(given);                                                         \
	static void name(void **state)                                                         \
	{                                                                                      \
		d = (struct diag){ .text = "" };                                               \
		name##_run(*state);                                                            \
	}                                                                                      \
	__attribute__((constructor)) static void name##_add(void)                              \
	{                                                                                      \
		unit_test_add((struct CMUnitTest)cmocka_unit_test_setup_teardown(name, set_up, \
										 tear_down));  \
	}                                                                                      \
	static void name##_run(__attribute__((unused)) given)

/* Begins a function that is a test. */
#define TEST(name) TEST_WITH(name, void *unused, NULL, NULL)

/* Begins a test of a `type *given` that begin(given, ...) fills and done(given) ends. */
#define TEST_OF(name, type, given, done, begin, ...)   \
	static void name##_of(type *given);            \
	TEST(name)                                     \
	{                                              \
		type it __cleanup(done);               \
		begin(&it __VA_OPT__(, ) __VA_ARGS__); \
		name##_of(&it);                        \
	}                                              \
	static void name##_of(type *given)

/* Works like TEST_OF(), for a value that is too large for a stack. */
#define LARGE_TEST_OF(name, type, given, done, begin, ...) \
	static void name##_of(type *given);                \
	TEST(name)                                         \
	{                                                  \
		static type it;                            \
		begin(&it __VA_OPT__(, ) __VA_ARGS__);     \
		name##_of(&it);                            \
		done(&it);                                 \
	}                                                  \
	static void name##_of(type *given)

/* splitmix64: the same numbers on every machine. */
static inline uint64_t random_u64(uint64_t *seed)
{
	uint64_t z = *seed += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static inline uint64_t random_below(uint64_t *seed, uint64_t limit)
{
	return random_u64(seed) % limit;
}

/* Evenly many of every magnitude below 2^bits. */
static inline uint64_t random_ns(uint64_t *seed, unsigned int bits)
{
	unsigned int magnitude = (unsigned int)random_below(seed, bits) + 1;

	return random_u64(seed) >> (64 - magnitude);
}

/* Rows of tables of cases: what is given, and what is to come of it. */
struct text_pair {
	const char *given, *expected;
};

struct text_number {
	const char *text;
	int64_t number;
};

#define MAX_WORD 64

/* Takes the next word of a text; false: there is none. */
static inline bool word_read(const char **text, char word[MAX_WORD])
{
	int size;

	if (sscanf(*text, "%63s%n", word, &size) != 1)
		return false;
	*text += size;
	return true;
}

/* The bytes of a text in which \\xff stands for one that is escaped. */
static inline void bytes_unescape(const char *text, char bytes[MAX_WORD])
{
	unsigned int byte;

	for (; *text; text++) {
		*bytes = *text;
		if (sscanf(text, "\\x%2x", &byte) == 1) {
			*bytes = (char)byte;
			text += 3;
		}
		bytes++;
	}
	*bytes = '\0';
}

/* Runs a command that must end well. */
__attribute__((format(printf, 1, 2))) static inline void shell_run(const char *format, ...)
{
	char command[3 * PATH_MAX];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(command, sizeof(command), format, arguments);
	va_end(arguments);
	assert_int_equal(system(command), 0);
}

struct bytes {
	uint8_t *data; /* owned */
	size_t size;
};

static inline void bytes_done(struct bytes *bytes)
{
	free(bytes->data);
}

static inline struct bytes bytes_read(const char *path)
{
	int fd __cleanup(closep) = open(path, O_RDONLY | O_CLOEXEC);
	struct bytes ret;
	struct stat status;

	assert_int_equal(fstat(fd, &status), 0);
	ret.size = (size_t)status.st_size;
	ret.data = malloc(ret.size + 1);
	assert_int_equal(read(fd, ret.data, ret.size + 1), ret.size);
	return ret;
}

/* A text of one character that fills a buffer. */
#define text_fill(buf, c)                      \
	do {                                   \
		memset(buf, c, sizeof(buf));   \
		(buf)[sizeof(buf) - 1] = '\0'; \
	} while (0)

/* Forks, or fails the test; 0 in the other process. */
static inline pid_t fork_must(void)
{
	const pid_t pid = fork();

	assert_true(pid >= 0);
	return pid;
}

/* Waits for a process that ends with status 0. */
static inline void child_must_end(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static inline void child_kill(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* AddressSanitizer keeps the last 16 MiB that were freed, not 256: a fork copies the page tables of all of it. */
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "quarantine_size_mb=16";
}

/* A test defines it that is started as one of its own processes, or has to prepare something. */
__attribute__((weak)) void test_begin(int argc, char **argv);

int main(int argc, char **argv)
{
	/* Golden files have local times. */
	setenv("TZ", "UTC", 1);
	if (test_begin)
		test_begin(argc, argv);
	return _cmocka_run_group_tests("tests", unit_tests.list, unit_tests.count, NULL, NULL);
}
