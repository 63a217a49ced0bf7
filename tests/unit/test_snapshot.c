/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Snapshots as values: rows and processes are added up in any order, copied, looked up; the reasons
 * why one may not be exact.
 */
#include "fixture.h"

#define NR_ROWS 300

static void rows_shuffle(struct row *rows, size_t count, uint64_t *seed)
{
	for (size_t i = count - 1; i > 0; i--) {
		size_t j = random_below(seed, i + 1);
		struct row row = rows[i];

		rows[i] = rows[j];
		rows[j] = row;
	}
}

static struct snapshot *snapshot_of(const struct row *rows, size_t count)
{
	struct builder *builder = builder_make();

	for (size_t i = 0; i < count; i++)
		assert_int_equal(builder_add_row(builder, &rows[i]), 0);
	return snapshot_take(builder);
}

/* The sum of one identity, added up without a builder. */
static void row_sum(const struct row *rows, size_t count, const struct row *identity,
		    struct row *sum)
{
	row_init(sum);
	sum->pid = identity->pid;
	sum->boot_ns = identity->boot_ns;
	sum->abi = identity->abi;
	sum->nr = identity->nr;
	for (size_t i = 0; i < count; i++) {
		if (!row_compare(&rows[i], identity))
			assert_int_equal(row_merge(sum, &rows[i]), 0);
	}
}

TEST(test_any_order)
{
	static struct row rows[NR_ROWS];
	__cleanup(snapshot_freep) struct snapshot *first = NULL;
	uint64_t seed = 11, calls = 0, sum = 0;

	for (size_t i = 0; i < NR_ROWS; i++) {
		row_init_random(&rows[i], &seed);
		calls += rows[i].calls;
	}
	first = snapshot_of(rows, NR_ROWS);
	assert_sorted(first);
	assert_in_range(first->nr_rows, 20, 4 * 2 * 5);
	for (size_t i = 0; i < first->nr_rows; i++) {
		__cleanup(row_done) struct row expected;

		row_sum(rows, NR_ROWS, first->rows[i], &expected);
		assert_row_equal(first->rows[i], &expected);
		sum += first->rows[i]->calls;
	}
	assert_int_equal(sum, calls);
	for (int i = 0; i < 20; i++) {
		__cleanup(snapshot_freep) struct snapshot *other = NULL;

		rows_shuffle(rows, NR_ROWS, &seed);
		other = snapshot_of(rows, NR_ROWS);
		assert_snapshot_equal(first, other);
	}
	rows_done(rows, NR_ROWS);
}

TEST(test_merge)
{
	static struct row rows[NR_ROWS];
	__cleanup(snapshot_freep) struct snapshot *expected = NULL, *got = NULL, *rest = NULL;
	__cleanup(builder_freep) struct builder *nothing = builder_make();
	struct builder *a = builder_make(), *b = builder_make();
	uint64_t seed = 12;

	for (size_t i = 0; i < NR_ROWS; i++) {
		row_init_random(&rows[i], &seed);
		assert_int_equal(builder_add_row(i % 3 ? a : b, &rows[i]), 0);
	}
	builder_take_process(a, 1, "one", 3, 10);
	builder_take_process(b, 1, "uno", 3, 5);
	builder_take_process(b, 2, "two", 3, 7);
	assert_int_equal(builder_merge(a, b), 0);
	assert_int_equal(builder_merge(a, nothing), 0);
	got = snapshot_take(a);
	expected = snapshot_of(rows, NR_ROWS);
	assert_int_equal(got->nr_rows, expected->nr_rows);
	for (size_t i = 0; i < got->nr_rows; i++)
		assert_row_equal(got->rows[i], expected->rows[i]);
	assert_int_equal(got->nr_processes, 2);
	assert_string_equal(got->processes[0].comm, "one");
	assert_int_equal(got->processes[0].user_ns, 15);
	assert_string_equal(got->processes[1].comm, "two");
	assert_int_equal(got->processes[1].user_ns, 7);

	/* The other one keeps what it had. */
	rest = snapshot_take(b);
	assert_has(rest, nr_processes, 2, processes[0].user_ns, 5);
	rows_done(rows, NR_ROWS);
}

