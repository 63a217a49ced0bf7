/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The history: what was counted in each interval, by kind of process (name, user, cgroup) and
 * system call, in a SQLite file that the stock sqlite3 opens. docs/HISTORY.md explains the schema.
 * The history answers with snapshots whose processes have pid 0, like processes that were folded.
 * Times of day are CLOCK_REALTIME in ns; durations are monotonic.
 */
#pragma once

#include "base/diag.h"
#include "model/kind_list.h"
#include "model/query.h"
#include "model/snapshot.h"
#include "store/history_options.h"

struct history;

/*
 * Makes the directory of a history (0700) if its parent exists, and says why one that is there cannot
 * be used: before anything is counted, while history_open() may fail and be tried again.
 */
int history_make_place(const char *dir, struct diag *d);

/* Fails when another process writes to it now. Returns 0 or -errno with d filled. */
int history_check_unused(const char *dir, struct diag *d);

/*
 * Opens the history in a directory, which must belong to the caller alone (0700, no symbolic
 * link); makes the file unless read_only. A newer version of it is refused, a damaged file set
 * aside; where no new one can be made then, the first change tries again. Returns 0 or -errno with d filled.
 */
int history_open(const char *dir, const struct history_options *options, struct history **ret,
		 struct diag *d);

void history_close(struct history *history);
CLEANUP_OF(history, history_close)

/*
 * A file that SQLite finds damaged, or that fails three changes in a row for what is in it, is
 * renamed, when it is opened or when SQLite meets the damage later, and a new one begins. Returns
 * the new path of one that was renamed since the last call, to be freed; NULL: none was.
 */
char *history_set_aside(struct history *history);

/* New limits, obeyed from the next interval on; read_only stays as it is. */
void history_set_options(struct history *history, const struct history_options *options);

/*
 * Notes that the caller counts since a moment of a host: whatever lies between it and the last
 * interval is a gap in which nobody did, and between it and the next one a gap that was not written.
 */
int history_begin(struct history *history, const struct snapshot *host, int64_t since_ns,
		  uint64_t since_mono_ns, struct diag *d);

/*
 * Appends one interval, a difference of two readings, in one transaction that also rolls up and
 * retires what is due. On failure (disk full) nothing is written and the interval is a gap; the
 * next call tries again by itself. Returns 0 or -errno with d filled.
 */
int history_append(struct history *history, const struct snapshot *interval, struct diag *d);

struct history_question {
	int64_t from_ns, to_ns;       /* 0: the first, the last */
	uint64_t step_ns;             /* 0: one step for all */
	const char *boot_id;          /* only of this boot; NULL: of any */
	struct process_filter filter; /* without pids */

	/*
	 * Fields of kinds, a mask of enum kind_field. Kinds that differ in nothing else are added up
	 * to one, in which these fields and the number of processes are unknown; the name is "[all]".
	 */
	unsigned int folded;

	/*
	 * The snapshot that goes on where the history ends and is not in it yet, borrowed; NULL:
	 * none. It counts as if it had been appended, and is refused as history_append() would. The
	 * file stays as it is.
	 */
	const struct snapshot *tail;
};

/*
 * Reads and adds up; intervals belong to the step in which they end, none is split. Steps before
 * the first interval are left out where no gap tells of them; without to_ns, a rest shorter than a
 * tenth of a step is part of the last one. More than TIMELINE_MAX_STEPS, or than fits in memory,
 * are refused with a sentence. 0 or -errno, d filled.
 */
int history_ask(struct history *history, const struct history_question *question,
		struct timeline *ret, struct diag *d);

/*
 * Size of the file, its log and the baselines now, and when the first interval that is kept began and the
 * last one ended (0: none). Returns 0 or -errno.
 */
struct history_size {
	uint64_t bytes;
	uint64_t intervals[NR_HISTORY_LEVEL];
	int64_t first_ns, last_ns;
	uint64_t appended, failed; /* since opening */
	uint64_t set_aside;        /* damaged files, since and at opening */
};

/* Returns 0; -EBADMSG without a file that can be read; or -errno. */
int history_size(struct history *history, struct history_size *ret);
