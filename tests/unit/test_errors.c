/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of errors: golden files, order, shares, what is left out. */
#include "tables.h"

SNAPSHOT_TEST(test_golden, scenario_web())
{
	static const struct golden_table cases[] = {
		{ "errors_web", { 0 } },
		{ "errors_web_pid", { .keys = GROUP_PID } },
		{ "errors_web_syscall", { .keys = GROUP_SYSCALL } },
		{ "errors_web_top", { .top = 1 } },
		{ "errors_web_min_calls", { .min_calls = 100 } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		golden_render(cases[i].golden, report_errors, snapshot, &cases[i].options);
}

TEST(test_scenarios_golden)
{
	const struct table_options options = { 0 };

	golden_scenarios("errors", "ordinary empty overflow foreign mixed", report_errors,
			 &options);
}

/* Whatever is shown, the last line has every error. */
TEST(test_all_errors)
{
	for (size_t i = 0; scenario_at(i); i++) {
		__cleanup(snapshot_freep) struct snapshot *snapshot =
			scenario_at(i)->make(ABI_OF_TESTS);
		const struct table_options options = { .top = i % 3, .min_calls = i % 2 * 5 };
		__cleanup(freep) char *text = render(report_errors, snapshot, &options);
		const char *line = strstr(text, "all errors ");
		uint64_t shown;

		assert_non_null(line);
		assert_int_equal(sscanf(line, "all errors %" SCNu64, &shown), 1);
		assert_int_equal(shown, snapshot_sum(snapshot).errors);
	}
}

TEST(test_failing_stream)
{
	assert_scenario_full(report_errors, &(struct table_options){ 0 });
}
