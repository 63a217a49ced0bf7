/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Holds what has been counted: the collector, its last reading, the recent differences and the
 * history. A reading that a client gets leaves a mark, so that it may ask later for what came
 * since, and all answers add up.
 */
#pragma once

#include "base/clock.h"
#include "daemon/config.h"
#include "daemon/events.h"
#include "daemon/recent.h"

struct counts {
	struct errands *errands; /* of all collectors, one after the other */
	struct collector *collector;
	struct metrics *metrics;  /* told each difference; borrowed */
	struct events *events;    /* told what happens; borrowed; NULL: nobody wants to know */
	struct snapshot *last;    /* the latest reading: a whole one */
	struct snapshot *earlier; /* the one before, until counts_settle() subtracts it; or NULL */
	enum recent_mark mark;    /* of last */
	struct recent recent;
	const char *state_dir;              /* as it was at the start; borrowed */
	struct history *history;            /* NULL: none is kept */
	const struct history_options *keep; /* how; NULL: none is to be kept; borrowed */
	struct backoff history_wait;        /* while it cannot be opened */
	bool history_is_older;              /* it has what was counted before this daemon */
	char history_trouble[512];          /* why the last interval is not in it; "": it is */
	struct losses told;                 /* up to the last tick, since counting began */
	bool losing[NR_MODEL_LOSS];         /* in the last interval */
	uint64_t tick_mark; /* of the last reading that is in the history, or tried to be */
	uint64_t kept_mark; /* of the last one that is in it; else the start of counting */
	int64_t kept_ns;    /* the same as a time of day */
};

enum since_kind {
	SINCE_START, /* of the daemon */
	SINCE_AGO,   /* some ns ago, or the last reading before */
	SINCE_BOOT,  /* of the host: with what the history has of earlier daemons */
	SINCE_MARK,  /* a reading that the daemon gave out */
};

struct counts_question {
	enum since_kind since;
	uint64_t ns;                  /* ago, or the mark */
	const char *boot_id;          /* of the mark */
	enum recent_mark leaves;      /* MARK_GIVEN if the answer tells its mark */
	struct process_filter filter; /* borrowed */
	unsigned int folded;          /* as in a history_question, if the history answers */
};

/* Some snapshot, owned or not. */
struct counts_answer {
	const struct snapshot *snapshot;
	struct snapshot *owned; /* NULL: it belongs to the counts */
};

void counts_answer_done(struct counts_answer *answer);

/* Attaches and begins to count; metrics must be set. The history must be opened by counts_open_history(). */
int counts_open(struct counts *counts, const struct daemon_config *config, struct diag *d);

/*
 * Opens the history, or gives an open one new limits, or closes it when none is to be kept. Without
 * one, the reason is kept and counting goes on.
 */
void counts_open_history(struct counts *counts, const struct daemon_config *config);

void counts_done(struct counts *counts);

/*
 * Begins anew with a collector of these options, whose tables are larger: the interval ends, there is
 * a short gap behind it, and totals and marks begin with what is counted from now on. When the new
 * one cannot be opened the old one goes on, *replaced is false and d says why. When anything fails
 * after that, nothing is counted any more. The old one, which has stopped, is the caller's then.
 */
int counts_replace(struct counts *counts, const struct collector_options *options, bool *replaced,
		   struct collector **ret_old, struct diag *d);

/* Ends an interval: one more reading, and what came since the last tick goes into the history. */
int counts_tick(struct counts *counts, struct diag *d);

/*
 * Does what readings leave to do that nobody has to wait for: the difference from the one before
 * goes to metrics and recent, and recent makes room.
 */
void counts_settle(struct counts *counts);

/* Makes one more reading, as every question does, and settles it: the metrics know it, too. */
int counts_refresh(struct counts *counts, enum recent_mark mark, struct diag *d);

/*
 * Reads, and answers as of this reading, also what only the history knows up to its last interval.
 * -ENODATA with d filled when that is not known, -EINVAL when it cannot be.
 */
int counts_ask(struct counts *counts, const struct counts_question *question,
	       struct counts_answer *ret, struct diag *d);

/* -ENODATA with d filled when no history is kept. */
int counts_need_history(const struct counts *counts, struct diag *d);

/*
 * Asks the history, to which what is not in it yet is added as of the last reading: sets
 * question->tail, which ends with the call. 0 or -errno with d filled.
 */
int counts_ask_history(struct counts *counts, struct history_question *question,
		       struct timeline *ret, struct diag *d);

/* The same of the first step alone; -ENODATA when nothing was counted in it. */
int counts_ask_span(struct counts *counts, struct history_question *question,
		    struct counts_answer *ret, struct diag *d);
