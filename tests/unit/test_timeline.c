/* SPDX-License-Identifier: BSD-2-Clause */
/* The reports of a timeline: golden files, gaps in their places, sums that hold. */
#include "timelines.h"

#include <jansson.h>

TEST(test_golden)
{
	static const struct golden_table cases[] = {
		{ "timeline_80", { .width = 80 } },
		{ "timeline_100", { .width = 100 } },
		{ "timeline_160", { .width = 160 } },
	};
	__cleanup(timeline_done) struct timeline timeline = timeline_make();

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		golden_render(cases[i].golden, report_timeline, &timeline, &cases[i].options);
}

TEST(test_empty)
{
	const struct table_options options = { .width = 80 };
	__cleanup(timeline_done) struct timeline nothing = { 0 };
	__cleanup(freep) char *json = render(report_timeline_json, &nothing);

	golden_render("timeline_empty", report_timeline, &nothing, &options);
	assert_string_equal(json, "{\"schema\":1,\"version\":\"" BPFTRUSS_VERSION
				  "\",\"steps\":[],\"gaps\":[]}\n");
}

/* Every gap has its line, before the first step that begins after it. */
TEST(test_gaps)
{
	static const char *const order[] = {
		"2026-11-19 23:45:00 - 23:50:00  not counted: longer ago",
		"\n2026-11-19 23:50:00 ",
		"\n2026-11-20 00:00:00 ",
		"00:02:00 - 00:16:40  not counted: the daemon was not running",
		"\n           00:16:40 ",
		"\n           00:20:00          -",
		"00:30:00 - 2026-11-21 00:50:00  not counted: the history could not",
		"\n                sum ",
	};
	const struct table_options options = { 0 };
	__cleanup(timeline_done) struct timeline timeline = timeline_make();
	__cleanup(freep) char *text = render(report_timeline, &timeline, &options);
	const char *at = text;

	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		at = strstr(at, order[i]);
		if (!at)
			fail_msg("no \"%s\" in its place in:\n%s", order[i], text);
	}
	/* What a gap explains has no line. */
	assert_all(!strstr(text, "00:05:00"), !strstr(text, "00:10:00"));
}

TEST(test_fits)
{
	__cleanup(timeline_done) struct timeline timeline = timeline_make();
	size_t before = 0;

	for (int width = 70; width < 200; width += 5) {
		const struct table_options options = { .width = width };
		__cleanup(freep) char *text = render(report_timeline, &timeline, &options);
		char *end = strstr(text, "\nnot exact");
		size_t columns = 0;

		assert_non_null(end);
		*end = '\0';
		for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
			if (strstr(line, "not counted"))
				continue;
			assert_in_range(strlen(line), 1, width);
			for (const char *c = line; strstr(line, "start") && *c; c++)
				columns += *c != ' ' && c[1] == ' ' && c[2] == ' ';
		}
		assert_true(columns >= before);
		before = columns;
	}
	assert_int_equal(before, 12);
}

/* The object of each step is that of report_json(), byte for byte. */
TEST(test_json)
{
	__cleanup(timeline_done) struct timeline timeline = timeline_make();
	__cleanup(freep) char *text = render(report_timeline_json, &timeline);
	json_t *json = json_loads(text, 0, NULL), *gaps, *step;
	const char *at = text;
	size_t i;

	assert_non_null(json);
	json_array_foreach(json_object_get(json, "steps"), i, step)
	{
		const struct timeline_step *expected = &timeline.steps[i];
		__cleanup(freep) char *one = NULL;

		assert_int_equal(json_integer_value(json_object_get(step, "covered_ns")),
				 expected->covered_ns);
		assert_int_equal(json_is_null(json_object_get(step, "snapshot")), !expected->sum);
		if (!expected->sum)
			continue;
		one = render(report_json, expected->sum);
		one[strlen(one) - 1] = '\0';
		at = strstr(at, one);
		assert_non_null(at);
		at++;
	}
	assert_int_equal(i, timeline.nr_steps);
	gaps = json_object_get(json, "gaps");
	assert_int_equal(json_array_size(gaps), 3);
	step = json_array_get(gaps, 1);
	assert_string_equal(json_string_value(json_object_get(step, "reason")), "not_running");
	assert_string_equal(json_string_value(json_object_get(step, "start")),
			    "2026-11-20T00:02:00.000000000Z");
	json_decref(json);
}

TEST(test_csv)
{
	const struct table_options options = { 0 };
	__cleanup(timeline_done) struct timeline timeline = timeline_make();

	golden_render("timeline_csv", report_timeline_csv, &timeline, &options);
}

TEST(test_failing_stream)
{
	const struct table_options options = { 0 };
	__cleanup(timeline_done) struct timeline timeline = timeline_make();

	assert_full(report_timeline, &timeline, &options);
	assert_full(report_timeline_json, &timeline);
	assert_full(report_timeline_csv, &timeline, &options);
}
