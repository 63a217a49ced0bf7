/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of merged snapshots: times, calls in flight of the latest, and what is refused. */
#include "merge_fixture.h"

/* --- times -------------------------------------------------------------------------------------- */

static void assert_elapsed(const struct span *b, int64_t start_s, int64_t end_s, uint64_t elapsed_s)
{
	struct pair pair __cleanup(pair_done);

	pair_begin(&pair, &web_1, "read:1x1m", b, "read:1x1m");
	assert_has(pair.merged.snapshot, start_ns, (EPOCH_S + start_s) * (int64_t)SEC, end_ns,
		   (EPOCH_S + end_s) * (int64_t)SEC, elapsed_ns, elapsed_s * SEC);
}

TEST(test_elapsed_is_the_time_in_which_any_was_counted)
{
	assert_elapsed(&web_2, 0, 10, 10);
	assert_elapsed(&(struct span){ "web-2", "b2", 6, 14, 900 }, 0, 14, 14);
	assert_elapsed(&(struct span){ "web-2", "b2", 90, 95, 900 }, 0, 95, 15);
	assert_elapsed(&(struct span){ "web-2", "b2", 2, 4, 900 }, 0, 10, 10);
	/* The same host, later, and after it was booted again. */
	assert_elapsed(&(struct span){ "web-1", "b1", 10, 30, 520 }, 0, 30, 30);
	assert_elapsed(&(struct span){ "web-1", "b9", 10, 30, 12 }, 0, 30, 30);
}

/* Clocks of hosts differ: an age, and the time of day of the slowest call, stay what they were. */
TEST(test_ages_and_times_of_day_stay)
{
	static const struct span later = { "web-2", "b2", 100, 110, 30 };
	struct snapshot *a __cleanup(snapshot_freep) = host_make(&web_1, "read:1x1m");
	struct snapshot *b __cleanup(snapshot_freep) = host_make(&later, "read:1x1m");
	struct merged merged __cleanup(merged_done) = { NULL, NULL };
	const struct snapshot *m;

	a->rows[0]->in_flight = b->rows[0]->in_flight = 1;
	a->rows[0]->oldest_start_ns = (500 - 4) * SEC;
	b->rows[0]->oldest_start_ns = (30 - 7) * SEC;
	a->rows[0]->max_start_ns = (500 - 3) * SEC;
	merged = MERGE(a, b);
	m = merged.snapshot;
	assert_int_equal(snapshot_oldest_ns(m, m->rows[0]), 4 * SEC);
	assert_int_equal(snapshot_oldest_ns(m, m->rows[1]), 7 * SEC);
	assert_int_equal(m->end_ns - (int64_t)(m->end_mono_ns - m->rows[0]->max_start_ns),
			 (EPOCH_S + 7) * (int64_t)SEC);
}

/* What was in flight at the end of an earlier snapshot has ended, or is in the later one. */
TEST(test_in_flight_is_what_the_latest_of_a_host_has)
{
	static const struct span after = { "web-1", "b1", 10, 20, 510 };
	struct snapshot *a __cleanup(snapshot_freep) = host_make(&web_1, "read:1x1m");
	struct snapshot *b __cleanup(snapshot_freep) = host_make(&after, "read:4x1m write:1x1m");
	struct merged merged __cleanup(merged_done) = { NULL, NULL };

	a->rows[0]->in_flight = 3;
	a->rows[0]->oldest_start_ns = 499 * SEC;
	a->processes[0].threads = b->processes[0].threads = 2;
	b->rows[1]->in_flight = 1;
	b->rows[1]->oldest_start_ns = 505 * SEC;
	merged = MERGE(b, a);
	assert_int_equal(merged.snapshot->nr_rows, 2);
	assert_has(merged.snapshot->rows[0], calls, 5, in_flight, 0);
	assert_has(merged.snapshot->rows[1], calls, 1, in_flight, 1);
	assert_has(&merged.snapshot->processes[0], threads, 2, user_ns, 10);
	assert_string_equal(merged.snapshot->host, "web-1");
}

