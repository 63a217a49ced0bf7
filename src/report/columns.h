/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The columns that tables have, as data: what --columns and --sort name. A cell is a text, for the
 * columns that say what a group is, or a number in the unit of the column's kind.
 */
#ifndef BPFTRUSS_COLUMNS_H
#define BPFTRUSS_COLUMNS_H

#include "base/diag.h"
#include "model/group.h"

enum column_kind {
	COLUMN_TEXT,    /* a key, left-aligned */
	COLUMN_ID,      /* a key that is a number, right-aligned */
	COLUMN_COUNT,   /* calls */
	COLUMN_SUM,     /* ns, over all calls */
	COLUMN_LATENCY, /* ns, of single calls */
	COLUMN_BYTES,
	COLUMN_PERCENT, /* in hundredths of a percent */
	NR_COLUMN_KIND,
};

/* What the cells of one table have in common. */
struct column_scope {
	const struct snapshot *snapshot;
	unsigned int keys; /* the groups are grouped by */
	uint64_t total_ns; /* what time% is a share of */
};

/* Bytes that hold any text cell; the longest is the name of a unit, a file name, escaped. */
#define COLUMN_TEXT_MAX 1025

struct column_cell;

struct column {
	const char *name;  /* for the command line */
	const char *field; /* for files: with the unit */
	enum column_kind kind;
	/* For a key: the keys that bring it into a table, and those that tell what it is. */
	unsigned int shown_by, known_by;
	/* Write the cell unless it is unknown; keys have text, the rest number. */
	bool (*text)(const struct column_cell *cell, char buf[COLUMN_TEXT_MAX]);
	bool (*number)(const struct column_cell *cell, uint64_t *ret);
	size_t offset;   /* of a number of struct row */
	double quantile; /* of the row's histogram */
};

struct column_cell {
	const struct column *column;
	const struct column_scope *scope;
	const struct group *group;
};

/* All columns in the order of --help; NULL from the first index on that is out of range. */
const struct column *column_at(size_t index);

/* A column by name; -EINVAL with d filled, which starts with the option's name. */
int column_find(const char *option, const char *name, const struct column **ret, struct diag *d);

#define COLUMNS_MAX 32

struct column_list {
	const struct column *columns[COLUMNS_MAX];
	size_t count;
};

bool column_list_has(const struct column_list *list, const struct column *column);

/* Does nothing if the column is there. */
void column_list_add(struct column_list *list, const struct column *column);

/* Reads a list such as calls,p99,max for --columns. Returns 0 or -EINVAL with d filled. */
int columns_parse(const char *list, struct column_list *ret, struct diag *d);

bool column_is_key(const struct column *column);

/* Whether groups by these keys have a value in it: numbers always do. */
bool column_is_known(const struct column *column, unsigned int keys);

/* Cells; false if unknown. Of a group of others, no key is known. */
bool column_text(const struct column *column, const struct column_scope *scope,
		 const struct group *group, char buf[COLUMN_TEXT_MAX]);
bool column_number(const struct column *column, const struct column_scope *scope,
		   const struct group *group, uint64_t *ret);

/* Orders groups by a column: keys ascending, numbers descending, unknown cells last. */
int column_compare(const struct column *column, const struct column_scope *scope,
		   const struct group *a, const struct group *b);

/* The columns that tell groups by these keys apart; pid brings comm along. */
void columns_of_keys(unsigned int keys, struct column_list *ret);

#endif
