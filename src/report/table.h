/* SPDX-License-Identifier: BSD-2-Clause */
/* What the reports that group have in common: the options, and the groups that these ask for. */
#ifndef BPFTRUSS_TABLE_H
#define BPFTRUSS_TABLE_H

#include "model/group.h"
#include "report/columns.h"
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

/* Calls that wait for work stand apart from the others. */
enum table_half { TABLE_WORKING, TABLE_WAITING, NR_TABLE_HALF };
extern const char *const table_half_names[NR_TABLE_HALF];

/* Returns 0 or -ENOMEM; table_part_done() is due for each half in both cases, if all began as zero. */
int table_halves_make(const struct snapshot *snapshot, const struct table_options *options,
		      struct table_part ret[NR_TABLE_HALF]);

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

#endif
