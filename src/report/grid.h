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

void grid_set_title(struct grid *grid, size_t column, const char *title, bool right);

/* Starts a row of empty cells; grid_set() fills the last one. Texts are copied. */
void grid_add_row(struct grid *grid);
void grid_set(struct grid *grid, size_t column, const char *text);

/* A line of dashes below every column, and a line of free text. */
void grid_add_rule(struct grid *grid);
void grid_add_line(struct grid *grid, const char *text);

void grid_hide(struct grid *grid, size_t column);

/* What ranks higher is hidden first, columns of one rank together; those of rank 0 never. */
void grid_set_rank(struct grid *grid, size_t column, unsigned int rank);

/* Hides columns by rank until the rest fits into a width; 0 is no limit. */
void grid_fit(struct grid *grid, int width);

/* The titles and all rows. Returns 0, -ENOMEM or -EIO. */
int grid_print(const struct grid *grid, FILE *out);

#endif