BUILDER_TEST(test_many_rows)
{
	enum { PROCESSES = 100, CALLS = 100 };
	__cleanup(snapshot_freep) struct snapshot *snapshot = NULL;
	struct row row;

	/* 7919 is prime to 10000: every row once, far from in order. */
	for (uint32_t i = 0; i < 2 * PROCESSES * CALLS; i++) {
		uint32_t at = i * 7919 % (PROCESSES * CALLS);

		row_init_for(&row, 1 + at / CALLS, ABI_X86_64, (int)(at % CALLS));
		row_add_calls(&row, 1, at, 0, 0);
		row_add_errors(&row, 1 + (int)(at % 100), 1);
		builder_take_row(builder, &row);
		builder_take_process(builder, 1 + at / CALLS, "many", 4, 1);
	}
	snapshot = snapshot_take(builder);
	assert_has(snapshot, nr_rows, PROCESSES * CALLS, nr_processes, PROCESSES);
	assert_sorted(snapshot);
	for (uint32_t i = 0; i < PROCESSES * CALLS; i++) {
		const struct row *found = snapshot->rows[i];

		assert_has(found, pid, 1 + i / CALLS, nr, i % CALLS, calls, 2, wall_ns, 2 * i,
			   nr_errnos, 1, errnos[0].count, 2);
		assert_ptr_equal(snapshot_find_row(snapshot, found), found);
	}
	for (size_t i = 0; i < PROCESSES; i++)
		assert_int_equal(snapshot->processes[i].user_ns, 2 * CALLS);
}

BUILDER_TEST(test_process_names)
{
	/* PID+BOOT_NS, and a name: of a thread, or of the process itself. */
	const char *named =
		/* A thread's name gives way to its process's, whichever is first. */
		"1+10:thread 1+10=main 1+10:thread 2+10=main 2+10:thread "
		/* The last name of the process itself counts. */
		"3+10=before_exec 3+10=after_exec "
		/* No name is no reason to forget one; any is better than none. */
		"4+10=known 4+10= 5+10: 5+10:thread "
		/* All 16 bytes count. */
		"6+10=0123456789abcdef 7+10:0123456789abcdef 7+10=short "
		/* The same number, used again. */
		"1+11:other";
	static const char expected[][PROCESS_COMM_SIZE + 1] = {
		"main",  "other", "main", "after_exec", "known", "thread", "0123456789abcdef",
		"short",
	};
	__cleanup(snapshot_freep) struct snapshot *snapshot = NULL;
	char word[MAX_WORD];

	while (word_read(&named, word)) {
		struct process process = { .user_ns = 1 };
		char *at;

		process.pid = (uint32_t)strtoul(word, &at, 10);
		process.boot_ns = strtoull(at, &at, 10);
		memcpy(process.comm, at + 1, strlen(at + 1));
		assert_int_equal(builder_add_process(builder, &process, *at == '='), 0);
	}
	snapshot = snapshot_take(builder);
	assert_int_equal(snapshot->nr_processes, ARRAY_SIZE(expected));
	assert_sorted(snapshot);
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
		assert_memory_equal(snapshot->processes[i].comm, expected[i], PROCESS_COMM_SIZE);
	assert_has(snapshot, processes[0].user_ns, 3, processes[1].user_ns, 1);
}

/* It is called as its first thread, 0, or else that of the lowest id. */
BUILDER_TEST(test_an_exec_leaves_the_name_of_the_later_thread)
{
	static const struct process readings[] = {
		{ .comm = "worker", .named_by = 7, .named_ns = 20 },
		{ .comm = "before", .named_ns = 10 },
		{ .comm = "after", .named_ns = 30 },
		{ .comm = "before", .named_ns = 10 },
		{ .comm = "other", .named_by = 6, .named_ns = 40 },
	};
	__cleanup(snapshot_freep) struct snapshot *snapshot = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(readings); i++) {
		struct process process = readings[i];

		process.pid = 1;
		assert_int_equal(builder_add_process(builder, &process, i % 2), 0);
	}
	snapshot = snapshot_take(builder);
	assert_string_equal(snapshot->processes[0].comm, "after");
	assert_has(snapshot, processes[0].changes[CHANGED_COMM], 1,
		   processes[0].changes[CHANGED_USER], 0);
}

