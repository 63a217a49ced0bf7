/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Flame graphs by other keys, inverted ones, and differences: each box has what the stacks below it have, in both
 * snapshots; what only one has is told. The plain graph is tested in test_pictures.c.
 */
#include "stack_scenarios.h"

#include "report/picture.h"

static const struct flame_bounds whole = { UINT64_MAX, FLAME_BOXES };

/* One server, whose work calls read and write from some function; 0 calls: not at all. */
static struct stacked server_make(uint64_t reads, const char *writer, uint64_t writes)
{
	struct stack_table *table = stack_table_make();
	struct builder *builder = builder_make();
	struct stacked stacked;
	struct row row;

	STACK_TAKE(table, 1, STACK_COMPLETE, FRAME("libc.so.6", "read", 0x1d),
		   FRAME("server", "load", 0x10), FRAME("server", "main", 0x10));
	STACK_TAKE(table, 2, STACK_COMPLETE, FRAME("libc.so.6", "write", 0x1d),
		   FRAME("server", writer, 0x10), FRAME("server", "main", 0x20));
	web_process(builder, 7, "server", 33, 7, 0);
	row_init_named(&row, 7, ABI_OF_TESTS, "read");
	row_add_calls_of(&row, 1, reads, USEC, 0, 0);
	builder_take_row(builder, &row);
	row_init_named(&row, 7, ABI_OF_TESTS, "write");
	row_add_calls_of(&row, 2, writes, MSEC, 0, 0);
	builder_take_row(builder, &row);
	stacked = stacked_take(table, builder);
	names_add(&stacked.snapshot->users, &stacked.snapshot->nr_users, 33, "www-data");
	names_add(&stacked.snapshot->cgroups, &stacked.snapshot->nr_cgroups, 7,
		  "/system.slice/web.service");
	return stacked;
}

/* The names of the boxes from the root to the first deepest one, with blanks between. */
static char *first_tower(const struct snapshot *snapshot, enum flame_by by)
{
	const struct stack_options options = { .by = by };
	__cleanup(flame_done) struct flame flame = { .boxes = NULL };
	struct text_stream stream;
	FILE *out = text_open(&stream);

	assert_int_equal(flame_make(snapshot, NULL, &options, whole, &flame), 0);
	for (size_t i = 0; i < flame.nr_boxes && flame.boxes[i].depth == i; i++)
		fprintf(out, "%s%s", i ? " > " : "", flame.boxes[i].name);
	return text_close(&stream);
}

TEST(test_keys)
{
	static const struct {
		enum flame_by by;
		const char *tower;
	} cases[] = {
		{ FLAME_BY_COMM, "all > server > main > load > read > read" },
		{ FLAME_BY_PID, "all > server 7 > main > load > read > read" },
		{ FLAME_BY_TID, "all > server 7 > main > load > read > read" },
		{ FLAME_BY_UNIT, "all > web.service > server > main > load > read > read" },
		{ FLAME_BY_USER, "all > www-data > server > main > load > read > read" },
		{ FLAME_BY_CONTAINER, "all > - > server > main > load > read > read" },
		{ FLAME_BY_SYSCALL, "all > read > read > load > main > server" },
	};
	__cleanup(stacked_done) struct stacked server = server_make(10, "log", 5);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		__cleanup(freep) char *tower = first_tower(server.snapshot, cases[i].by);

		assert_string_equal(tower, cases[i].tower);
	}
}

/* Threads have bars of their own where rows are told apart by them. */
TEST(test_threads)
{
	__cleanup(stacked_done) struct stacked server = server_make(10, "log", 5);
	__cleanup(freep) char *tower = NULL;

	server.snapshot->rows[0]->tid = 8;
	tower = first_tower(server.snapshot, FLAME_BY_TID);
	assert_string_equal(tower, "all > server 7 > thread 8 > main > load > read > read");
}

/* Whatever the key, nothing is lost; inverted, each call is a box with all that called it below. */
STACKS_TEST(test_sums, scenario_stacks_many())
{
	const struct row all = snapshot_sum(snapshot);

	for (int by = 0; by < NR_FLAME_BY; by++) {
		const struct stack_options options = { .by = (enum flame_by)by };
		__cleanup(flame_done) struct flame flame = { .boxes = NULL };
		uint64_t calls = 0, top = 0;

		assert_int_equal(flame_make(snapshot, NULL, &options, whole, &flame), 0);
		for (size_t i = 0; i < flame.nr_boxes; i++) {
			calls += flame.boxes[i].kind == BOX_SYSCALL ? flame.boxes[i].calls : 0;
			top += flame.boxes[i].depth == 1 ? flame.boxes[i].calls : 0;
		}
		assert_all(calls == all.calls, top == all.calls);
	}
}

