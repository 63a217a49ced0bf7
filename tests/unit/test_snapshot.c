/* SPDX-License-Identifier: BSD-2-Clause */
/* Snapshots as values: copies, look-ups, sums, and the reasons why one may not be exact. */
#include "fixture.h"

#include "model/snapshot.h"

TEST(test_new_like)
{
	__cleanup(snapshot_freep) struct snapshot *one = snapshot_make();
	__cleanup(snapshot_freep) struct snapshot *like = NULL;
	struct row row;

	one->targets[0] = (struct process){ .pid = 7, .boot_ns = 8, .comm = "target" };
	one->nr_targets = 1;
	one->losses.count[LOSS_TORN_READ] = 9;
	one->rows = calloc(1, sizeof(*one->rows));
	one->processes = calloc(1, sizeof(*one->processes));
	assert_true(one->rows && one->processes);
	row_init_for(&row, 1, ABI_X86_64, 0);
	one->rows[0] = row_new(&row);
	assert_non_null(one->rows[0]);
	one->nr_rows = one->nr_processes = 1;
	assert_int_equal(snapshot_new_like(one, &like), 0);
	assert_string_equal(like->host, one->host);
	assert_string_equal(like->boot_id, one->boot_id);
	assert_string_equal(like->kernel, one->kernel);
	assert_ptr_not_equal(like->host, one->host);
	assert_ptr_not_equal(like->boot_id, one->boot_id);
	assert_ptr_not_equal(like->kernel, one->kernel);
	assert_same(like, one, start_ns, end_ns, elapsed_ns, end_mono_ns, has_runq);
	assert_int_equal(like->losses.count[LOSS_TORN_READ], 9);
	assert_int_equal(like->nr_targets, 1);
	assert_ptr_not_equal(like->targets, one->targets);
	assert_process_equal(&like->targets[0], &one->targets[0]);
	assert_has(like, nr_rows, 0, nr_processes, 0);
	assert_all(!like->rows, !like->processes);
}

TEST(test_new_like_blank)
{
	const struct snapshot blank = { .nr_rows = 0 };
	__cleanup(snapshot_freep) struct snapshot *like = NULL;
	struct snapshot *none = NULL;

	assert_int_equal(snapshot_new_like(&blank, &like), 0);
	assert_string_equal(like->host, "");
	assert_string_equal(like->boot_id, "");
	assert_string_equal(like->kernel, "");
	assert_int_equal(like->nr_targets, 0);
	snapshot_free(NULL);
	snapshot_freep(&none);
}

BUILDER_TEST(test_find_process)
{
	static const struct process known[] = {
		{ .pid = 1, .boot_ns = 10 }, { .pid = 1, .boot_ns = 20 },
		{ .pid = 2, .boot_ns = 5 },  { .pid = 300 },
		{ .pid = UINT32_MAX, .boot_ns = UINT64_MAX },
	}, absent[] = {
		{ .pid = 0 },                { .pid = 1 },
		{ .pid = 1, .boot_ns = 15 }, { .pid = 1, .boot_ns = 30 },
		{ .pid = 2, .boot_ns = 10 }, { .pid = 3, .boot_ns = 5 },
		{ .pid = 300, .boot_ns = 1 },
	};
	__cleanup(snapshot_freep) struct snapshot *snapshot = NULL;
	__cleanup(snapshot_freep) struct snapshot *empty = snapshot_make();

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		assert_int_equal(builder_add_process(builder, &known[i], false), 0);
	snapshot = snapshot_take(builder);
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		assert_ptr_equal(snapshot_find_process(snapshot, known[i].pid, known[i].boot_ns),
				 &snapshot->processes[i]);
	for (size_t i = 0; i < ARRAY_SIZE(absent); i++)
		assert_null(snapshot_find_process(snapshot, absent[i].pid, absent[i].boot_ns));
	assert_null(snapshot_find_process(empty, 1, 10));
}

BUILDER_TEST(test_find_row)
{
	static const struct row absent[] = {
		{ .pid = 2, .boot_ns = 2000, .nr = 2 },
		{ .pid = 2, .boot_ns = 2000, .nr = 1 },
		{ .pid = 3, .boot_ns = 3000 },
		{ .pid = 2, .boot_ns = 2001 },
	};
	/* Only the identity counts. */
	const struct row known = { .pid = 2, .boot_ns = 2000, .abi = ABI_I386, .nr = 2 };
	__cleanup(snapshot_freep) struct snapshot *snapshot = NULL;
	__cleanup(snapshot_freep) struct snapshot *empty = snapshot_make();
	struct row row;

	for (uint32_t pid = 0; pid < 3; pid++) {
		for (int nr = 0; nr < 6; nr += 2) {
			row_init_for(&row, pid, nr & 2 ? ABI_I386 : ABI_X86_64, nr);
			row_add_calls(&row, pid + 1, 100, 0, 0);
			builder_take_row(builder, &row);
		}
	}
	snapshot = snapshot_take(builder);
	assert_int_equal(snapshot->nr_rows, 9);
	for (size_t i = 0; i < snapshot->nr_rows; i++)
		assert_ptr_equal(snapshot_find_row(snapshot, snapshot->rows[i]), snapshot->rows[i]);
	assert_int_equal(snapshot_find_row(snapshot, &known)->calls, 3);
	for (size_t i = 0; i < ARRAY_SIZE(absent); i++)
		assert_null(snapshot_find_row(snapshot, &absent[i]));
	assert_null(snapshot_find_row(empty, &known));
}

