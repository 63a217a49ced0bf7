/* SPDX-License-Identifier: BSD-2-Clause */
/* What was counted between two snapshots. */
#include "fixture.h"

#include "model/diff.h"

static struct snapshot *diff_make(const struct snapshot *earlier, const struct snapshot *later)
{
	struct snapshot *diff;

	assert_int_equal(snapshot_diff(earlier, later, &diff), 0);
	return diff;
}

/* Ends both builders. */
static struct snapshot *diff_take(struct builder *before, struct builder *after)
{
	__cleanup(snapshot_freep) struct snapshot *earlier = snapshot_take(before);
	__cleanup(snapshot_freep) struct snapshot *later = snapshot_take(after);

	return diff_make(earlier, later);
}

/* Random rows of four processes; without calls in flight, which are no sums. */
static void builder_fill(struct builder *builder, uint64_t *seed)
{
	struct row row;

	for (int i = 0; i < 100; i++) {
		row_init_random(&row, seed);
		row.in_flight = row.in_flight_early = 0;
		row.oldest_start_ns = UINT64_MAX;
		builder_take_row(builder, &row);
	}
	for (uint32_t pid = 1; pid < 4; pid++)
		builder_take_process(builder, pid, "random", 6, random_ns(seed, 30));
}

BUILDER_TEST(test_of_itself)
{
	__cleanup(snapshot_freep) struct snapshot *one = NULL, *diff = NULL;
	uint64_t seed = 13;

	builder_fill(builder, &seed);
	one = snapshot_take(builder);
	one->losses.count[LOSS_TASK_UNTRACKED] = 5;
	diff = diff_make(one, one);
	assert_int_equal(diff->nr_rows, 0);
	assert_int_equal(snapshot_user_ns(diff), 0);
	assert_has(diff, elapsed_ns, 0, start_ns, diff->end_ns);
	assert_true(losses_none(&diff->losses));
}

TEST(test_undoes_merge)
{
	uint64_t seed = 14;

	for (int i = 0; i < 20; i++) {
		__cleanup(snapshot_freep) struct snapshot *a = NULL, *b = NULL, *sum = NULL;
		__cleanup(snapshot_freep) struct snapshot *diff = NULL;
		struct builder *of_a = builder_make(), *of_b = builder_make();
		struct builder *of_sum = builder_make();

		builder_fill(of_a, &seed);
		builder_fill(of_b, &seed);
		assert_int_equal(builder_merge(of_sum, of_a), 0);
		assert_int_equal(builder_merge(of_sum, of_b), 0);
		a = snapshot_take(of_a);
		b = snapshot_take(of_b);
		sum = snapshot_take(of_sum);
		diff = diff_make(a, sum);
		assert_int_equal(diff->nr_rows, b->nr_rows);
		for (size_t j = 0; j < b->nr_rows; j++) {
			assert_row_sums_equal(diff->rows[j], b->rows[j]);
			assert_all(diff->rows[j]->min_ns <= b->rows[j]->min_ns,
				   diff->rows[j]->max_ns >= b->rows[j]->max_ns);
		}
		assert_int_equal(diff->nr_processes, b->nr_processes);
		for (size_t j = 0; j < b->nr_processes; j++)
			assert_process_equal(&diff->processes[j], &b->processes[j]);
	}
}

BUILDER_TEST(test_of_nothing_before)
{
	__cleanup(snapshot_freep) struct snapshot *none = snapshot_make(), *later = NULL;
	__cleanup(snapshot_freep) struct snapshot *diff = NULL;
	uint64_t seed = 15;

	builder_fill(builder, &seed);
	later = snapshot_take(builder);
	diff = diff_make(none, later);
	assert_snapshot_equal(diff, later);
}

static void take_calls_of(struct builder *builder, uint32_t pid, uint64_t boot_ns, int nr,
			  uint64_t count)
{
	struct row row;

	row_init_for(&row, pid, ABI_X86_64, nr);
	row.boot_ns = boot_ns;
	row_add_calls(&row, count, 100, 0, 0);
	row_add_errors(&row, EPERM, 1);
	builder_take_row(builder, &row);
}

