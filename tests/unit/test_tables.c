/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tables of all forms: golden files, and what holds for each of them. Wide ones have columns by
 * width and sums that hold; CSV has names that want to be formulas; strace -c has a look-alike.
 */
#include "tables.h"

static int csv_with_header(const struct snapshot *snapshot, const struct table_options *options,
			   FILE *out)
{
	const struct report_options report = { .format = FORMAT_CSV, .table = *options };

	return report_csv(snapshot, &report, out);
}

static int csv_two_intervals(const struct snapshot *snapshot, const struct table_options *options,
			     FILE *out)
{
	struct report_options second = { .format = FORMAT_CSV,
					 .table = *options,
					 .no_header = true };

	return csv_with_header(snapshot, options, out) ?: report_csv(snapshot, &second, out);
}

SNAPSHOT_TEST(test_golden, scenario_web())
{
	static const struct {
		const char *golden;
		int (*report)(const struct snapshot *, const struct table_options *, FILE *);
		struct table_options options;
	} cases[] = {
		{ "wide_web", report_wide, { .width = 80 } },
		{ "wide_web_120", report_wide, { .width = 120 } },
		{ "wide_web_all", report_wide, { 0 } },
		{ "wide_web_hist", report_wide, { .width = 80, .hist = true } },
		{ "wide_web_top",
		  report_wide,
		  { .width = 80, .keys = GROUP_PID | GROUP_SYSCALL, .top = 2 } },
		{ "wide_web_pid", report_wide, { .width = 80, .keys = GROUP_PID } },
		{ "wide_web_tid",
		  report_wide,
		  { .width = 80, .keys = GROUP_PID | GROUP_TID, .errors_only = true } },
		{ "wide_web_unit", report_wide, { .width = 80, .keys = GROUP_UNIT | GROUP_USER } },
		{ "wide_web_arg0",
		  report_wide,
		  { .width = 80, .keys = GROUP_SYSCALL | GROUP_ARG0 } },
		{ "wide_web_min_calls", report_wide, { .width = 80, .min_calls = 100 } },
		{ "csv_web", csv_with_header, { 0 } },
		{ "csv_web_two", csv_two_intervals, { .top = 1 } },
		{ "csv_web_pid", csv_with_header, { .keys = GROUP_PID | GROUP_SYSCALL, .top = 3 } },
		{ "csv_web_unit", csv_with_header, { .keys = GROUP_UNIT | GROUP_USER } },
		{ "csv_web_arg0", csv_with_header, { .keys = GROUP_SYSCALL | GROUP_ARG0 } },
		{ "errors_web", report_errors, { 0 } },
		{ "errors_web_pid", report_errors, { .keys = GROUP_PID } },
		{ "errors_web_syscall", report_errors, { .keys = GROUP_SYSCALL } },
		{ "errors_web_top", report_errors, { .top = 1 } },
		{ "errors_web_min_calls", report_errors, { .min_calls = 100 } },
		{ "chart_web", report_chart, { 0 } },
		{ "chart_web_top", report_chart, { .keys = GROUP_COMM | GROUP_SYSCALL, .top = 2 } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		golden_render(cases[i].golden, cases[i].report, snapshot, &cases[i].options);
}

TEST(test_scenarios_golden)
{
	const struct table_options all = { 0 }, narrow = { .width = 80 };
	const struct table_options by_pid = { .keys = GROUP_PID | GROUP_SYSCALL };

	golden_scenarios("wide",
			 "ordinary empty foreign overflow losses in_flight untimed "
			 "no_runq big long_names",
			 report_wide, &narrow);
	golden_scenarios("csv", "ordinary empty overflow hostile big no_runq untimed",
			 csv_with_header, &by_pid);
	golden_scenarios("chart", "ordinary empty hostile big", report_chart, &by_pid);
	golden_scenarios("errors", "ordinary empty overflow foreign mixed", report_errors, &all);
	golden_scenarios("strace",
			 "ordinary empty long_names mixed foreign unknown big overflow "
			 "untimed",
			 report_strace, &all);
	golden_scenarios("truss",
			 "ordinary empty long_names foreign mixed unknown overflow losses "
			 "in_flight untimed big",
			 report_truss, &all);
	golden_scenarios("trust", "ordinary losses in_flight overflow", report_trust, false);
}

TEST(test_failing_streams)
{
	assert_scenario_full(report_wide, &plain);
	assert_scenario_full(csv_with_header, &plain);
	assert_scenario_full(report_chart, &plain);
	assert_scenario_full(report_errors, &plain);
	assert_scenario_full(report_strace, &plain);
	assert_scenario_full(report_truss, &plain);
	assert_scenario_full(report_trust, false);
	assert_scenario_full(report_json);
}

/* --- wide ------------------------------------------------------------------------------------- */

/* No line of the table is wider than asked; trust lines are prose and may be. */
TEST(test_fits)
{
	static const int widths[] = { 60, 80, 100, 132, 200 };

	scenario_for_each (i, snapshot, ABI_OF_TESTS) {
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

/* A narrow table names what it lacks; errors have room unless there are none. */
BUILDER_TEST(test_no_room)
{
	const struct table_options narrow = { .width = 44 }, less = { .width = 90 },
				   wide = { .width = 200 };
	__cleanup(snapshot_freep) struct snapshot *snapshot = NULL;
	__cleanup(freep) char *text = NULL, *more = NULL, *whole = NULL;

	calls_read(builder, 1, ABI_OF_TESTS, "openat:1x19u!19 read:3x11u");
	snapshot = snapshot_take(builder);
	text = render(report_wide, snapshot, &narrow);
	more = render(report_wide, snapshot, &less);
	whole = render(report_wide, snapshot, &wide);
	assert_non_null(strstr(text, "syscall  calls  errors  total us  cpu us\n"));
	assert_non_null(strstr(text, "\nno room for 9 columns (--columns, --width)\n"));
	assert_non_null(strstr(more, "\nno room for min, p50, p90, bytes (--columns, --width)\n"));
	assert_null(strstr(whole, "no room"));
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
	assert_memory_equal(chosen, "syscall        max us\n", 22);
}

/* The column of --sort is always there. */
SNAPSHOT_TEST(test_sort, scenario_web())
{
	static const char *const names[] = { "bytes", "err%", "oldest", "min", "calls" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct table_options options = { .width = 80, .sort = sort_named(names[i]) };
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
	assert_all(!strstr(working, "waiting"), strstr(working, "\nsum           6118 "));
	options.waiting = all;
	waiting = render(report_wide, snapshot, &options);
	assert_all(strstr(waiting, "\nwaiting       6118 "),
		   !strncmp(waiting, "waiting (may be idle):\nsyscall", 30));
}

/* Threads that have ended are one row, which says so, and no other row does. */
SNAPSHOT_TEST(test_ended_threads, scenario_web())
{
	const struct table_options options = { .keys = GROUP_PID | GROUP_TID };
	__cleanup(freep) char *alive = render(report_wide, snapshot, &options);
	__cleanup(freep) char *ended = NULL;

	for (size_t i = 0; i < snapshot->nr_rows; i++)
		snapshot->rows[i]->tid = 0;
	ended = render(report_wide, snapshot, &options);
	assert_non_null(strstr(ended, "  -  (ended threads)  nginx "));
	assert_null(strstr(alive, "ended"));
}

static char *render_wait(const char *name, uint64_t wall_ns,
			 int (*report)(const struct snapshot *, const struct table_options *,
				       FILE *))
{
	__cleanup(snapshot_freep) struct snapshot *snapshot = NULL;
	struct builder *builder = builder_make();

	builder_take_calls(builder, 1, ABI_OF_TESTS, name, 1, wall_ns, wall_ns - 1000, 0);
	snapshot = snapshot_take(builder);
	return render(report, snapshot, &plain);
}

/* Waits of a second that may be for a lock or a peer are said; those that are idle by design are not. */
TEST(test_longest_wait)
{
	static const struct {
		const char *name;
		uint64_t wall_ns;
		bool is_told;
	} waits[] = {
		{ "futex", 2002000000, true },    { "ppoll", 2002000000, true },
		{ "futex", 999999999, false },    { "epoll_pwait", 2002000000, false },
		{ "accept4", 2002000000, false }, { "clock_nanosleep", 2002000000, false },
		{ "wait4", 2002000000, false },   { "rt_sigtimedwait", 2002000000, false },
		{ "read", 2002000000, false },
	};
	char expected[128];

	for (size_t i = 0; i < ARRAY_SIZE(waits); i++) {
		__cleanup(freep) char *text =
			render_wait(waits[i].name, waits[i].wall_ns, report_wide);

		snprintf(expected, sizeof(expected),
			 "\nlongest: %s 2.002 s; 'bpftruss --slower-than 1s -k -p PID' shows such "
			 "calls\n",
			 waits[i].name);
		assert_true(!!strstr(text, waits[i].is_told ? expected : "longest:") ==
			    waits[i].is_told);
	}
}

/* A table of nothing but waits has its title above the heads of its columns. */
TEST(test_title_of_waits)
{
	__cleanup(freep) char *text = render_wait("futex", 2002000000, report_wide);

	assert_memory_equal(text, "waiting (may be idle):\nsyscall ", 31);
}

/* The table of truss says what its seconds leave out, when that is most of the time. */
TEST(test_seconds_are_cpu_time)
{
	__cleanup(freep) char *waits = render_wait("futex", 10790 * MSEC, report_truss);
	__cleanup(freep) char *works = render_wait("read", 2000, report_truss);

	assert_non_null(
		strstr(waits, "\nseconds: CPU time; the calls took 10.790 s (-w shows it)\n"));
	assert_null(strstr(works, "seconds: CPU time"));
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

/* --- CSV -------------------------------------------------------------------------------------- */

/* Columns of the user's choice, with the unit in the header and the keys in front. */
SNAPSHOT_TEST(test_csv_columns, scenario_web())
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
TEST(test_csv_of_nothing)
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

TEST(test_csv_names)
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

/* --- errors ----------------------------------------------------------------------------------- */

/* The last line has every error, whatever is shown. */
TEST(test_all_errors)
{
	scenario_for_each (i, snapshot, ABI_OF_TESTS) {
		const struct table_options options = { .top = i % 3, .min_calls = i % 2 * 5 };
		__cleanup(freep) char *text = render(report_errors, snapshot, &options);
		const char *line = strstr(text, "all errors ");
		uint64_t shown;

		assert_non_null(line);
		assert_int_equal(sscanf(line, "all errors %" SCNu64, &shown), 1);
		assert_int_equal(shown, snapshot_sum(snapshot).errors);
	}
}

/* Where there is no room for what errors mean, their names say enough. */
SNAPSHOT_TEST(test_narrow_errors, scenario_web())
{
	const struct table_options narrow = { .width = 50 }, wide = { .width = 200 };
	__cleanup(freep) char *text = render(report_errors, snapshot, &narrow);
	__cleanup(freep) char *whole = render(report_errors, snapshot, &wide);

	assert_non_null(strstr(whole, "  meaning  "));
	assert_null(strstr(text, "meaning"));
	assert_non_null(strstr(text, "ENOENT"));
	assert_non_null(strstr(text, " all errors "));
	assert_in_range(strcspn(text, "\n"), 1, 50);
}

/* --- strace ----------------------------------------------------------------------------------- */

/* Expects what strace 6.1 wrote for these numbers, but for the names. */
BUILDER_TEST(test_strace_by_hand)
{
	static const char *const expected =
		"% time     seconds  usecs/call     calls    errors syscall\n"
		"------ ----------- ----------- --------- --------- ----------------\n"
		" 54.29    0.000019           0        39        19 openat\n"
		" 31.43    0.000011           2         4           write\n"
		" 14.29    0.000005           0        22           close\n"
		"------ ----------- ----------- --------- --------- ----------------\n"
		"100.00    0.000035           0        65        19 total\n";
	__cleanup(snapshot_freep) struct snapshot *snapshot = NULL;
	__cleanup(freep) char *text = NULL;

	calls_read(builder, 1, ABI_OF_TESTS,
		   "openat:1x19u!19 openat:38x0 write:1x11u write:3x0 close:1x5u close:21x0");
	snapshot = snapshot_take(builder);
	text = render(report_strace, snapshot, &plain);
	assert_string_equal(text, expected);
}

/* The last rule is one longer than the longest name, from 16 characters on. */
TEST(test_strace_name_column)
{
	static const struct text_pair names[] = {
		{ "read", " ----------------\n" },
		{ "set_robust_list", " ----------------\n" },
		{ "process_vm_readv", " -----------------\n" },
		{ "sched_setaffinity", " ------------------\n" },
		{ "landlock_create_ruleset", " ------------------------\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		__cleanup(snapshot_freep) struct snapshot *snapshot = NULL;
		__cleanup(freep) char *text = NULL;
		struct builder *builder = builder_make();

		builder_take_calls(builder, 1, ABI_OF_TESTS, names[i].given, 1, 0, 0, 0);
		snapshot = snapshot_take(builder);
		text = render(report_strace, snapshot, &plain);
		assert_non_null(strstr(text, names[i].expected));
	}
}

/* Only CPU time counts, and threads are added up. */
SNAPSHOT_TEST(test_time_is_cpu_time, scenario_web())
{
	__cleanup(freep) char *text = render(report_strace, snapshot, &plain);

	assert_all(strstr(text, "    0.045400          11      4000       160 read\n"),
		   strstr(text, "    0.008000         100        80           epoll_pwait\n"),
		   strstr(text, "          10      6118      1764 total\n"));
}

/* --- truss --------------------------------------------------------------------------------------- */

/* Rows of an interval may show what the losses of the one before tell of. */
SNAPSHOT_TEST(test_trust_of_errors_without_errno, scenario_errors_unnamed())
{
	__cleanup(freep) char *trust = NULL;

	trust = render(report_trust, snapshot, false);
	assert_string_equal(trust, "not exact: 2 errors counted without their errno\n");
}

/* Every table ends with the trust lines, and with a newline. */
TEST(test_trust_is_in_every_table)
{
	scenario_for_each (i, snapshot, ABI_OF_TESTS) {
		__cleanup(freep) char *table = render(report_truss, snapshot, &plain);
		__cleanup(freep) char *trust = render(report_trust, snapshot, false);

		assert_true(strlen(table) > strlen(trust));
		assert_string_equal(table + strlen(table) - strlen(trust), trust);
		assert_int_equal(trust[strlen(trust) - 1], '\n');
		assert_true(!strncmp(trust, "exact: no call is missing\n", 26) ==
			    losses_none(&snapshot->losses));
	}
}

/* Without run-queue time the CPU time is the same. */
TEST(test_runq_is_not_shown)
{
	__cleanup(snapshot_freep) struct snapshot *with = scenario_ordinary(ABI_OF_TESTS);
	__cleanup(snapshot_freep) struct snapshot *without = scenario_no_runq(ABI_OF_TESTS);
	__cleanup(freep) char *a = render(report_truss, with, &plain);
	__cleanup(freep) char *b = render(report_truss, without, &plain);

	assert_string_equal(a, b);
}

static char *render_one(enum syscall_abi abi, const char *name, uint64_t wall_ns)
{
	__cleanup(snapshot_freep) struct snapshot *snapshot = NULL;
	struct builder *builder = builder_make();

	builder_take_calls(builder, 1, abi, name, 1, wall_ns, 0, 0);
	snapshot = snapshot_take(builder);
	return render(report_truss, snapshot, &plain);
}

/* The column is 19 wide up to 19 characters, then exactly as wide as the longest name. */
TEST(test_truss_name_column)
{
	static const struct {
		enum syscall_abi abi;
		const char *name;
		int width;
	} names[] = {
		{ ABI_OF_TESTS, "read", 19 },
		{ ABI_I386, "rt_sigprocmask", 19 },  /* 19 with its ABI */
		{ ABI_I386, "rt_sigtimedwait", 20 }, /* 20 */
		{ ABI_OF_TESTS, "landlock_create_ruleset", 23 },
		{ ABI_I386, "landlock_create_ruleset", 28 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		__cleanup(freep) char *text = render_one(names[i].abi, names[i].name, 0);
		int width = names[i].width;
		char expected[256];

		snprintf(expected, sizeof(expected), "\n%-*s      seconds   calls  errors\n", width,
			 "syscall");
		assert_memory_equal(text, expected, strlen(expected));
		snprintf(expected, sizeof(expected), "\n%*s  -----------  ------   ----\n", width,
			 "");
		assert_non_null(strstr(text, expected));
		snprintf(expected, sizeof(expected), "\n%-*s     2.500000\n", width, "elapsed:");
		assert_non_null(strstr(text, expected));
	}
}

/* Times are cut, not rounded, and have no leading zero. */
TEST(test_seconds)
{
	static const struct text_number times[] = {
		{ "\nread                     .000000       1\n", 0 },
		{ "\nread                     .000000       1\n", 999 },
		{ "\nread                     .000001       1\n", 1000 },
		{ "\nread                     .000999       1\n", 999999 },
		{ "\nread                     .999999       1\n", 999999999 },
		{ "\nread                    1.000000       1\n", 1000000000 },
		{ "\nread                   10.010999       1\n", 10010999999 },
		{ "\nread                99999.999999       1\n", 99999999999999 },
		{ "\nread                100000.000000       1\n", 100000000000000 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		__cleanup(freep) char *text =
			render_one(ABI_OF_TESTS, "read", (uint64_t)times[i].number);

		if (!strstr(text, times[i].text))
			fail_msg("no line%s in%s", times[i].text, text);
	}
}
