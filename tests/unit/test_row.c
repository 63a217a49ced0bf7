/* SPDX-License-Identifier: BSD-2-Clause */
/* The arithmetic of rows. */
#include "fixture.h"

TEST(test_init)
{
	struct row row;

	memset(&row, 0xa5, sizeof(row));
	row_init(&row);
	assert_has(&row, pid, 0, calls, 0, min_ns, UINT64_MAX, max_ns, 0, oldest_start_ns,
		   UINT64_MAX, in_flight, 0);
	assert_null(row.errnos);
	assert_int_equal(row.nr_errnos, 0);
	assert_int_equal(hist_total(&row.hist), 0);
	row_done(&row);
	row_done(&row);
}

TEST(test_times)
{
	__cleanup(row_done) struct row row;

	row_init_calls(&row, 1, ABI_X86_64, "read", 10, 1000, 300, 100);
	row.calls += 5;
	row.untimed = 2;
	row.no_return = 3;
	row.denied = 1;
	row.interrupted = 4;
	row.errors = 2;
	assert_int_equal(row_timed(&row), 10);
	assert_int_equal(row_timed(&row), hist_total(&row.hist));
	assert_int_equal(row_cpu_ns(&row), 7000);
	assert_int_equal(row_sleep_ns(&row), 2000);
	assert_int_equal(row_cpu_ns(&row) + row.runq_ns + row_sleep_ns(&row), row.wall_ns);
}

/* Counts that are told apart from each other: n times one to seven. */
static void row_init_counts(struct row *row, uint32_t pid, uint64_t n)
{
	row_init_for(row, pid, ABI_X86_64, 7);
	row->interrupted = 1 * n;
	row->untimed = 2 * n;
	row->denied = 3 * n;
	row->no_return = 4 * n;
	row->result_sum = 5 * n;
	row->in_flight = 6 * n;
	row->in_flight_early = 7 * n;
}

TEST(test_merge_adds_every_field)
{
	__cleanup(row_done) struct row a, b;

	row_init_counts(&a, 1, 1);
	row_init_counts(&b, 2, 10);
	row_add_calls(&a, 1, 100, 50, 20);
	row_add_calls(&b, 1, 2000, 900, 300);
	a.calls = 1000;
	b.calls = 2000;
	a.oldest_start_ns = 70;
	b.oldest_start_ns = 60;
	row_add_errors(&a, ENOENT, 1);
	row_add_errors(&b, ENOENT, 2);
	row_add_errors(&b, EPERM, 3);
	assert_int_equal(row_merge(&a, &b), 0);
	assert_has(&a, pid, 1, boot_ns, 1000, abi, ABI_X86_64, nr, 7, calls, 3000, errors, 6,
		   interrupted, 11, untimed, 22, denied, 33, no_return, 44, result_sum, 55, wall_ns,
		   2100, off_ns, 950, runq_ns, 320, min_ns, 100, max_ns, 2000);
	assert_int_equal(hist_count(&a.hist, hist_bucket(100)), 1);
	assert_int_equal(hist_count(&a.hist, hist_bucket(2000)), 1);
	assert_int_equal(hist_total(&a.hist), 2);
	assert_has(&a, in_flight, 66, in_flight_early, 77, oldest_start_ns, 60, nr_errnos, 2);
	assert_has(&a.errnos[0], err, EPERM, count, 3);
	assert_has(&a.errnos[1], err, ENOENT, count, 3);
	/* The other one is as it was. */
	assert_has(&b, calls, 2000, nr_errnos, 2);
}

static void row_init_slowest(struct row *row, uint64_t max_ns, uint64_t start_ns)
{
	row_init_for(row, 1, ABI_X86_64, 7);
	row_add_calls(row, 1, max_ns, 0, 0);
	row->max_start_ns = start_ns;
	row->max_tid = (uint32_t)start_ns + 1;
}

