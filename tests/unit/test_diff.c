/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests what was counted between two snapshots; and consecutive differences, added up again. */
#include "fixture.h"

#include "model/diff.h"

static struct snapshot *diff_make(const struct snapshot *earlier, const struct snapshot *later)
{
	struct snapshot *diff;

	assert_int_equal(snapshot_diff(earlier, later, &diff), 0);
	return diff;
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

static uint64_t number_after(char **at, char mark, uint64_t otherwise)
{
	return **at == mark ? strtoull(*at + 1, at, 10) : otherwise;
}

/*
 * Takes PID[+BOOT_NS][.TID[+TID_NS]]/NR:CALLS[!ERRORS], an error if that is not said, and
 * PID[+BOOT_NS]=COMM:USER_NS[xFOLDED] of processes.
 */
static void take_word(struct builder *builder, char *word)
{
	struct process process = { .user_ns = 0 };
	struct row row;
	char *at;

	row_init_for(&row, (uint32_t)strtoul(word, &at, 10), ABI_X86_64, 0);
	row.boot_ns = number_after(&at, '+', row.boot_ns);
	if (sscanf(at, "=%15[^:]:%" SCNu64 "x%" SCNu64, process.comm, &process.user_ns,
		   &process.nr_folded) >= 2) {
		process.pid = row.pid;
		process.boot_ns = row.boot_ns;
		/* This group has all kinds without a group of their own. */
		process.uid = process.comm[0] == '[' ? UID_NONE : 0;
		assert_int_equal(builder_add_process(builder, &process, true), 0);
		return;
	}
	row.tid = (uint32_t)number_after(&at, '.', 0);
	row.tid_ns = number_after(&at, '+', 0);
	row.nr = (int)number_after(&at, '/', 0);
	row_add_calls(&row, number_after(&at, ':', 0), 100, 0, 0);
	row_add_errors(&row, EPERM, number_after(&at, '!', 1));
	assert_int_equal(*at, '\0');
	builder_take_row(builder, &row);
}

static struct snapshot *snapshot_of(const char *text)
{
	struct builder *builder = builder_make();
	char word[MAX_WORD];

