/* SPDX-License-Identifier: BSD-2-Clause */
/* The columns of both tables of `bpftruss top`: which fit, how each is written and sorted. */
#ifndef BPFTRUSS_COLUMNS_H
#define BPFTRUSS_COLUMNS_H

#include "tui/top.h"

/* Holds any text of a cell: escapes make four characters of a byte. */
#define RATE_TEXT_MAX 1024

/*
 * What a cell is written from. Texts have printable ASCII only: any other byte of a name stands
 * there as \xNN, so that no program can write to the terminal.
 */
void column_name(const struct rate *line, char text[RATE_TEXT_MAX]);
void column_unit(const struct rate *line, char text[RATE_TEXT_MAX]);
void column_user(const struct rate *line, char text[RATE_TEXT_MAX]);

/* What a line is called where it stands alone: process 17 (nginx). */
void top_column_title(const struct rates *rates, const struct rate *line, char *text, size_t size);

void column_safe_text(const char *bytes, size_t length, char *text, size_t size);

/* A column as it stands on the screen. */
struct column_place {
	const char *head;
	int x, width;
	bool left;   /* aligned */
	bool sorted; /* the table is in its order */
	int id;      /* for top_column_text() */
};

#define MAX_COLUMNS 24

/* The columns of the table that is shown that fit its width, from left to right. */
size_t columns_place(const struct top *top, struct column_place places[MAX_COLUMNS]);

/* The cell of a column in the table that is shown, at a line's index. */
void top_column_text(const struct top *top, const struct column_place *place, size_t index,
		     char text[RATE_TEXT_MAX]);

/* The head of the column in whose order the table is. */
const char *columns_sort_head(const struct top *top);

/* The column to sort by, step columns from the present one among those on the screen. */
enum rate_key columns_next_rate_key(const struct top *top, int step);
enum call_key columns_next_call_key(const struct top *top, int step);

void columns_sort_calls(struct top *top);

#endif