static void take_calls(struct builder *builder, uint32_t pid, int nr, uint64_t count)
{
	take_calls_of(builder, pid, pid * 1000ULL, nr, count);
}

/* Processes that have ended and were folded. */
static void take_folded(struct builder *builder, const struct process *process, uint64_t count)
{
	assert_int_equal(builder_add_process(builder, process, false), 0);
	take_calls_of(builder, 0, process->boot_ns, 0, count);
}

static struct process folded_make(uint64_t serial, const char *comm, uint64_t user_ns)
{
	struct process process = process_make(0, comm, strlen(comm));

	process.boot_ns = serial;
	process.user_ns = user_ns;
	process.nr_folded = 2;
	return process;
}

/* Calls of a thread; tid 0 stands for all that have ended. */
static void take_thread(struct builder *builder, uint32_t tid, uint64_t tid_ns, uint64_t count)
{
	struct row row;

	row_init_for(&row, 1, ABI_X86_64, 0);
	row.tid = tid;
	row.tid_ns = tid_ns;
	row_add_calls(&row, count, 100, 0, 0);
	builder_take_row(builder, &row);
}

/* New ones are there in full; unchanged ones leave no row. */
BUILDERS_TEST(test_new_and_unchanged)
{
	__cleanup(snapshot_freep) struct snapshot *diff = NULL;

	take_calls(before, 1, 0, 10);
	take_calls(before, 1, 1, 10);
	builder_take_process(before, 1, "stays", 5, 100);
	take_calls(after, 1, 0, 10);
	take_calls(after, 1, 1, 15);
	take_calls(after, 1, 2, 20);
	take_calls(after, 3, 0, 30);
	builder_take_process(after, 1, "renamed", 7, 150);
	builder_take_process(after, 3, "comes", 5, 200);
	diff = diff_take(before, after);
	assert_int_equal(diff->nr_rows, 3);
	assert_has(diff->rows[0], pid, 1, nr, 1, calls, 5, nr_errnos, 0);
	assert_has(diff->rows[1], nr, 2, calls, 20, nr_errnos, 1);
	assert_has(diff->rows[2], pid, 3, calls, 30);
	assert_int_equal(diff->nr_processes, 2);
	assert_string_equal(diff->processes[0].comm, "renamed");
	assert_int_equal(diff->processes[0].user_ns, 50);
	assert_string_equal(diff->processes[1].comm, "comes");
	assert_int_equal(diff->processes[1].user_ns, 200);
}

/* What was folded in between is subtracted from the group that it is in now. */
BUILDERS_TEST(test_folded)
{
	const struct process other = folded_make(1, "other", 50);
	const struct process goes = folded_make(2, "goes", 130);
	__cleanup(snapshot_freep) struct snapshot *diff = NULL;

	take_calls(before, 2, 0, 10);
	builder_take_process(before, 2, "goes", 4, 100);
	take_folded(before, &other, 7);
	take_folded(after, &other, 7);
	take_folded(after, &goes, 25);
	diff = diff_take(before, after);
	assert_int_equal(diff->nr_rows, 1);
	assert_has(diff->rows[0], pid, 0, calls, 15);
	assert_int_equal(hist_total(&diff->rows[0]->hist), 15);
	assert_int_equal(diff->nr_processes, 2);
	/* To the other group nothing has come. */
	assert_string_equal(diff->processes[0].comm, "other");
	assert_int_equal(diff->processes[0].nr_folded, 0);
	assert_string_equal(diff->processes[1].comm, "goes");
	assert_has(&diff->processes[1], user_ns, 30, nr_folded, 1);
}

/* One whose kind has no group of its own is in that of all other kinds. */
BUILDERS_TEST(test_folded_into_others)
{
	const struct process kept = folded_make(1, "kept", 50);
	struct process others = process_of_other_kinds();
	__cleanup(snapshot_freep) struct snapshot *diff = NULL;

	take_calls(before, 2, 0, 10);
	builder_take_process(before, 2, "goes", 4, 100);
	take_folded(after, &kept, 7);
	others.boot_ns = 2;
	others.user_ns = 130;
	others.nr_folded = 3;
	take_folded(after, &others, 25);
	diff = diff_take(before, after);
	assert_int_equal(diff->nr_rows, 2);
	assert_int_equal(diff->rows[0]->calls, 7);
	assert_int_equal(diff->rows[1]->calls, 15);
	assert_has(&diff->processes[1], user_ns, 30, nr_folded, 2);
}

