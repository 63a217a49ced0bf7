/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of truss -c, laid out as that of illumos, and the trust lines below it. */
#include "scenarios.h"

#include "report/report.h"

/* Rows of an interval may show what the losses of the one before tell of. */
SNAPSHOT_TEST(test_trust_of_errors_without_errno, scenario_errors_unnamed())
{
	__cleanup(freep) char *trust = NULL;

	trust = render(report_trust, snapshot);
	assert_string_equal(trust, "not exact: 2 errors counted without their errno\n");
}

/* Every table ends with the trust lines, and with a newline. */
TEST(test_trust_is_in_every_table)
{
	for (size_t i = 0; scenario_at(i); i++) {
		__cleanup(snapshot_freep) struct snapshot *snapshot =
			scenario_at(i)->make(ABI_OF_TESTS);
		__cleanup(freep) char *table = render(report_truss, snapshot);
		__cleanup(freep) char *trust = render(report_trust, snapshot);

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
	__cleanup(freep) char *a = render(report_truss, with);
	__cleanup(freep) char *b = render(report_truss, without);

	assert_string_equal(a, b);
}

static char *render_one(enum syscall_abi abi, const char *name, uint64_t wall_ns)
{
	__cleanup(snapshot_freep) struct snapshot *snapshot = NULL;
	struct builder *builder = builder_make();

	builder_take_calls(builder, 1, abi, name, 1, wall_ns, 0, 0);
	snapshot = snapshot_take(builder);
	return render(report_truss, snapshot);
}

/* The column is 19 wide up to 19 characters, then exactly as wide as the longest name. */
TEST(test_name_column)
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

		snprintf(expected, sizeof(expected), "\n%-*s   seconds   calls  errors\n", width,
			 "syscall");
		assert_memory_equal(text, expected, strlen(expected));
		snprintf(expected, sizeof(expected), "\n%*s  --------  ------   ----\n", width, "");
		assert_non_null(strstr(text, expected));
		snprintf(expected, sizeof(expected), "\n%-*s     2.500\n", width, "elapsed:");
		assert_non_null(strstr(text, expected));
	}
}

/* Times are cut, not rounded, and have no leading zero. */
TEST(test_seconds)
{
	static const struct {
		uint64_t ns;
		const char *line;
	} times[] = {
		{ 0, "\nread                     .000       1\n" },
		{ 999999, "\nread                     .000       1\n" },
		{ 1000000, "\nread                     .001       1\n" },
		{ 999999999, "\nread                     .999       1\n" },
		{ 1000000000, "\nread                    1.000       1\n" },
		{ 10010999999, "\nread                   10.010       1\n" },
		{ 99999999999999, "\nread                99999.999       1\n" },
		{ 100000000000000, "\nread                100000.000       1\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		__cleanup(freep) char *text = render_one(ABI_OF_TESTS, "read", times[i].ns);

		if (!strstr(text, times[i].line))
			fail_msg("no line%s in%s", times[i].line, text);
	}
}