	while (word_read(&text, word))
		take_word(builder, word);
	return snapshot_take(builder);
}

/* Writes what take_word() takes; zeros are left out but for calls and user time. */
static void counts_write(const struct snapshot *snapshot, FILE *out)
{
	for (size_t i = 0; i < snapshot->nr_rows; i++) {
		const struct row *row = snapshot->rows[i];

		fprintf(out, "%" PRIu32 "+%" PRIu64, row->pid, row->boot_ns);
		if (row->tid)
			fprintf(out, ".%" PRIu32 "+%" PRIu64, row->tid, row->tid_ns);
		fprintf(out, "/%" PRIi64 ":%" PRIu64, row->nr, row->calls);
		fprintf(out, row->errors ? "!%" PRIu64 " " : " ", row->errors);
		assert_int_equal(hist_total(&row->hist), row->calls);
		assert_int_equal(row->nr_errnos, row->errors > 0);
	}
	for (size_t i = 0; i < snapshot->nr_processes; i++) {
		const struct process *process = &snapshot->processes[i];

		fprintf(out, "%" PRIu32 "+%" PRIu64 "=%s:%" PRIu64, process->pid, process->boot_ns,
			process->comm, process->user_ns);
		fprintf(out, process->nr_folded ? "x%" PRIu64 " " : " ", process->nr_folded);
	}
}

/* A call whose exit was missed while rows were read may be in the earlier reading, or only in the later one. */
TEST(test_losses_that_came_while_rows_were_read)
{
	__cleanup(snapshot_freep) struct snapshot *earlier = snapshot_of("1/0:10 1=one:100");
	__cleanup(snapshot_freep) struct snapshot *later = snapshot_of("1/0:11 1=one:110");
	__cleanup(snapshot_freep) struct snapshot *diff = NULL;

	earlier->losses.count[LOSS_EXIT_MISSED] = 5;
	earlier->losses_late.count[LOSS_EXIT_MISSED] = 2;
	later->losses.count[LOSS_EXIT_MISSED] = 5;
	earlier->losses.count[LOSS_SWITCH_UNSEEN] = 5;
	earlier->losses_late.count[LOSS_SWITCH_UNSEEN] = 2;
	later->losses.count[LOSS_SWITCH_UNSEEN] = 6;
	assert_int_equal(snapshot_diff(earlier, later, &diff), 0);
	assert_int_equal(diff->losses.count[LOSS_EXIT_MISSED], 2);
	assert_int_equal(diff->losses.count[LOSS_SWITCH_UNSEEN], 1);
}

static const struct {
	const char *about, *before, *after;
	const char *diff; /* NULL: this is no later reading of the same counting */
} diffs[] = {
	{ "new ones are there in full; unchanged ones leave no row", "1/0:10 1/1:10 1=stays:100",
	  "1/0:10 1/1:15 1/2:20 3/0:30 1=renamed:150 3=comes:200",
	  "1+1000/1:5 1+1000/2:20!1 3+3000/0:30!1 1+1000=renamed:50 3+3000=comes:200 " },
	{ "what was folded is subtracted from the group that it is in now",
	  "2/0:10 2=goes:100 0+1/0:7 0+1=other:50x2",
	  "0+1/0:7 0+1=other:50x2 0+2/0:25 0+2=goes:130x2", "0+2/0:15 0+1=other:0 0+2=goes:30x1 " },
	{ "one whose kind has no group is in that of all other kinds", "2/0:10 2=goes:100",
	  "0+1/0:7 0+1=kept:50x2 0+2/0:25 0+2=[others]:130x3",
	  "0+1/0:7!1 0+2/0:15 0+1=kept:50x2 0+2=[others]:30x2 " },
	{ "another thread of the same tid is another row; the first one has ended",
	  "1.12+1000/0:10 1=threads:100", "1/0:11 1.12+2000/0:3 1=threads:100",
	  "1+1000/0:1 1+1000.12+2000/0:3!1 1+1000=threads:0 " },
	{ "the row of a thread that has ended is in that of all ended threads",
	  "1.12/0:10 1=threads:100", "1/0:17 1=threads:100", "1+1000/0:7 1+1000=threads:0 " },
	{ "a number used again is another process: nothing is subtracted from it",
	  "1/0:10 1=first:100", "1/0:10 1=first:100 1+77/0:3 1+77=second:5",
	  "1+77/0:3!1 1+77=second:5 1+1000=first:0 " },
	{ "counters only grow: rows that are nowhere were of another counting", "2/0:10 2=goes:100",
	  "", NULL },
	{ "as many calls but fewer errors are no later reading, though nothing is left",
	  "1/0:10!2 1=one:100", "1/0:10 1=one:100", NULL },
};

TEST(test_by_hand)
{
	for (size_t i = 0; i < ARRAY_SIZE(diffs); i++) {
		__cleanup(snapshot_freep) struct snapshot *earlier = snapshot_of(diffs[i].before);
		__cleanup(snapshot_freep) struct snapshot *later = snapshot_of(diffs[i].after);
		__cleanup(snapshot_freep) struct snapshot *diff = NULL;
		__cleanup(freep) char *text = NULL;
		struct text_stream stream;

		assert_int_equal(snapshot_diff(earlier, later, &diff), diffs[i].diff ? 0 : -EINVAL);
		assert_int_equal(diff != NULL, diffs[i].diff != NULL);
		if (!diff)
			continue;
		counts_write(diff, text_open(&stream));
		text = text_close(&stream);
		if (strcmp(text, diffs[i].diff))
			fail_msg("%s: %s", diffs[i].about, text);
	}
}

BUILDERS_TEST(test_in_flight_is_of_later)
{
	__cleanup(snapshot_freep) struct snapshot *earlier = NULL, *later = NULL, *diff = NULL;

	builder_take_in_flight(before, 1, ABI_X86_64, "read", 3, 0, 100);
	builder_take_in_flight(before, 1, ABI_X86_64, "write", 1, 0, 100);
	builder_take_in_flight(after, 1, ABI_X86_64, "read", 2, 1, 200);
	builder_take_calls(after, 1, ABI_X86_64, "write", 1, 100, 0, 0);
	earlier = snapshot_take(before);
	later = snapshot_take(after);
	diff = diff_make(earlier, later);
	assert_int_equal(diff->nr_rows, 2);
	assert_has(diff->rows[0], calls, 0, in_flight, 2, in_flight_early, 1, oldest_start_ns, 200);
	assert_has(diff->rows[1], calls, 1, in_flight, 0);
}

/* What a call from before counting took is in no count once it is over, but goes on adding up. */
BUILDERS_TEST(test_early_call_is_over)
{
	__cleanup(snapshot_freep) struct snapshot *earlier = NULL, *later = NULL, *diff = NULL;
	struct row row;

	row_init_for(&row, 1, ABI_X86_64, 0);
	row.in_flight = row.in_flight_early = 1;
	row.oldest_start_ns = 5;
	row.open_wall_ns = row.open_off_ns = 70;
	builder_take_row(before, &row);
	row_init_for(&row, 1, ABI_X86_64, 0);
	row.open_wall_ns = row.open_off_ns = 100;
	builder_take_row(after, &row);
	earlier = snapshot_take(before);
	later = snapshot_take(after);
	diff = diff_make(earlier, later);
	assert_int_equal(diff->nr_rows, 1);
	assert_has(diff->rows[0], calls, 0, in_flight, 0, open_wall_ns, 30, open_off_ns, 30);
}

/* A row that did not change between two readings. */
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
TEST(test_leaves_both_alone)
{
	__cleanup(snapshot_freep) struct snapshot *earlier = snapshot_of("1/0:10 1=one:100");
	__cleanup(snapshot_freep) struct snapshot *later = snapshot_of("1/0:30 1/0:1 1=one:300");
	__cleanup(snapshot_freep) struct snapshot *diff = diff_make(earlier, later);

	assert_has(earlier, rows[0]->calls, 10, processes[0].user_ns, 100);
	assert_has(later, rows[0]->calls, 31, rows[0]->errnos[0].count, 2, processes[0].user_ns,
		   300);
	assert_ptr_not_equal(diff->rows[0]->errnos, later->rows[0]->errnos);
	assert_int_equal(diff->rows[0]->errnos[0].count, 1);
}

/* --- joins --------------------------------------------------------------------------------------- */

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
	__cleanup(builder_freep) struct builder *total = builder_make();
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
		/* Calls in flight in one reading only are of that moment. */
		readings->all[i] = reading_take(total, i);
	}
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
	struct readings readings __cleanup(readings_done) = { 0 };

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
}

