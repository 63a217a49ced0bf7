/* SPDX-License-Identifier: BSD-2-Clause */
/* The history gives back what it was given: whole, in steps and over restarts. */
#include "test.h"

#include "history_fixture.h"

#include "store/history_private.h"
#include "store/sum.h"

PLACE_TEST(test_round_trip)
{
	__cleanup(history_closep) struct history *history = open_default(*state);
	struct host host = host_make(1);
	struct expected expected = expected_make();
	__cleanup(snapshot_freep) struct snapshot *interval = NULL;
	struct timeline timeline;

	host_begin(&host, history);
	interval = host_pass(&host, MINUTE, 60);
	append_must(history, interval);
	expected_add(&expected, interval);
	ask_must(history, 0, 0, 0, &timeline);
	assert_int_equal(timeline.nr_steps, 1);
	assert_int_equal(timeline.nr_gaps, 0);
	assert_int_equal(timeline.steps[0].start_ns, NEW_YEAR);
	assert_int_equal(timeline.steps[0].end_ns, NEW_YEAR + MINUTE);
	assert_string_equal(timeline.steps[0].sum->host, "web-1");
	assert_string_equal(timeline.steps[0].sum->boot_id, "boot-1");
	assert_string_equal(timeline.steps[0].sum->kernel, "6.1.0-test");
	assert_true(timeline.steps[0].sum->has_runq);
	expected_check(&expected, &timeline);
	timeline_done(&timeline);
}

