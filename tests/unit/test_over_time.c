/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Heat maps and charts over time: golden files; the numbers in a picture are those of the timeline; bounded, whatever
 * the timeline; names stay text.
 */
#include "timelines.h"

#include "stack_scenarios.h"

static const struct time_picture_options plain_picture;
static const struct time_picture_options all_calls = { .with_waiting = true };

/* Returns a picture without its style sheet, which is a file of its own; frees it as it was. */
static char *picture_take(char *text)
{
	char *style = strstr(text, "<style>"), *end = strstr(text, "</style>");

	assert_all(style, end && end > style);
	memmove(style + strlen("<style>"), end, strlen(end) + 1);
	xml_check(text);
	return text;
}

static void sample_take(const char *name, const char *text)
{
	char file[64];

	snprintf(file, sizeof(file), "%s.svg", name);
	sample_write(file, text, strlen(text));
}

/* Calls with a time in the histograms, of those that are shown. */
static uint64_t timed_calls(const struct timeline *timeline, bool with_waiting)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < timeline->nr_steps; i++) {
		const struct snapshot *snapshot = timeline->steps[i].sum;

		for (size_t j = 0; snapshot && j < snapshot->nr_rows; j++) {
			if (with_waiting || !row_is_waiting(snapshot->rows[j], &plain))
				sum += hist_total(&snapshot->rows[j]->hist);
		}
	}
	return sum;
}

/* Adds up the numbers behind a mark in the titles of some elements. Long texts are not searched again. */
static uint64_t titles_sum(const char *text, const char *class, const char *mark, size_t *ret_count)
{
	uint64_t sum = 0, number;
	char element[400];

	*ret_count = 0;
	for (const char *at = text; *at; at++) {
		const char *title, *found;

		if (*at != '<' || strncmp(at, class, strlen(class)) != 0)
			continue;
		snprintf(element, sizeof(element), "%.*s", (int)sizeof(element) - 1, at);
		title = strstr(element, "<title>");
		found = title ? strstr(title, mark) : NULL;
		if (!found || found > strstr(title, "</title>") ||
		    sscanf(found + strlen(mark), "%" SCNu64 " call", &number) != 1)
			continue;
		sum += number;
		++*ret_count;
	}
	return sum;
}

static void heat_check(const struct timeline *timeline, const char *text, bool with_waiting)
{
	size_t cells, columns;

	assert_int_equal(titles_sum(text, "<rect class=\"c", ": ", &cells),
			 timed_calls(timeline, with_waiting));
	assert_int_equal(titles_sum(text, "<rect class=\"panel\"", "\n", &columns),
			 timed_calls(timeline, with_waiting));
	assert_in_range(cells, 0, HEATMAP_COLUMNS * HEATMAP_ROWS);
	assert_in_range(columns, 0, HEATMAP_COLUMNS);
}

TEST(test_heatmap_golden)
{
	static const struct time_picture_options named = { .subject = "%file, nginx.service" };
	__cleanup(timeline_done) struct timeline timeline = timeline_make(), nothing = { 0 };
	__cleanup(freep) char *text = picture_take(render(report_heatmap, &timeline, &named));
	__cleanup(freep) char *empty =
		picture_take(render(report_heatmap, &nothing, &plain_picture));

	golden_check("heatmap_web", text);
	golden_check("heatmap_empty", empty);
	heat_check(&timeline, text, false);
	assert_full(report_heatmap, &timeline, &named);
}

/* In a page its style sheet is the page's; all else is the same. */
TEST(test_in_page)
{
	static const struct time_picture_options in_page = { .in_page = true };
	__cleanup(timeline_done) struct timeline timeline = timeline_make();
	__cleanup(freep) char *text = render(report_heatmap, &timeline, &plain_picture);
	__cleanup(freep) char *part = render(report_heatmap, &timeline, &in_page);
	const char *style = strstr(text, "<style>"), *rest = strstr(text, "</style>\n") + 9;

	assert_memory_equal(part, text, (size_t)(style - text));
	assert_string_equal(part + (style - text), rest);
	assert_null(strstr(part, "style="));
}

/* Calls that wait for work are left out and counted, unless they were asked for. */
TEST(test_waiting)
{
	__cleanup(timeline_done) struct timeline timeline = timeline_make();
	__cleanup(freep) char *working = render(report_heatmap, &timeline, &plain_picture);
	__cleanup(freep) char *all = render(report_heatmap, &timeline, &all_calls);

	heat_check(&timeline, all, true);
	assert_all(strstr(working, "that wait for work left out"), !strstr(all, "wait for work"));
}

