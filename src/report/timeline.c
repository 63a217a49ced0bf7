/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes the table of a timeline. Invariant: a step without a line is one of which nothing is known
 * and that meets a gap, and every gap has a line.
 */
#include "report/timeline.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "report/report.h"

static const struct {
	const char *title;
	const char *column; /* its source; NULL: the step itself */
	bool is_rate;       /* a second */
	int rank;           /* what ranks higher is hidden first; 0: never */
} cells[] = {
	{ "start", NULL, false, 0 },       { "counted s", NULL, false, 5 },
	{ "calls", "calls", false, 7 },    { "calls/s", "calls", true, 0 },
	{ "errors", "errors", false, 10 }, { "err%", "err%", false, 2 },
	{ "cpu", "cpu", true, 3 },         { "runq", "runq", true, 6 },
	{ "sleep", "sleep", true, 4 },     { "p50", "p50", false, 8 },
	{ "p99", "p99", false, 0 },        { "max", "max", false, 1 },
	{ "bytes", "bytes", false, 9 },
};

#define NR_CELLS ARRAY_SIZE(cells)

/* Of a time of day: where the date ends, with the blank. */
#define DATE_LENGTH 11

static const char *const gap_texts[NR_GAP_REASON] = {
	[GAP_NOT_RUNNING] = "the daemon was not running",
	[GAP_NOT_WRITTEN] = "the history could not be written",
	[GAP_DAMAGED] = "what was written is damaged",
	[GAP_RETIRED] = "longer ago than the history is kept",
};

/* A step, or the sum of all. */
struct line {
	const struct snapshot *snapshot; /* NULL: nothing is known */
	struct group sum;                /* owned */
	uint64_t covered_ns;
};

struct sheet {
	struct line *lines; /* owned: one a step, then the sum */
	size_t nr_steps;
	uint64_t waiting; /* calls that are left out */
	const struct column *columns[NR_CELLS];
	struct grid *grid;
	char date[DATE_LENGTH + 1]; /* of the last step shown */
};

static void sheet_done(struct sheet *sheet)
{
	for (size_t i = 0; sheet->lines && i <= sheet->nr_steps; i++)
		row_done(&sheet->lines[i].sum.sum);
	free(sheet->lines);
	grid_free(sheet->grid);
}

/* Adds the calls of a step that are shown to its line, and counts the others. */
static int line_add(struct sheet *sheet, struct line *line, const struct timeline_step *step,
		    const struct table_options *options)
{
	const struct row_test test = half_test(TABLE_WORKING, options);
	struct group_list list;
	int err;

	line->snapshot = line->snapshot ?: step->sum;
	line->covered_ns += step->covered_ns;
	err = snapshot_group(step->sum, 0, &test, &list);
	if (err)
		return err;
	for (size_t i = 0; i < list.nr_groups && !err; i++)
		err = group_merge(&line->sum, &list.groups[i]);
	group_list_done(&list);
	for (size_t i = 0; i < step->sum->nr_rows; i++) {
		if (row_is_waiting(step->sum->rows[i], options))
			sheet->waiting += step->sum->rows[i]->calls;
	}
	return err;
}

static int sheet_fill(struct sheet *sheet, const struct timeline *timeline,
		      const struct table_options *options)
{
	struct line *all;
	int err = 0;

	sheet->nr_steps = timeline->nr_steps;
	sheet->lines = calloc(timeline->nr_steps + 1, sizeof(*sheet->lines));
	if (!sheet->lines)
		return -ENOMEM;
	for (size_t i = 0; i <= sheet->nr_steps; i++)
		row_init(&sheet->lines[i].sum.sum);
	all = &sheet->lines[sheet->nr_steps];
	for (size_t i = 0; i < sheet->nr_steps && !err; i++) {
		struct line *line = &sheet->lines[i];

		if (!timeline->steps[i].sum)
			continue;
		err = line_add(sheet, line, &timeline->steps[i], options);
		err = err ?: group_merge(&all->sum, &line->sum);
		all->snapshot = all->snapshot ?: line->snapshot;
		all->covered_ns += line->covered_ns;
	}
	return err;
}

static int sheet_begin(struct sheet *sheet)
{
	if (grid_new(NR_CELLS, &sheet->grid))
		return -ENOMEM;
	for (size_t i = 0; i < NR_CELLS; i++) {
		grid_set_title(sheet->grid, i, cells[i].title, true, cells[i].rank);
		if (!cells[i].column)
			continue;
		if (column_find("", cells[i].column, &sheet->columns[i], NULL))
			return -EINVAL;
		column_set_scale(sheet->grid, i, sheet->columns[i], "/s");
	}
	return 0;
}

