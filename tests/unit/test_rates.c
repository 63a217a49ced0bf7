/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests what an interval of `bpftruss top` says: where the time of each process went. */
#include "scenarios.h"

#include "model/rates.h"

#define BEFORE (100 * SEC) /* CLOCK_MONOTONIC of the first reading */

/* A reading of one counting, at BEFORE plus some time. */
static struct snapshot *reading(struct builder *builder, uint64_t at_ns)
{
	struct snapshot *snapshot = snapshot_take(builder);

	snapshot->end_mono_ns = BEFORE + at_ns;
	snapshot->elapsed_ns = 10 * SEC + at_ns;
	return snapshot;
}

static void take_used(struct builder *builder, uint32_t pid, const char *comm, uint64_t threads,
		      const struct usage *usage)
{
	struct process process = process_make(pid, comm, strlen(comm));

	process.threads = threads;
	process.usage = *usage;
	assert_int_equal(builder_add_process(builder, &process, false), 0);
}

/* A process that has had so much CPU time, too short for the kernel's ticks, all outside of calls. */
static void take_process(struct builder *builder, uint32_t pid, const char *comm, uint64_t threads,
			 uint64_t user_ns)
{
	take_used(builder, pid, comm, threads,
		  &(struct usage){ .cpu_ns = user_ns, .threads_ns = user_ns });
	builder_take_process(builder, pid, comm, strlen(comm), user_ns);
}

/* A call that began at a time relative to BEFORE and was off the CPU for off_ns of it. */
static void take_open(struct builder *builder, uint32_t pid, const char *name, int64_t start_ns,
		      uint64_t now_ns, uint64_t off_ns)
{
	struct row row;

	row_init_named(&row, pid, ABI_OF_TESTS, name);
	row.in_flight = 1;
	row.oldest_start_ns = (uint64_t)((int64_t)BEFORE + start_ns);
	row.open_wall_ns = (int64_t)now_ns - start_ns;
	row.open_off_ns = (int64_t)off_ns;
	builder_take_row(builder, &row);
}

/* Calls that began before counting, and how long they have been slept in since. */
static void take_early(struct builder *builder, uint32_t pid, const char *name, uint64_t count,
		       uint64_t slept_ns)
{
	struct row row;

	row_init_named(&row, pid, ABI_OF_TESTS, name);
	row.in_flight = row.in_flight_early = count;
	row.oldest_start_ns = BEFORE - 10 * SEC;
	row.open_wall_ns = row.open_off_ns = (int64_t)slept_ns;
	builder_take_row(builder, &row);
}

static void take_ended(struct builder *builder, uint32_t pid, const char *name, uint64_t count,
		       uint64_t wall_ns, uint64_t off_ns, uint64_t runq_ns)
{
	builder_take_calls(builder, pid, ABI_OF_TESTS, name, count, wall_ns, off_ns, runq_ns);
}

/* Ends both builders. */
static struct rates *rates_make(struct builder *before, struct builder *after, enum rate_by by)
{
	__cleanup(snapshot_freep) struct snapshot *earlier = reading(before, 0);
	__cleanup(snapshot_freep) struct snapshot *later = reading(after, 2 * SEC);
	struct rates *rates;

	assert_int_equal(rates_new(earlier, later, by, &rates), 0);
	assert_int_equal(rates->diff->elapsed_ns, 2 * SEC);
	return rates;
}

static const struct rate *line_of(const struct rates *rates, uint32_t pid)
{
	for (size_t i = 0; i < rates->nr_lines; i++) {
		if (rates->lines[i].pid == pid)
			return &rates->lines[i];
	}
	return NULL;
}

/* Checks the time of a line's calls: on a CPU, waiting for one, asleep for a lock or otherwise. */
static void assert_calls_took(const struct rates *rates, uint32_t pid, uint64_t system_ns,
			      uint64_t runq_ns, uint64_t lock_ns, uint64_t sleep_ns)
{
	struct microstates sum = { 0 }, states;

	for (size_t i = 0; i < rates->diff->nr_rows; i++) {
		if (rates->diff->rows[i]->pid != pid)
			continue;
		row_microstates(rates->diff->rows[i], &states);
		microstates_add(&sum, &states);
	}
	assert_has(&sum, user_ns, 0, system_ns, system_ns, runq_ns, runq_ns, lock_ns, lock_ns,
		   sleep_ns, sleep_ns);
}

