/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rows of a report as fields, for the forms that are made for programs: CSV and JSON differ in how they
 * write them, not in what they have.
 */
#pragma once

#include "report/report.h"

enum field_kind {
	FIELD_NONE, /* not known */
	FIELD_TEXT,
	FIELD_NUMBER,
	FIELD_PERCENT, /* in hundredths */
	FIELD_HIST,
	FIELD_EXEMPLARS, /* the slowest calls of a group */
};

/* Everything is borrowed. */
struct field {
	const char *name; /* with the unit */
	enum field_kind kind;
	const char *text;
	uint64_t number;
	const struct hist *hist;
	const struct group *group;
	bool prefers_text; /* a number that people read as text */
};

/* A row has no more fields, and no list of rows fields of more kinds. */
#define FIELDS_MAX (COLUMNS_MAX + 8)

struct row_fields {
	struct field fields[FIELDS_MAX];
	size_t count;
};

/* Takes one row after the other. Returns 0 or a negative errno, which ends the report. */
typedef int row_take(void *closure, const struct row_fields *row);

/*
 * Gives all rows that the options ask for: groups, errors by errno or stacks; each has the same fields in
 * the same order. Returns 0, -ENOMEM, or what take returned.
 */
int rows_give(const struct snapshot *snapshot, const struct report_options *options, row_take *take,
	      void *closure);

/* Gives the groups of a part of a table, as the options would for all of them. */
int rows_give_part(const struct table_part *part, const struct report_options *options,
		   row_take *take, void *closure);

/* Gives one row of nobody, for the names that all have. */
int rows_give_names(const struct report_options *options, row_take *take, void *closure);

/* --- errors.c: errors by errno ------------------------------------------------------------------ */

/* Stands for errnos that the kernel had no room to tell apart. */
#define ERRNO_UNKNOWN 0

/* Counts one errno of one group. */
struct failure {
	const struct group *group;
	struct errno_count errors;
};

/* The errors that the options ask for, the most frequent first, and the rest as a sum. */
struct failures {
	struct table_part part; /* the groups */
	struct failure *items;  /* owned */
	size_t count, shown;
	uint64_t calls, errors, rest; /* of all groups; errors that are not shown */
};

/* Unless the options have keys, they are by name of the process. Returns 0 or -ENOMEM. */
int failures_make(const struct snapshot *snapshot, const struct table_options *options,
		  struct failures *ret);

void failures_done(struct failures *failures);

/* The columns that come before errno: keys, and what the user chose. */
void failures_columns(const struct table_options *options, struct column_list *ret);
