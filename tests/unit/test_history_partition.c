/* SPDX-License-Identifier: BSD-2-Clause */
/* However a span is cut, its parts add up to the whole: random intervals, holes, runs, clocks. */
#include "history_fixture.h"

#define NR_INTERVALS 220

/* Where each interval ended, and how much was counted in it. */
struct ledger {
	int64_t ends_ns[NR_INTERVALS];
	uint64_t covered_ns[NR_INTERVALS];
	uint64_t calls[NR_INTERVALS];
};

static void ledger_note(struct ledger *ledger, int i, const struct snapshot *interval)
{
	ledger->ends_ns[i] = interval->end_ns;
	ledger->covered_ns[i] = interval->elapsed_ns;
	ledger->calls[i] = snapshot_sum(interval).calls;
}

static void fill(struct history *history, struct host *host, struct expected *all,
		 struct ledger *ledger, int nr)
{
	host_begin(host, history);
	for (int i = 0; i < NR_INTERVALS; i++) {
		int64_t length_ns = random_below(&host->seed, 4)
					    ? MINUTE
					    : random_between(&host->seed, 1, 25 * MINUTE);
		__cleanup(snapshot_freep) struct snapshot *interval = NULL;

		if (i % 11 == nr % 11 && host_stumble(host))
			host_begin(host, history);
		interval = host_pass(host, length_ns, (unsigned int)random_below(&host->seed, 4));
		append_must(history, interval);
		expected_add(all, interval);
		ledger_note(ledger, i, interval);
	}
}

static void expected_add_all(struct expected *expected, const struct timeline *timeline)
{
	for (size_t i = 0; i < timeline->nr_steps; i++) {
		if (timeline->steps[i].sum)
			expected_add(expected, timeline->steps[i].sum);
	}
}

/* Any step, any edge inside: the same sum. */
static void assert_partitions(struct history *history, const struct timeline *whole, uint64_t seed)
{
	int64_t start_ns = whole->steps[0].start_ns - 10 * HOUR;
	int64_t end_ns = whole->steps[0].end_ns + 10 * HOUR;

	for (int i = 0; i < 6; i++) {
		int64_t edge_ns = random_between(&seed, start_ns + 1, end_ns - 1);
		int64_t step_ns = random_between(&seed, MINUTE, 3 * HOUR);
		struct expected expected = expected_make(), parts = expected_make();
		__cleanup(timeline_done) struct timeline steps = { 0 }, left = { 0 }, right = { 0 };

		expected_add_all(&expected, whole);
		ask_must(history, start_ns, end_ns, (uint64_t)step_ns, &steps);
		expected_check(&expected, &steps);
		ask_must(history, start_ns, edge_ns, 0, &left);
		ask_must(history, edge_ns, end_ns, (uint64_t)step_ns, &right);
		expected_add_all(&parts, &left);
		expected_add_all(&parts, &right);
		expected_check(&parts, &steps);
	}
}

/* The start of the step that was asked for; a longer interval has begun before that. */
static int64_t step_from(const struct timeline_step *step, int64_t start_ns, int64_t step_ns)
{
	int64_t inside_ns = step->sum ? step->end_ns - 1 : step->start_ns;

	return inside_ns - (inside_ns - start_ns) % step_ns;
}

/*
 * While all intervals are there, each is in the step in which it ended, and in no other. Steps that
 * an interval covers are left out.
 */
static void assert_steps(struct history *history, const struct timeline *whole,
			 const struct ledger *ledger, int64_t step_ns)
{
	int64_t start_ns = whole->steps[0].start_ns - 3 * SECOND;
	__cleanup(timeline_done) struct timeline steps = { 0 };

	ask_must(history, start_ns, whole->steps[0].end_ns, (uint64_t)step_ns, &steps);
	for (size_t i = 0; i < steps.nr_steps; i++) {
		int64_t from_ns = step_from(&steps.steps[i], start_ns, step_ns);
		int64_t to_ns = from_ns + step_ns;
		const struct timeline part = { .steps = &steps.steps[i], .nr_steps = 1 };
		uint64_t covered_ns = 0, calls = 0;

		for (int j = 0; j < NR_INTERVALS; j++) {
			if (ledger->ends_ns[j] > from_ns && ledger->ends_ns[j] <= to_ns) {
				covered_ns += ledger->covered_ns[j];
				calls += ledger->calls[j];
			}
		}
		assert_int_equal(steps.steps[i].covered_ns, covered_ns);
		assert_int_equal(timeline_calls(&part), calls);
	}
}

/* Gaps do not overlap each other, and where the clock was never set they fill the rest. */
static void assert_gaps(const struct timeline *whole, bool clock_is_right)
{
	int64_t gaps_ns = 0;

	for (size_t i = 0; i < whole->nr_gaps; i++) {
		gaps_ns += whole->gaps[i].end_ns - whole->gaps[i].start_ns;
		assert_all(whole->gaps[i].start_ns < whole->gaps[i].end_ns,
			   whole->gaps[i].reason == GAP_NOT_RUNNING ||
				   whole->gaps[i].reason == GAP_NOT_WRITTEN);
	}
	if (clock_is_right)
		assert_int_equal((uint64_t)gaps_ns + whole->steps[0].covered_ns,
				 whole->steps[0].end_ns - whole->steps[0].start_ns);
}

static void check_one(uint64_t seed, const struct history_options *options, bool keeps_all)
{
	static const int64_t steps_ns[] = { MINUTE,   10 * MINUTE,    HOUR,
					    2 * HOUR, 7 * MINUTE + 1, 61 * MINUTE };
	struct ledger ledger = { 0 };
	struct place place;
	struct history *history;
	struct host host = host_make(seed);
	struct expected all = expected_make();
	__cleanup(timeline_done) struct timeline whole = { 0 };
	int64_t drift_ns;

	place_init(&place);
	history = open_with(&place, options);
	fill(history, &host, &all, &ledger, (int)seed);
	ask_must(history, 0, 0, 0, &whole);
	expected_check(&all, &whole);
	assert_partitions(history, &whole, seed);
	for (size_t i = 0; keeps_all && i < ARRAY_SIZE(steps_ns); i++)
		assert_steps(history, &whole, &ledger, steps_ns[i]);
	/* Boots take the monotonic clock away; without them both clocks went alike or did not. */
	drift_ns = (host.real_ns - NEW_YEAR) - (host.mono_ns - 1000 * SECOND);
	assert_gaps(&whole, drift_ns == 0);
	/* It is the same after a restart. */
	history_close(history);
	history = open_default(&place);
	ask_must(history, 0, 0, 0, &whole);
	assert_partitions(history, &whole, seed);
	history_close(history);
	place_done(&place);
}

TEST(test_partitions)
{
	const struct history_options options = { .keep_ns = { 400 * DAY, 400 * DAY, 400 * DAY } };

	for (uint64_t seed = 1; seed <= 6; seed++)
		check_one(seed, &options, true);
}

/* Where minutes have gone already, what they became stands for them. */
TEST(test_partitions_of_rollups)
{
	const struct history_options options = { .keep_ns = { 30 * MINUTE, 3 * HOUR, 400 * DAY } };

	for (uint64_t seed = 11; seed <= 16; seed++)
		check_one(seed, &options, false);
}