/* Another thread of the same tid is another row: the first one's is in that of ended threads. */
BUILDERS_TEST(test_tid_used_again)
{
	__cleanup(snapshot_freep) struct snapshot *diff = NULL;

	take_thread(before, 12, 1000, 10);
	builder_take_process(before, 1, "threads", 7, 100);
	take_thread(after, 0, 0, 11);
	take_thread(after, 12, 2000, 3);
	builder_take_process(after, 1, "threads", 7, 100);
	diff = diff_take(before, after);
	assert_int_equal(diff->nr_rows, 2);
	assert_has(diff->rows[0], tid, 0, calls, 1);
	assert_has(diff->rows[1], tid, 12, calls, 3);
}

/* The row of a thread that has ended is now in that of all ended threads. */
BUILDERS_TEST(test_ended_thread)
{
	__cleanup(snapshot_freep) struct snapshot *diff = NULL;

	take_thread(before, 12, 0, 10);
	builder_take_process(before, 1, "threads", 7, 100);
	take_thread(after, 0, 0, 17);
	builder_take_process(after, 1, "threads", 7, 100);
	diff = diff_take(before, after);
	assert_int_equal(diff->nr_rows, 1);
	assert_has(diff->rows[0], tid, 0, calls, 7);
}

/* Counters only grow: rows that are nowhere were of another counting. */
BUILDER_TEST(test_vanished)
{
	__cleanup(snapshot_freep) struct snapshot *earlier = NULL, *later = NULL, *diff = NULL;

	take_calls(builder, 2, 0, 10);
	builder_take_process(builder, 2, "goes", 4, 100);
	earlier = snapshot_take(builder);
	later = snapshot_take(builder_make());
	assert_int_equal(snapshot_diff(earlier, later, &diff), -EINVAL);
	assert_null(diff);
}

/* As many calls as before, but fewer errors: no later reading, though nothing would be left. */
BUILDERS_TEST(test_shrunk)
{
	__cleanup(snapshot_freep) struct snapshot *earlier = NULL, *later = NULL, *diff = NULL;

	take_calls(before, 1, 0, 10);
	builder_take_process(before, 1, "one", 3, 100);
	earlier = snapshot_take(before);
	take_calls(after, 1, 0, 10);
	builder_take_process(after, 1, "one", 3, 100);
	later = snapshot_take(after);
	later->rows[0]->errors--;
	assert_int_equal(snapshot_diff(earlier, later, &diff), -EINVAL);
	assert_null(diff);
}

/* A number used again is another process: nothing is subtracted from it. */
BUILDERS_TEST(test_pid_used_again)
{
	const struct process second = { .pid = 1, .boot_ns = 77, .user_ns = 5 };
	__cleanup(snapshot_freep) struct snapshot *diff = NULL;

	take_calls(before, 1, 0, 10);
	builder_take_process(before, 1, "first", 5, 100);
	take_calls(after, 1, 0, 10);
	builder_take_process(after, 1, "first", 5, 100);
	take_calls_of(after, 1, second.boot_ns, 0, 3);
	assert_int_equal(builder_add_process(after, &second, true), 0);
	diff = diff_take(before, after);
	assert_int_equal(diff->nr_rows, 1);
	assert_has(diff->rows[0], calls, 3, boot_ns, 77);
	assert_int_equal(diff->processes[0].user_ns, 5);
}

