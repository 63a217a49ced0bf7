/* SPDX-License-Identifier: BSD-2-Clause */
/* The wide table: golden files, columns by width, sums that hold, units that do not mix. */
#include "tables.h"

#include "syscalls/syscall_set.h"

SNAPSHOT_TEST(test_golden, scenario_web())
{
	static const struct golden_table cases[] = {
		{ "wide_web", { .width = 80 } },
		{ "wide_web_120", { .width = 120 } },
		{ "wide_web_all", { 0 } },
		{ "wide_web_hist", { .width = 80, .hist = true } },
		{ "wide_web_top", { .width = 80, .keys = GROUP_PID | GROUP_SYSCALL, .top = 2 } },
		{ "wide_web_pid", { .width = 80, .keys = GROUP_PID } },
		{ "wide_web_tid",
		  { .width = 80, .keys = GROUP_PID | GROUP_TID, .errors_only = true } },
		{ "wide_web_unit", { .width = 80, .keys = GROUP_UNIT | GROUP_USER } },
		{ "wide_web_arg0", { .width = 80, .keys = GROUP_SYSCALL | GROUP_ARG0 } },
		{ "wide_web_min_calls", { .width = 80, .min_calls = 100 } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		golden_render(cases[i].golden, report_wide, snapshot, &cases[i].options);
}

TEST(test_scenarios_golden)
{
	const struct table_options options = { .width = 80 };

	golden_scenarios("wide",
			 "ordinary empty foreign overflow losses in_flight untimed "
			 "no_runq big long_names",
			 report_wide, &options);
}

/* No line of the table is wider than asked; trust lines are prose and may be. */
TEST(test_fits)
{
	static const int widths[] = { 60, 80, 100, 132, 200 };

	for (size_t i = 0; scenario_at(i); i++) {
		__cleanup(snapshot_freep) struct snapshot *snapshot =
			scenario_at(i)->make(ABI_OF_TESTS);

		for (size_t j = 0; j < ARRAY_SIZE(widths); j++) {
			const struct table_options options = { .width = widths[j] };
			__cleanup(freep) char *text = render(report_wide, snapshot, &options);
			char *end = strstr(text, "\nuser CPU ");

			assert_non_null(end);
			*end = '\0';
			for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
				assert_in_range(strlen(line), 1, widths[j]);
				assert_int_not_equal(line[strlen(line) - 1], ' ');
			}
		}
	}
}

/* Wider screens have all columns of narrower ones. */
SNAPSHOT_TEST(test_widens, scenario_web())
{
	size_t before = 0;

	for (int width = 20; width < 200; width += 5) {
		const struct table_options options = { .width = width };
		__cleanup(freep) char *text = render(report_wide, snapshot, &options);
		size_t columns = 0;

		*strchr(text, '\n') = '\0';
		for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
			columns++;
		assert_true(columns >= before);
		before = columns;
	}
}

SNAPSHOT_TEST(test_chosen_columns, scenario_web())
{
	struct column_list columns;
	struct table_options options = { .width = 20, .columns = &columns };
	__cleanup(freep) char *chosen = NULL;

	/* The user's choice is never hidden. */
	assert_int_equal(columns_parse("calls,syscall,err%,max,time%", &columns, NULL), 0);
	golden_render("wide_web_columns", report_wide, snapshot, &options);
	/* Keys that were not named come first. */
	assert_int_equal(columns_parse("max", &columns, NULL), 0);
	chosen = render(report_wide, snapshot, &options);
	assert_memory_equal(chosen, "syscall         max us\n", 23);
}

/* The column of --sort is always there. */
SNAPSHOT_TEST(test_sort, scenario_web())
{
	static const char *const names[] = { "bytes", "err%", "oldest", "min", "calls" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct table_options options = { .width = 80,
						       .sort = column_named(names[i]) };
		__cleanup(freep) char *text = render(report_wide, snapshot, &options);

		*strchr(text, '\n') = '\0';
		assert_non_null(strstr(text, names[i]));
	}
}

SNAPSHOT_TEST(test_waiting_override, scenario_web())
{
	__cleanup(syscall_set_freep) struct syscall_set *none = NULL, *all = NULL;
	struct table_options options = { .width = 80 };
	__cleanup(freep) char *working = NULL, *waiting = NULL;

	assert_int_equal(syscall_set_parse("!all", &none, NULL), 0);
	assert_int_equal(syscall_set_parse("all", &all, NULL), 0);
	options.waiting = none;
	working = render(report_wide, snapshot, &options);
	assert_all(!strstr(working, "waiting"), strstr(working, "\nworking       6118 "));
	options.waiting = all;
	waiting = render(report_wide, snapshot, &options);
	assert_all(strstr(waiting, "\nwaiting       6118 "),
		   strstr(waiting, "\nworking          0 "));
}

/* Names that other users chose reach a screen only as printable text. */
SNAPSHOT_TEST(test_hostile, scenario_hostile(ABI_OF_TESTS))
{
	const struct table_options options = { .width = 80, .keys = GROUP_PID };
	__cleanup(freep) char *text = render(report_wide, snapshot, &options);

	golden_check("wide_hostile", text);
	for (const char *at = text; *at; at++)
		assert_true((unsigned char)*at >= ' ' || *at == '\n');
}

TEST(test_failing_stream)
{
	assert_scenario_full(report_wide, &(struct table_options){ 0 });
}