static void assert_states(const struct rate *line, uint64_t user_ns, uint64_t system_ns,
			  uint64_t runq_ns, uint64_t lock_ns, uint64_t sleep_ns)
{
	assert_non_null(line);
	assert_has(&line->states, user_ns, user_ns, system_ns, system_ns, runq_ns, runq_ns, lock_ns,
		   lock_ns, sleep_ns, sleep_ns);
}

/*
 * Two threads for 2 s: 1 s of CPU time, three of four ticks in the program; they add up to 4 s
 * whatever calls tell.
 */
BUILDERS_TEST(test_microstates)
{
	__cleanup(rates_freep) struct rates *rates = NULL;
	const struct rate *line;

	take_used(before, 7, "two", 2,
		  &(struct usage){ .threads_ns = 9 * SEC, .cpu_ns = 5 * SEC, .utime_ns = SEC });
	take_used(after, 7, "two", 2,
		  &(struct usage){ .threads_ns = 13 * SEC,
				   .cpu_ns = 6 * SEC,
				   .utime_ns = SEC + 12 * MSEC,
				   .stime_ns = 4 * MSEC,
				   .runq_ns = 300 * MSEC,
				   .minor_faults = 11,
				   .major_faults = 3,
				   .voluntary_switches = 17,
				   .involuntary_switches = 5 });
	take_ended(after, 7, "futex", 10, 250 * MSEC, 200 * MSEC, 0);
	rates = rates_make(before, after, RATE_BY_PID);
	line = line_of(rates, 7);
	assert_states(line, 750 * MSEC, 250 * MSEC, 300 * MSEC, 2 * SEC, 700 * MSEC);
	assert_int_equal(microstates_total_ns(&line->states), 4 * SEC);
	assert_all(rate_share_pct(line, line->states.lock_ns) == 50,
		   rates_cpu_pct(rates, rate_cpu_ns(line)) == 50);
	assert_has(&line->usage, minor_faults, 11, major_faults, 3, voluntary_switches, 17,
		   involuntary_switches, 5);
	assert_int_equal(rates->total.usage.minor_faults, 11);
}

/* More than there is time for is cut, in this order: run queue, lock; sleep has the rest. */
BUILDERS_TEST(test_microstates_cut)
{
	__cleanup(rates_freep) struct rates *rates = NULL;

	take_used(after, 7, "one", 1,
		  &(struct usage){ .threads_ns = SEC, .cpu_ns = 900 * MSEC, .runq_ns = 60 * MSEC });
	take_ended(after, 7, "futex", 1, SEC, SEC, 0);
	rates = rates_make(before, after, RATE_BY_PID);
	assert_states(line_of(rates, 7), 0, 900 * MSEC, 60 * MSEC, 40 * MSEC, 0);
}

/* A clock that went back takes nothing away, and is told. */
BUILDERS_TEST(test_shrunk)
{
	__cleanup(rates_freep) struct rates *rates = NULL;

	take_process(before, 7, "back", 1, SEC);
	take_process(after, 7, "back", 1, SEC - MSEC);
	take_ended(after, 7, "read", 1, MSEC, 0, 0);
	rates = rates_make(before, after, RATE_BY_PID);
	assert_states(line_of(rates, 7), 0, 0, 0, 0, 0);
	assert_has(rates, diff->processes[0].user_ns, 0, diff->losses.count[LOSS_TIME_CLAMPED], 3);
}