/* A snapshot with a call in flight and two threads, or the sum of hosts made of it. */
static struct snapshot *busy_make(const struct span *span, bool is_sum)
{
	struct snapshot *snapshot = host_make(span, "read:1x1m"), *sum = snapshot;
	struct merged merged = { NULL, NULL };

	snapshot->rows[0]->in_flight = 1;
	snapshot->rows[0]->oldest_start_ns = (span->end_mono_s - 1) * SEC;
	snapshot->processes[0].threads = 2;
	if (!is_sum)
		return snapshot;
	merged = MERGE(snapshot);
	assert_int_equal(snapshot_sum_kinds(merged.snapshot, MERGE_SUM_HOSTS, &sum), 0);
	merged_done(&merged);
	snapshot_free(snapshot);
	return sum;
}

static void assert_in_flight(const struct snapshot *snapshot, uint64_t calls, uint64_t in_flight)
{
	struct row sum = snapshot_sum(snapshot);

	for (size_t i = 0; i < snapshot->nr_rows; i++)
		sum.in_flight += snapshot->rows[i]->in_flight;
	assert_has(&sum, calls, calls, in_flight, in_flight);
}

static void assert_busy(const struct span *a, const struct span *b, bool is_sum, uint64_t in_flight)
{
	struct snapshot *first __cleanup(snapshot_freep) = busy_make(a, is_sum);
	struct snapshot *second __cleanup(snapshot_freep) = busy_make(b, is_sum);
	struct merged merged __cleanup(merged_done) = MERGE(second, first);
	uint64_t threads = 0;

	for (size_t i = 0; i < merged.snapshot->nr_processes; i++)
		threads += merged.snapshot->processes[i].threads;
	assert_in_flight(merged.snapshot, 2, in_flight);
	assert_int_equal(threads, 2 * in_flight);
}

/* One call that lasts is in flight in each of two sums of a host: it is one call. */
TEST(test_in_flight_is_what_the_latest_sum_has)
{
	static const struct span after = { "web-1", "b1", 10, 20, 510 };
	static const struct span boot = { "web-1", "b9", 20, 30, 10 };
	static const struct span namesake = { "web-1", "b9", 5, 30, 700 };

	for (int is_sum = 0; is_sum <= 1; is_sum++) {
		assert_busy(&web_1, &after, is_sum, 1);
		assert_busy(&web_1, &web_2, is_sum, 2);
		/* Booting a host ends all its calls; at one time, two hosts have this name. */
		assert_busy(&web_1, &boot, is_sum, 1);
		assert_busy(&web_1, &namesake, is_sum, 2);
	}
}

/* Of a sum of two hosts, the calls of the one that has a later snapshot are not known. */
TEST(test_a_sum_is_latest_of_all_its_hosts_or_of_none)
{
	static const struct span after = { "web-1", "b1", 10, 20, 510 };
	struct snapshot *a __cleanup(snapshot_freep) = busy_make(&web_1, false);
	struct snapshot *b __cleanup(snapshot_freep) = busy_make(&web_2, false);
	struct snapshot *later __cleanup(snapshot_freep) = busy_make(&after, false);
	struct merged both __cleanup(merged_done) = MERGE(a, b);
	struct merged merged __cleanup(merged_done) = { NULL, NULL };
	struct snapshot *sum __cleanup(snapshot_freep) = NULL;

	assert_int_equal(snapshot_sum_kinds(both.snapshot, MERGE_SUM_HOSTS, &sum), 0);
	assert_in_flight(sum, 2, 2);
	merged = MERGE(sum, later);
	assert_in_flight(merged.snapshot, 3, 1);
	/* A host that was booted again within one sum is no other one. */
	snapshot_free(steal_ptr(&sum));
	merged_done(&both);
	set_text(&later->boot_id, "b9");
	later->start_ns += 5 * (int64_t)SEC;
	both = MERGE(a, later);
	assert_int_equal(snapshot_sum_kinds(both.snapshot, MERGE_SUM_HOSTS, &sum), 0);
	merged_done(&merged);
	merged = MERGE(sum, b);
	assert_in_flight(merged.snapshot, 3, 2);
}

