/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The snapshots that the tests of all reports render. Calls are chosen so that their numbers have
 * the same order on every native ABI: then the text reports are the same on every machine.
 */
#pragma once

#include "fixture.h"

#define USEC 1000ULL
#define MSEC 1000000ULL
#define SEC  1000000000ULL

/* The ABI whose rows reports do not mark. */
#if defined(__aarch64__)
#define ABI_OF_TESTS ABI_ARM64
#else
#define ABI_OF_TESTS ABI_X86_64
#endif

/* An error by its name, or its number. */
static inline int errno_read(const char *name)
{
	int err = 1;

	while (err < 134 && (!errno_name(err) || strcmp(errno_name(err), name)))
		err++;
	return err < 134 ? err : atoi(name);
}

/*
 * Takes rows NAME:COUNTxWALL[/OFF[/RUNQ]] of a process, or #NUMBER: for a call without a name. A
 * time is 700, 3u or 2m: ns, us or ms. Behind that stand !ERRORS, of ENOENT, or !ERRNO*ERRORS,
 * ~INTERRUPTED and =BYTES.
 */
static inline void calls_read(struct builder *builder, uint32_t pid, enum syscall_abi abi,
			      const char *text)
{
	char word[MAX_WORD], name[MAX_WORD];

	while (word_read(&text, word)) {
		uint64_t numbers[4] = { 0 }; /* count, wall, off, runq */
		char *at = word + strcspn(word, ":");
		struct row row;

		for (size_t i = 0; i < 4 && *at && strchr(":x/", *at); i++) {
			*at = '\0';
			numbers[i] = strtoull(at + 1, &at, 10);
			if (*at == 'u' || *at == 'm')
				numbers[i] *= *at++ == 'u' ? USEC : MSEC;
		}
		if (*word == '#')
			row_init_for(&row, pid, abi, strtoll(word + 1, NULL, 0));
		else
			row_init_named(&row, pid, abi, word);
		row_add_calls(&row, numbers[0], numbers[1], numbers[2], numbers[3]);
		for (int n; *at == '!' && sscanf(at, "!%63[A-Z0-9]%n", name, &n) == 1;) {
			const bool named = at[n] == '*';

			row_add_errors(&row, named ? errno_read(name) : ENOENT,
				       strtoull(at + (named ? n : 0) + 1, &at, 10));
		}
		if (*at == '~')
			row.interrupted = strtoull(at + 1, &at, 10);
		if (*at == '=')
			row.result_sum = strtoull(at + 1, &at, 10);
		assert_int_equal(*at, '\0');
		builder_take_row(builder, &row);
	}
}

static inline struct builder *scenario_two_processes(void)
{
	struct builder *builder = builder_make();

	builder_take_process(builder, 1234, "worker", 6, 1250 * MSEC);
	builder_take_process(builder, 5678, "nginx", 5, 750 * MSEC);
	return builder;
}

/* Two processes: errors, blank where there are none; less and more than a second; no_return. */
static inline struct snapshot *scenario_ordinary(enum syscall_abi abi)
{
	struct builder *builder = scenario_two_processes();
	struct snapshot *snapshot;
	struct row row;

	calls_read(
		builder, 1234, abi,
		"read:988x1500u/500u/100u!EAGAIN*9!EINTR*3=4046848 read:12x2u write:1x999999=512 "
		"io_uring_enter:3x250m/249m/3m!4000*1!ETIMEDOUT*1~1");
	calls_read(builder, 5678, abi,
		   "read:24x12m/2m/1m!EAGAIN*1=98304 fstat:1x1000m getrandom:100000x80=1600000");
	row_init_named(&row, 5678, abi, "exit_group");
	row.calls = row.no_return = 1;
	builder_take_row(builder, &row);
	snapshot = snapshot_take(builder);
	snapshot->targets[0] = snapshot->processes[0];
	snapshot->nr_targets = 1;
	return snapshot;
}