/* 100 calls before, 50 in the interval, of 10 ms: 4 on the CPU, 1 waiting for it, 5 asleep. */
BUILDERS_TEST(test_ended_calls)
{
	__cleanup(rates_freep) struct rates *rates = NULL;
	const struct rate *line;

	take_process(before, 7, "one", 1, SEC);
	take_ended(before, 7, "read", 100, 20 * MSEC, 6 * MSEC, MSEC);
	take_process(after, 7, "one", 1, SEC + 300 * MSEC);
	take_ended(after, 7, "read", 100, 20 * MSEC, 6 * MSEC, MSEC);
	take_ended(after, 7, "read", 50, 10 * MSEC, 6 * MSEC, MSEC);
	rates = rates_make(before, after, RATE_BY_PID);
	line = line_of(rates, 7);
	assert_calls_took(rates, 7, 200 * MSEC, 50 * MSEC, 0, 250 * MSEC);
	assert_int_equal(line->calls, 50);
	assert_true(rates_per_second(rates, line->calls) == 25);
	assert_int_equal(line->states.user_ns, 300 * MSEC);
	/* The bound is that of the bucket: above the truth, by 25% at most. */
	assert_in_range(line->worst_ns, 10 * MSEC, 12500 * USEC);
}

/* No call ends, and yet it is known where the time went. */
BUILDERS_TEST(test_open_all_interval)
{
	__cleanup(rates_freep) struct rates *rates = NULL;
	const struct rate *line;

	take_process(before, 7, "waiter", 1, 0);
	take_open(before, 7, "epoll_pwait", -5 * (int64_t)SEC, 0, 5 * SEC);
	take_process(after, 7, "waiter", 1, 0);
	take_open(after, 7, "epoll_pwait", -5 * (int64_t)SEC, 2 * SEC, 7 * SEC);
	take_process(before, 8, "early", 3, 0);
	take_early(before, 8, "futex", 3, 15 * SEC);
	take_process(after, 8, "early", 3, 0);
	take_early(after, 8, "futex", 3, 21 * SEC);
	rates = rates_make(before, after, RATE_BY_PID);
	line = line_of(rates, 7);
	assert_calls_took(rates, 7, 0, 0, 0, 2 * SEC);
	assert_has(line, calls, 0, oldest_ns, 7 * SEC);
	assert_false(line->oldest_early);
	line = line_of(rates, 8);
	assert_calls_took(rates, 8, 0, 0, 6 * SEC, 0);
	assert_int_equal(line->in_flight, 3);
	assert_true(line->oldest_early);
}

/* A call of 10 s that ends 1 s into the interval belongs to it by that second only. */
BUILDERS_TEST(test_long_call_ends)
{
	__cleanup(rates_freep) struct rates *rates = NULL;
	const struct rate *line;

	take_process(before, 7, "long", 1, 0);
	take_open(before, 7, "read", -9 * (int64_t)SEC, 0, 9 * SEC);
	take_process(after, 7, "long", 1, 900 * MSEC);
	take_ended(after, 7, "read", 1, 10 * SEC, 10 * SEC - 100 * MSEC, 0);
	rates = rates_make(before, after, RATE_BY_PID);
	line = line_of(rates, 7);
	assert_calls_took(rates, 7, 100 * MSEC, 0, 0, 900 * MSEC);
	assert_int_equal(line->worst_ns, 10 * SEC);
}

/* A call that began in the interval, on the CPU half of the time; its process is new. */
BUILDERS_TEST(test_open_and_new)
{
	__cleanup(rates_freep) struct rates *rates = NULL;

	take_process(after, 9, "new", 1, 250 * MSEC);
	take_open(after, 9, "write", SEC, 2 * SEC, SEC / 2);
	rates = rates_make(before, after, RATE_BY_PID);
	assert_calls_took(rates, 9, SEC / 2, 0, 0, SEC / 2);
}

/* Calls whose end told no time must not make any number negative. */
BUILDERS_TEST(test_ends_without_time)
{
	__cleanup(rates_freep) struct rates *rates = NULL;
	struct row row;

	take_process(before, 7, "killed", 2, 0);
	take_open(before, 7, "read", -9 * (int64_t)SEC, 0, 9 * SEC);
	take_early(before, 7, "futex", 1, 5 * SEC);
	take_process(after, 7, "killed", 0, 0);
	row_init_named(&row, 7, ABI_OF_TESTS, "read");
	row.calls = row.no_return = 1;
	builder_take_row(after, &row);
	builder_take_untimed(after, 7, ABI_OF_TESTS, "futex", 1);
	rates = rates_make(before, after, RATE_BY_PID);
	assert_calls_took(rates, 7, 0, 0, 0, 0);
	assert_int_equal(line_of(rates, 7)->calls, 2);
	assert_int_equal(line_of(rates, 7)->worst_ns, 0);
}

