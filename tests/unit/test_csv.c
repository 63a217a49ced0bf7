/* SPDX-License-Identifier: BSD-2-Clause */
/* The CSV form: golden files, one header for many intervals, names that want to be formulas. */
#include "tables.h"

static int csv_with_header(const struct snapshot *snapshot, const struct table_options *options,
			   FILE *out)
{
	return report_csv(snapshot, options, true, out);
}

static int csv_two_intervals(const struct snapshot *snapshot, const struct table_options *options,
			     FILE *out)
{
	return report_csv(snapshot, options, true, out)
		       ?: report_csv(snapshot, options, false, out);
}

SNAPSHOT_TEST(test_golden, scenario_web())
{
	static const struct {
		const char *golden;
		struct table_options options;
		table_report *report;
	} cases[] = {
		{ "csv_web", { 0 }, csv_with_header },
		{ "csv_web_two", { .top = 1 }, csv_two_intervals },
		{ "csv_web_pid", { .keys = GROUP_PID | GROUP_SYSCALL, .top = 3 }, csv_with_header },
		{ "csv_web_unit", { .keys = GROUP_UNIT | GROUP_USER }, csv_with_header },
		{ "csv_web_arg0", { .keys = GROUP_SYSCALL | GROUP_ARG0 }, csv_with_header },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		golden_render(cases[i].golden, cases[i].report, snapshot, &cases[i].options);
}

TEST(test_scenarios_golden)
{
	const struct table_options options = { .keys = GROUP_PID | GROUP_SYSCALL };

	golden_scenarios("csv", "ordinary empty overflow hostile big no_runq untimed",
			 csv_with_header, &options);
}

/* Columns of the user's choice, with the unit in the header and the keys in front. */
SNAPSHOT_TEST(test_columns, scenario_web())
{
	struct column_list columns;
	const struct table_options options = { .columns = &columns, .top = 1 };
	__cleanup(freep) char *text = NULL;

	assert_int_equal(columns_parse("err%,max,calls", &columns, NULL), 0);
	text = render(csv_with_header, snapshot, &options);
	assert_string_equal(
		text,
		"start,end,syscall,errors_pct,max_ns,calls\n"
		"2026-01-31T23:59:58.500000000Z,2026-02-01T00:00:01.000000000Z,epoll_pwait,0.00,"
		"100000000,80\n"
		"2026-01-31T23:59:58.500000000Z,2026-02-01T00:00:01.000000000Z,(5 others),29.21,"
		"1200000000,6038\n");
}

/* No interval is missing because nothing happened in it; what took no time is none. */
TEST(test_nothing)
{
	__cleanup(snapshot_freep) struct snapshot *empty = scenario_empty(ABI_OF_TESTS);
	const struct snapshot moment = { .host = NULL };
	struct column_list columns;
	const struct table_options options = { .keys = GROUP_COMM | GROUP_SYSCALL,
					       .columns = &columns };
	__cleanup(freep) char *text = NULL, *none = NULL;

	assert_int_equal(columns_parse("calls,err%,oldest,p50,bytes", &columns, NULL), 0);
	text = render(csv_two_intervals, empty, &options);
	assert_string_equal(
		text, "start,end,comm,syscall,calls,errors_pct,oldest_in_flight_ns,p50_ns,bytes\n"
		      "2026-01-31T23:59:58.500000000Z,2026-02-01T00:00:01.000000000Z,,,0,,,,\n"
		      "2026-01-31T23:59:58.500000000Z,2026-02-01T00:00:01.000000000Z,,,0,,,,\n");
	none = render(csv_with_header, &moment, &options);
	assert_string_equal(strchr(none, '\n'), "\n");
}

TEST(test_names)
{
	static const struct text_pair names[] = {
		{ "nginx", ",nginx," },
		{ "a,b", ",\"a,b\"," },
		{ "a\"b", ",\"a\"\"b\"," },
		{ "\"", ",\"\"\"\"," },
		{ "a b", ",a b," },
		{ "one\r\ntwo", ",one\\x0d\\x0atwo," },
		{ "\t=1", ",\\x09=1," },
		{ "=1+1", ",\\x3d1+1," },
		{ "=a,b", ",\"\\x3da,b\"," },
		{ "@SUM(A1)", ",\\x40SUM(A1)," },
		{ "-1", ",\\x2d1," },
		{ "-", ",-," },
		{ "+a|b", ",\\x2ba|b," },
		{ "-bash", ",-bash," },
		{ "-a.b_c-1", ",-a.b_c-1," },
		{ "a;b", ",\"a;b\"," },
		{ "a;=1+1", ",\"a;\\x3d1+1\"," },
		{ ";@a;-1", ",\";\\x40a;\\x2d1\"," },
		{ "[overflow]", ",\\x5boverflow]," },
		{ "(3 others)", ",\\x283 others)," },
		{ "(sd-pam)", ",(sd-pam)," },
		{ "a[0]", ",a[0]," },
	};
	const struct table_options options = { .keys = GROUP_COMM };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		__cleanup(snapshot_freep) struct snapshot *snapshot = NULL;
		__cleanup(freep) char *text = NULL;
		struct builder *builder = builder_make();

		builder_take_process(builder, 1, names[i].given, strlen(names[i].given), 0);
		builder_take_calls(builder, 1, ABI_OF_TESTS, "read", 1, 1, 0, 0);
		snapshot = snapshot_take(builder);
		text = render(csv_with_header, snapshot, &options);
		if (!strstr(text, names[i].expected))
			fail_msg("no %s in %s", names[i].expected, text);
	}
}

TEST(test_failing_stream)
{
	assert_scenario_full(csv_with_header, &(struct table_options){ 0 });
}
