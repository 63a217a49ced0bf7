/* SPDX-License-Identifier: BSD-2-Clause */
/* The history gives back what it was given: whole, in steps and over restarts. */
#include "history_fixture.h"

#include "store/history_private.h"
#include "store/sum.h"

/* Names and users come back by the ids in the snapshot; nobody's rows have no process. */
HISTORY_TEST(test_names, 2)
{
	__cleanup(snapshot_freep) struct snapshot *interval = host_pass(&host, MINUTE, 100);
	const struct snapshot *sum;
	size_t nobody = 0;

	append_must(history, interval);
	ask_must(history, 0, 0, 0, timeline);
	sum = timeline->steps[0].sum;
	assert_int_equal(sum->nr_processes, 3);
	for (size_t i = 0; i < sum->nr_processes; i++) {
		const struct process *process = &sum->processes[i];

		assert_int_equal(process->pid, 0);
		assert_true(process->boot_ns > FOLDED_FIRST);
		assert_int_equal(process->nr_folded, 1);
		assert_string_equal(snapshot_user(sum, process), "www");
		assert_string_equal(snapshot_cgroup(sum, process->cgroup_id),
				    "/system.slice/web.service");
	}
	for (size_t i = 0; i < sum->nr_rows; i++) {
		const struct row *row = sum->rows[i];
		bool has_process = snapshot_find_process(sum, row->pid, row->boot_ns);

		nobody += row->boot_ns == 0;
		assert_int_equal(has_process, row->boot_ns != 0);
		if (i)
			assert_true(row_compare(sum->rows[i - 1], row) < 0);
	}
	assert_true(nobody > 0);
}

/* Bytes that are no text, the kinds that stand for others, calls without a number. */
HISTORY_TEST(test_unusual_kinds, 3)
{
	__cleanup(snapshot_freep) struct snapshot *interval = NULL;
	struct builder *builder = builder_make();
	struct process hostile = { .pid = 9, .boot_ns = 1, .uid = 5 };
	struct process named = { .pid = 10, .boot_ns = 1, .uid = 5, .comm = "[others]" };
	struct process folded = { .boot_ns = FOLDED_FIRST, .uid = 5, .nr_folded = 4 };
	struct process others = process_of_other_kinds();
	struct process twin = hostile;
	size_t with_others = 0;
	int64_t numbers = 0;

	memset(hostile.comm, 0xfe, sizeof(hostile.comm));
	memset(folded.comm, 0xfe, sizeof(folded.comm));
	memset(twin.comm, 0xfe, sizeof(twin.comm));
	twin.pid = 11;
	others.boot_ns = FOLDED_FIRST + 1;
	builder_take_caller(builder, hostile, ROW_NR_OTHER);
	builder_take_caller(builder, named, INT32_MAX);
	builder_take_caller(builder, folded, INT32_MIN);
	builder_take_caller(builder, others, -1);
	/* It made no call, but is of a kind that did. */
	assert_int_equal(builder_add_process(builder, &twin, false), 0);
	interval = host_count(&host, MINUTE, builder);
	append_must(history, interval);
	ask_must(history, 0, 0, 0, timeline);
	assert_has(timeline->steps[0].sum, nr_processes, 3, nr_rows, 4);
	for (size_t i = 0; i < 3; i++) {
		const struct process *process = &timeline->steps[0].sum->processes[i];

		if (process->comm[0] != '[') {
			assert_memory_equal(process->comm, hostile.comm, sizeof(hostile.comm));
			assert_int_equal(process->nr_folded, 6);
		} else {
			with_others += process_same_kind(process, &others);
		}
	}
	assert_int_equal(with_others, 1);
	for (size_t i = 0; i < 4; i++)
		numbers ^= timeline->steps[0].sum->rows[i]->nr;
	assert_int_equal(numbers, ROW_NR_OTHER ^ INT32_MAX ^ (int64_t)INT32_MIN ^ -1);
}

/* Programs choose their names: of too many, the further ones are added up, and no call is lost. */
HISTORY_TEST(test_too_many_kinds, 18)
{
	enum { EACH = 7000, INTERVALS = 3 };
	struct process others = process_of_other_kinds();

	for (int i = 0; i < INTERVALS; i++) {
		const char prefix[] = { (char)('a' + i), 0 };
		__cleanup(snapshot_freep) struct snapshot *interval =
			pass_crowd(&host, prefix, EACH);

		append_must(history, interval);
	}
	ask_must(history, 0, 0, 0, timeline);
	assert_int_equal(timeline_calls(timeline), EACH * INTERVALS);
	assert_int_equal(timeline->steps[0].sum->nr_processes, KINDS_MAX + 1);
	assert_true(process_same_kind(&timeline->steps[0].sum->processes[0], &others));
	/* Nobody may take the others for all that there was of their names. */
	assert_has(timeline->steps[0].sum, losses.count[LOSS_KIND_FOLDED],
		   EACH * INTERVALS - KINDS_MAX);
}

