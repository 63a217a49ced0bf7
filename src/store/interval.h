/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rows of interval: when something was counted, and the checksum of what. Those of a level cover
 * what finer ones cover, so that a moment may be in one of each; intervals of one level and run do
 * not overlap.
 */
#ifndef BPFTRUSS_STORE_INTERVAL_H
#define BPFTRUSS_STORE_INTERVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/history.h"

struct db;

/* Bits of interval.flags. */
enum interval_flag {
	INTERVAL_HAS_RUNQ = 1 << 0,
	INTERVAL_CALLER_PIDNS = 1 << 1,
	INTERVAL_DAMAGED = 1 << 2, /* its cells were lost; the row says that they were there */
};

/* Every field is a column of the same name. Wall-clock times may go backwards. */
struct interval {
	int64_t level, run, start_mono_ns; /* the key */
	int64_t id;                        /* of its cells; never comes twice */
	int64_t end_mono_ns;
	int64_t start_ns, end_ns;
	int64_t after_mono_ns; /* end of the one before it in its run, or start of the run */
	int64_t flags;
	int64_t threads_unknown;
	int64_t nr_cells, nr_shares, nr_losses;
	int64_t content; /* checksum of these */
};

struct interval_list {
	struct interval *items; /* owned */
	size_t count;
};

/* Returns 0 or -ENOMEM. */
int interval_list_add(struct interval_list *list, const struct interval *interval);

void interval_list_done(struct interval_list *list);

/* Which intervals: of levels up to a last, of a run (0: all), that begin in [from, to). */
struct interval_range {
	int64_t first_level, last_level;
	int64_t run;
	int64_t from_mono_ns, to_mono_ns;
};

#define INTERVAL_ALL { .last_level = NR_HISTORY_LEVEL - 1, .to_mono_ns = INT64_MAX }

/*
 * Reads rows by level, run and start. Damaged ones are left out; *ret_damaged, which may be NULL,
 * is how many. The list must be empty. See db.h for the errors.
 */
int intervals_read(struct db *db, const struct interval_range *range, struct interval_list *ret,
		   size_t *ret_damaged);

/* Of the first level and one run: those that can be read of a damaged file, in no order. */
void intervals_salvage(struct db *db, const struct interval_range *range, struct interval_list *ret,
		       size_t *ret_damaged);

/* The first of a level; 1, or 0 when there is none. -EUCLEAN: it is damaged, its key is given. */
int interval_read_oldest(struct db *db, int64_t level, struct interval *ret);

/* The latest of a level in a run that begins at or before a moment; 1, 0 or -errno. */
int interval_read_at(struct db *db, int64_t level, int64_t run, int64_t mono_ns,
		     struct interval *ret);

/* Inserts or replaces. */
int interval_write(struct db *db, const struct interval *interval);

/* Removes the row, not what belongs to it. */
int interval_remove_row(struct db *db, const struct interval *interval);

/* Removes it with all that belongs to it. */
int interval_remove(struct db *db, const struct interval *interval);

/* Orders by run and start; of intervals that start together the longest comes first. */
int interval_compare(const void *a, const void *b);

/* Reads a row of a statement that yields the columns in order; -EUCLEAN if it is damaged. */
struct sqlite3_stmt;
int interval_from_row(struct sqlite3_stmt *row, struct interval *ret);

#endif
