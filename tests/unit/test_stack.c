/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of stacks, the counts of stacks in rows, the section of stacks below a table, and in JSON. */
#include "stack_scenarios.h"

TEST(test_empty)
{
	__cleanup(stack_table_freep) struct stack_table *table = stack_table_make();

	assert_null(stack_table_find(table, 1));
	stack_table_free(NULL);
}

/* Names are copied; equal ones are one. */
TEST(test_add)
{
	__cleanup(stack_table_freep) struct stack_table *table = stack_table_make();
	char module[] = "libc.so.6", symbol[] = "read";
	const struct stack *one, *two;

	STACK_TAKE(table, 7, STACK_COMPLETE, FRAME(module, symbol, 0x1d), FRAME(module, NULL, 1));
	STACK_TAKE(table, 8, STACK_PAGED_OUT, INLINED(module, symbol, 2), KERNEL(symbol, 3));
	memset(module, 'x', sizeof(module) - 1);
	memset(symbol, 'y', sizeof(symbol) - 1);
	one = stack_table_find(table, 7);
	two = stack_table_find(table, 8);
	assert_has(one, id, 7, end, STACK_COMPLETE, nr_frames, 2);
	assert_string_equal(one->frames[0].module, "libc.so.6");
	assert_string_equal(one->frames[0].symbol, "read");
	assert_int_equal(one->frames[0].offset, 0x1d);
	assert_null(one->frames[1].symbol);
	assert_int_equal(two->end, STACK_PAGED_OUT);
	assert_all(two->frames[0].inlined && !two->frames[0].kernel,
		   two->frames[1].kernel && !two->frames[1].inlined);
	assert_ptr_equal(one->frames[0].module, two->frames[0].module);
	assert_ptr_equal(one->frames[0].symbol, two->frames[1].symbol);
}

TEST(test_no_frames)
{
	__cleanup(stack_table_freep) struct stack_table *table = stack_table_make();

	stack_take(table, UINT64_MAX, STACK_32_BIT, NULL, 0);
	assert_int_equal(stack_table_find(table, UINT64_MAX)->nr_frames, 0);
}

TEST(test_many)
{
	__cleanup(stack_table_freep) struct stack_table *table = stack_table_make();
	const struct stack *first = NULL;
	uint64_t seed = 21, ids[2000];
	char symbol[32];

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		ids[i] = random_u64(&seed);
		snprintf(symbol, sizeof(symbol), "f%zu", i);
		STACK_TAKE(table, ids[i], STACK_COMPLETE, FRAME("m", symbol, i));
		first = first ?: stack_table_find(table, ids[0]);
	}
	assert_ptr_equal(stack_table_find(table, ids[0]), first);
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		snprintf(symbol, sizeof(symbol), "f%zu", i);
		assert_string_equal(stack_table_find(table, ids[i])->frames[0].symbol, symbol);
	}
}

TEST(test_end_names)
{
	assert_null(stack_end_name(STACK_COMPLETE));
	for (int end = STACK_COMPLETE + 1; end < NR_STACK_END; end++) {
		const char *name = stack_end_name((enum stack_end)end);

		assert_all(name, *name == '[' && name[strlen(name) - 1] == ']');
		for (int other = STACK_COMPLETE + 1; other < end; other++)
			assert_string_not_equal(name, stack_end_name((enum stack_end)other));
	}
}

/* --- in rows --- */

TEST(test_row_add)
{
	const struct stack_count count = { 5, 1, 2, 30, 20, 10, 7 };
	const struct stack_count again = { 5, 10, 20, 300, 200, 100, 6 };
	struct row row;

	row_init_for(&row, 1, ABI_X86_64, 0);
	assert_int_equal(row_add_stack(&row, &count), 0);
	assert_int_equal(row_add_stack(&row, &again), 0);
	assert_int_equal(row.nr_stacks, 1);
	assert_has(&row.stacks[0], calls, 11, errors, 22, wall_ns, 330, off_ns, 220, runq_ns, 110,
		   max_ns, 7);
	row_done(&row);
	assert_null(row.stacks);
	assert_int_equal(row.nr_stacks, 0);
}

static void row_init_stacks(struct row *row, uint64_t *seed)
{
	row_init_for(row, 1, ABI_X86_64, 0);
	for (int i = 0; i < 40; i++) {
		uint64_t wall_ns = random_ns(seed, 30), off_ns = random_below(seed, wall_ns + 1);

		/* STACK_OTHERS is one of them. */
		row_add_calls_of(row, random_below(seed, 30), 1 + random_below(seed, 9), wall_ns,
				 off_ns, random_below(seed, off_ns + 1));
	}
}