/* A join of joins is a join, also of parts without what is true at one moment only. */
TEST(test_of_joins)
{
	__cleanup(snapshot_freep) struct snapshot *front = NULL, *back = NULL, *joined = NULL,
						  *whole = NULL;
	struct readings readings __cleanup(readings_done) = { 0 };
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
}

/* What lies between parts that are not adjacent was not counted, whichever are joined first. */
TEST(test_join_paused)
{
	__cleanup(snapshot_freep) struct snapshot *front = NULL, *joined = NULL, *at_once = NULL;
	struct readings readings __cleanup(readings_done) = { 0 };
	const struct snapshot *parts[3];

	readings_make(&readings, 33);
	for (int i = 0; i < 3; i++)
		parts[i] = readings.parts[1 + 2 * i];
	assert_int_equal(snapshot_join(parts, 3, readings.all[5], &at_once), 0);
	assert_has(at_once, elapsed_ns, 30, paused_ns, 20, start_ns, 1000, end_ns, 1050);
	assert_int_equal(snapshot_join(parts, 2, readings.all[3], &front), 0);
	assert_has(front, elapsed_ns, 20, paused_ns, 10);
	parts[1] = front;
	assert_int_equal(snapshot_join(parts + 1, 2, readings.all[5], &joined), 0);
	assert_has(joined, elapsed_ns, 30, paused_ns, 20);
}

/* Two readings: a call is in flight in both, another only in the first. */
TEST(test_join_in_flight)
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
	assert_has(joined, nr_processes, 1, processes[0].user_ns, 0);
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
