/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A table of texts whose columns are as wide as what is in them. A failed allocation is remembered
 * and returned by grid_print(), so that filling needs no checks.
 */
#ifndef BPFTRUSS_GRID_H
#define BPFTRUSS_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct grid;

/* Returns 0 or -ENOMEM. */
int grid_new(size_t nr_columns, struct grid **ret);
void grid_free(struct grid *grid);

static inline void grid_freep(struct grid **grid)
{
	grid_free(*grid);
}

/* Names a column. Of those with a rank, the highest is hidden first; 0: never. */
void grid_set_title(struct grid *grid, size_t column, const char *title, bool right, int rank);

/*
 * Makes it a column of numbers, which are scaled alike in all columns of a group: by the largest of
 * them. The title gets the unit of times and what they are per.
 */
enum grid_kind {
	GRID_TEXT,
	GRID_SUM,     /* ns; see scale_for_sums() */
	GRID_LATENCY, /* ns; see scale_for_latencies() */
	GRID_RATE,
};
#define GRID_GROUPS 8
void grid_set_scale(struct grid *grid, size_t column, enum grid_kind kind, unsigned int group,
		    const char *per);

/* Starts a row of empty cells; these fill the last one. Texts are copied. */
void grid_add_row(struct grid *grid);
void grid_set(struct grid *grid, size_t column, const char *text);
__attribute__((format(printf, 3, 4))) void grid_set_format(struct grid *grid, size_t column,
							   const char *format, ...);

/* A number of such a column; NAN is one that is not known. */
void grid_set_number(struct grid *grid, size_t column, double value);

/* A line of dashes below every column, and a line of free text. */
void grid_add_rule(struct grid *grid);
void grid_add_line(struct grid *grid, const char *text);

void grid_hide(struct grid *grid, size_t column);

/* Hides columns by rank, those of one rank together, until the rest fits; 0: any width does. */
void grid_fit(struct grid *grid, int width);

/* The titles and all rows. Returns 0, -ENOMEM or -EIO. */
int grid_print(struct grid *grid, FILE *out);

#endif