static struct rates *rates_of_many(enum rate_by by)
{
	struct builder *before = builder_make(), *after = builder_make();

	for (uint32_t pid = 1; pid <= 4; pid++) {
		take_process(before, pid, pid < 4 ? "httpd" : "init", 1, 0);
		take_process(after, pid, pid < 4 ? "httpd" : "init", 1, pid * MSEC);
		take_ended(after, pid, "read", pid * 10, MSEC, 0, 0);
		take_ended(after, pid, "write", 1, pid * SEC, 0, 0);
	}
	/* Ended before the interval. */
	take_process(before, 5, "gone", 0, SEC);
	take_process(after, 5, "gone", 0, SEC);
	/* Calls that found no room. */
	builder_take_untimed(after, 0, ABI_OF_TESTS, "read", 7);
	return rates_make(before, after, by);
}

TEST(test_lines)
{
	__cleanup(rates_freep) struct rates *rates = rates_of_many(RATE_BY_PID);

	assert_int_equal(rates->nr_lines, 5);
	assert_null(rates->lines[0].process);
	assert_int_equal(rates->lines[0].calls, 7);
	assert_has(&rates->total, calls, 100 + 4 + 7, nr_processes, 4, threads, 4);
	rates_sort(rates, RATE_CALLS, false);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(rates->lines[i].pid, 4 - i);
	rates_sort(rates, RATE_PID, false);
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(rates->lines[i].pid, i);
	rates_sort(rates, RATE_WORST, false);
	assert_int_equal(rates->lines[0].pid, 4);
	rates_sort(rates, RATE_COMM, false);
	assert_null(rates->lines[0].process);
	assert_int_equal(rates->lines[1].pid, 1);
}

TEST(test_groups)
{
	__cleanup(rates_freep) struct rates *rates = rates_of_many(RATE_BY_COMM);
	struct rate_identity identity;

	assert_int_equal(rates->nr_lines, 3);
	rates_sort(rates, RATE_CALLS, false);
	assert_memory_equal(rates->lines[0].process->comm, "httpd", 6);
	assert_has(&rates->lines[0], pid, 0, nr_processes, 3, calls, 63);
	assert_int_equal(rates->lines[0].states.user_ns, 6 * MSEC);
	rate_identify(rates, &rates->lines[0], &identity);
	assert_string_equal(identity.name, "httpd");
	assert_ptr_equal(rates_find(rates, &identity), &rates->lines[0]);
	assert_int_equal(rates_group(rates, RATE_BY_UNIT), 0);
	assert_null(rates_find(rates, &identity));
	/* No process has a unit; nobody is still told apart. */
	assert_int_equal(rates->nr_lines, 2);
	assert_int_equal(rates_group(rates, RATE_BY_PID), 0);
	assert_int_equal(rates->nr_lines, 5);
}

TEST(test_calls_of_a_line)
{
	__cleanup(rates_freep) struct rates *rates = rates_of_many(RATE_BY_PID);
	__cleanup(freep) struct rate *calls = NULL, *nobody = NULL, *group = NULL;
	size_t count;

	assert_int_equal(rates_calls(rates, line_of(rates, 3), &calls, &count), 0);
	assert_int_equal(count, 2);
	assert_int_equal(calls[0].calls + calls[1].calls, 31);
	assert_int_equal(rates_calls(rates, &rates->lines[0], &nobody, &count), 0);
	assert_int_equal(count, 1);
	assert_int_equal(nobody[0].calls, 7);
	assert_int_equal(rates_group(rates, RATE_BY_COMM), 0);
	rates_sort(rates, RATE_CALLS, false);
	assert_int_equal(rates_calls(rates, &rates->lines[0], &group, &count), 0);
	assert_int_equal(count, 2);
	assert_int_equal(group[0].calls + group[1].calls, 63);
}