#define ONCE "SELECT count(*) FROM kind WHERE comm = 'once'"
#define KEPT "SELECT count(*) FROM kind WHERE comm GLOB 'kind-?'"

/* The statement is a constant: see db_query(). */
static int64_t number_of(struct history *history, const char *sql)
{
	int64_t number = -1;

	assert_int_equal(db_number(history->db, sql, DB_NO_NUMBERS, &number), 0);
	return number;
}

/* Kinds go some time after all that has them, and not while something has them. */
HISTORY_TEST(test_kinds_retire, 22, .keep_ns = { DAY, DAY, DAY })
{
	__cleanup(snapshot_freep) struct snapshot *first = host_pass(&host, DAY, 10);

	for (size_t i = 0; i < first->nr_processes; i++)
		strcpy(first->processes[i].comm, "once");
	append_must(history, first);
	assert_int_equal(number_of(history, ONCE), 1);
	/* Each is an interval of all levels. */
	for (int i = 0; i < 1200; i++)
		append_some(history, &host, DAY, 2);
	assert_int_equal(number_of(history, ONCE), 0);
	assert_int_equal(number_of(history, KEPT), 3);
	ask_has(history, 0, 0, 0, timeline, steps[0].sum->nr_processes, 3);
}

/* Roll-ups are there, a question takes each moment once, and what is old goes without a loss. */
HISTORY_TEST(test_rollups_and_retention, 5, .keep_ns = { HOUR, 3 * HOUR, 400 * DAY })
{
	struct expected all = expected_make(), last = expected_make();
	struct history_size size;

	host_begin(&host, history);
	for (int i = 0; i < 8 * 60 + 5; i++) {
		__cleanup(snapshot_freep) struct snapshot *interval = host_pass(&host, MINUTE, 5);

		append_must(history, interval);
		expected_add(&all, interval);
		if (i >= 8 * 60 - 10)
			expected_add(&last, interval);
	}
	assert_int_equal(history_size(history, &size), 0);
	assert_in_range(size.intervals[0], 60, 80);
	assert_in_range(size.intervals[1], 18, 26);
	assert_int_equal(size.intervals[2], 8);
	assert_has(&size, first_ns, NEW_YEAR, appended, 485);
	ask_has(history, 0, 0, 0, timeline, nr_gaps, 0);
	expected_check(&all, timeline);
	ask_has(history, NEW_YEAR + 8 * HOUR - 10 * MINUTE, 0, MINUTE, timeline, nr_steps, 15);
	for (size_t i = 0; i < timeline->nr_steps; i++)
		assert_int_equal(timeline->steps[i].covered_ns, MINUTE);
	expected_check(&last, timeline);
	/* The first hour is left as a sum only: one step, as those that it covers are not empty. */
	ask_has(history, NEW_YEAR, NEW_YEAR + HOUR, 10 * MINUTE, timeline, nr_steps, 1);
	assert_has(&timeline->steps[0], start_ns, NEW_YEAR, covered_ns, HOUR);
}

HISTORY_TEST(test_retired_is_a_gap, 6, .keep_ns = { 10 * MINUTE, HOUR, 2 * HOUR })
{
	struct history_size size;

	append_minutes(history, &host, 6 * 60, 1);
	assert_int_equal(history_size(history, &size), 0);
	assert_all(size.first_ns >= NEW_YEAR + 2 * HOUR, size.first_ns <= NEW_YEAR + 4 * HOUR);
	ask_has(history, NEW_YEAR, 0, 0, timeline, nr_gaps, 1);
	assert_gap(timeline, 0, NEW_YEAR, size.first_ns, GAP_RETIRED);
}

HISTORY_TEST(test_size_is_bounded, 7, .max_bytes = 1 << 20)
{
	enum { MAX = 1 << 20 };
	struct history_size size;

	append_minutes(history, &host, 24 * 60, 25);
	assert_int_equal(history_size(history, &size), 0);
	/* The log may be as large as it gets between two checkpoints. */
	assert_in_range(size.bytes, MAX / 2, MAX + (2 << 20));
	assert_true(size.first_ns > NEW_YEAR);
	ask_has(history, NEW_YEAR, 0, 0, timeline, nr_gaps, 1, gaps[0].reason, GAP_RETIRED,
		steps[0].covered_ns, host.real_ns - size.first_ns);
}