/* A sum has the slowest of all; a difference only that which was not there before. */
TEST(test_slowest_call_has_its_start)
{
	__cleanup(row_done) struct row before, of_other, faster, slower, sum, same;

	row_init_slowest(&before, 5000, 10);
	row_init_slowest(&of_other, 7000, 20);
	row_init_slowest(&faster, 3000, 30);
	row_init_slowest(&slower, 9000, 40);
	assert_int_equal(row_copy(&sum, &before), 0);
	assert_int_equal(row_merge(&sum, &faster), 0);
	assert_has(&sum, max_start_ns, 10, max_tid, 11);
	assert_int_equal(row_merge(&sum, &of_other), 0);
	assert_has(&sum, max_start_ns, 20, max_tid, 21);
	/* What was slowest before is known, whichever of its rows is subtracted first. */
	assert_int_equal(row_copy(&same, &sum), 0);
	assert_int_equal(row_subtract(&same, &before), 0);
	assert_int_equal(row_subtract(&same, &of_other), 0);
	assert_has(&same, calls, 1, max_start_ns, 0, max_tid, 0);
	assert_int_equal(row_merge(&sum, &slower), 0);
	assert_int_equal(row_subtract(&sum, &of_other), 0);
	assert_int_equal(row_subtract(&sum, &before), 0);
	assert_has(&sum, calls, 2, max_ns, 9000, max_start_ns, 40, max_tid, 41);
}

TEST(test_merge_keeps_extremes_either_way)
{
	__cleanup(row_done) struct row low, high, none;

	row_init_calls(&low, 1, ABI_X86_64, "read", 1, 10, 0, 0);
	row_init_calls(&high, 1, ABI_X86_64, "read", 1, 1000, 0, 0);
	row_init_named(&none, 1, ABI_X86_64, "read");
	low.in_flight = 1;
	low.oldest_start_ns = 5;
	for (int i = 0; i < 2; i++) {
		__cleanup(row_done) struct row sum;

		assert_int_equal(row_copy(&sum, i ? &low : &high), 0);
		assert_int_equal(row_merge(&sum, i ? &high : &low), 0);
		assert_has(&sum, min_ns, 10, max_ns, 1000, oldest_start_ns, 5);
		assert_int_equal(row_merge(&sum, &none), 0);
		assert_has(&sum, min_ns, 10, max_ns, 1000, oldest_start_ns, 5);
	}
	assert_int_equal(row_merge(&none, &low), 0);
	assert_row_equal(&none, &low);
}

TEST(test_errnos_are_sorted)
{
	uint64_t counts[600] = { 0 }, seed = 7;
	struct row row;
	size_t kinds = 0;

	row_init_for(&row, 1, ABI_X86_64, 0);
	for (int i = 0; i < 3000; i++) {
		int err = 1 + (int)random_below(&seed, ARRAY_SIZE(counts) - 1);
		uint64_t count = 1 + random_below(&seed, 1ULL << 40);

		kinds += counts[err] == 0;
		counts[err] += count;
		assert_int_equal(row_add_errno(&row, err, count), 0);
	}
	assert_int_equal(row.nr_errnos, kinds);
	for (size_t i = 0; i < row.nr_errnos; i++) {
		if (i)
			assert_true(row.errnos[i - 1].err < row.errnos[i].err);
		assert_int_equal(row.errnos[i].count, counts[row.errnos[i].err]);
	}
	row_done(&row);
	assert_null(row.errnos);
	assert_int_equal(row.nr_errnos, 0);
}

