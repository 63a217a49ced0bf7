/* SPDX-License-Identifier: BSD-2-Clause */
/* The look-alike of strace -c: golden files, one table by hand, one mode a table. */
#include "tables.h"

TEST(test_golden)
{
	golden_scenarios("strace",
			 "ordinary empty long_names mixed foreign unknown big overflow "
			 "untimed",
			 report_strace);
}

static void take_calls(struct builder *builder, const char *name, uint64_t calls, uint64_t cpu_ns,
		       uint64_t errors)
{
	struct row row;

	row_init_calls(&row, 1, ABI_OF_TESTS, name, calls, cpu_ns / calls, 0, 0);
	row.wall_ns = cpu_ns;
	if (errors)
		row_add_errors(&row, ENOENT, errors);
	builder_take_row(builder, &row);
}

/* What strace 6.1 wrote for these numbers, but for the names. */
BUILDER_TEST(test_by_hand)
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

	take_calls(builder, "openat", 39, 19000, 19);
	take_calls(builder, "write", 4, 11000, 0);
	take_calls(builder, "close", 22, 5000, 0);
	snapshot = snapshot_take(builder);
	text = render(report_strace, snapshot);
	assert_string_equal(text, expected);
}

/* The last rule is one longer than the longest name, from 16 characters on. */
TEST(test_name_column)
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

		take_calls(builder, names[i].given, 1, 0, 0);
		snapshot = snapshot_take(builder);
		text = render(report_strace, snapshot);
		assert_non_null(strstr(text, names[i].expected));
	}
}

/* Only CPU time counts, and threads are added up. */
SNAPSHOT_TEST(test_time_is_cpu_time, scenario_web())
{
	__cleanup(freep) char *text = render(report_strace, snapshot);

	assert_all(strstr(text, "    0.045400          11      4000       160 read\n"),
		   strstr(text, "    0.008000         100        80           epoll_pwait\n"),
		   strstr(text, "          10      6118      1764 total\n"));
}

TEST(test_failing_stream)
{
	assert_scenario_full(report_strace);
}