static void sheet_set_cell(const struct sheet *sheet, const struct line *line, size_t cell)
{
	const struct column_scope scope = { .snapshot = line->snapshot };
	const struct column *column = sheet->columns[cell];
	double covered_ns = (double)line->covered_ns;
	uint64_t value = 0;
	bool known = line->snapshot && (line->covered_ns || !cells[cell].is_rate) &&
		     (!column || column_number(column, &scope, &line->sum, &value));

	if (!known)
		grid_set(sheet->grid, cell, "-");
	else if (!column)
		grid_set_format(sheet->grid, cell, "%.1f", covered_ns / (double)NS_PER_SEC);
	else if (!cells[cell].is_rate)
		column_set_number(sheet->grid, cell, column, value);
	else if (column->kind == COLUMN_SUM)
		grid_set_number(sheet->grid, cell,
				floor((double)value * (double)NS_PER_SEC / covered_ns));
	else
		grid_set_format(sheet->grid, cell, "%.1f",
				(double)value * (double)NS_PER_SEC / covered_ns);
}

static void sheet_add_line(struct sheet *sheet, const struct line *line, const char *label)
{
	grid_add_row(sheet->grid);
	grid_set(sheet->grid, 0, label);
	for (size_t i = 1; i < NR_CELLS; i++)
		sheet_set_cell(sheet, line, i);
}

/* The time of day, after the date where that is another than the last step's. */
static const char *moment_label(const char *date, int64_t ns, char buf[CLOCK_LOCAL_SIZE])
{
	clock_local(ns, buf, CLOCK_LOCAL_SIZE);
	return strncmp(date, buf, DATE_LENGTH) ? buf : buf + DATE_LENGTH;
}

static void sheet_add_gap(struct sheet *sheet, const struct timeline_gap *gap)
{
	char from[CLOCK_LOCAL_SIZE], to[CLOCK_LOCAL_SIZE], text[256];
	const char *first = moment_label(sheet->date, gap->start_ns, from);
	const char *last = moment_label(from, gap->end_ns, to);

	snprintf(text, sizeof(text), "%*s - %s  not counted: %s",
		 (int)(sizeof("2026-01-31 23:59:59") - 1), first, last, gap_texts[gap->reason]);
	grid_add_line(sheet->grid, text);
}

/* A step of which nothing is known, and that a gap explains. */
static bool is_explained(const struct timeline *timeline, const struct timeline_step *step)
{
	for (size_t i = 0; i < timeline->nr_gaps && !step->sum; i++) {
		if (timeline->gaps[i].start_ns < step->end_ns &&
		    timeline->gaps[i].end_ns > step->start_ns)
			return true;
	}
	return false;
}

static void sheet_add_all(struct sheet *sheet, const struct timeline *timeline)
{
	char buf[CLOCK_LOCAL_SIZE];
	size_t gap = 0;

	for (size_t i = 0; i < timeline->nr_steps; i++) {
		const struct timeline_step *step = &timeline->steps[i];

		while (gap < timeline->nr_gaps && timeline->gaps[gap].start_ns <= step->start_ns)
			sheet_add_gap(sheet, &timeline->gaps[gap++]);
		if (is_explained(timeline, step))
			continue;
		sheet_add_line(sheet, &sheet->lines[i],
			       moment_label(sheet->date, step->start_ns, buf));
		snprintf(sheet->date, sizeof(sheet->date), "%.*s", DATE_LENGTH, buf);
	}
	while (gap < timeline->nr_gaps)
		sheet_add_gap(sheet, &timeline->gaps[gap++]);
	grid_add_rule(sheet->grid);
	sheet_add_line(sheet, &sheet->lines[sheet->nr_steps], "sum");
}

/* The losses of all steps, as one snapshot's. */
static int print_trust(const struct timeline *timeline, FILE *out)
{
	struct snapshot *bare __cleanup(snapshot_freep) = NULL;

	for (size_t i = 0; i < timeline->nr_steps; i++) {
		const struct snapshot *sum = timeline->steps[i].sum;

		if (!sum)
			continue;
		if (bare)
			losses_merge(&bare->losses, &sum->losses);
		else if (snapshot_new_like(sum, &bare))
			return -ENOMEM;
	}
	fputc('\n', out);
	if (bare)
		return report_trust(bare, out);
	fputs("nothing was counted\n", out);
	return ferror(out) ? -EIO : 0;
}

int report_timeline(const struct timeline *timeline, const struct table_options *options, FILE *out)
{
	struct sheet sheet __cleanup(sheet_done) = { .lines = NULL };
	int err = sheet_fill(&sheet, timeline, options);

	err = err ?: sheet_begin(&sheet);
	if (err)
		return err;
	sheet_add_all(&sheet, timeline);
	grid_fit(sheet.grid, options->width);
	fprintf(out, "without calls that wait for work (%" PRIu64 " calls)\n\n", sheet.waiting);
	err = grid_print(sheet.grid, out);
	return err ?: print_trust(timeline, out);
}

int report_timeline_csv(const struct timeline *timeline, const struct table_options *options,
			FILE *out)
{
	const struct snapshot nothing = { .host = NULL };
	int err = report_csv(&nothing, options, true, out);

	for (size_t i = 0; i < timeline->nr_steps && !err; i++) {
		if (timeline->steps[i].sum)
			err = report_csv(timeline->steps[i].sum, options, false, out);
	}
	return err;
}