BUILDERS_TEST(test_in_flight_is_of_later)
{
	__cleanup(snapshot_freep) struct snapshot *diff = NULL;

	builder_take_in_flight(before, 1, ABI_X86_64, "read", 3, 0, 100);
	builder_take_in_flight(before, 1, ABI_X86_64, "write", 1, 0, 100);
	builder_take_in_flight(after, 1, ABI_X86_64, "read", 2, 1, 200);
	take_calls(after, 1, 1, 1);
	diff = diff_take(before, after);
	assert_int_equal(diff->nr_rows, 2);
	assert_has(diff->rows[0], calls, 0, in_flight, 2, in_flight_early, 1, oldest_start_ns, 200);
	assert_has(diff->rows[1], calls, 1, in_flight, 0);
}

/* Calls from before the counting: nothing is known of them that grows. */
BUILDERS_TEST(test_shared_row_in_flight)
{
	__cleanup(snapshot_freep) struct snapshot *earlier = NULL, *later = NULL, *diff = NULL;

	builder_take_in_flight(before, 1, ABI_X86_64, "read", 1, 1, 5);
	builder_take_process(before, 1, "sleeps", 6, 0);
	earlier = snapshot_take(before);
	assert_int_equal(builder_share_row(after, earlier->rows[0]), 0);
	builder_take_process(after, 1, "sleeps", 6, 0);
	later = snapshot_take(after);
	diff = diff_make(earlier, later);
	assert_int_equal(diff->nr_rows, 1);
	assert_has(diff->rows[0], in_flight, 1, in_flight_early, 1);
}

TEST(test_description)
{
	__cleanup(snapshot_freep) struct snapshot *earlier = snapshot_make();
	__cleanup(snapshot_freep) struct snapshot *later = snapshot_make(), *diff = NULL;

	later->end_ns += 7000000000;
	later->elapsed_ns += 7000000001;
	later->end_mono_ns += 7000000001;
	for (int i = 0; i < NR_MODEL_LOSS; i++) {
		earlier->losses.count[i] = 10 + (uint64_t)i;
		later->losses.count[i] = 10 + 3 * (uint64_t)i;
	}
	diff = diff_make(earlier, later);
	assert_has(diff, start_ns, earlier->end_ns, end_ns, later->end_ns, elapsed_ns, 7000000001,
		   end_mono_ns, later->end_mono_ns);
	assert_string_equal(diff->host, later->host);
	assert_string_equal(diff->boot_id, later->boot_id);
	for (int i = 0; i < NR_MODEL_LOSS; i++) {
		/* A difference counts the losses of folding from its own rows. */
		int is = i == LOSS_NUMBER_FOLDED || i == LOSS_KIND_FOLDED ? 0 : 2 * i;

		assert_int_equal(diff->losses.count[i], i == LOSS_TORN_READ ? 20 + 4 * i : is);
	}
}

TEST(test_other_boot)
{
	__cleanup(snapshot_freep) struct snapshot *earlier = snapshot_make();
	__cleanup(snapshot_freep) struct snapshot *later = snapshot_make();
	struct snapshot *diff = (void *)1;

	later->boot_id[0] ^= 1;
	assert_int_equal(snapshot_diff(earlier, later, &diff), -EINVAL);
	assert_ptr_equal(diff, (void *)1);
}

/* Neither side changes, and the result is its own. */
BUILDERS_TEST(test_leaves_both_alone)
{
	__cleanup(snapshot_freep) struct snapshot *earlier = NULL, *later = NULL, *diff = NULL;

	take_calls(before, 1, 0, 10);
	builder_take_process(before, 1, "one", 3, 100);
	earlier = snapshot_take(before);
	take_calls(after, 1, 0, 30);
	take_calls(after, 1, 0, 1);
	builder_take_process(after, 1, "one", 3, 300);
	later = snapshot_take(after);
	diff = diff_make(earlier, later);
	assert_int_equal(earlier->rows[0]->calls, 10);
	assert_int_equal(earlier->processes[0].user_ns, 100);
	assert_int_equal(later->rows[0]->calls, 31);
	assert_int_equal(later->rows[0]->errnos[0].count, 2);
	assert_int_equal(later->processes[0].user_ns, 300);
	assert_ptr_not_equal(diff->rows[0]->errnos, later->rows[0]->errnos);
	assert_int_equal(diff->rows[0]->errnos[0].count, 1);
}