STACKS_TEST(test_inverted_samples, scenario_stacks_many())
{
	static const struct stack_options inverted = { .by = FLAME_BY_SYSCALL };
	__cleanup(freep) char *text = render(report_flame, snapshot, &inverted);

	assert_all(strstr(text, ">Callers of system calls, by number<"),
		   strstr(text, "Below a system call is what called it"));
	sample_write("flame_inverted.svg", text, strlen(text));
}

/* --- differences -------------------------------------------------------------------------------- */

static const struct flame_box *box_named(const struct flame *flame, const char *name)
{
	for (size_t i = 0; i < flame->nr_boxes; i++) {
		if (!strcmp(flame->boxes[i].name, name))
			return &flame->boxes[i];
	}
	fail_msg("no box %s", name);
	return NULL;
}

TEST(test_difference)
{
	static const struct stack_options by_calls;
	__cleanup(stacked_done) struct stacked a = server_make(100, "log", 50);
	__cleanup(stacked_done) struct stacked b = server_make(300, "audit", 50);
	__cleanup(flame_done) struct flame flame = { .boxes = NULL };

	assert_int_equal(flame_make(b.snapshot, a.snapshot, &by_calls, whole, &flame), 0);
	assert_has(&flame.boxes[0], weight, 350, base_weight, 150);
	assert_has(box_named(&flame, "load"), weight, 300, base_weight, 100);
	assert_has(box_named(&flame, "audit"), weight, 50, base_weight, 0);
	assert_has(box_named(&flame, "main"), weight, 350, base_weight, 150);
	/* log, write in the library, write. */
	assert_has(&flame, nr_vanished, 3, vanished, 50);
}

/* The class and title of the box of a name. */
static void change_check(const char *text, const char *name, const char *class, const char *amounts)
{
	__cleanup(freep) char *begin = NULL;
	const char *at;

	assert_true(asprintf(&begin, "\"><title>%s\n", name) > 0);
	at = strstr(text, begin);
	assert_non_null(at);
	if (!strstr(at, amounts) || strstr(at, amounts) > strstr(at, "</title>"))
		fail_msg("no \"%s\" in %.200s", amounts, at);
	while (strncmp(at, "<g class=\"box ", 14) != 0)
		at--;
	assert_int_equal(strncmp(at + 14, class, strlen(class)), 0);
}

TEST(test_difference_drawn)
{
	static const struct stack_options by_calls, by_time = { .weight = STACK_WEIGHT_TIME };
	__cleanup(stacked_done) struct stacked a = server_make(100, "log", 50);
	__cleanup(stacked_done) struct stacked b = server_make(300, "audit", 50);
	const struct compare_input input = { .a = { "before.json", a.snapshot },
					     .b = { "</text><script>", b.snapshot } };
	__cleanup(freep) char *rates = render(report_flame_difference, &input, &by_calls, false);
	__cleanup(freep) char *shares = render(report_flame_difference, &input, &by_calls, true);
	__cleanup(freep) char *times = render(report_flame_difference, &input, &by_time, true);

	change_check(
		rates, "load", "d6",
		"\n300 calls, 85.71%\nin A 100 calls, 66.67%: now 3.00 times as much per second");
	change_check(shares, "load", "d5", ": now 1.29 times as much of the whole");
	change_check(rates, "audit", "d7", "\n50 calls, 14.29%\nin A 0 calls, 0.00%");
	change_check(rates, "main", "d6", ": now 2.33 times as much per second");
	change_check(shares, "main", "d3", ": now 1.00 times as much of the whole");
	change_check(times, "load", "d6", "\n300.0 us in 300 calls, 0.60%");
	assert_all(
		strstr(rates, "3 frames of A, 33.3% of it, are not in B."),
		strstr(rates,
		       "how many more or fewer calls per second it makes than in A, before.json"),
		strstr(shares, "its share of all calls is"),
		strstr(times, "its share of all time is"));
	assert_int_equal(count_of(rates, "<script"), 1);
	assert_full(report_flame_difference, &input, &by_calls, false);
	sample_write("flame_difference.svg", rates, strlen(rates));
}

/* Nothing is more or less than in itself; nothing at all is less than something. */
STACKS_TEST(test_difference_extremes, scenario_stacks_many())
{
	static const struct stack_options by_calls;
	__cleanup(stacked_done) struct stacked empty = scenario_stacks_empty();
	const struct compare_input same = { .a = { "a", snapshot }, .b = { "b", snapshot } };
	const struct compare_input gone = { .a = { "a", snapshot }, .b = { "b", empty.snapshot } };
	__cleanup(freep) char *alike = render(report_flame_difference, &same, &by_calls, false);
	__cleanup(freep) char *nothing = render(report_flame_difference, &gone, &by_calls, true);

	assert_int_equal(count_of(alike, "<g class=\"box "), count_of(alike, "<g class=\"box d3"));
	assert_null(strstr(alike, "of A, "));
	assert_all(strstr(nothing, "100.0% of it, are not in B."),
		   strstr(nothing, "No system call was counted."));
}
