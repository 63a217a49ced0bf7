/* SPDX-License-Identifier: BSD-2-Clause */
/* Timelines read back from JSON: nothing is lost in them, and nothing that is wrong gets in. */
#include "timelines.h"

#include <jansson.h>

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

TEST(test_empty)
{
	static const char text[] = "{\"schema\":1,\"steps\":[],\"gaps\":[]}";
	__cleanup(timeline_done) struct timeline back = { 0 };

	assert_int_equal(report_timeline_json_read(text, strlen(text), &back, NULL), 0);
	assert_has(&back, nr_steps, 0, nr_gaps, 0);
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
	/* What all of these are variations of. */
	assert_int_equal(report_timeline_json_read(right, strlen(right), &back, &d), 0);
	assert_int_equal(back.nr_steps, 2);
	assert_int_equal(back.gaps[0].reason, GAP_DAMAGED);
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