/* A stop, a crash or a boot leaves a gap, and what was counted before stays. */
PLACE_TEST(test_runs_and_boots)
{
	struct host host = host_make(8);
	struct expected expected = expected_make();
	int64_t stopped[3] = { 0 }, started[3] = { 0 };
	__cleanup(history_closep) struct history *history = NULL;
	__cleanup(timeline_done) struct timeline timeline = { 0 };

	for (int run = 0; run < 3; run++) {
		history_close(history);
		history = open_default(place);
		started[run] = host.real_ns;
		host_begin(&host, history);
		for (int i = 0; i < 25; i++)
			append_expected(history, &host, MINUTE, 5, &expected);
		stopped[run] = host.real_ns;
		host.real_ns += 3 * MINUTE;
		host.mono_ns += 3 * MINUTE;
		if (run == 1) {
			host.mono_ns = 5 * SECOND;
			strcpy(host.boot_id, "boot-2");
		}
	}
	ask_has(history, 0, 0, 10 * MINUTE, &timeline, nr_gaps, 2);
	assert_gap(&timeline, 0, stopped[0], started[1], GAP_NOT_RUNNING);
	assert_gap(&timeline, 1, stopped[1], started[2], GAP_NOT_RUNNING);
	expected_check(&expected, &timeline);
	/* On the clock of the last boot there was no pause; without that boot, there is one. */
	ask_must(history, 0, 0, 0, &timeline);
	assert_int_equal(timeline.steps[0].sum->paused_ns, 0);
	ask_must(history, 0, started[2], 0, &timeline);
	assert_int_equal(timeline.steps[0].sum->paused_ns, 3 * MINUTE);
}

HISTORY_TEST(test_of_one_boot, 9)
{
	const struct history_question question = { .boot_id = "boot-2" };
	struct expected expected = expected_make();

	append_minutes(history, &host, 1, 5);
	strcpy(host.boot_id, "boot-2");
	host.mono_ns = 5 * SECOND;
	append_expected(history, &host, MINUTE, 5, &expected);
	answer_must(history, &question, timeline);
	assert_has(timeline, nr_steps, 1, nr_gaps, 0);
	assert_string_equal(timeline->steps[0].sum->host, "web-1");
	assert_string_equal(timeline->steps[0].sum->boot_id, "boot-2");
	assert_string_equal(timeline->steps[0].sum->kernel, "6.1.0-test");
	assert_true(timeline->steps[0].sum->has_runq);
	expected_check(&expected, timeline);
}

/* A clock that is set loses nothing and makes nothing negative. */
HISTORY_TEST(test_clock_steps, 10)
{
	static const int64_t jumps[] = { DAY, -DAY, -DAY, DAY };
	struct expected all = expected_make(), steps = expected_make();

	host_begin(&host, history);
	for (size_t i = 0; i < 4 * 45; i++) {
		__cleanup(snapshot_freep) struct snapshot *interval = host_pass(&host, MINUTE, 5);

		/* It was set in the middle of the last one of these. */
		if (i % 45 == 44) {
			host.real_ns += jumps[i / 45];
			interval->end_ns = host.real_ns;
		}
		append_must(history, interval);
		expected_add(&all, interval);
		expected_add(&steps, interval);
	}
	ask_has(history, 0, 0, 0, timeline, nr_gaps, 0);
	expected_check(&all, timeline);
	ask_must(history, 0, 0, 7 * MINUTE, timeline);
	for (size_t i = 0; i < timeline->nr_steps; i++)
		assert_true(timeline->steps[i].start_ns < timeline->steps[i].end_ns);
	expected_check(&steps, timeline);
}

/* An interval is as long as it was, whichever way its clock was set meanwhile. */
PLACE_TEST(test_clock_set_inside)
{
	static const int64_t jumps[] = { DAY, -DAY };

	for (size_t i = 0; i < ARRAY_SIZE(jumps); i++) {
		__cleanup(history_closep) struct history *history = NULL;
		struct host host = host_make(19);
		__cleanup(snapshot_freep) struct snapshot *interval = NULL;
		__cleanup(timeline_done) struct timeline timeline = { 0 };

		place_empty(place);
		history = open_default(place);
		append_minutes(history, &host, 1, 5);
		interval = host_pass(&host, MINUTE, 5);
		interval->end_ns += jumps[i];
		append_must(history, interval);
		ask_has(history, 0, 0, 0, &timeline, nr_steps, 1);
		assert_has(&timeline.steps[0], start_ns,
			   jumps[i] < 0 ? NEW_YEAR + MINUTE - DAY : NEW_YEAR, end_ns,
			   jumps[i] < 0 ? NEW_YEAR + MINUTE : NEW_YEAR + 2 * MINUTE + DAY,
			   covered_ns, 2 * MINUTE);
	}
}