SNAPSHOT_TEST(test_oldest, snapshot_make())
{
	const uint64_t end_ns = snapshot->end_mono_ns;
	const struct {
		uint64_t in_flight, start_ns, expected;
	} cases[] = {
		{ 0, UINT64_MAX, 0 },
		{ 1, end_ns - 5, 5 },
		{ 1, end_ns, 0 },
		/* Begun after the clock was read. */
		{ 1, end_ns + 1, 0 },
		{ 1, 0, end_ns },
		{ 0, 0, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct row row = { .in_flight = cases[i].in_flight,
					 .oldest_start_ns = cases[i].start_ns };

		assert_int_equal(snapshot_oldest_ns(snapshot, &row), cases[i].expected);
	}
}

TEST(test_process_order)
{
	static const struct process sorted[] = {
		{ .pid = 0, .boot_ns = 0 },          { .pid = 0, .boot_ns = UINT64_MAX },
		{ .pid = 1, .boot_ns = 1 },          { .pid = 1, .boot_ns = 1ULL << 40 },
		{ .pid = 0x80000000, .boot_ns = 0 }, { .pid = UINT32_MAX, .boot_ns = 0 },
	};

	assert_sorted_by(sorted, process_compare);
}

/* Neither a loss nor an error without its errno is to be read as nothing missing. */
BUILDER_TEST(test_exact)
{
	__cleanup(snapshot_freep) struct snapshot *snapshot = NULL;
	struct row row;

	row_init_calls(&row, 1, ABI_X86_64, "read", 10, 100, 0, 0);
	row_add_errors(&row, ENOENT, 3);
	row_add_errors(&row, EPERM, 4);
	assert_int_equal(row_errors_unnamed(&row), 0);
	builder_take_row(builder, &row);
	snapshot = snapshot_take(builder);
	assert_true(snapshot_is_exact(snapshot));
	snapshot->losses.count[LOSS_TORN_READ] = 1;
	assert_false(snapshot_is_exact(snapshot));
	snapshot->losses.count[LOSS_TORN_READ] = 0;
	snapshot->rows[0]->errors += 2;
	assert_int_equal(row_errors_unnamed(snapshot->rows[0]), 2);
	assert_int_equal(snapshot_errors_unnamed(snapshot), 2);
	assert_false(snapshot_is_exact(snapshot));
	/* Errnos that were read a moment later than the sum. */
	snapshot->rows[0]->errors -= 3;
	assert_int_equal(row_errors_unnamed(snapshot->rows[0]), 0);
}

/* --- losses -------------------------------------------------------------------------------------- */

/* The keys of the JSON contract, in its order: changing one breaks readers. */
static const char *const keys[] = {
	"untracked_tasks",    "task_table_full",  "slot_table_full", "errno_table_full",
	"bucket_wrapped",     "exit_missed",      "time_clamped",    "user_time_unknown",
	"foreign_table_full", "late_threads",     "errnos_off",      "stack_table_full",
	"arg0_table_full",    "switch_unseen",    "lookup_busy",     "hist_table_full",
	"numbers_folded",     "kinds_folded",     "enter_missed",    "leave_missed",
	"switch_missed",      "lifecycle_missed", "change_missed",   "torn_reads",
};

TEST(test_each_loss)
{
	struct losses losses = { 0 };

	assert_int_equal(NR_MODEL_LOSS, ARRAY_SIZE(keys));
	for (int i = 0; i < NR_MODEL_LOSS; i++) {
		assert_all(loss_texts[i].name, loss_texts[i].what, loss_texts[i].why);
		assert_string_equal(loss_texts[i].name, keys[i]);
		assert_true(loss_texts[i].what[0] && loss_texts[i].why[0]);
		losses.count[i] = 1ULL << 40;
		assert_false(losses_none(&losses));
		losses.count[i] = 0;
	}
	assert_true(losses_none(&losses));
}

TEST(test_calls_missing)
{
	for (int i = 0; i < NR_MODEL_LOSS; i++) {
		bool missing = i == LOSS_TASK_UNTRACKED || i == LOSS_THREAD_LATE ||
			       i == LOSS_ENTER_MISSED || i == LOSS_LEAVE_MISSED ||
			       i == LOSS_LIFECYCLE_MISSED || i == LOSS_LOOKUP_BUSY;

		assert_int_equal(loss_texts[i].calls_missing, missing);
	}
}

TEST(test_merge_and_subtract)
{
	struct losses a, b, sum;
	struct losses earlier = { 0 }, later = { 0 };

	for (int i = 0; i < NR_MODEL_LOSS; i++) {
		a.count[i] = 1000 * (uint64_t)i;
		b.count[i] = (1ULL << 33) + (uint64_t)i;
	}
	sum = a;
	losses_merge(&sum, &b);
	for (int i = 0; i < NR_MODEL_LOSS; i++)
		assert_int_equal(sum.count[i], (1ULL << 33) + 1001 * (uint64_t)i);
	sum.count[LOSS_TORN_READ] = a.count[LOSS_TORN_READ] = b.count[LOSS_TORN_READ] = 0;
	losses_subtract(&sum, &b);
	assert_memory_equal(&sum, &a, sizeof(sum));
	losses_subtract(&sum, &a);
	assert_true(losses_none(&sum));
	earlier.count[LOSS_TORN_READ] = 2;
	losses_subtract(&later, &earlier);
	assert_int_equal(later.count[LOSS_TORN_READ], 2);
	later.count[LOSS_TORN_READ] = 5;
	losses_subtract(&later, &earlier);
	assert_int_equal(later.count[LOSS_TORN_READ], 7);
}