/* Five errors, of which two have no errno, and no loss that tells of them. */
static inline struct snapshot *scenario_errors_unnamed(void)
{
	struct builder *builder = builder_make();
	struct row row;

	row_init_calls(&row, 1, ABI_OF_TESTS, "read", 10, 100, 0, 0);
	row_add_errors(&row, ENOENT, 3);
	row.errors += 2;
	builder_take_row(builder, &row);
	return snapshot_take(builder);
}

/* Makes a snapshot without even a process. */
static inline struct snapshot *scenario_empty(enum syscall_abi abi)
{
	(void)abi;
	return snapshot_take(builder_make());
}

/* Names that do not fit, next to one that does. */
static inline struct snapshot *scenario_long_names(enum syscall_abi abi)
{
	struct builder *builder = scenario_two_processes();

	calls_read(builder, 1234, abi,
		   "read:10x100m landlock_create_ruleset:11x100m!EPERM*1 "
		   "landlock_restrict_self:12x100m!EPERM*2");
	return snapshot_take(builder);
}

/* Makes calls under each ABI but the machine's own; the longest label has exactly 19 characters. */
static inline struct snapshot *scenario_foreign(enum syscall_abi abi)
{
	struct builder *builder = scenario_two_processes();

	(void)abi;
	calls_read(builder, 5678, ABI_I386, "read:1x7m/5m=100 rt_sigprocmask:2x7m/5m=100");
	calls_read(builder, 5678, ABI_X32, "read:3x7m/5m=100");
	calls_read(builder, 5678, ABI_ARM, "read:4x7m/5m=100");
	return snapshot_take(builder);
}

/* The same call natively and not; the longest label has one character too many. */
static inline struct snapshot *scenario_mixed(enum syscall_abi abi)
{
	struct builder *builder = scenario_two_processes();

	calls_read(builder, 1234, abi, "read:5x2m");
	calls_read(builder, 1234, ABI_ARM, "read:7x3m!EBADF*2 arm_fadvise64_64:1x1m");
	return snapshot_take(builder);
}

/* Numbers that have no name. */
static inline struct snapshot *scenario_unknown(enum syscall_abi abi)
{
	struct builder *builder = scenario_two_processes();

	calls_read(builder, 1234, abi, "#-1:2x200!ENOSYS*2 #1000:3x300!ENOSYS*3");
	calls_read(builder, 5678, ABI_ARM, "#0x0f0000:1x400!ENOSYS*1");
	return snapshot_take(builder);
}

/* Calls that found no room: a known number, and two rows of lost numbers. */
static inline struct snapshot *scenario_overflow(enum syscall_abi abi)
{
	struct builder *builder = scenario_two_processes();
	struct snapshot *snapshot;
	struct row row;

	builder_take_calls(builder, 1234, abi, "read", 10, 4 * MSEC, 0, 0);
	row_init_named(&row, 0, abi, "read");
	row.calls = row.untimed = 90;
	row.errors = 4;
	row.interrupted = 2;
	builder_take_row(builder, &row);
	row_init_for(&row, 0, abi, ROW_NR_OTHER);
	row.calls = row.untimed = 33;
	row.errors = 33;
	builder_take_row(builder, &row);
	row_init_for(&row, 0, ABI_ARM, ROW_NR_OTHER);
	row.calls = row.untimed = 1;
	builder_take_row(builder, &row);
	snapshot = snapshot_take(builder);
	snapshot->losses.count[LOSS_TASK_TABLE_FULL] = 124;
	return snapshot;
}

/* Every loss, each with a number of its own. */
static inline struct snapshot *scenario_losses(enum syscall_abi abi)
{
	struct snapshot *snapshot = scenario_ordinary(abi);

	for (int i = 0; i < NR_MODEL_LOSS; i++)
		snapshot->losses.count[i] = 101 + (uint64_t)i;
	return snapshot;
}