TEST(test_subtract_undoes_merge)
{
	uint64_t seed = 8;

	for (int i = 0; i < 500; i++) {
		__cleanup(row_done) struct row a, b, sum;

		row_init_random(&a, &seed);
		row_init_random(&b, &seed);
		assert_int_equal(row_copy(&sum, &a), 0);
		assert_int_equal(row_merge(&sum, &b), 0);
		assert_int_equal(row_subtract(&sum, &b), 0);
		assert_row_sums_equal(&sum, &a);
		/* The extremes cannot be known: bounds around the true ones. */
		assert_all(sum.min_ns <= a.min_ns, sum.max_ns >= a.max_ns,
			   hist_bucket(sum.min_ns) == hist_bucket(a.min_ns),
			   hist_bucket(sum.max_ns) == hist_bucket(a.max_ns),
			   sum.min_ns >= (a.min_ns < b.min_ns ? a.min_ns : b.min_ns),
			   sum.max_ns <= (a.max_ns > b.max_ns ? a.max_ns : b.max_ns));
		/* Calls in flight are those of the later reading. */
		assert_int_equal(sum.in_flight, a.in_flight + b.in_flight);
		assert_int_equal(row_subtract(&sum, &a), 0);
		assert_has(&sum, calls, 0, wall_ns, 0, nr_errnos, 0, min_ns, UINT64_MAX, max_ns, 0);
		assert_int_equal(hist_total(&sum.hist), 0);
	}
}

TEST(test_subtract_bounds)
{
	static const struct {
		uint64_t added_ns[2], min_ns, max_ns;
	} cases[] = {
		/* Buckets 256 to 319 and 896 to 1023. */
		{ { 1000, 300 }, 256, 1023 },
		/* Cut to the extremes of the whole. */
		{ { 72, 4900 }, 70, 5000 },
		/* The last bucket has no end of its own, nor has the first a beginning. */
		{ { 1ULL << 43, 1ULL << 43 }, 1ULL << 42, 1ULL << 43 },
		{ { 0, 0 }, 0, 63 },
	};
	__cleanup(row_done) struct row earlier;

	row_init_calls(&earlier, 1, ABI_X86_64, "read", 1, 70, 0, 0);
	row_add_calls(&earlier, 1, 5000, 0, 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		__cleanup(row_done) struct row later;

		assert_int_equal(row_copy(&later, &earlier), 0);
		row_add_calls(&later, 1, cases[i].added_ns[0], 0, 0);
		row_add_calls(&later, 1, cases[i].added_ns[1], 0, 0);
		assert_int_equal(row_subtract(&later, &earlier), 0);
		assert_has(&later, min_ns, cases[i].min_ns, max_ns, cases[i].max_ns);
	}
}

/* Every counter only grows: when a single one does not, this is no later row. */
TEST(test_is_after)
{
	static const size_t counters[] = {
		offsetof(struct row, calls),       offsetof(struct row, errors),
		offsetof(struct row, interrupted), offsetof(struct row, untimed),
		offsetof(struct row, denied),      offsetof(struct row, no_return),
		offsetof(struct row, wall_ns),     offsetof(struct row, off_ns),
		offsetof(struct row, runq_ns),
	};

	for (size_t i = 0; i < ARRAY_SIZE(counters); i++) {
		__cleanup(row_done) struct row earlier, later;
		uint64_t *counter = (void *)((char *)&earlier + counters[i]);

		row_init_counts(&earlier, 1, 10);
		row_add_calls(&earlier, 2, 1000, 500, 100);
		row_add_errors(&earlier, ENOENT, 1);
		assert_int_equal(row_copy(&later, &earlier), 0);
		++*counter;
		assert_false(row_is_after(&later, &earlier));
		assert_int_equal(row_subtract(&later, &earlier), -EINVAL);
		--*counter;
		assert_int_equal(row_subtract(&later, &earlier), 0);
	}
}

/* An errno that did not come again is left out, the rest stay in order. */
TEST(test_subtract_errnos)
{
	__cleanup(row_done) struct row earlier, later;

	row_init_for(&earlier, 1, ABI_X86_64, 0);
	row_add_errors(&earlier, EPERM, 5);
	row_add_errors(&earlier, EINTR, 2);
	row_add_errors(&earlier, EAGAIN, 1);
	assert_int_equal(row_copy(&later, &earlier), 0);
	row_add_errors(&later, ENOENT, 4);
	row_add_errors(&later, EINTR, 3);
	row_add_errors(&later, ETIMEDOUT, 6);
	assert_int_equal(row_subtract(&later, &earlier), 0);
	assert_has(&later, nr_errnos, 3, errors, 13);
	assert_has(&later.errnos[0], err, ENOENT, count, 4);
	assert_has(&later.errnos[1], err, EINTR, count, 3);
	assert_has(&later.errnos[2], err, ETIMEDOUT, count, 6);
}

