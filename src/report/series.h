/* SPDX-License-Identifier: BSD-2-Clause */
/* A column of tables by time, a line a group: series.c computes what series_draw.c draws. */
#pragma once

#include "report/over_time.h"

#define SERIES_HEIGHT 320 /* of the plot */

/* A group, in all steps. */
struct series {
	char *title;    /* owned */
	double *values; /* owned: of each step; NAN: none */
	double rank;    /* those of the highest have a line of their own */
	size_t index;   /* of the lines that are drawn; SERIES_MAX: one of the others */
};

/* Numbers the lines: groups, then others, then the total. */
enum { SERIES_OTHERS = SERIES_MAX, SERIES_TOTAL, NR_SERIES_LINE };

struct series_chart {
	struct time_plot plot;
	const struct time_picture_options *picture;
	struct table_options table;
	const struct column *column;
	void *tree; /* owned: struct series, by title */
	struct series *lines[SERIES_MAX];
	size_t nr_lines, nr_series;
	bool has_cut;           /* some groups are in no series: the options left them out */
	double *others, *total; /* owned; of each step */
	double low, high;       /* of all values; the ends of the scale */
	bool is_log;
	uint64_t waiting;
};

/* Whether a column is shown per second: counts, sums and bytes. */
static inline bool series_is_per_second(const struct column *column)
{
	return column->kind == COLUMN_COUNT || column->kind == COLUMN_SUM ||
	       column->kind == COLUMN_BYTES;
}

/* The values of a line, one a step; NULL: there is no such line. */
const double *series_values(const struct series_chart *chart, size_t line);

/* --- series_draw.c ------------------------------------------------------------------------------- */

/* Draws it, and chooses the scale for that. */
void series_draw(struct series_chart *chart);