/* Calls that run: one, several, of two processes, some begun early, one that has rows as well. */
static inline struct snapshot *scenario_in_flight(enum syscall_abi abi)
{
	const uint64_t now = 1000 * SEC; /* end_mono_ns of snapshot_make() */
	struct builder *builder = scenario_two_processes();

	builder_take_calls(builder, 1234, abi, "read", 10, 4 * MSEC, 0, 0);
	builder_take_in_flight(builder, 1234, abi, "read", 1, 0, now - 850);
	builder_take_in_flight(builder, 1234, abi, "write", 2, 0, now - 12345);
	builder_take_in_flight(builder, 5678, abi, "write", 1, 0, now - 12300);
	builder_take_in_flight(builder, 5678, abi, "fstat", 1, 1, now - 4560 * USEC);
	builder_take_in_flight(builder, 5678, abi, "getrandom", 3, 1, now - 2500 * MSEC);
	builder_take_in_flight(builder, 5678, abi, "landlock_create_ruleset", 1, 1,
			       now - 700 * SEC);
	builder_take_in_flight(builder, 5678, ABI_ARM, "read", 1, 0, now);
	return snapshot_take(builder);
}

/* Nothing but untimed calls in one row, some in the next. */
static inline struct snapshot *scenario_untimed(enum syscall_abi abi)
{
	struct builder *builder = scenario_two_processes();
	struct row row;

	row_init_named(&row, 1234, abi, "read");
	row.calls = row.untimed = 3;
	row.denied = 2;
	row_add_errors(&row, EPERM, 2);
	builder_take_row(builder, &row);
	row_init_calls(&row, 1234, abi, "write", 1, 0, 0, 0);
	row.calls++;
	row.untimed = 1;
	builder_take_row(builder, &row);
	return snapshot_take(builder);
}

/* A kernel without run-queue times. */
static inline struct snapshot *scenario_no_runq(enum syscall_abi abi)
{
	struct snapshot *snapshot = scenario_ordinary(abi);

	snapshot->has_runq = false;
	for (size_t i = 0; i < snapshot->nr_rows; i++)
		snapshot->rows[i]->runq_ns = 0;
	return snapshot;
}

/* Makes numbers beyond 32 bits, beyond the columns, and on both sides of 99999 seconds. */
static inline struct snapshot *scenario_big(enum syscall_abi abi)
{
	struct builder *builder = builder_make();
	struct snapshot *snapshot;

	builder_take_process(builder, 4194304, "big", 3, 123456789 * SEC);
	calls_read(builder, 4194304, abi,
		   "read:5000000000x4m/3m/1m!EAGAIN*4999999999=4611686018427387904 "
		   "write:1x99999999m fstat:9999999x10m fstat:1x100000m!EIO*9999999");
	snapshot = snapshot_take(builder);
	snapshot->elapsed_ns = 99999 * SEC + 999999999;
	return snapshot;
}

/* Each process has a name that could harm a terminal or a parser. */
struct hostile_name {
	const char *bytes;
	size_t size;
	const char *text; /* as every reader of the report should get it */
};

static inline const struct hostile_name *scenario_hostile_names(size_t *count)
{
	static const struct hostile_name names[] = {
		{ "a\"b\\c'd", 7, "a\"b\\c'd" },
		{ "one\ntwo\r\tx", 10, "one\ntwo\r\tx" },
		{ "\x1b[2J\x07\x08", 6, "\x1b[2J\x07\x08" },
		{ "\xff\xfe!", 3, "\\xff\\xfe!" },
		{ "0123456789abcdef", 16, "0123456789abcdef" },
		{ "0123456789abcd\xe2\x82", 16, "0123456789abcd\\xe2\\x82" },
		{ "0123456789abc\xe2\x82\xac", 16, "0123456789abc\xe2\x82\xac" },
		{ "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 16,
		  "\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff"
		  "\\xff" },
		{ "visible\0hidden", 14, "visible" },
		{ "", 0, "" },
		{ "</script>", 9, "</script>" },
		{ "\xef\xbf\xbf\xef\xb7\x90\xf4\x8f\xbf\xbf", 10,
		  "\xef\xbf\xbf\xef\xb7\x90\xf4\x8f\xbf\xbf" },
		{ "\xe2\x80\xa8\xe2\x80\xae%s%n", 10, "\xe2\x80\xa8\xe2\x80\xae%s%n" },
		{ "\xc2\x9b"
		  "31m\x7f",
		  6,
		  "\xc2\x9b"
		  "31m\\x7f" },
	};

	*count = ARRAY_SIZE(names);
	return names;
}

