/* SPDX-License-Identifier: BSD-2-Clause */
/* The section of call stacks below a table, and the stacks in JSON. */
#include "stack_scenarios.h"

#include <jansson.h>

STACKS_TEST(test_golden)
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

/* Names cannot act on the screen, nor begin a line. */
TEST(test_hostile)
{
	__cleanup(stacked_done) struct stacked stacked = scenario_stacks_hostile();
	const struct table_options options = { .keys = GROUP_COMM };
	const struct stack_options stack_options = { 0 };
	__cleanup(freep) char *text =
		render(report_stacks, stacked.snapshot, &options, &stack_options);

	golden_check("stacks_hostile", text);
	for (const char *at = text; *at; at++)
		assert_true((unsigned char)*at >= ' ' || *at == '\n');
}

STACKS_TEST(test_no_runq)
{
	const struct table_options options = { 0 };
	const struct stack_options stack_options = { .weight = STACK_WEIGHT_TIME };
	__cleanup(freep) char *text = NULL;

	snapshot->has_runq = false;
	text = render(report_stacks, snapshot, &options, &stack_options);
	assert_all(!strstr(text, "sleep"),
		   strstr(text, "2000.000 ms in 20 calls: off the CPU 1998.000 ms, "
				"cpu 2.000 ms\n"));
}

STACKS_TEST(test_nothing)
{
	__cleanup(stacked_done) struct stacked empty = scenario_stacks_empty();
	const struct table_options options = { 0 };
	const struct stack_options stack_options = { 0 };
	__cleanup(freep) char *text =
		render(report_stacks, empty.snapshot, &options, &stack_options);
	__cleanup(freep) char *untaken = NULL;

	assert_string_equal(text, "");
	snapshot->stacks = NULL;
	untaken = render(report_stacks, snapshot, &options, &stack_options);
	assert_string_equal(untaken, "");
}

/* Lines of a count alone, and the line of the rest, which is one, too. */
static uint64_t counts_sum(const char *text)
{
	uint64_t sum = 0, count;
	int end;

	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		end = 0;
		if (sscanf(line, "%" SCNu64 "%n", &count, &end) == 1 && end == 17 &&
		    line[end] == '\n')
			sum += count;
	}
	return sum;
}

/* Whatever is cut, the counts add up to those of the table. */
STACKS_TEST(test_sums)
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

STACKS_TEST(test_failing_stream)
{
	const struct table_options options = { 0 };
	const struct stack_options stack_options = { 0 };

	assert_full(report_stacks, snapshot, &options, &stack_options);
}

/* --- JSON --- */

static json_t *stacks_json(const struct snapshot *snapshot)
{
	__cleanup(freep) char *text = render(report_json, snapshot);
	json_t *json = json_loads(text, 0, NULL);

	assert_non_null(json);
	return json;
}

static uint64_t integer(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	assert_true(json_is_integer(value));
	return (uint64_t)json_integer_value(value);
}

/* Each row's stacks add up to the row, in every number. */
STACKS_TEST(test_json_sums)
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
				integer(stack, keys[key]);
			assert_int_equal(sum, integer(row, keys[key]));
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

STACKS_TEST(test_json_stack)
{
	json_t *json = stacks_json(snapshot);
	const json_t *stack = stack_ending(json, "no_frame_pointer"), *frame;

	frame = json_array_get(json_object_get(stack, "frames"), 0);
	assert_true(json_is_null(json_object_get(frame, "module")));
	assert_string_equal(json_string_value(json_object_get(frame, "symbol")),
			    "LazyCompile:~handle /srv/app.js:12");
	frame = json_array_get(json_object_get(stack, "frames"), 1);
	assert_true(json_is_null(json_object_get(frame, "symbol")));
	assert_int_equal(integer(frame, "offset"), 0x7f1234567890);
	assert_int_equal(integer(stack, "max_ns"), 300 * USEC);
	assert_int_equal(
		json_array_size(json_object_get(stack_ending(json, "frames_lost"), "frames")), 0);
	/* The first is of calls without a time. */
	stack = stack_ending(json, "other_stacks");
	assert_true(json_is_null(json_object_get(stack, "wall_ns")));
	assert_int_equal(integer(stack, "calls"), 4);
	stack = stack_ending(json, "complete");
	assert_int_equal(json_array_size(json_object_get(stack, "frames")), 6);
	json_decref(json);
	snapshot->stacks = NULL;
	json = stacks_json(snapshot);
	assert_null(json_object_get(json_array_get(json_object_get(json, "rows"), 0), "stacks"));
	json_decref(json);
}

TEST(test_json_hostile)
{
	__cleanup(stacked_done) struct stacked stacked = scenario_stacks_hostile();
	json_auto_t *json = stacks_json(stacked.snapshot);
	const json_t *frame = json_array_get(
		json_object_get(
			json_array_get(
				json_object_get(json_array_get(json_object_get(json, "rows"), 1),
						"stacks"),
				0),
			"frames"),
		0);

	assert_string_equal(json_string_value(json_object_get(frame, "symbol")), "one\ntwo 7\r\n8");
}