/* --- what is refused ------------------------------------------------------------------------------ */

static void assert_refused(const struct snapshot *a, const struct snapshot *b, const char *sentence)
{
	struct merged merged = { NULL, NULL };

	must_fail(try_merge((const struct snapshot *const[]){ a, b }, 2, &merged), -EINVAL,
		  sentence);
	assert_null(merged.snapshot);
}

TEST(test_calls_are_not_counted_twice)
{
	static const struct span overlapping = { "web-1", "b1", 8, 20, 510 };
	struct snapshot *a __cleanup(snapshot_freep) = host_make(&web_1, "read:1x1m");
	struct snapshot *b __cleanup(snapshot_freep) = host_make(&overlapping, "read:1x1m");

	assert_refused(a, a, "a and b both have 10.0 s of web-1: its calls would count twice");
	assert_refused(b, a, "b and a both have 2.0 s of web-1");
}

/* A container may have a host name of its own, and a host may be renamed: the boot tells that it is one host. */
TEST(test_a_boot_is_one_host_by_any_name)
{
	static const struct span container = { "pod-7", "b1", 8, 20, 510 };
	static const struct span renamed = { "www-1", "b1", 10, 20, 510 };
	struct snapshot *a __cleanup(snapshot_freep) = busy_make(&web_1, false);
	struct snapshot *b __cleanup(snapshot_freep) = host_make(&container, "read:1x1m");
	struct merged merged __cleanup(merged_done) = { NULL, NULL };

	assert_refused(a, b, "a and b both have 2.0 s of web-1");
	assert_busy(&web_1, &renamed, false, 1);
	/* Where the boot is not known, the name has to do. */
	set_text(&a->boot_id, "");
	set_text(&b->boot_id, "");
	merged = MERGE(a, b);
	assert_int_equal(merged.snapshot->origins->count, 2);
}

/* A snapshot of the history spans pauses: whether something was counted in one is not known. */
TEST(test_a_pause_overlaps_too)
{
	struct snapshot *a __cleanup(snapshot_freep) =
		host_make(&(struct span){ "web-1", "b1", 0, 100, 1000 }, "read:1x1m");
	struct snapshot *b __cleanup(snapshot_freep) =
		host_make(&(struct span){ "web-1", "b1", 20, 30, 930 }, "read:1x1m");
	struct merged alone __cleanup(merged_done) = { NULL, NULL };

	a->elapsed_ns = a->paused_ns = 50 * SEC;
	assert_refused(a, b, "its calls would count twice");
	alone = MERGE(a);
	assert_refused(alone.snapshot, b, "its calls would count twice");
}

/* Its monotonic clock stood still meanwhile, or its time of day was set: the second began where the first ended. */
TEST(test_a_suspended_host_does_not_overlap)
{
	struct snapshot *a __cleanup(snapshot_freep) = host_make(&web_1, "read:1x1m");
	struct snapshot *b __cleanup(snapshot_freep) =
		host_make(&(struct span){ "web-1", "b1", 10, 3630, 530 }, "read:1x1m");

	for (int64_t step_s = -3600; step_s <= 3600; step_s += 3600) {
		struct merged merged __cleanup(merged_done) = { NULL, NULL };

		b->elapsed_ns = 30 * SEC;
		b->start_ns = (EPOCH_S + 10 + step_s) * (int64_t)SEC;
		merged = MERGE(a, b);
		assert_int_equal(merged.snapshot->origins->count, 2);
		b->elapsed_ns = 31 * SEC;
		assert_refused(a, b, "a and b both have 1.0 s of web-1");
	}
}