static void assert_stacks_sound(const struct row *row)
{
	uint64_t calls = 0, wall_ns = 0, off_ns = 0, runq_ns = 0;

	for (size_t i = 0; i < row->nr_stacks; i++) {
		if (i)
			assert_true(row->stacks[i - 1].id < row->stacks[i].id);
		calls += row->stacks[i].calls;
		wall_ns += row->stacks[i].wall_ns;
		off_ns += row->stacks[i].off_ns;
		runq_ns += row->stacks[i].runq_ns;
	}
	assert_int_equal(calls, row->calls);
	assert_int_equal(wall_ns, row->wall_ns);
	assert_int_equal(off_ns, row->off_ns);
	assert_int_equal(runq_ns, row->runq_ns);
}

/* All but the maximum, which stays that of the whole. */
static void assert_stacks_equal(const struct row *a, const struct row *b)
{
	assert_int_equal(a->nr_stacks, b->nr_stacks);
	for (size_t i = 0; i < a->nr_stacks; i++) {
		const struct stack_count *x = &a->stacks[i], *y = &b->stacks[i];

		assert_same(x, y, id, calls, errors, wall_ns, off_ns, runq_ns);
		assert_true(x->max_ns >= y->max_ns);
	}
}

TEST(test_row_merge_subtract)
{
	uint64_t seed = 22;

	for (int i = 0; i < 200; i++) {
		__cleanup(row_done) struct row a, b, sum;

		row_init_stacks(&a, &seed);
		row_init_stacks(&b, &seed);
		assert_int_equal(row_copy(&sum, &a), 0);
		assert_int_equal(row_merge(&sum, &b), 0);
		assert_stacks_sound(&sum);
		assert_int_equal(row_subtract(&sum, &b), 0);
		assert_stacks_sound(&sum);
		assert_stacks_equal(&sum, &a);
		assert_int_equal(row_subtract(&sum, &a), 0);
		assert_int_equal(sum.nr_stacks, 0);
	}
}

TEST(test_row_copy)
{
	uint64_t seed = 23, calls;
	__cleanup(row_done) struct row a, b;

	row_init_stacks(&a, &seed);
	assert_int_equal(row_copy(&b, &a), 0);
	assert_ptr_not_equal(a.stacks, b.stacks);
	assert_stacks_equal(&b, &a);
	calls = b.stacks[0].calls;
	a.stacks[0].calls++;
	assert_int_equal(b.stacks[0].calls, calls);
}

/* On their way through builder, groups and snapshot nothing is lost. */
STACKS_TEST(test_grouped, scenario_stacks())
{
	__cleanup(group_list_done) struct group_list list = { 0 };
	uint64_t calls = 0, of_stacks = 0;

	assert_int_equal(snapshot_group(snapshot, GROUP_SYSCALL, NULL, &list), 0);
	for (size_t i = 0; i < list.nr_groups; i++) {
		calls += list.groups[i].sum.calls;
		for (size_t j = 0; j < list.groups[i].sum.nr_stacks; j++)
			of_stacks += list.groups[i].sum.stacks[j].calls;
	}
	/* Four calls found no room, and have no stack. */
	assert_int_equal(calls, 1069);
	assert_int_equal(of_stacks, 1065);
}

/* A name that is found later is shown in place of the address. */
TEST(test_put)
{
	__cleanup(stack_table_freep) struct stack_table *table = stack_table_make();
	struct stack_frame frames[] = { { .module = "a", .offset = 7 },
					{ .symbol = "inner" },
					{ .symbol = "outer" } };
	struct stack stack = { .id = 5, .nr_frames = 1, .frames = frames };
	const struct stack *found;
	char inner[] = "inner";

	assert_null(stack_table_string(table, inner));
	assert_int_equal(stack_table_intern(table, "a", &frames[0].module), 0);
	assert_int_equal(stack_table_intern(table, inner, &frames[1].symbol), 0);
	assert_int_equal(stack_table_intern(table, "outer", &frames[2].symbol), 0);
	/* Equal strings are one, and not the caller's. */
	assert_ptr_not_equal(frames[1].symbol, inner);
	assert_ptr_equal(stack_table_string(table, inner), frames[1].symbol);
	assert_int_equal(stack_table_put(table, &stack), 0);
	found = stack_table_find(table, 5);
	assert_null(found->frames[0].symbol);
	stack.frames = &frames[1];
	stack.nr_frames = 2;
	stack.end = STACK_TRUNCATED;
	assert_int_equal(stack_table_put(table, &stack), 0);
	assert_ptr_equal(stack_table_find(table, 5), found);
	assert_has(found, id, 5, end, STACK_TRUNCATED, nr_frames, 2);
	/* No string was copied. */
	assert_ptr_equal(found->frames[0].symbol, frames[1].symbol);
	assert_string_equal(found->frames[1].symbol, "outer");
}

/* --- reports ------------------------------------------------------------------------------------- */