/* A clock that goes wrong makes nothing old, nor keeps it young. */
static void check_clock_and_retention(const struct place *place, int64_t jump)
{
	const struct history_options options = { .keep_ns = { 10 * MINUTE, HOUR, DAY } };
	__cleanup(history_closep) struct history *history = open_with(place, &options);
	struct host host = host_make(17);
	struct expected all = expected_make();
	struct history_size size;
	__cleanup(timeline_done) struct timeline timeline = { 0 };

	host_begin(&host, history);
	for (int i = 0; i < 5 * 60; i++) {
		append_expected(history, &host, MINUTE, 2, &all);
		if (i == 2 * 60)
			host.real_ns += jump;
	}
	assert_int_equal(history_size(history, &size), 0);
	assert_in_range(size.intervals[0], 10, 22);
	assert_in_range(size.intervals[1], 6, 14);
	ask_has(history, 0, 0, 0, &timeline, nr_gaps, 0);
	expected_check(&all, &timeline);
}

PLACE_TEST(test_clock_and_retention)
{
	check_clock_and_retention(place, 30 * DAY);
	place_empty(place);
	check_clock_and_retention(place, -30 * DAY);
}

/* Intervals that alone fill what they were rolled up into are as old as others. */
HISTORY_TEST(test_lone_intervals_retire, 20, .keep_ns = { HOUR, 3 * HOUR, 400 * DAY })
{
	struct history_size size;

	host_begin(&host, history);
	for (int i = 0; i < 8 * 6; i++)
		append_some(history, &host, 10 * MINUTE, 1);
	assert_int_equal(history_size(history, &size), 0);
	assert_in_range(size.intervals[0], 6, 9);
	assert_in_range(size.intervals[1], 18, 26);
}

/* The sum of two intervals does not know what one of them does not. */
HISTORY_TEST(test_unknown_runq, 21)
{
	for (int i = 0; i < 3; i++) {
		__cleanup(snapshot_freep) struct snapshot *interval = host_pass(&host, MINUTE, 5);

		interval->has_runq = i != 1;
		append_must(history, interval);
	}
	ask_has(history, 0, 0, 0, timeline, nr_steps, 1);
	assert_false(timeline->steps[0].sum->has_runq);
}

HISTORY_TEST(test_hole_in_a_run, 11)
{
	host_begin(&host, history);
	for (int i = 0; i < 30; i++) {
		__cleanup(snapshot_freep) struct snapshot *interval = host_pass(&host, MINUTE, 5);

		if (i < 10 || i > 12)
			append_must(history, interval);
		/* An interval that overlaps would count something twice. */
		if (i == 20)
			assert_int_equal(history_append(history, interval, &d), -EINVAL);
	}
	ask_has(history, 0, 0, 0, timeline, nr_gaps, 1);
	assert_gap(timeline, 0, NEW_YEAR + 10 * MINUTE, NEW_YEAR + 13 * MINUTE, GAP_NOT_WRITTEN);
	assert_int_equal(timeline->steps[0].covered_ns, 27 * MINUTE);
	assert_has(timeline->steps[0].sum, elapsed_ns, 27 * MINUTE, paused_ns, 3 * MINUTE);
}

HISTORY_TEST(test_filter, 12)
{
	const struct target_selector name = { SELECT_COMM, "kind-2" };
	const pid_t pid = 2;
	struct history_question question = { .filter = { .selectors = &name, .nr_selectors = 1 } };
	__cleanup(snapshot_freep) struct snapshot *interval = host_pass(&host, MINUTE, 50);
	uint64_t calls = 0;

	for (size_t i = 0; i < interval->nr_rows; i++)
		calls += interval->rows[i]->pid == 2 ? interval->rows[i]->calls : 0;
	append_must(history, interval);
	answer_must(history, &question, timeline);
	assert_int_equal(timeline->steps[0].sum->nr_processes, 1);
	assert_string_equal(timeline->steps[0].sum->processes[0].comm, "kind-2");
	assert_int_equal(timeline_calls(timeline), calls);
	question.filter.pids = &pid;
	question.filter.nr_pids = 1;
	must_fail(history_ask(history, &question, timeline, &d), -EINVAL, "not pids");
}

HISTORY_TEST(test_questions_without_answer, 13)
{
	struct history_question question = { .step_ns = 1 };
	__cleanup(snapshot_freep) struct snapshot *interval = host_pass(&host, MINUTE, 5);

	ask_has(history, 0, 0, MINUTE, timeline, nr_steps, 0);
	append_must(history, interval);
	must_fail(history_ask(history, &question, timeline, &d), -E2BIG, "10000");
	question.step_ns = INT64_MAX;
	must_fail(history_ask(history, &question, timeline, &d), -EINVAL, "too long");
	question.step_ns = 50 * 365 * DAY;
	answer_must(history, &question, timeline);
	assert_int_equal(timeline->nr_steps, 1);
	ask_has(history, NEW_YEAR + DAY, NEW_YEAR + 2 * DAY, 0, timeline, nr_steps, 1);
	assert_null(timeline->steps[0].sum);
	assert_has(&timeline->steps[0], start_ns, NEW_YEAR + DAY, end_ns, NEW_YEAR + 2 * DAY);
}
