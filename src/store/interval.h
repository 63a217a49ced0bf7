/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rows of interval and run: when something was counted, and by whom. Intervals of a level cover what
 * finer ones cover, so that a moment may be in one of each; those of one level and run do not overlap.
 */
#ifndef BPFTRUSS_STORE_INTERVAL_H
#define BPFTRUSS_STORE_INTERVAL_H

#include <stddef.h>
#include <stdint.h>

#include "model/snapshot.h"
#include "store/db.h"
#include "store/history.h"

/* Bits of interval.flags. */
enum interval_flag {
	INTERVAL_HAS_RUNQ = 1 << 0,
	INTERVAL_CALLER_PIDNS = 1 << 1,
};

/* The fields are what INTERVAL_SELECT yields, in its order. Wall-clock times may go backwards. */
struct interval {
	int64_t id; /* of its cells */
	int64_t level, run, start_mono_ns;
	int64_t end_mono_ns;
	int64_t start_ns, end_ns;
	int64_t flags;
	int64_t threads_unknown;
	int64_t run_start_ns, run_start_mono_ns; /* of its run */
};

#define INTERVAL_SELECT                                                                          \
	"SELECT i.id, i.level, i.run, i.start_mono_ns, i.end_mono_ns, i.start_ns, i.end_ns, "    \
	"i.flags, i.threads_unknown, r.start_ns, r.start_mono_ns FROM interval i JOIN run r ON " \
	"r.id = i.run "

struct interval_list {
	struct interval *items; /* owned */
	size_t count;
};

void interval_list_done(struct interval_list *list);

/* Reads all rows of a query that begins with INTERVAL_SELECT. See db.h for the errors. */
int intervals_read(sqlite3_stmt *rows, struct interval_list *ret);

/* Reads the first row of such a query: 1, or 0 when there is none. */
int interval_read(struct db *db, const char *sql, const int64_t *numbers, size_t count,
		  struct interval *ret);

/* Writes a new row, and fills its id. */
int interval_write(struct db *db, struct interval *interval);

/* Removes the intervals of levels up to a last that lie inside one, with all that belongs to them. */
int interval_remove_inside(struct db *db, const struct interval *outer, int64_t last_level);

/*
 * A run: what was counted without a break by one reader. Monotonic times are compared only inside
 * one.
 */
struct run {
	int64_t id;                    /* ascending in time; 0: it has no row yet */
	char *host, *boot_id, *kernel; /* owned */
	int64_t start_ns, start_mono_ns;
	int64_t end_ns, end_mono_ns; /* end of its last interval; its start while there is none */
};

void run_done(struct run *run);

/* Replaces a run by one that begins at a moment of a host. 0, or -ENOMEM: it is as it was. */
int run_set(struct run *run, const struct snapshot *host, int64_t start_ns, int64_t start_mono_ns);

/* Writes a row, and fills its id. */
int run_write(struct db *db, struct run *run);

/* Fills host, boot and kernel of a snapshot. */
int run_read(struct db *db, int64_t id, struct snapshot *ret);

#endif
