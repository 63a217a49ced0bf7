/* SPDX-License-Identifier: BSD-2-Clause */
/* Consecutive differences, added up again. */
#include "fixture.h"

#include "model/diff.h"

#define NR_READINGS 6

/* Readings of one counting, each later than the one before. */
struct readings {
	struct snapshot *all[NR_READINGS];
	struct snapshot *parts[NR_READINGS]; /* part i leads from reading i - 1 to i */
};

static struct snapshot *reading_take(const struct builder *total, int index)
{
	struct snapshot *reading = snapshot_read(total);

	reading->start_ns = 1000;
	reading->end_ns = 1000 + index * 10;
	reading->end_mono_ns = 500 + (uint64_t)index * 10;
	reading->elapsed_ns = (uint64_t)index * 10;
	reading->losses.count[LOSS_EXIT_MISSED] = (uint64_t)(index * index);
	return reading;
}

static void readings_make(struct readings *readings, uint64_t seed)
{
	struct builder *total = builder_make();
	struct row row;

	for (int i = 0; i < NR_READINGS; i++) {
		for (int j = 0; j < 40; j++) {
			row_init_random(&row, &seed);
			row.in_flight = row.in_flight_early = 0;
			row.oldest_start_ns = UINT64_MAX;
			builder_take_row(total, &row);
		}
		for (uint32_t pid = 1; pid < 4; pid++)
			builder_take_process(total, pid, "random", 6, random_ns(&seed, 30));
		/* What is in flight in one reading only is of that moment. */
		readings->all[i] = reading_take(total, i);
	}
	builder_free(total);
	for (int i = 1; i < NR_READINGS; i++)
		assert_int_equal(
			snapshot_diff(readings->all[i - 1], readings->all[i], &readings->parts[i]),
			0);
}

static void readings_done(struct readings *readings)
{
	for (int i = 0; i < NR_READINGS; i++) {
		snapshot_free(readings->all[i]);
		if (i)
			snapshot_free(readings->parts[i]);
	}
}

static struct snapshot *join(const struct readings *readings, int first, int last)
{
	const struct snapshot *const *parts =
		(const struct snapshot *const *)&readings->parts[first + 1];
	struct snapshot *joined;

	assert_int_equal(snapshot_join(parts, (size_t)(last - first), readings->all[last], &joined),
			 0);
	return joined;
}

static void assert_same_counts(const struct snapshot *a, const struct snapshot *b)
{
	assert_int_equal(a->nr_rows, b->nr_rows);
	for (size_t i = 0; i < a->nr_rows; i++) {
		assert_int_equal(row_compare(a->rows[i], b->rows[i]), 0);
		assert_row_sums_equal(a->rows[i], b->rows[i]);
		assert_hist_equal(&a->rows[i]->hist, &b->rows[i]->hist);
	}
	assert_int_equal(snapshot_user_ns(a), snapshot_user_ns(b));
	assert_same(a, b, elapsed_ns, start_ns, end_ns);
	assert_memory_equal(&a->losses, &b->losses, sizeof(a->losses));
}

/* Any span, cut anywhere, is the difference of the readings at its ends. */
TEST(test_any_span)
{
	struct readings readings = { 0 };

	readings_make(&readings, 31);
	for (int first = 0; first < NR_READINGS; first++) {
		for (int last = first + 1; last < NR_READINGS; last++) {
			__cleanup(snapshot_freep) struct snapshot *joined =
				join(&readings, first, last);
			__cleanup(snapshot_freep) struct snapshot *whole = NULL;

			assert_int_equal(
				snapshot_diff(readings.all[first], readings.all[last], &whole), 0);
			assert_same_counts(joined, whole);
		}
	}
	readings_done(&readings);
}

/* A join of joins is a join, also of parts without what is true at one moment only. */
TEST(test_of_joins)
{
	__cleanup(snapshot_freep) struct snapshot *front = NULL, *back = NULL, *joined = NULL,
						  *whole = NULL;
	struct readings readings = { 0 };
	const struct snapshot *both[2];

	readings_make(&readings, 32);
	whole = join(&readings, 0, NR_READINGS - 1);
	front = join(&readings, 0, 3);
	back = join(&readings, 3, NR_READINGS - 1);
	snapshot_keep_counts(front);
	snapshot_keep_counts(back);
	both[0] = front;
	both[1] = back;
	assert_int_equal(snapshot_join(both, 2, readings.all[NR_READINGS - 1], &joined), 0);
	assert_same_counts(joined, whole);
	readings_done(&readings);
}

/* Two readings: a call is in flight in both, another only in the first. */
TEST(test_in_flight)
{
	__cleanup(snapshot_freep) struct snapshot *before = NULL, *after = NULL, *part = NULL,
						  *joined = NULL;
	struct builder *first = builder_make(), *second = builder_make();
	const struct snapshot *parts[1];

	builder_take_process(first, 7, "waits", 5, 10);
	builder_take_process(second, 7, "waits", 5, 10);
	builder_take_in_flight(first, 7, ABI_X86_64, "read", 1, 0, 100);
	builder_take_in_flight(first, 7, ABI_X86_64, "poll", 1, 0, 200);
	builder_take_in_flight(second, 7, ABI_X86_64, "read", 1, 0, 100);
	before = snapshot_take(first);
	after = snapshot_take(second);
	assert_int_equal(snapshot_diff(before, after, &part), 0);
	snapshot_keep_counts(part);
	assert_has(part, nr_rows, 0, nr_processes, 0);
	parts[0] = part;
	assert_int_equal(snapshot_join(parts, 1, after, &joined), 0);
	assert_int_equal(joined->nr_rows, 1);
	assert_has(joined->rows[0], in_flight, 1, oldest_start_ns, 100);
	assert_int_equal(joined->nr_processes, 1);
	assert_int_equal(joined->processes[0].user_ns, 0);
}

TEST(test_of_nothing)
{
	__cleanup(snapshot_freep) struct snapshot *now = NULL, *joined = NULL;

	now = snapshot_take(builder_make());
	now->losses.count[LOSS_EXIT_MISSED] = 3;
	assert_int_equal(snapshot_join(NULL, 0, now, &joined), 0);
	assert_has(joined, elapsed_ns, 0, start_ns, now->end_ns);
	assert_true(losses_none(&joined->losses));
}
