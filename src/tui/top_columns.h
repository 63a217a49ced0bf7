/* SPDX-License-Identifier: BSD-2-Clause */
/* The columns of both tables of `bpftruss top`: which fit, how each is written and sorted. */
#ifndef BPFTRUSS_TOP_COLUMNS_H
#define BPFTRUSS_TOP_COLUMNS_H

#include "model/rates.h"

/* Holds any text of a cell: escapes make four characters of a byte. */
#define RATE_TEXT_MAX 1024

/* One of the tables, as far as its columns go. */
struct top_table {
	const struct rates *rates;
	const struct rate
		*whole; /* its lines are the calls of this one; NULL: they are rates' own */
	enum rate_by by;
	enum rate_key sort;
	int width;
};

/* Whether the name, unit, user or pid of a line has a part, whatever its case. */
bool columns_contain(const struct rate *line, const char *part);

/* What a line is called where it stands alone: process 17 (nginx). */
void columns_title(const struct rates *rates, const struct rate *line, char *text, size_t size);

struct top_column {
	const char *head;
	int width;
	bool left; /* aligned */
	int rank;  /* those of low rank are there first */
	enum rate_key key;
	unsigned int tables; /* bits of enum rate_by in which it makes sense, and that of calls */
	void (*write)(const struct top_table *table, const struct top_column *column,
		      const struct rate *line, char text[RATE_TEXT_MAX]);
	size_t offset; /* of its number in a line */
};

/* A column as it stands on the screen. */
struct column_place {
	const struct top_column *column;
	int x, width;
};

#define MAX_COLUMNS 24

/* The columns of a table that fit its width, from left to right. */
size_t columns_place(const struct top_table *table, struct column_place places[MAX_COLUMNS]);

/* The head of the column in whose order a table is. */
const char *columns_sort_head(enum rate_key key);

/* The key to sort by that is step columns from the present one among those on the screen. */
enum rate_key columns_next_key(const struct top_table *table, int step);

/* Orders lines of calls: numbers from high to low, equal ones by name. */
void columns_sort_calls(struct rate *calls, size_t count, enum rate_key key);

#endif