BUILDER_TEST(test_a_process_of_an_empty_name_has_its_newer_user)
{
	__cleanup(snapshot_freep) struct snapshot *snapshot = NULL;

	for (uint32_t uid = 1; uid <= 2; uid++) {
		const struct process process = { .pid = 1, .uid = uid, .named_ns = 10 };

		assert_int_equal(builder_add_process(builder, &process, true), 0);
	}
	snapshot = snapshot_take(builder);
	assert_int_equal(snapshot->processes[0].uid, 2);
}

TEST(test_finish_empties)
{
	__cleanup(snapshot_freep) struct snapshot *first = snapshot_make();
	__cleanup(snapshot_freep) struct snapshot *second = snapshot_make();
	__cleanup(snapshot_freep) struct snapshot *third = snapshot_make();
	__cleanup(builder_freep) struct builder *builder = builder_make();
	struct row row;

	assert_int_equal(builder_finish(builder, first), 0);
	assert_has(first, nr_rows, 0, nr_processes, 0);
	for (int i = 0; i < 2; i++) {
		row_init_calls(&row, 1, ABI_X86_64, "read", 1, 100, 0, 0);
		row_add_errors(&row, EPERM, 1);
		builder_take_row(builder, &row);
		builder_take_process(builder, 1, "one", 3, 1);
		assert_int_equal(builder_finish(builder, i ? third : second), 0);
	}
	assert_has(second, rows[0]->calls, 1, processes[0].user_ns, 1);
	assert_snapshot_equal(second, third);
}

/* A row that is moved leaves an empty one behind. */
BUILDER_TEST(test_rows_are_moved)
{
	__cleanup(snapshot_freep) struct snapshot *snapshot = NULL;
	struct row row;

	for (uint64_t i = 0; i < 200; i++) {
		row_init_for(&row, 1, ABI_X86_64, (int)(i % 2));
		row_add_calls(&row, 1, 100 << (i % 7), 0, 0);
		row_add_errors(&row, EPERM, 1);
		assert_int_equal(builder_move_row(builder, &row), 0);
		assert_has(&row, calls, 0, nr_errnos, 0);
		assert_int_equal(hist_total(&row.hist), 0);
		row_done(&row);
	}
	snapshot = snapshot_take(builder);
	assert_int_equal(snapshot->nr_rows, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_has(snapshot->rows[i], nr, i, calls, 100);
		assert_int_equal(hist_total(&snapshot->rows[i]->hist), 100);
		assert_int_equal(snapshot->rows[i]->errnos[0].count, 100);
	}
}

/* A row that others share stays theirs when a builder adds to it. */
TEST(test_rows_are_shared)
{
	__cleanup(snapshot_freep) struct snapshot *before = NULL, *after = NULL;
	struct builder *lasting = builder_make(), *reading = builder_make();
	struct row row;

	for (int nr = 0; nr < 2; nr++) {
		row_init_for(&row, 1, ABI_X86_64, nr);
		row_add_calls(&row, 1, 100, 0, 0);
		builder_take_row(lasting, &row);
	}
	assert_int_equal(builder_merge(reading, lasting), 0);
	before = snapshot_take(reading);
	row_init_for(&row, 1, ABI_X86_64, 0);
	row_add_errors(&row, EPERM, 5);
	builder_take_row(lasting, &row);
	after = snapshot_take(lasting);
	assert_has(before->rows[0], calls, 1, nr_errnos, 0);
	assert_has(after, rows[0]->errors, 5, rows[0]->errnos[0].count, 5);
	assert_ptr_not_equal(before->rows[0], after->rows[0]);
	assert_ptr_equal(before->rows[1], after->rows[1]);
}

/* --- snapshots ----------------------------------------------------------------------------------- */

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
	assert_has(like, losses.count[LOSS_TORN_READ], 9, nr_targets, 1);
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
	"untracked_tasks",    "task_table_full", "slot_table_full",  "errno_table_full",
	"bucket_wrapped",     "exit_missed",     "time_clamped",     "user_time_unknown",
	"foreign_table_full", "late_threads",    "errnos_off",       "stack_table_full",
	"arg0_table_full",    "switch_unseen",   "lookup_busy",      "hist_table_full",
	"path_table_full",    "numbers_folded",  "kinds_folded",     "enter_missed",
	"leave_missed",       "switch_missed",   "lifecycle_missed", "change_missed",
	"torn_reads",
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