STACKS_TEST(test_golden, scenario_stacks())
{
	static const struct {
		const char *golden;
		struct table_options options;
		struct stack_options stacks;
	} cases[] = {
		{ "stacks_calls", { 0 }, { 0 } },
		{ "stacks_time", { 0 }, { .weight = STACK_WEIGHT_TIME } },
		{ "stacks_top", { .top = 1 }, { .top = 1 } },
		{ "stacks_time_top", { 0 }, { .weight = STACK_WEIGHT_TIME, .top = 2 } },
		{ "stacks_by_pid", { .keys = GROUP_PID | GROUP_SYSCALL }, { 0 } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		__cleanup(freep) char *text =
			render(report_stacks, snapshot, &cases[i].options, &cases[i].stacks);

		golden_check(cases[i].golden, text);
	}
}

static struct stacked scenario_unknown_frame(void)
{
	struct stack_table *table = stack_table_make();
	struct builder *builder = builder_make();
	struct row row;

	row_init_named(&row, 1, ABI_OF_TESTS, "read");
	STACK_TAKE(table, 1, STACK_MM_BUSY, FRAME("c", "read", 1), FRAME(NULL, NULL, 0x7f00));
	STACK_TAKE(table, 2, STACK_TABLE_PENDING, FRAME("c", "read", 1), FRAME(NULL, NULL, 0x7e00));
	row_add_calls_of(&row, 1, 10, 64, 0, 0);
	row_add_calls_of(&row, 2, 9, 64, 0, 0);
	builder_take_row(builder, &row);
	return stacked_take(table, builder);
}

/* It may well be in a file: nothing that writes a perf map would help. */
STACKS_TEST(test_frame_of_which_the_file_was_not_looked_up, scenario_unknown_frame())
{
	const struct table_options options = { 0 };
	const struct stack_options stacks = { 0 };
	__cleanup(freep) char *text = render(report_stacks, snapshot, &options, &stacks);

	assert_non_null(strstr(text, "0x7f00\n              [address space busy]\n"));
	assert_non_null(strstr(text, "0x7e00\n              [table pending]\n"));
	assert_null(strstr(text, "perf map"));
}

/* Twelve stacks, of which one recurs in rounds of two frames, and one calls itself. */
static struct stacked scenario_rounds(void)
{
	struct stack_table *table = stack_table_make();
	struct builder *builder = builder_make();
	char name[32];
	struct row row;

	row_init_named(&row, 1, ABI_OF_TESTS, "read");
	STACK_TAKE(table, 1, STACK_COMPLETE, FRAME("c", "read", 1), FRAME("py", "eval", 2),
		   FRAME("py", "call", 3), FRAME("py", "eval", 2), FRAME("py", "call", 3),
		   FRAME("py", "eval", 2), FRAME("py", "call", 3), FRAME("py", "main", 4));
	STACK_TAKE(table, 2, STACK_COMPLETE, FRAME("c", "read", 1), FRAME("c", "deep", 1),
		   FRAME("c", "deep", 1), FRAME("c", "deep", 1), FRAME("c", "deep", 1));
	row_add_calls_of(&row, 1, 1000, 64, 0, 0);
	row_add_calls_of(&row, 2, 900, 64, 0, 0);
	for (uint64_t i = 3; i <= 12; i++) {
		snprintf(name, sizeof(name), "f%" PRIu64, i);
		STACK_TAKE(table, i, STACK_COMPLETE, FRAME("c", name, 1));
		row_add_calls_of(&row, i, i, 64, 0, 0);
	}
	builder_take_process(builder, 1, "python3", 7, 0);
	builder_take_row(builder, &row);
	return stacked_take(table, builder);
}

STACKS_TEST(test_rounds, scenario_rounds())
{
	const struct table_options options = { 0 };
	const struct stack_options stack_options = { 0 };
	__cleanup(freep) char *text = render(report_stacks, snapshot, &options, &stack_options);

	golden_check("stacks_rounds", text);
}

/* Names cannot act on the screen, nor begin a line. */
STACKS_TEST(test_hostile, scenario_stacks_hostile())
{
	const struct table_options options = { .keys = GROUP_COMM };
	const struct stack_options stack_options = { 0 };
	__cleanup(freep) char *text = render(report_stacks, snapshot, &options, &stack_options);

	golden_check("stacks_hostile", text);
	for (const char *at = text; *at; at++)
		assert_true((unsigned char)*at >= ' ' || *at == '\n');
}

STACKS_TEST(test_no_runq, scenario_stacks())
{
	const struct stack_options stack_options = { .weight = STACK_WEIGHT_TIME };
	__cleanup(freep) char *text = NULL;

	snapshot->has_runq = false;
	text = render(report_stacks, snapshot, &plain, &stack_options);
	assert_all(!strstr(text, "sleep"),
		   strstr(text, "2000.000 ms, 94.9%, in 20 calls: off the CPU 1998.000 ms, "
				"cpu 2.000 ms\n"));
}

STACKS_TEST(test_nothing, scenario_stacks())
{
	__cleanup(stacked_done) struct stacked empty = scenario_stacks_empty();
	const struct stack_options stack_options = { 0 };
	__cleanup(freep) char *text = render(report_stacks, empty.snapshot, &plain, &stack_options);
	__cleanup(freep) char *untaken = NULL;

	assert_string_equal(text, "");
	assert_full(report_stacks, snapshot, &plain, &stack_options);
	snapshot->stacks = NULL;
	untaken = render(report_stacks, snapshot, &plain, &stack_options);
	assert_string_equal(untaken, "");
}

/* Lines of a count and its share, and the line of the rest, which is one, too. */
static uint64_t counts_sum(const char *text)
{
	uint64_t sum = 0, count;
	int end;

	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		end = 0;
		if (sscanf(line, "%" SCNu64 "%n", &count, &end) == 1 && end == 17 &&
		    line[end] == ' ')
			sum += count;
	}
	return sum;
}