TEST(test_copy_is_independent)
{
	struct row a, b, bare;
	uint64_t seed = 10;

	row_init_random(&a, &seed);
	assert_int_equal(row_copy(&b, &a), 0);
	assert_row_equal(&a, &b);
	assert_ptr_not_equal(a.errnos, b.errnos);
	a.errnos[0].count = 777;
	a.calls = 888;
	assert_int_not_equal(b.errnos[0].count, 777);
	assert_int_not_equal(b.calls, 888);
	row_done(&a);
	row_add_errors(&b, EXDEV, 1);
	row_done(&b);

	row_init_for(&bare, 1, ABI_X86_64, 0);
	memset(&b, 0xa5, sizeof(b));
	assert_int_equal(row_copy(&b, &bare), 0);
	assert_null(b.errnos);
	assert_row_equal(&bare, &b);
}

/* Sorted by pid, start, ABI, number; each of them at its extremes. */
TEST(test_order)
{
	static const struct row sorted[] = {
		{ .nr = ROW_NR_OTHER },
		{ .nr = 0 },
		{ .abi = ABI_ARM },
		{ .pid = 1, .abi = ABI_ARM, .nr = INT32_MAX },
		{ .pid = 1, .boot_ns = 5, .nr = ROW_NR_OTHER },
		{ .pid = 1, .boot_ns = 5, .nr = -1 },
		{ .pid = 1, .boot_ns = 5 },
		{ .pid = 1, .boot_ns = 5, .nr = INT32_MAX },
		{ .pid = 1, .boot_ns = 5, .abi = ABI_I386, .nr = ROW_NR_OTHER },
		{ .pid = 1, .boot_ns = 6 },
		{ .pid = 1, .boot_ns = UINT64_MAX },
		{ .pid = 2 },
		{ .pid = 0x80000000 },
		{ .pid = UINT32_MAX },
	};

	assert_sorted_by(sorted, row_compare);
}

/* A row that is no earlier reading of the same one changes nothing. */
TEST(test_subtract_refuses)
{
	__cleanup(row_done) struct row earlier, later;
	struct row before;

	row_init_calls(&earlier, 1, ABI_X86_64, "read", 5, 100, 0, 0);
	row_init_calls(&later, 1, ABI_X86_64, "read", 4, 500, 0, 0);
	before = later;
	assert_int_equal(row_subtract(&later, &earlier), -EINVAL);
	assert_memory_equal(&later, &before, sizeof(later));
	row_add_calls(&later, 1, 500, 0, 0);
	assert_int_equal(row_subtract(&later, &earlier), 0);
	assert_int_equal(later.calls, 0);
}

/* Stacks in any order, some of them twice, to a row that has some of them: as if each was added by itself. */
TEST(test_many_stacks_are_added_as_one_by_one)
{
	enum { MANY = 500 };
	__cleanup(row_done) struct row one, all;
	struct stack_count stacks[MANY];
	uint64_t seed = 5;

	row_init(&one);
	row_init(&all);
	for (size_t size = 0; size <= MANY; size += 100) {
		for (size_t i = 0; i < size; i++) {
			stacks[i] = (struct stack_count){ .id = random_below(&seed, 300),
							  .calls = i,
							  .max_ns = random_below(&seed, 99) };
			assert_int_equal(row_add_stack(&one, &stacks[i]), 0);
		}
		assert_int_equal(row_add_stacks(&all, stacks, size), 0);
		assert_int_equal(all.nr_stacks, one.nr_stacks);
		if (size)
			assert_memory_equal(all.stacks, one.stacks,
					    one.nr_stacks * sizeof(*one.stacks));
	}
}
