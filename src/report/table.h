/* SPDX-License-Identifier: BSD-2-Clause */
/* What the reports that group have in common: the options, and the groups that these ask for. */
#ifndef BPFTRUSS_TABLE_H
#define BPFTRUSS_TABLE_H

#include "base/text.h"
#include "model/group.h"
#include "report/columns.h"
#include "report/grid.h"
#include "syscalls/syscall_set.h"

/* All zero is what a user gets who asks for nothing. Nothing is owned. */
struct table_options {
	unsigned int
		keys; /* --by: enum group_key; 0 is what suits the report, mostly GROUP_SYSCALL */
	const struct column *sort;         /* --sort; NULL: total time */
	const struct column_list *columns; /* --columns, in this order; NULL: chosen by width */
	size_t top;                        /* --top; 0: all; of each half of the wide table */
	uint64_t min_calls;                /* --min-calls */
	bool errors_only;                  /* --errors-only */
	bool hist;                         /* --hist */
	int width;                         /* columns of the screen; 0: no limit */
	const struct syscall_set *waiting; /* calls that wait for work; NULL: waiting.inc */
};

/* Some of the calls, grouped. */
struct table_part {
	struct column_scope scope; /* of its cells; total_ns is that of the part */
	struct group_list list;    /* sorted and cut, maybe with a last group of others */
	struct group sum;          /* of all, also those cut */
};

void table_part_done(struct table_part *part);

/* Bytes that hold any label below. */
#define TABLE_LABEL_MAX 48

/* "(12 others)", for a group with nr_merged. */
void others_label(const struct group *group, char *buf, size_t size);

/* The calls that a test has (NULL: all), as the options ask for. Returns 0 or -ENOMEM. */
int table_part_make(const struct snapshot *snapshot, const struct table_options *options,
		    const struct row_test *test, struct table_part *ret);

/*
 * The keys, and what the user chose, in that order, but for keys that the user chose elsewhere.
 * Only the keys if nothing was chosen.
 */
void table_columns(const struct table_options *options, unsigned int keys, struct column_list *ret);

/* The column in which sums and others are named: the first of text, else the first key. */
size_t table_label_column(const struct column_list *columns);

/* The keys of a group in words, with blanks between: nginx read. For headings. */
void table_group_title(const struct table_part *part, const struct group *group,
		       char buf[COLUMN_TEXT_MAX]);

/* Tests of row_test; closure is the options. [other], of unknown number, is taken for working. */
bool row_is_working(const struct row *row, const void *options);
bool row_is_waiting(const struct row *row, const void *options);

/* Tables show calls that wait for work below the others. */
enum table_half { TABLE_WORKING, TABLE_WAITING, NR_TABLE_HALF };

/* The name of a half's sum: working, waiting. */
extern const char *const table_half_names[NR_TABLE_HALF];

struct row_test half_test(enum table_half half, const struct table_options *options);

/* Makes both parts, which are to be ended in any case. Returns 0 or -ENOMEM. */
int table_halves_make(const struct snapshot *snapshot, const struct table_options *options,
		      struct table_part ret[NR_TABLE_HALF]);

/* Sets the titles of the keys among columns, which are those of a grid in that order. */
void table_set_titles(struct grid *grid, const struct column_list *columns);

/*
 * Fills the keys in the last row of such a grid, each cut to a width. A label, if any, stands in
 * their place.
 */
void table_set_keys(struct grid *grid, const struct column_list *columns,
		    const struct column_scope *scope, const struct group *group, const char *label,
		    size_t text_max);

/* A width for text_max on a screen (0: no limit) that at least holds the longest name of a call. */
size_t table_text_max(int width);

/* Sets the scale of a column of times: all sums have one unit, all latencies another. */
void column_set_scale(struct grid *grid, size_t index, const struct column *column,
		      const char *per);

/* Sets a number of a column that has its scale. */
void column_set_number(struct grid *grid, size_t index, const struct column *column,
		       uint64_t value);

#endif