static inline struct snapshot *scenario_hostile(enum syscall_abi abi)
{
	struct builder *builder = builder_make();
	struct snapshot *snapshot;
	size_t count;
	const struct hostile_name *names = scenario_hostile_names(&count);

	for (size_t i = 0; i < count; i++) {
		builder_take_process(builder, 100 + (uint32_t)i, names[i].bytes, names[i].size, 0);
		builder_take_calls(builder, 100 + (uint32_t)i, abi, "read", 1, 64, 0, 0);
	}
	snapshot = snapshot_take(builder);
	free(snapshot->targets);
	snapshot->targets = calloc(count, sizeof(*snapshot->targets));
	memcpy(snapshot->targets, snapshot->processes, count * sizeof(*snapshot->targets));
	snapshot->nr_targets = count;
	return snapshot;
}

struct scenario {
	const char *name;
	struct snapshot *(*make)(enum syscall_abi abi);
};

static inline const struct scenario *scenario_at(size_t index)
{
	static const struct scenario scenarios[] = {
		{ "ordinary", scenario_ordinary },     { "empty", scenario_empty },
		{ "long_names", scenario_long_names }, { "foreign", scenario_foreign },
		{ "mixed", scenario_mixed },           { "unknown", scenario_unknown },
		{ "overflow", scenario_overflow },     { "losses", scenario_losses },
		{ "in_flight", scenario_in_flight },   { "untimed", scenario_untimed },
		{ "no_runq", scenario_no_runq },       { "big", scenario_big },
		{ "hostile", scenario_hostile },
	};

	return index < ARRAY_SIZE(scenarios) ? &scenarios[index] : NULL;
}

/* Goes through the scenarios by their index, with a snapshot of each. */
#define scenario_for_each(i, snapshot, abi)                                       \
	for (size_t i = 0; scenario_at(i); i++)                                   \
		for (struct snapshot *once_ = scenario_at(i)->make(abi),          \
				     *snapshot __cleanup(snapshot_freep) = once_; \
		     once_; once_ = NULL)

static inline const struct scenario *scenario_find(const char *name)
{
	size_t i = 0;

	while (scenario_at(i) && strcmp(scenario_at(i)->name, name))
		i++;
	assert_non_null(scenario_at(i));
	return scenario_at(i);
}

/* Compares what report(snapshot, ..., stream) makes of scenarios with the golden files FORM_NAME. */
#define golden_scenarios(form, names, report, ...)                                            \
	do {                                                                                  \
		char name_[MAX_WORD], golden_[2 * MAX_WORD];                                  \
		for (const char *at_ = names; word_read(&at_, name_);) {                      \
			__cleanup(snapshot_freep) struct snapshot *snapshot_ =                \
				scenario_find(name_)->make(ABI_OF_TESTS);                     \
			snprintf(golden_, sizeof(golden_), "%s_%s", form, name_);             \
			golden_render(golden_, report, snapshot_ __VA_OPT__(, ) __VA_ARGS__); \
		}                                                                             \
	} while (0)

/* A report(snapshot, ..., stream) says so when its stream takes nothing. */
#define assert_scenario_full(report, ...)                                  \
	do {                                                               \
		__cleanup(snapshot_freep) struct snapshot *ordinary_ =     \
			scenario_ordinary(ABI_OF_TESTS);                   \
		assert_full(report, ordinary_ __VA_OPT__(, ) __VA_ARGS__); \
	} while (0)
