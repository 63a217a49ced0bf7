/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the history share. */
#ifndef BPFTRUSS_STORE_HISTORY_PRIVATE_H
#define BPFTRUSS_STORE_HISTORY_PRIVATE_H

#include "base/backoff.h"
#include "base/clock.h"
#include "store/db.h"
#include "store/history.h"
#include "store/interval.h"
#include "store/run.h"

/* Defaults; docs/HISTORY.md has the sizes that they lead to. */
#define HISTORY_KEEP_HOURS_0 12
#define HISTORY_KEEP_HOURS_1 (14 * 24)
#define HISTORY_KEEP_HOURS_2 (400 * 24)
#define HISTORY_MAX_BYTES    (512ULL << 20)

/* By level; that of level 0 is whatever the caller gives. */
extern const int64_t history_period_ns[NR_HISTORY_LEVEL];

/* The end of the interval that was written last, of any run. */
struct history_end {
	int64_t run; /* 0: none */
	int64_t mono_ns, real_ns;
};

struct history {
	struct history_options options;
	char *dir, *path; /* owned: resolved, and of the file in it */
	int dir_fd;       /* locked by whoever writes */
	struct db *db;    /* NULL: damaged, and could not be replaced yet */
	bool counting;
	struct run run; /* id 0: its row is not written yet */
	struct history_end last;
	int64_t last_id;               /* of intervals */
	struct timeline_gap unwritten; /* since the last interval, when any append failed */
	bool has_unwritten;
	uint64_t appended, failed, set_aside;
	uint64_t recovered_at;      /* how many were appended when a file was set aside */
	struct backoff recover;     /* while db is NULL */
	int recover_err;            /* why it is */
	struct history_size counts; /* of intervals, and since when; of use if has_counts is set */
	bool has_counts;
};

/* --- place.c: where the file is ---------------------------------------------------------------- */

/* Fills dir, path and dir_fd. Returns 0 or -errno with d filled. */
int place_open(struct history *history, const char *dir, struct diag *d);

/* Makes an empty file unless there is one. */
int place_make_file(const struct history *history, const char *name, struct diag *d);

/* Size of the file, its log and the baselines together, of the baselines, and of the log. */
uint64_t place_bytes(const struct history *history);
uint64_t place_baseline_bytes(const struct history *history);
uint64_t place_log_bytes(const struct history *history);

/* Whether it is on a file system where nothing changes, and without a log to be read. */
bool place_is_frozen(const struct history *history);

/* --- append.c ---------------------------------------------------------------------------------- */

/* Gives a run that is to be written next its id, and what was written last before it. */
void append_place_run(const struct history *history, struct run *run);

/* Whether a snapshot belongs to the run that is being counted. */
bool append_goes_on(const struct history *history, const struct snapshot *snapshot);

/* What would make a sum wrong is refused: -EINVAL with d filled. */
int append_check(const struct history *history, const struct snapshot *snapshot, struct diag *d);

/* A snapshot as an interval of a run, without content or id. */
struct interval append_interval(const struct history *history, const struct run *run,
				const struct snapshot *snapshot);

/* --- rollup.c ---------------------------------------------------------------------------------- */

/* The period of a level in which an interval ends. */
int64_t rollup_period(const struct interval *interval, int64_t level);

/*
 * Adds up what is complete of a run, on all levels, now that next is to come; NULL: nothing will.
 * Ids are counted up in last_id. See db.h for the errors.
 */
int rollup_close(struct db *db, int64_t run, const struct interval *next, int64_t *last_id);

/* Adds up what has been left without a roll-up in all runs, as a recovery does. */
int rollup_repair(struct db *db, int64_t *last_id);

/* Verifies the rows that belong to an interval: 0, or -EUCLEAN. */
int interval_verify(struct db *db, const struct interval *interval);

/* --- retire.c ---------------------------------------------------------------------------------- */

/* What was removed last because it was old. */
struct retired {
	int64_t start_ns; /* of the first ever */
	struct history_end end;
};

int retired_read(struct db *db, struct retired *ret);

/* Removes what is too old or too much when an interval ends; inside a transaction. */
int retire_due(struct history *history, const struct run *run, const struct interval *now);

/* Removes rows that nothing refers to, and damaged ones of interval; as after opening. */
int retire_orphans(struct db *db);

/* --- recover.c --------------------------------------------------------------------------------- */

/* Whether SQLite finds the file in order: 0, or -EBADMSG. */
int recover_check(struct db *db);

/*
 * Copies what can be read of the file into a new one, and renames the damaged one. Nothing may have
 * it open. Returns 0 or -errno with d filled; the file is then as it was.
 */
int recover_file(const struct history *history, struct history_state *state, struct diag *d);

/* --- history.c --------------------------------------------------------------------------------- */

/*
 * Runs a change in a transaction, once more after a full disk or damage has been dealt with. What
 * it changes in memory must not matter when it fails. Returns 0 or -errno with d filled.
 */
int history_change(struct history *history, int (*change)(struct history *history, void *closure),
		   void *closure, const char *what, struct diag *d);

/* Runs a question in a transaction; it may be run twice, as above. */
int history_read(struct history *history, int (*read)(struct history *history, void *closure),
		 void *closure, const char *what, struct diag *d);

/* Closes the database, replaces its file and opens it again. Returns 0 or -errno with d filled. */
int history_recover(struct history *history, struct diag *d);

/* Says in d what an error of db.h means for somebody who did something to the history. */
int history_explain(const struct history *history, int err, const char *what, struct diag *d);

#endif
