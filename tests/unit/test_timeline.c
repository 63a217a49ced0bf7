/* SPDX-License-Identifier: BSD-2-Clause */
/* Timelines: golden files, gaps in their places, sums that hold; and read back from JSON, whole. */
#include "timelines.h"

TEST(test_golden)
{
	static const int widths[] = { 80, 100, 160 };
	__cleanup(timeline_done) struct timeline timeline = timeline_make();

	for (size_t i = 0; i < ARRAY_SIZE(widths); i++) {
		const struct table_options options = { .width = widths[i] };
		char golden[32];

		snprintf(golden, sizeof(golden), "timeline_%d", widths[i]);
		golden_render(golden, report_timeline, &timeline, &options);
	}
}

TEST(test_empty)
{
	const struct table_options options = { .width = 80 };
	__cleanup(timeline_done) struct timeline nothing = { 0 };
	__cleanup(freep) char *json = render(report_timeline_json, &nothing);
	static const char written[] = "{\"schema\":1,\"steps\":[],\"gaps\":[]}";
	__cleanup(timeline_done) struct timeline back = { 0 };

	golden_render("timeline_empty", report_timeline, &nothing, &options);
	assert_string_equal(json, "{\"schema\":1,\"version\":\"" BPFTRUSS_VERSION
				  "\",\"steps\":[],\"gaps\":[]}\n");
	assert_int_equal(report_timeline_json_read(written, strlen(written), &back, NULL), 0);
	assert_has(&back, nr_steps, 0, nr_gaps, 0);
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
	__cleanup(timeline_done) struct timeline timeline = timeline_make();
	__cleanup(freep) char *text = render(report_timeline, &timeline, &plain);
	const char *at = text;

	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		at = strstr(at, order[i]);
		if (!at)
			fail_msg("no \"%s\" in its place in:\n%s", order[i], text);
	}
	/* Steps that a gap explains have no line. */
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
	json_t *json = json_parse(text), *step;
	const char *at = text;
	size_t i;

	json_array_foreach(json_object_get(json, "steps"), i, step)
	{
		const struct timeline_step *expected = &timeline.steps[i];
		__cleanup(freep) char *one = NULL;

		assert_int_equal(json_number(step, "covered_ns"), expected->covered_ns);
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
	assert_int_equal(json_array_size(json_at(json, "gaps")), 3);
	assert_string_equal(json_text(json, "gaps/1/reason"), "not_running");
	assert_string_equal(json_text(json, "gaps/1/start"), "2026-11-20T00:02:00.000000000Z");
	json_decref(json);
}

TEST(test_csv_and_failing_streams)
{
	__cleanup(timeline_done) struct timeline timeline = timeline_make();
	const struct report_options csv = { .format = FORMAT_CSV };

	golden_render("timeline_csv", report_timeline_csv, &timeline, &csv);

	assert_full(report_timeline, &timeline, &plain);
	assert_full(report_timeline_json, &timeline);
	assert_full(report_timeline_csv, &timeline, &csv);
}

/* --- read back ----------------------------------------------------------------------------------- */

TEST(test_round_trip)
{
	const struct table_options options = { .width = 160 };
	__cleanup(timeline_done) struct timeline timeline = timeline_make(), back = { 0 };
	__cleanup(freep) char *text = render(report_timeline_json, &timeline), *again = NULL;

	must(report_timeline_json_read(text, strlen(text), &back, &d));
	again = render(report_timeline_json, &back);
	assert_string_equal(text, again);
	free(again);
	again = render(report_timeline, &back, &options);
	golden_check("timeline_160", again);
}

#define T0                     "\"2026-11-19T00:00:00.000000000Z\""
#define T1                     "\"2026-11-19T00:01:00.000000000Z\""
#define STEP(start, end, more) "{\"start\":" start ",\"end\":" end more "}"
#define WHOLE(steps, gaps)     "{\"schema\":1,\"steps\":[" steps "],\"gaps\":[" gaps "]}"
#define NOTHING                ",\"covered_ns\":0,\"snapshot\":null"

TEST(test_refused)
{
	static const char *const texts[] = {
		"",
		"[]",
		"{}",
		"{\"schema\":2,\"steps\":[],\"gaps\":[]}",
		"{\"schema\":1,\"steps\":[]}",
		"{\"schema\":1,\"steps\":[],\"steps\":[],\"gaps\":[]}",
		"{\"schema\":1,\"steps\":{},\"gaps\":[]}",
		WHOLE("null", ""),
		WHOLE("{}", ""),
		WHOLE(STEP(T0, T1, ""), ""),
		WHOLE(STEP(T0, "17", NOTHING), ""),
		WHOLE(STEP(T0, T1, ",\"covered_ns\":-1,\"snapshot\":null"), ""),
		WHOLE(STEP(T0, T1, ",\"covered_ns\":0,\"snapshot\":{}"), ""),
		WHOLE(STEP(T0, T1, ",\"covered_ns\":0,\"snapshot\":[]"), ""),
		WHOLE("", STEP(T0, T1, "")),
		WHOLE("", STEP(T0, T1, ",\"reason\":\"\"")),
		WHOLE("", STEP(T0, T1, ",\"reason\":\"lunch\"")),
		WHOLE("", STEP(T0, T1, ",\"reason\":3")),
	};
	static const char right[] = WHOLE(STEP(T0, T1, NOTHING) "," STEP(T1, T1, NOTHING),
					  STEP(T0, T1, ",\"reason\":\"damaged\""));
	__cleanup(timeline_done) struct timeline back = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		d = (struct diag){ .text = "" };
		if (report_timeline_json_read(texts[i], strlen(texts[i]), &back, &d) != -EINVAL)
			fail_msg("%s was taken", texts[i]);
		assert_int_equal(d.kind, DIAG_FAILED);
		assert_int_not_equal(strlen(d.text), 0);
	}
	/* All of these are variations of this one. */
	assert_int_equal(report_timeline_json_read(right, strlen(right), &back, &d), 0);
	assert_has(&back, nr_steps, 2, gaps[0].reason, GAP_DAMAGED);
}

/* Cut off anywhere, it is no timeline. */
TEST(test_cut)
{
	__cleanup(timeline_done) struct timeline timeline = timeline_make(), back = { 0 };
	__cleanup(freep) char *text = render(report_timeline_json, &timeline);
	size_t size = strlen(text) - 1;

	for (size_t cut = 0; cut < size; cut += 97)
		assert_int_equal(report_timeline_json_read(text, cut, &back, &d), -EINVAL);
	assert_int_equal(report_timeline_json_read(text, size - 1, &back, &d), -EINVAL);
	assert_int_equal(report_timeline_json_read(text, size, &back, &d), 0);
}

TEST(test_too_many)
{
	struct text_stream stream;
	FILE *out = text_open(&stream);
	__cleanup(freep) char *text = NULL;
	__cleanup(timeline_done) struct timeline back = { 0 };

	fputs("{\"schema\":1,\"gaps\":[],\"steps\":[", out);
	for (int i = 0; i <= TIMELINE_MAX_STEPS; i++)
		fprintf(out, "%s" STEP(T0, T1, NOTHING), i ? "," : "");
	fputs("]}", out);
	text = text_close(&stream);
	assert_int_equal(report_timeline_json_read(text, strlen(text), &back, &d), -EINVAL);
}
