/* SPDX-License-Identifier: BSD-2-Clause */
/* The reports of a timeline: golden files, gaps in their places, sums that hold. */
#include "tables.h"

#include <jansson.h>

#include "base/clock.h"
#include "report/timeline.h"

/* 2026-11-19 23:50:00 UTC */
#define FROM 1795132200LL

static struct snapshot *step_take(uint64_t scale, uint64_t seconds, int64_t start_seconds)
{
	struct builder *builder = builder_make();
	struct snapshot *snapshot;

	web_process(builder, 100, "nginx", 33, 7, 0);
	web_rows(builder, 100, scale);
	snapshot = snapshot_take(builder);
	for (size_t i = 0; i < snapshot->nr_rows; i++)
		snapshot->rows[i].in_flight = 0;
	snapshot->start_ns = start_seconds * (int64_t)SEC;
	snapshot->end_ns = snapshot->start_ns + (int64_t)(seconds * SEC);
	snapshot->elapsed_ns = seconds * SEC;
	return snapshot;
}

static void step_add(struct timeline *timeline, int64_t start, int64_t end, uint64_t seconds,
		     uint64_t scale)
{
	struct timeline_step *step;

	timeline->steps =
		reallocarray(timeline->steps, timeline->nr_steps + 1, sizeof(*timeline->steps));
	assert_non_null(timeline->steps);
	step = &timeline->steps[timeline->nr_steps++];
	*step = (struct timeline_step){
		.start_ns = (FROM + start) * (int64_t)SEC,
		.end_ns = (FROM + end) * (int64_t)SEC,
		.covered_ns = seconds * SEC,
		.sum = scale ? step_take(scale, seconds, FROM + start) : NULL,
	};
}

static void gap_add(struct timeline *timeline, int64_t start, int64_t end, enum gap_reason reason)
{
	timeline->gaps =
		reallocarray(timeline->gaps, timeline->nr_gaps + 1, sizeof(*timeline->gaps));
	assert_non_null(timeline->gaps);
	timeline->gaps[timeline->nr_gaps++] = (struct timeline_gap){
		.start_ns = (FROM + start) * (int64_t)SEC,
		.end_ns = (FROM + end) * (int64_t)SEC,
		.reason = reason,
	};
}

/* Across midnight: a gap of two steps and of parts of the next ones, one with no reason given. */
static struct timeline timeline_make(void)
{
	struct timeline timeline = { 0 };

	gap_add(&timeline, -300, 0, GAP_RETIRED);
	step_add(&timeline, 0, 300, 300, 10);
	step_add(&timeline, 300, 600, 300, 12);
	step_add(&timeline, 600, 720, 120, 100);
	step_add(&timeline, 900, 1200, 0, 0);
	step_add(&timeline, 1200, 1500, 0, 0);
	step_add(&timeline, 1600, 1800, 200, 1);
	step_add(&timeline, 1800, 2100, 0, 0);
	step_add(&timeline, 2100, 2400, 300, 7);
	gap_add(&timeline, 720, 1600, GAP_NOT_RUNNING);
	gap_add(&timeline, 2400, 90000, GAP_NOT_WRITTEN);
	timeline.steps[2].sum->losses.count[LOSS_TASK_TABLE_FULL] = 3;
	timeline.steps[7].sum->losses.count[LOSS_TASK_TABLE_FULL] = 4;
	return timeline;
}

static char *render(const struct timeline *timeline, const struct table_options *options)
{
	struct text_stream stream;

	assert_int_equal(report_timeline(timeline, options, text_open(&stream)), 0);
	return text_close(&stream);
}

static char *render_json(const struct timeline *timeline)
{
	struct text_stream stream;

	assert_int_equal(report_timeline_json(timeline, text_open(&stream)), 0);
	return text_close(&stream);
}

static void test_golden(void **state)
{
	static const struct {
		const char *golden;
		struct table_options options;
	} cases[] = {
		{ "timeline_80", { .width = 80 } },
		{ "timeline_100", { .width = 100 } },
		{ "timeline_160", { .width = 160 } },
	};
	__cleanup(timeline_done) struct timeline timeline = timeline_make();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		__cleanup(freep) char *text = render(&timeline, &cases[i].options);

		golden_check(cases[i].golden, text);
	}
}

static void test_empty(void **state)
{
	const struct table_options options = { .width = 80 };
	__cleanup(timeline_done) struct timeline nothing = { 0 };
	__cleanup(freep) char *text = render(&nothing, &options);
	__cleanup(freep) char *json = render_json(&nothing), *masked = version_mask(json);

	(void)state;
	golden_check("timeline_empty", text);
	assert_string_equal(masked,
			    "{\"schema\":1,\"version\":\"VERSION\",\"steps\":[],\"gaps\":[]}\n");
}

/* Every gap has its line, before the first step that begins after it. */
static void test_gaps(void **state)
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
	__cleanup(freep) char *text = render(&timeline, &options);
	const char *at = text;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		at = strstr(at, order[i]);
		if (!at)
			fail_msg("no \"%s\" in its place in:\n%s", order[i], text);
	}
	/* What a gap explains has no line. */
	assert_null(strstr(text, "00:05:00"));
	assert_null(strstr(text, "00:10:00"));
}

static void test_fits(void **state)
{
	__cleanup(timeline_done) struct timeline timeline = timeline_make();
	size_t before = 0;

	(void)state;
	for (int width = 70; width < 200; width += 5) {
		const struct table_options options = { .width = width };
		__cleanup(freep) char *text = render(&timeline, &options);
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
static void test_json(void **state)
{
	__cleanup(timeline_done) struct timeline timeline = timeline_make();
	__cleanup(freep) char *text = render_json(&timeline);
	json_t *json = json_loads(text, 0, NULL), *gaps, *step;
	const char *at = text;
	size_t i;

	(void)state;
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
		one = report_render(report_json, expected->sum);
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

static void test_csv(void **state)
{
	const struct table_options options = { 0 };
	__cleanup(timeline_done) struct timeline timeline = timeline_make();
	struct text_stream stream;
	__cleanup(freep) char *text = NULL;

	(void)state;
	assert_int_equal(report_timeline_csv(&timeline, &options, text_open(&stream)), 0);
	text = text_close(&stream);
	golden_check("timeline_csv", text);
}

static void test_failing_stream(void **state)
{
	const struct table_options options = { 0 };
	__cleanup(timeline_done) struct timeline timeline = timeline_make();
	__cleanup(fclosep) FILE *full = full_open();

	(void)state;
	assert_int_equal(report_timeline(&timeline, &options, full), -EIO);
	assert_int_equal(report_timeline_json(&timeline, full), -EIO);
	assert_int_equal(report_timeline_csv(&timeline, &options, full), -EIO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),         cmocka_unit_test(test_empty),
		cmocka_unit_test(test_gaps),           cmocka_unit_test(test_fits),
		cmocka_unit_test(test_json),           cmocka_unit_test(test_csv),
		cmocka_unit_test(test_failing_stream),
	};

	setenv("TZ", "UTC", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