/* A time in which nothing was counted is hatched, with its reason; one without calls is an empty column. */
TEST(test_gaps_and_empty_steps)
{
	__cleanup(timeline_done) struct timeline timeline = day_make();
	__cleanup(freep) char *text = render(report_heatmap, &timeline, &plain_picture);

	assert_int_equal(count_of(text, "class=\"gap\""), 2 + 1);
	assert_int_equal(count_of(text, "not counted: the daemon was not running</title>"), 2);
	assert_int_equal(count_of(text, "\nno calls</title>"), 11);
	heat_check(&timeline, text, false);
	sample_take("heatmap_day", text);
}

/* However many steps, and however far apart latencies are. */
TEST(test_bounded)
{
	static const uint64_t times[] = {
		0, 1, 63, 64, 1000, 1ULL << 41, 1ULL << 42, UINT64_MAX / 4
	};
	__cleanup(timeline_done) struct timeline timeline = { 0 };
	__cleanup(freep) char *text = NULL;

	for (int i = 0; i < 3000; i++) {
		struct builder *builder = builder_make();

		builder_take_calls(builder, 1, ABI_OF_TESTS, "read", 1 + (uint64_t)i,
				   times[(size_t)i % ARRAY_SIZE(times)], 0, 0);
		step_add(&timeline, i * 10, i * 10 + 10, 10, 0);
		timeline.steps[i].sum = snapshot_take(builder);
	}
	text = picture_take(render(report_heatmap, &timeline, &plain_picture));
	heat_check(&timeline, text, false);
	assert_true(strlen(text) < 4 << 20);
}

static const char hostile[] = "</text><script>alert(1)</script>&\"'\x1b[31m\xff";

/* Nothing that somebody chose is more than text. */
static void hostile_check(const char *text)
{
	assert_all(!strstr(text, "<script"), strstr(text, "&lt;script&gt;"), !strchr(text, 0x1b),
		   !strstr(text, "url("), !strstr(text, "href"));
	assert_int_equal(count_of(text, "://"), 1);
}

TEST(test_hostile)
{
	static const struct time_picture_options named = { .subject = hostile };
	const struct table_options by_comm = { .keys = GROUP_COMM };
	__cleanup(timeline_done) struct timeline timeline = { 0 };
	__cleanup(freep) char *map = NULL, *chart = NULL;

	step_add(&timeline, 0, 60, 60, 0);
	timeline.steps[0].sum = scenario_hostile(ABI_OF_TESTS);
	map = picture_take(render(report_heatmap, &timeline, &named));
	hostile_check(map);
	chart = picture_take(render(report_series, &timeline, &named, &by_comm));
	hostile_check(chart);
	sample_take("series_hostile", chart);
}

/* Times of a timeline that somebody made up are anywhere, and steps in no order. */
TEST(test_odd_times)
{
	static const int64_t times[] = { INT64_MIN, INT64_MIN + 1, -1,       0,
					 1,         INT64_MAX - 1, INT64_MAX };
	const struct table_options by_call = { .keys = GROUP_SYSCALL };

	for (size_t i = 0; i < ARRAY_SIZE(times) * ARRAY_SIZE(times); i++) {
		__cleanup(timeline_done) struct timeline timeline = { 0 };
		__cleanup(freep) char *map = NULL, *chart = NULL;

		step_add(&timeline, 0, 60, 60, 1);
		step_add(&timeline, 60, 120, 0, 1);
		gap_add(&timeline, 0, 1, GAP_DAMAGED);
		timeline.steps[0].start_ns = timeline.gaps[0].end_ns = times[i / ARRAY_SIZE(times)];
		timeline.steps[1].end_ns = timeline.gaps[0].start_ns = times[i % ARRAY_SIZE(times)];
		map = picture_take(render(report_heatmap, &timeline, &plain_picture));
		chart = picture_take(render(report_series, &timeline, &plain_picture, &by_call));
		assert_all(!strstr(map, "nan"), !strstr(map, "inf"), !strstr(chart, "nan"),
			   !strstr(chart, "inf"));
	}
}

/* --- charts ------------------------------------------------------------------------------------- */

/* In each step the lines add up to the total. */
static void sums_check(const char *text, size_t nr_steps)
{
	size_t steps = 0;
	double value;

	for (const char *at = text; (at = strstr(at, "class=\"hit\"")); at++, steps++) {
		const char *end = strstr(at, "</title>"),
			   *line = strchr(strstr(at, "<title>"), '\n');
		double sum = 0, total = -1;

		for (; line && line < end; line = strchr(line + 1, '\n')) {
			assert_int_equal(sscanf(line, "\n%*[^:]: %lf", &value), 1);
			if (!strncmp(line, "\ntotal:", 7))
				total = value;
			else
				sum += value;
		}
		assert_true(total > sum - .06 && total < sum + .06);
	}
	assert_int_equal(steps, nr_steps);
}

