/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes timelines as tables. Invariant: a step without a line is one of which nothing is known and that
 * meets a gap, and every gap has a line.
 */
#include "report/report.h"

#include <math.h>

#include "base/clock.h"

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

/* The date of a time of day takes this much, with the blank. */
#define DATE_LENGTH 11

const char *const gap_texts[NR_GAP_REASON] = {
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

/* Adds the calls of steps that are shown to their lines and to that of all, and counts the others. */
static int sheet_fill(struct sheet *sheet, const struct timeline *timeline,
		      const struct table_options *options)
{
	sheet->nr_steps = timeline->nr_steps;
	sheet->lines = calloc(timeline->nr_steps + 1, sizeof(*sheet->lines));
	if (!sheet->lines)
		return -ENOMEM;
	for (size_t i = 0; i <= sheet->nr_steps; i++)
		row_init(&sheet->lines[i].sum.sum);
	for (size_t i = 0; i < sheet->nr_steps; i++) {
		struct table_part parts[NR_TABLE_HALF] __cleanup(
			table_halves_done) = { { .list = { 0 } } };
		struct line *lines[] = { &sheet->lines[i], &sheet->lines[sheet->nr_steps] };
		const struct timeline_step *step = &timeline->steps[i];

		if (!step->sum)
			continue;
		if (table_halves_make(step->sum, options, parts))
			return -ENOMEM;
		sheet->waiting += parts[TABLE_WAITING].sum.sum.calls;
		for (size_t j = 0; j < ARRAY_SIZE(lines); j++) {
			lines[j]->snapshot = lines[j]->snapshot ?: step->sum;
			lines[j]->covered_ns += step->covered_ns;
			if (group_merge(&lines[j]->sum, &parts[TABLE_WORKING].sum))
				return -ENOMEM;
		}
	}
	return 0;
}

static void sheet_add_line(struct sheet *sheet, const struct line *line, const char *label)
{
	const struct column_scope scope = { .snapshot = line->snapshot };
	double seconds = (double)line->covered_ns / (double)NS_PER_SEC;

	grid_add_row(sheet->grid);
	grid_set(sheet->grid, 0, label);
	for (size_t i = 1; i < NR_CELLS; i++) {
		const struct column *column = sheet->columns[i];
		uint64_t value = 0;
		bool known = line->snapshot && (line->covered_ns || !cells[i].is_rate) &&
			     (!column || column_number(column, &scope, &line->sum, &value));
		double rate = (double)value * (double)NS_PER_SEC / (double)line->covered_ns;

		if (!known)
			grid_set(sheet->grid, i, "-");
		else if (!column)
			grid_set_format(sheet->grid, i, "%.1f", seconds);
		else if (!cells[i].is_rate)
			column_set_number(sheet->grid, i, column, value);
		else if (column->kind == COLUMN_SUM)
			grid_set_number(sheet->grid, i, floor(rate));
		else
			grid_set_format(sheet->grid, i, "%.1f", rate);
	}
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

static void sheet_add_all(struct sheet *sheet, const struct timeline *timeline)
{
	char buf[CLOCK_LOCAL_SIZE];
	size_t gap = 0;

	for (size_t i = 0; i < timeline->nr_steps; i++) {
		const struct timeline_step *step = &timeline->steps[i];
		bool is_explained = false;

		while (gap < timeline->nr_gaps && timeline->gaps[gap].start_ns <= step->start_ns)
			sheet_add_gap(sheet, &timeline->gaps[gap++]);
		/* Nothing is known of it, and a gap explains that. */
		for (size_t j = 0; j < timeline->nr_gaps && !step->sum; j++)
			is_explained |= timeline->gaps[j].start_ns < step->end_ns &&
					timeline->gaps[j].end_ns > step->start_ns;
		if (is_explained)
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

int report_timeline(const struct timeline *timeline, const struct table_options *options, FILE *out)
{
	struct snapshot *bare __cleanup(snapshot_freep) = NULL;
	struct sheet sheet __cleanup(sheet_done) = { .lines = NULL };
	int err = sheet_fill(&sheet, timeline, options);

	if (err || grid_new(NR_CELLS, &sheet.grid))
		return -ENOMEM;
	grid_set_color(sheet.grid, options->color);
	for (size_t i = 0; i < NR_CELLS; i++) {
		grid_set_title(sheet.grid, i, cells[i].title, true, cells[i].rank);
		if (cells[i].column && !column_find("", cells[i].column, &sheet.columns[i], NULL))
			column_set_scale(sheet.grid, i, sheet.columns[i], "/s");
	}
	sheet_add_all(&sheet, timeline);
	fprintf(out, "without calls that wait for work (%" PRIu64 " calls)\n\n", sheet.waiting);
	err = grid_print(sheet.grid, options->width, out);
	if (err)
		return err;
	/* The losses of all steps, as one snapshot's. */
	for (size_t i = 0; i < timeline->nr_steps; i++) {
		const struct snapshot *sum = timeline->steps[i].sum;

		if (sum && bare)
			losses_merge(&bare->losses, &sum->losses);
		else if (sum && snapshot_new_like(sum, &bare))
			return -ENOMEM;
	}
	fputc('\n', out);
	if (bare)
		return report_trust(bare, options->color, out);
	fputs("nothing was counted\n", out);
	return ferror(out) ? -EIO : 0;
}

int report_timeline_csv(const struct timeline *timeline, const struct report_options *options,
			FILE *out)
{
	const struct snapshot nothing = { .host = NULL };
	struct report_options lines = *options;
	int err = report_csv(&nothing, options, out);

	lines.no_header = true;
	for (size_t i = 0; i < timeline->nr_steps && !err; i++) {
		if (timeline->steps[i].sum)
			err = report_csv(timeline->steps[i].sum, &lines, out);
	}
	return err;
}
