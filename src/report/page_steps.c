/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes the steps of a timeline as a table of a page: a row a step in which anything was counted, and one a gap. */
#include "base/clock.h"
#include "report/over_time.h"
#include "report/page.h"

static const char *const step_columns[] = {
	"calls", "errors", "total", "cpu", "p50", "p99", "max"
};

static void put_fields(struct json_writer *to)
{
	const struct column *column;

	json_put_list(to, "fields");
	page_put_field(to, "start", "text");
	page_put_field(to, "covered_ns", "latency");
	page_put_field(to, "calls_per_s", "rate");
	for (size_t i = 0; i < ARRAY_SIZE(step_columns); i++) {
		if (!column_find("", step_columns[i], &column, NULL))
			page_put_column(to, column);
	}
	page_put_field(to, "remark", "text");
	json_put_end(to);
}

static int put_step(struct json_writer *to, const struct timeline_step *step,
		    const struct table_options *options)
{
	struct table_part part __cleanup(table_part_done) = { .list = { 0 } };
	const struct row_test test = half_test(TABLE_WORKING, options);
	struct table_options table = *options;
	char start[CLOCK_LOCAL_SIZE];

	table.sort.count = 0;
	if (table_part_make(step->sum, &table, &test, &part))
		return -ENOMEM;
	clock_local(step->start_ns, start, sizeof(start));
	json_put_list(to, NULL);
	json_put_text(to, NULL, start);
	json_put_number(to, NULL, step->covered_ns);
	if (step->covered_ns)
		json_put_real(to, NULL,
			      (double)part.sum.sum.calls * (double)NS_PER_SEC /
				      (double)step->covered_ns);
	else
		json_put_null(to, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(step_columns); i++) {
		const struct column *column;
		uint64_t value = 0;
		bool is_known = !column_find("", step_columns[i], &column, NULL) &&
				column_number(column, &part.scope, &part.sum, &value);

		json_put_number_if(to, NULL, is_known, value);
	}
	json_put_null(to, NULL);
	json_put_end(to);
	return 0;
}

static void put_gap(struct json_writer *to, const struct timeline_gap *gap)
{
	char start[CLOCK_LOCAL_SIZE], end[CLOCK_LOCAL_SIZE], text[256];

	clock_local(gap->start_ns, start, sizeof(start));
	clock_local(gap->end_ns, end, sizeof(end));
	snprintf(text, sizeof(text), "not counted until %s: %s", end, gap_texts[gap->reason]);
	json_put_list(to, NULL);
	json_put_text(to, NULL, start);
	for (size_t i = 0; i < 2 + ARRAY_SIZE(step_columns); i++)
		json_put_null(to, NULL);
	json_put_text(to, NULL, text);
	json_put_end(to);
}

int page_put_steps(struct json_writer *to, const struct timeline *timeline,
		   const struct report_options *options)
{
	size_t gap = 0;
	int err = 0;

	page_put_table(to, "steps", "Over time", "Without calls that wait for work.");
	json_put_word(to, "sorted_by", "start");
	json_put_bool(to, "descending", false);
	put_fields(to);
	json_put_list(to, "rows");
	for (size_t i = 0; i < timeline->nr_steps && !err; i++) {
		const struct timeline_step *step = &timeline->steps[i];

		for (; gap < timeline->nr_gaps && timeline->gaps[gap].start_ns <= step->start_ns;
		     gap++)
			put_gap(to, &timeline->gaps[gap]);
		if (step->sum)
			err = put_step(to, step, &options->table);
	}
	for (; gap < timeline->nr_gaps; gap++)
		put_gap(to, &timeline->gaps[gap]);
	json_put_end(to);
	json_put_end(to);
	return err;
}