static char *series_render(const struct timeline *timeline, const char *column, unsigned int keys)
{
	const struct column_list columns = { { column_named(column) }, 1 };
	const struct table_options options = { .keys = keys, .columns = &columns };

	return render(report_series, timeline, &plain_picture, &options);
}

TEST(test_series_golden)
{
	__cleanup(timeline_done) struct timeline timeline = timeline_make(), nothing = { 0 };
	__cleanup(freep) char *calls = picture_take(series_render(&timeline, "calls", 0));
	__cleanup(freep) char *p99 = picture_take(series_render(&timeline, "p99", GROUP_SYSCALL));
	__cleanup(freep) char *empty =
		picture_take(render(report_series, &nothing, &plain_picture, &plain));

	golden_check("series_calls", calls);
	golden_check("series_p99", p99);
	golden_check("series_empty", empty);
	sums_check(calls, 5);
	assert_full(report_series, &timeline, &plain_picture, &plain);
}

/* Every column can be drawn. */
TEST(test_columns)
{
	__cleanup(timeline_done) struct timeline timeline = timeline_make();
	const struct column *column;

	for (size_t i = 0; (column = column_at(i)); i++) {
		__cleanup(freep) char *text = picture_take(
			series_render(&timeline, column->name, GROUP_UNIT | GROUP_SYSCALL));

		assert_all(!strstr(text, "nan"), !strstr(text, "inf"));
	}
}

/* The columns of --columns come before those of --sort. */
TEST(test_column_chosen)
{
	const struct column_list columns = { { column_named("syscall"), column_named("errors") },
					     2 };
	const struct table_options both = { .columns = &columns, .sort = sort_named("p99") };
	const struct table_options order = { .sort = sort_named("syscall,max") };
	__cleanup(timeline_done) struct timeline timeline = timeline_make();
	__cleanup(freep) char *first = render(report_series, &timeline, &plain_picture, &both);
	__cleanup(freep) char *second = render(report_series, &timeline, &plain_picture, &order);
	__cleanup(freep) char *third = render(report_series, &timeline, &plain_picture, &plain);

	assert_all(strstr(first, ">System calls, errors per second by syscall<"),
		   strstr(second, ">System calls, max by syscall<"),
		   strstr(third, ">System calls, calls per second by syscall<"));
}

/* Eight lines, others and the total; with --top fewer. */
TEST(test_many_groups)
{
	const struct table_options by_comm = { .keys = GROUP_COMM },
				   top = { .keys = GROUP_COMM, .top = 3 };
	__cleanup(timeline_done) struct timeline timeline = { 0 };
	__cleanup(freep) char *all = NULL, *few = NULL;
	char name[16];

	for (int i = 0; i < 4; i++) {
		struct builder *builder = builder_make();

		for (uint32_t pid = 1; pid <= 20; pid++) {
			snprintf(name, sizeof(name), "program_%u", pid);
			web_process(builder, pid, name, 0, 7, 0);
			builder_take_calls(builder, pid, ABI_OF_TESTS, "read", pid * 100, USEC, 0,
					   0);
		}
		step_add(&timeline, i * 60, i * 60 + 60, 60, 0);
		timeline.steps[i].sum = snapshot_take(builder);
		timeline.steps[i].sum->elapsed_ns = 60 * SEC;
	}
	all = picture_take(render(report_series, &timeline, &plain_picture, &by_comm));
	assert_int_equal(count_of(all, "<path class=\"line "), 2 * (8 + 2));
	assert_all(strstr(all, ">program_20<"), strstr(all, ">program_13<"),
		   !strstr(all, ">program_12<"), strstr(all, ">others<"), strstr(all, ">total<"));
	sums_check(all, 4);
	few = picture_take(render(report_series, &timeline, &plain_picture, &top));
	assert_int_equal(count_of(few, "<path class=\"line "), 2 * (3 + 2));
	sums_check(few, 4);
}

/* Pictures for the readers. */
TEST(test_samples)
{
	__cleanup(timeline_done) struct timeline day = day_make();
	__cleanup(freep) char *calls = series_render(&day, "calls", GROUP_SYSCALL);
	__cleanup(freep) char *p99 = series_render(&day, "p99", GROUP_UNIT);

	sample_take("series_calls", calls);
	sample_take("series_p99", p99);
}