/* Names and users come back by the ids in the snapshot; nobody's rows have no process. */
PLACE_TEST(test_names)
{
	__cleanup(history_closep) struct history *history = open_default(*state);
	struct host host = host_make(2);
	__cleanup(snapshot_freep) struct snapshot *interval = host_pass(&host, MINUTE, 100);
	struct timeline timeline;
	const struct snapshot *sum;
	size_t nobody = 0;

	append_must(history, interval);
	ask_must(history, 0, 0, 0, &timeline);
	sum = timeline.steps[0].sum;
	assert_int_equal(sum->nr_processes, 3);
	for (size_t i = 0; i < sum->nr_processes; i++) {
		const struct process *process = &sum->processes[i];

		assert_int_equal(process->pid, 0);
		assert_true(process->boot_ns > FOLDED_FIRST);
		assert_int_equal(process->nr_folded, 1);
		assert_string_equal(snapshot_user(sum, process->uid), "www");
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
	timeline_done(&timeline);
}

static void add_process_with_call(struct builder *builder, struct process process, int64_t nr)
{
	struct row row;

	row_init_for(&row, process.pid, ABI_X86_64, nr);
	row.boot_ns = process.boot_ns;
	row_add_calls(&row, 1, 100, 50, 25);
	builder_take_row(builder, &row);
	assert_int_equal(builder_add_process(builder, &process, false), 0);
}

/* Bytes that are no text, the kinds that stand for others, calls without a number. */
PLACE_TEST(test_unusual_kinds)
{
	__cleanup(history_closep) struct history *history = open_default(*state);
	struct host host = host_make(3);
	__cleanup(snapshot_freep) struct snapshot *interval = NULL;
	struct builder *builder = builder_make();
	struct process hostile = { .pid = 9, .boot_ns = 1, .uid = 5 };
	struct process named = { .pid = 10, .boot_ns = 1, .uid = 5, .comm = "[others]" };
	struct process folded = { .boot_ns = FOLDED_FIRST, .uid = 5, .nr_folded = 4 };
	struct process others = process_of_other_kinds();
	struct process twin = hostile;
	struct timeline timeline;
	size_t with_others = 0;
	int64_t numbers = 0;

	host.real_ns += MINUTE;
	host.mono_ns += MINUTE;
	interval = host_snapshot(&host);
	interval->elapsed_ns = MINUTE;
	memset(hostile.comm, 0xfe, sizeof(hostile.comm));
	memset(folded.comm, 0xfe, sizeof(folded.comm));
	memset(twin.comm, 0xfe, sizeof(twin.comm));
	twin.pid = 11;
	others.boot_ns = FOLDED_FIRST + 1;
	add_process_with_call(builder, hostile, ROW_NR_OTHER);
	add_process_with_call(builder, named, INT32_MAX);
	add_process_with_call(builder, folded, INT32_MIN);
	add_process_with_call(builder, others, -1);
	/* It made no call, but is of a kind that did. */
	assert_int_equal(builder_add_process(builder, &twin, false), 0);
	assert_int_equal(builder_finish(builder, interval), 0);
	builder_free(builder);
	append_must(history, interval);
	ask_must(history, 0, 0, 0, &timeline);
	assert_int_equal(timeline.steps[0].sum->nr_processes, 3);
	assert_int_equal(timeline.steps[0].sum->nr_rows, 4);
	for (size_t i = 0; i < 3; i++) {
		const struct process *process = &timeline.steps[0].sum->processes[i];

		if (process->comm[0] != '[') {
			assert_memory_equal(process->comm, hostile.comm, sizeof(hostile.comm));
			assert_int_equal(process->nr_folded, 6);
		} else {
			with_others += process_same_kind(process, &others);
		}
	}
	assert_int_equal(with_others, 1);
	for (size_t i = 0; i < 4; i++)
		numbers ^= timeline.steps[0].sum->rows[i]->nr;
	assert_int_equal(numbers, ROW_NR_OTHER ^ INT32_MAX ^ (int64_t)INT32_MIN ^ -1);
	timeline_done(&timeline);
}

/* Programs choose their names: of too many, the further ones are added up, and no call is lost. */
PLACE_TEST(test_too_many_kinds)
{
	enum { EACH = 7000, INTERVALS = 3 };
	__cleanup(history_closep) struct history *history = open_default(*state);
	struct host host = host_make(18);
	struct process others = process_of_other_kinds();
	struct timeline timeline;

	for (uint32_t i = 0; i < INTERVALS; i++) {
		__cleanup(snapshot_freep) struct snapshot *interval = NULL;
		struct builder *builder = builder_make();

		host.real_ns += MINUTE;
		host.mono_ns += MINUTE;
		interval = host_snapshot(&host);
		interval->elapsed_ns = MINUTE;
		for (uint32_t pid = 1; pid <= EACH; pid++) {
			struct process process = { .pid = pid, .boot_ns = 1, .uid = 5 };

			snprintf(process.comm, sizeof(process.comm), "%u-%u", i, pid);
			add_process_with_call(builder, process, 0);
		}
		assert_int_equal(builder_finish(builder, interval), 0);
		builder_free(builder);
		append_must(history, interval);
	}
	ask_must(history, 0, 0, 0, &timeline);
	assert_int_equal(timeline_calls(&timeline), EACH * INTERVALS);
	assert_int_equal(timeline.steps[0].sum->nr_processes, KINDS_MAX + 1);
	assert_true(process_same_kind(&timeline.steps[0].sum->processes[0], &others));
	timeline_done(&timeline);
}

static int64_t count_kinds(struct history *history, const char *sql)
{
	int64_t count = -1;

	assert_int_equal(db_number(history->db, sql, DB_NO_NUMBERS, &count), 0);
	return count;
}

/* Kinds go some time after all that has them, and not while something has them. */
PLACE_TEST(test_kinds_retire)
{
	const struct history_options options = { .keep_ns = { DAY, DAY, DAY } };
	__cleanup(history_closep) struct history *history = open_with(*state, &options);
	struct host host = host_make(22);
	__cleanup(snapshot_freep) struct snapshot *first = host_pass(&host, DAY, 10);
	struct timeline timeline;

	for (size_t i = 0; i < first->nr_processes; i++)
		strcpy(first->processes[i].comm, "once");
	append_must(history, first);
	assert_int_equal(count_kinds(history, "SELECT count(*) FROM kind WHERE comm = 'once'"), 1);
	/* Each is an interval of all levels. */
	for (int i = 0; i < 1200; i++) {
		__cleanup(snapshot_freep) struct snapshot *later = host_pass(&host, DAY, 2);

		append_must(history, later);
	}
	assert_int_equal(count_kinds(history, "SELECT count(*) FROM kind WHERE comm = 'once'"), 0);
	assert_int_equal(count_kinds(history, "SELECT count(*) FROM kind WHERE comm GLOB 'kind-?'"),
			 3);
	ask_must(history, 0, 0, 0, &timeline);
	assert_int_equal(timeline.steps[0].sum->nr_processes, 3);
	timeline_done(&timeline);
}

static void merge_all(const struct snapshot *snapshot, struct row *sum)
{
	for (size_t i = 0; i < snapshot->nr_rows; i++)
		assert_int_equal(row_merge(sum, snapshot->rows[i]), 0);
}

PLACE_TEST(test_percentiles)
{
	static const double shares[] = { 0.01, 0.5, 0.9, 0.99, 0.999 };
	__cleanup(history_closep) struct history *history = open_default(*state);
	struct host host = host_make(4);
	struct timeline timeline;
	struct row wanted, got;

	row_init(&wanted);
	row_init(&got);
	for (int i = 0; i < 65; i++) {
		__cleanup(snapshot_freep) struct snapshot *interval = host_pass(&host, MINUTE, 20);

		merge_all(interval, &wanted);
		append_must(history, interval);
	}
	ask_must(history, 0, 0, 0, &timeline);
	merge_all(timeline.steps[0].sum, &got);
	for (size_t i = 0; i < ARRAY_SIZE(shares); i++)
		assert_int_equal(
			hist_quantile_ns(&got.hist, shares[i], got.min_ns, got.max_ns),
			hist_quantile_ns(&wanted.hist, shares[i], wanted.min_ns, wanted.max_ns));
	row_done(&wanted);
	row_done(&got);
	timeline_done(&timeline);
}

/* Roll-ups are there, a question takes each moment once, and what is old goes without a loss. */
PLACE_TEST(test_rollups_and_retention)
{
	const struct history_options options = { .keep_ns = { HOUR, 3 * HOUR, 400 * DAY } };
	__cleanup(history_closep) struct history *history = open_with(*state, &options);
	struct host host = host_make(5);
	struct expected all = expected_make(), last = expected_make();
	struct timeline timeline;
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
	assert_int_equal(size.first_ns, NEW_YEAR);
	assert_int_equal(size.appended, 485);
	ask_must(history, 0, 0, 0, &timeline);
	assert_int_equal(timeline.nr_gaps, 0);
	expected_check(&all, &timeline);
	timeline_done(&timeline);
	ask_must(history, NEW_YEAR + 8 * HOUR - 10 * MINUTE, 0, MINUTE, &timeline);
	assert_int_equal(timeline.nr_steps, 15);
	for (size_t i = 0; i < timeline.nr_steps; i++)
		assert_int_equal(timeline.steps[i].covered_ns, MINUTE);
	expected_check(&last, &timeline);
	timeline_done(&timeline);
	/* Of the first hour only its sum is left: one step, as those that it covers are not empty. */
	ask_must(history, NEW_YEAR, NEW_YEAR + HOUR, 10 * MINUTE, &timeline);
	assert_int_equal(timeline.nr_steps, 1);
	assert_int_equal(timeline.steps[0].start_ns, NEW_YEAR);
	assert_int_equal(timeline.steps[0].covered_ns, HOUR);
	timeline_done(&timeline);
}

PLACE_TEST(test_retired_is_a_gap)
{
	const struct history_options options = { .keep_ns = { 10 * MINUTE, HOUR, 2 * HOUR } };
	__cleanup(history_closep) struct history *history = open_with(*state, &options);
	struct host host = host_make(6);
	struct timeline timeline;
	struct history_size size;

	append_minutes(history, &host, 6 * 60, 1);
	assert_int_equal(history_size(history, &size), 0);
	assert_true(size.first_ns >= NEW_YEAR + 2 * HOUR);
	assert_true(size.first_ns <= NEW_YEAR + 4 * HOUR);
	ask_must(history, NEW_YEAR, 0, 0, &timeline);
	assert_int_equal(timeline.nr_gaps, 1);
	assert_gap(&timeline, 0, NEW_YEAR, size.first_ns, GAP_RETIRED);
	timeline_done(&timeline);
}

PLACE_TEST(test_size_is_bounded)
{
	enum { MAX = 1 << 20 };
	const struct history_options options = { .max_bytes = MAX };
	__cleanup(history_closep) struct history *history = open_with(*state, &options);
	struct host host = host_make(7);
	struct history_size size;
	struct timeline timeline;

	append_minutes(history, &host, 24 * 60, 25);
	assert_int_equal(history_size(history, &size), 0);
	/* The log may be as large as it gets between two checkpoints. */
	assert_in_range(size.bytes, MAX / 2, MAX + (2 << 20));
	assert_true(size.first_ns > NEW_YEAR);
	ask_must(history, NEW_YEAR, 0, 0, &timeline);
	assert_int_equal(timeline.nr_gaps, 1);
	assert_int_equal(timeline.gaps[0].reason, GAP_RETIRED);
	assert_int_equal(timeline.steps[0].covered_ns, host.real_ns - size.first_ns);
	timeline_done(&timeline);
}

/* A stop, a crash or a boot leaves a gap, and what was counted before stays. */
PLACE_TEST(test_runs_and_boots)
{
	struct host host = host_make(8);
	struct expected expected = expected_make();
	int64_t stopped[3] = { 0 }, started[3] = { 0 };
	__cleanup(history_closep) struct history *history = NULL;
	struct timeline timeline;

	for (int run = 0; run < 3; run++) {
		history_close(history);
		history = open_default(*state);
		started[run] = host.real_ns;
		host_begin(&host, history);
		for (int i = 0; i < 25; i++) {
			__cleanup(snapshot_freep) struct snapshot *interval =
				host_pass(&host, MINUTE, 5);

			append_must(history, interval);
			expected_add(&expected, interval);
		}
		stopped[run] = host.real_ns;
		host.real_ns += 3 * MINUTE;
		host.mono_ns += 3 * MINUTE;
		if (run == 1) {
			host.mono_ns = 5 * SECOND;
			strcpy(host.boot_id, "boot-2");
		}
	}
	ask_must(history, 0, 0, 10 * MINUTE, &timeline);
	assert_int_equal(timeline.nr_gaps, 2);
	assert_gap(&timeline, 0, stopped[0], started[1], GAP_NOT_RUNNING);
	assert_gap(&timeline, 1, stopped[1], started[2], GAP_NOT_RUNNING);
	expected_check(&expected, &timeline);
	timeline_done(&timeline);
}

PLACE_TEST(test_of_one_boot)
{
	__cleanup(history_closep) struct history *history = open_default(*state);
	const struct history_question question = { .boot_id = "boot-2" };
	struct host host = host_make(9);
	__cleanup(snapshot_freep) struct snapshot *first = host_pass(&host, MINUTE, 5);
	__cleanup(snapshot_freep) struct snapshot *second = NULL;
	struct expected expected = expected_make();
	struct timeline timeline = { 0 };
	struct diag d;

	append_must(history, first);
	strcpy(host.boot_id, "boot-2");
	host.mono_ns = 5 * SECOND;
	second = host_pass(&host, MINUTE, 5);
	append_must(history, second);
	expected_add(&expected, second);
	assert_int_equal(history_ask(history, &question, &timeline, &d), 0);
	assert_int_equal(timeline.nr_gaps, 0);
	assert_string_equal(timeline.steps[0].sum->boot_id, "boot-2");
	expected_check(&expected, &timeline);
	timeline_done(&timeline);
}

/* A clock that is set loses nothing and makes nothing negative. */
PLACE_TEST(test_clock_steps)
{
	static const int64_t jumps[] = { DAY, -DAY, -DAY, DAY };
	__cleanup(history_closep) struct history *history = open_default(*state);
	struct host host = host_make(10);
	struct expected all = expected_make(), steps = expected_make();
	struct timeline timeline;

	host_begin(&host, history);
	for (size_t i = 0; i < 4 * 45; i++) {
		__cleanup(snapshot_freep) struct snapshot *interval = NULL;

		interval = host_pass(&host, MINUTE, 5);
		/* It was set in the middle of the last one of these. */
		if (i % 45 == 44) {
			host.real_ns += jumps[i / 45];
			interval->end_ns = host.real_ns;
		}
		append_must(history, interval);
		expected_add(&all, interval);
		expected_add(&steps, interval);
	}
	ask_must(history, 0, 0, 0, &timeline);
	assert_int_equal(timeline.nr_gaps, 0);
	expected_check(&all, &timeline);
	timeline_done(&timeline);
	ask_must(history, 0, 0, 7 * MINUTE, &timeline);
	for (size_t i = 0; i < timeline.nr_steps; i++)
		assert_true(timeline.steps[i].start_ns < timeline.steps[i].end_ns);
	expected_check(&steps, &timeline);
	timeline_done(&timeline);
}

/* An interval is as long as it was, whichever way its clock was set meanwhile. */
PLACE_TEST(test_clock_set_inside)
{
	static const int64_t jumps[] = { DAY, -DAY };

	for (size_t i = 0; i < ARRAY_SIZE(jumps); i++) {
		struct history *history = open_default(*state);
		struct host host = host_make(19);
		struct snapshot *interval;
		struct timeline timeline;

		append_minutes(history, &host, 1, 5);
		interval = host_pass(&host, MINUTE, 5);
		interval->end_ns += jumps[i];
		append_must(history, interval);
		ask_must(history, 0, 0, 0, &timeline);
		assert_int_equal(timeline.nr_steps, 1);
		if (jumps[i] < 0) {
			assert_int_equal(timeline.steps[0].start_ns, NEW_YEAR + MINUTE - DAY);
			assert_int_equal(timeline.steps[0].end_ns, NEW_YEAR + MINUTE);
		} else {
			assert_int_equal(timeline.steps[0].start_ns, NEW_YEAR);
			assert_int_equal(timeline.steps[0].end_ns, NEW_YEAR + 2 * MINUTE + DAY);
		}
		assert_int_equal(timeline.steps[0].covered_ns, 2 * MINUTE);
		timeline_done(&timeline);
		snapshot_free(interval);
		history_close(history);
		place_empty(*state);
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
	struct timeline timeline;

	host_begin(&host, history);
	for (int i = 0; i < 5 * 60; i++) {
		__cleanup(snapshot_freep) struct snapshot *interval = host_pass(&host, MINUTE, 2);

		append_must(history, interval);
		expected_add(&all, interval);
		if (i == 2 * 60)
			host.real_ns += jump;
	}
	assert_int_equal(history_size(history, &size), 0);
	assert_in_range(size.intervals[0], 10, 22);
	assert_in_range(size.intervals[1], 6, 14);
	ask_must(history, 0, 0, 0, &timeline);
	assert_int_equal(timeline.nr_gaps, 0);
	expected_check(&all, &timeline);
	timeline_done(&timeline);
}

PLACE_TEST(test_clock_and_retention)
{
	check_clock_and_retention(*state, 30 * DAY);
	place_empty(*state);
	check_clock_and_retention(*state, -30 * DAY);
}

/* Intervals that alone fill what they were rolled up into are as old as others. */
PLACE_TEST(test_lone_intervals_retire)
{
	const struct history_options options = { .keep_ns = { HOUR, 3 * HOUR, 400 * DAY } };
	__cleanup(history_closep) struct history *history = open_with(*state, &options);
	struct host host = host_make(20);
	struct history_size size;

	host_begin(&host, history);
	for (int i = 0; i < 8 * 6; i++) {
		__cleanup(snapshot_freep) struct snapshot *interval =
			host_pass(&host, 10 * MINUTE, 1);

		append_must(history, interval);
	}
	assert_int_equal(history_size(history, &size), 0);
	assert_in_range(size.intervals[0], 6, 9);
	assert_in_range(size.intervals[1], 18, 26);
}

/* The sum of two intervals does not know what one of them does not. */
PLACE_TEST(test_unknown_runq)
{
	__cleanup(history_closep) struct history *history = open_default(*state);
	struct host host = host_make(21);
	struct timeline timeline;

	for (int i = 0; i < 3; i++) {
		__cleanup(snapshot_freep) struct snapshot *interval = host_pass(&host, MINUTE, 5);

		interval->has_runq = i != 1;
		append_must(history, interval);
	}
	ask_must(history, 0, 0, 0, &timeline);
	assert_int_equal(timeline.nr_steps, 1);
	assert_false(timeline.steps[0].sum->has_runq);
	timeline_done(&timeline);
}

PLACE_TEST(test_hole_in_a_run)
{
	__cleanup(history_closep) struct history *history = open_default(*state);
	struct host host = host_make(11);
	struct timeline timeline;
	struct diag d;

	host_begin(&host, history);
	for (int i = 0; i < 30; i++) {
		__cleanup(snapshot_freep) struct snapshot *interval = host_pass(&host, MINUTE, 5);

		if (i < 10 || i > 12)
			append_must(history, interval);
		/* One that overlaps would count something twice. */
		if (i == 20)
			assert_int_equal(history_append(history, interval, &d), -EINVAL);
	}
	ask_must(history, 0, 0, 0, &timeline);
	assert_int_equal(timeline.nr_gaps, 1);
	assert_gap(&timeline, 0, NEW_YEAR + 10 * MINUTE, NEW_YEAR + 13 * MINUTE, GAP_NOT_WRITTEN);
	assert_int_equal(timeline.steps[0].covered_ns, 27 * MINUTE);
	timeline_done(&timeline);
}

PLACE_TEST(test_filter)
{
	__cleanup(history_closep) struct history *history = open_default(*state);
	const struct target_selector name = { SELECT_COMM, "kind-2" };
	const pid_t pid = 2;
	struct history_question question = { .filter = { .selectors = &name, .nr_selectors = 1 } };
	struct host host = host_make(12);
	__cleanup(snapshot_freep) struct snapshot *interval = host_pass(&host, MINUTE, 50);
	struct timeline timeline = { 0 };
	struct diag d = { 0 };
	uint64_t calls = 0;

	for (size_t i = 0; i < interval->nr_rows; i++)
		calls += interval->rows[i]->pid == 2 ? interval->rows[i]->calls : 0;
	append_must(history, interval);
	assert_int_equal(history_ask(history, &question, &timeline, &d), 0);
	assert_int_equal(timeline.steps[0].sum->nr_processes, 1);
	assert_string_equal(timeline.steps[0].sum->processes[0].comm, "kind-2");
	assert_int_equal(timeline_calls(&timeline), calls);
	timeline_done(&timeline);
	question.filter.pids = &pid;
	question.filter.nr_pids = 1;
	assert_int_equal(history_ask(history, &question, &timeline, &d), -EINVAL);
	assert_non_null(strstr(d.text, "not pids"));
}

PLACE_TEST(test_questions_without_answer)
{
	__cleanup(history_closep) struct history *history = open_default(*state);
	struct history_question question = { .step_ns = 1 };
	struct host host = host_make(13);
	__cleanup(snapshot_freep) struct snapshot *interval = host_pass(&host, MINUTE, 5);
	struct timeline timeline;
	struct diag d = { 0 };

	ask_must(history, 0, 0, MINUTE, &timeline);
	assert_int_equal(timeline.nr_steps, 0);
	timeline_done(&timeline);
	append_must(history, interval);
	assert_int_equal(history_ask(history, &question, &timeline, &d), -E2BIG);
	assert_non_null(strstr(d.text, "10000"));
	question.step_ns = INT64_MAX;
	assert_int_equal(history_ask(history, &question, &timeline, &d), -EINVAL);
	assert_non_null(strstr(d.text, "too long"));
	question.step_ns = 50 * 365 * DAY;
	assert_int_equal(history_ask(history, &question, &timeline, &d), 0);
	assert_int_equal(timeline.nr_steps, 1);
	timeline_done(&timeline);
	ask_must(history, NEW_YEAR + DAY, NEW_YEAR + 2 * DAY, 0, &timeline);
	assert_int_equal(timeline.nr_steps, 1);
	assert_null(timeline.steps[0].sum);
	assert_int_equal(timeline.steps[0].start_ns, NEW_YEAR + DAY);
	assert_int_equal(timeline.steps[0].end_ns, NEW_YEAR + 2 * DAY);
	timeline_done(&timeline);
}