/* The counts add up to those of the table, whatever is cut. */
STACKS_TEST(test_sums, scenario_stacks())
{
	static const unsigned int keys[] = { 0, GROUP_PID, GROUP_COMM, GROUP_PID | GROUP_SYSCALL };

	for (size_t top = 0; top < 6; top++) {
		for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
			const struct table_options options = { .keys = keys[i], .top = top };
			const struct stack_options stack_options = { .top = top };
			__cleanup(freep) char *text =
				render(report_stacks, snapshot, &options, &stack_options);

			assert_int_equal(counts_sum(text), snapshot_sum(snapshot).calls);
		}
	}
}

/* --- JSON --- */

static json_t *stacks_json(const struct snapshot *snapshot)
{
	__cleanup(freep) char *text = render(report_json, snapshot);

	return json_parse(text);
}

/* Each row's stacks add up to the row, in every number. */
STACKS_TEST(test_json_sums, scenario_stacks())
{
	static const char *const keys[] = { "calls", "errors", "wall_ns", "cpu_ns", "sleep_ns" };
	json_t *json = stacks_json(snapshot), *row, *stack;
	size_t i, j;

	json_array_foreach(json_object_get(json, "rows"), i, row)
	{
		bool timed = !json_is_null(json_object_get(row, "wall_ns"));

		for (size_t key = 0; key < (timed ? ARRAY_SIZE(keys) : 2); key++) {
			uint64_t sum = 0;

			json_array_foreach(json_object_get(row, "stacks"), j, stack) sum +=
				(uint64_t)json_number(stack, keys[key]);
			assert_int_equal(sum, (uint64_t)json_number(row, keys[key]));
		}
	}
	json_decref(json);
}

static const json_t *stack_ending(const json_t *json, const char *end)
{
	const json_t *row, *stack;
	size_t i, j;

	json_array_foreach(json_object_get(json, "rows"), i, row)
	{
		json_array_foreach(json_object_get(row, "stacks"), j, stack)
		{
			if (!strcmp(json_string_value(json_object_get(stack, "end")), end))
				return stack;
		}
	}
	fail();
	return NULL;
}

STACKS_TEST(test_json_stack, scenario_stacks())
{
	json_auto_t *json = stacks_json(snapshot), *without = NULL;
	const json_t *stack = stack_ending(json, "no_frame_pointer");

	assert_true(json_is_null(json_at(stack, "frames/0/module")));
	assert_string_equal(json_text(stack, "frames/0/symbol"),
			    "LazyCompile:~handle /srv/app.js:12");
	assert_true(json_is_null(json_at(stack, "frames/1/symbol")));
	assert_int_equal(json_number(stack, "frames/1/offset"), 0x7f1234567890);
	assert_int_equal(json_number(stack, "max_ns"), 300 * USEC);
	assert_int_equal(json_array_size(json_at(stack_ending(json, "frames_lost"), "frames")), 0);
	/* The first is of calls without a time. */
	stack = stack_ending(json, "other_stacks");
	assert_true(json_is_null(json_at(stack, "wall_ns")));
	assert_int_equal(json_number(stack, "calls"), 4);
	assert_int_equal(json_array_size(json_at(stack_ending(json, "complete"), "frames")), 6);
	snapshot->stacks = NULL;
	without = stacks_json(snapshot);
	assert_null(json_at(without, "rows/0/stacks"));
}

STACKS_TEST(test_json_hostile, scenario_stacks_hostile())
{
	json_auto_t *json = stacks_json(snapshot);

	assert_string_equal(json_text(json, "rows/1/stacks/0/frames/0/symbol"), "one\ntwo 7\r\n8");
}
