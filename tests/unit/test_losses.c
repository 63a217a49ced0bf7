/* SPDX-License-Identifier: BSD-2-Clause */
/* The reasons why a snapshot may not be exact. */
#include "fixture.h"

#include "model/snapshot.h"

/* The keys of the JSON contract, in its order: changing one breaks readers. */
static const char *const keys[] = {
	"untracked_tasks",    "task_table_full",  "slot_table_full", "errno_table_full",
	"bucket_wrapped",     "exit_missed",      "time_clamped",    "user_time_unknown",
	"foreign_table_full", "late_threads",     "errnos_off",      "stack_table_full",
	"arg0_table_full",    "switch_unseen",    "lookup_busy",     "hist_table_full",
	"numbers_folded",     "kinds_folded",     "enter_missed",    "leave_missed",
	"switch_missed",      "lifecycle_missed", "change_missed",   "torn_reads",
};

TEST(test_texts)
{
	assert_int_equal(NR_MODEL_LOSS, ARRAY_SIZE(keys));
	for (int i = 0; i < NR_MODEL_LOSS; i++) {
		assert_all(loss_texts[i].name, loss_texts[i].what, loss_texts[i].why);
		assert_string_equal(loss_texts[i].name, keys[i]);
		assert_true(loss_texts[i].what[0] && loss_texts[i].why[0]);
	}
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

TEST(test_none)
{
	struct losses losses = { 0 };

	assert_true(losses_none(&losses));
	for (int i = 0; i < NR_MODEL_LOSS; i++) {
		losses.count[i] = 1ULL << 40;
		assert_false(losses_none(&losses));
		losses.count[i] = 0;
	}
	assert_true(losses_none(&losses));
}

TEST(test_merge_and_subtract)
{
	struct losses a, b, sum;

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
}

TEST(test_what_is_between_two_readings_is_torn_by_either)
{
	struct losses earlier = { 0 }, later = { 0 };

	earlier.count[LOSS_TORN_READ] = 2;
	losses_subtract(&later, &earlier);
	assert_int_equal(later.count[LOSS_TORN_READ], 2);
	later.count[LOSS_TORN_READ] = 5;
	losses_subtract(&later, &earlier);
	assert_int_equal(later.count[LOSS_TORN_READ], 7);
}