TEST(test_different_things_are_not_added_up)
{
	struct snapshot *a __cleanup(snapshot_freep) = host_make(&web_1, "openat:1x1m");
	struct snapshot *b __cleanup(snapshot_freep) = host_make(&web_2, "openat:1x1m");
	struct snapshot *split __cleanup(snapshot_freep) = split_make(&web_2, 5, "/etc/passwd");

	assert_refused(a, split, "only one of a and b is split by path");
	b->slower_than_ns = 10 * MSEC;
	assert_refused(a, b, "--slower-than was 0 ms and 10 ms");
}

TEST(test_times_that_cannot_be_right_are_refused)
{
	struct snapshot *a __cleanup(snapshot_freep) = host_make(&web_1, "read:1x1m");
	struct snapshot *b __cleanup(snapshot_freep) = host_make(&web_2, "read:1x1m");

	a->start_ns = a->end_ns = INT64_MIN + 1;
	b->end_ns = INT64_MAX;
	assert_refused(a, b, "its times are wrong");
}

TEST(test_sums_stay_readable)
{
	struct snapshot *a __cleanup(snapshot_freep) = host_make(&web_1, "read:1x1m");
	struct snapshot *b __cleanup(snapshot_freep) =
		host_make(&(struct span){ "web-1", "b1", 10, 20, 510 }, "read:1x1m");
	struct merged merged = { NULL, NULL };

	a->processes[0].usage.threads_ns = b->processes[0].usage.threads_ns = INT64_MAX / 2 + 1;
	must_fail(try_merge((const struct snapshot *const[]){ a, b }, 2, &merged), -ERANGE,
		  "more than 2^63 ns, which is 292 years of threads");
	a->processes[0].usage.threads_ns -= INT64_MAX / 4;
	merged = MERGE(a, b);
	merged_done(&merged);
}

static void assert_too_much(const struct snapshot *a, const struct snapshot *b, uint64_t *count)
{
	const uint64_t before = *count;
	struct merged merged = { NULL, NULL };

	*count = INT64_MAX;
	must_fail(try_merge((const struct snapshot *const[]){ a, b }, 2, &merged), -ERANGE,
		  "these add up to more than 2^63");
	*count = before;
}

/* Whatever a file says: nothing wraps, so that little would seem to be there. */
TEST(test_no_count_wraps)
{
	struct snapshot *a __cleanup(snapshot_freep) = host_make(&web_1, "read:2x1m!1");
	struct snapshot *b __cleanup(snapshot_freep) = host_make(&web_2, "read:2x1m!1");
	struct stacked stacked __cleanup(stacked_done) = stacked_make(&web_1, 11);
	struct stack_count *stack = &stacked.snapshot->rows[0]->stacks[0];
	struct process *process = &a->processes[0];

	process->threads = b->processes[0].threads = 1;
	process->nr_folded = b->processes[0].nr_folded = 1;
	assert_too_much(a, b, &a->rows[0]->errnos[0].count);
	assert_too_much(a, b, &process->threads);
	assert_too_much(a, b, &process->nr_folded);
	assert_too_much(stacked.snapshot, b, &stack->calls);
	assert_too_much(stacked.snapshot, b, &stack->errors);
	assert_too_much(stacked.snapshot, b, &stack->wall_ns);
}

/* In 64 bits, the sum of these is 0. */
TEST(test_losses_do_not_wrap)
{
	static const struct span db = { "db", "b3", 0, 10, 500 };
	struct snapshot *list[] = { host_make(&web_1, "read:1x1m"), host_make(&web_2, "read:1x1m"),
				    host_make(&db, "read:1x1m") };
	struct merged merged __cleanup(merged_done) = { NULL, NULL };

	for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
		list[i]->losses.count[LOSS_THREAD_LATE] = i < 2 ? INT64_MAX : 2;
		list[i]->threads_unknown = i < 2 ? INT64_MAX : 2;
	}
	merged = MERGE(list[0], list[1], list[2]);
	assert_false(snapshot_is_exact(merged.snapshot));
	assert_has(merged.snapshot, threads_unknown, INT64_MAX);
	assert_int_equal(merged.snapshot->losses.count[LOSS_THREAD_LATE], INT64_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(list); i++)
		snapshot_free(list[i]);
}
