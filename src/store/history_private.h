/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares what the files of the history share. */
#pragma once

#include "base/clock.h"
#include "store/sum.h"

/* Defaults; docs/HISTORY.md has the sizes that they lead to. */
#define HISTORY_KEEP_HOURS_0 12
#define HISTORY_KEEP_HOURS_1 (14 * 24)
#define HISTORY_KEEP_HOURS_2 (400 * 24)
#define HISTORY_MAX_BYTES    (512ULL << 20)

/* Each level has a period; that of level 0 is whatever the caller gives. */
extern const int64_t history_period_ns[NR_HISTORY_LEVEL];

struct history {
	struct history_options options;
	char *dir, *path;              /* owned: resolved, and of the file in it */
	int dir_fd;                    /* locked by whoever writes */
	struct db *db;                 /* NULL: it could not be opened again after damage */
	struct run run;                /* that is counted; without a boot: nobody counts yet */
	struct timeline_gap unwritten; /* since the last interval; it ends at 0: none failed */
	int64_t damaged_ns; /* since when a file set aside told of something, until the new one has it */
	unsigned int odd; /* changes in a row that failed with -EUCLEAN */
	uint64_t appended, failed, set_aside;
	uint64_t appended_before; /* appended, when a file was set aside last */
	char *aside;              /* owned: where that file is now, until somebody is told */
};

/* --- place.c: where the file is --------------------------------------------------------------- */

/* Fills dir, path and dir_fd. Returns 0 or -errno with d filled. */
int place_open(struct history *history, const char *dir, struct diag *d);

/* Makes an empty file unless there is one. */
int place_make_file(const struct history *history, struct diag *d);

/* Size of the file, its log and the baselines together, and of the baselines. */
uint64_t place_bytes(const struct history *history);
uint64_t place_baseline_bytes(const struct history *history);

/* Whether it is on a file system where nothing changes, and without a log to be read. */
bool place_is_frozen(const struct history *history);

/* Returns when the file was written last, CLOCK_REALTIME. */
int64_t place_changed_ns(const struct history *history);

/*
 * Renames the file, which nothing may have open, and its log; *ret is the new path, owned by the
 * caller. Returns 0 or -errno.
 */
int place_set_aside(const struct history *history, char **ret);

/* --- append.c --------------------------------------------------------------------------------- */

/* Refuses a snapshot that would make a sum wrong: -EINVAL with d filled. */
int append_check(const struct history *history, const struct snapshot *snapshot, struct diag *d);

/* Writes a snapshot as the last interval, in a transaction that is to be rolled back. */
int append_tail(struct history *history, const struct snapshot *snapshot);

/* --- rollup.c --------------------------------------------------------------------------------- */

/* The period of a level in which an interval ends. */
int64_t rollup_period(const struct interval *interval, int64_t level);

/*
 * Adds up what is complete of a run, on all levels, now that next is to come; NULL: nothing will.
 * See db.h for the errors.
 */
int rollup_close(struct db *db, int64_t run, const struct interval *next);

/* Removes what is too old or too much when an interval ends; inside a transaction. */
int retire_due(struct history *history, const struct run *run, const struct interval *now);

/* --- history.c -------------------------------------------------------------------------------- */

/*
 * Runs a task in one transaction, which is rolled back unless commits is set. It runs again after a
 * full disk or a damaged file has been dealt with, so what it changes in memory must not matter when
 * it fails. A question that meets something odd in a file that SQLite finds in order just fails. A
 * task that refuses to do something fills d and returns -EINVAL or -E2BIG; for other errors d says
 * what could not be done ("read", "write"). Returns 0 or -errno with d filled.
 */
typedef int history_task(struct history *history, void *closure);
int history_run(struct history *history, history_task *task, void *closure, bool commits,
		const char *what, struct diag *d);
