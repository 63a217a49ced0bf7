/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What was counted in some intervals, added up by kind of process and system call: what an interval
 * becomes before it is written, what a roll-up is made of, and a step of an answer. In the file that
 * is content: cells (a kind and a call), shares (a kind alone) and losses. See db.h for the errors.
 */
#ifndef BPFTRUSS_STORE_SUM_H
#define BPFTRUSS_STORE_SUM_H

#include "model/builder.h"
#include "model/snapshot.h"
#include "store/interval.h"
#include "store/kind.h"

struct sum {
	bool by_call;                 /* all kinds are one */
	const struct kind_set *kinds; /* that are wanted, borrowed; NULL: all */
	struct builder *builder; /* made when needed: rows of pid 0, and a process for each kind */
	struct losses losses;
	uint64_t covered_ns;
	struct interval first, last; /* in the order in which they were added */
	int64_t start_ns, end_ns;    /* the extremes of all */
	size_t nr_intervals;
};

void sum_done(struct sum *sum);

/* The kind that the start of a row or process of a sum stands for: nobody has no serial number. */
int64_t sum_kind(uint64_t boot_ns);

/* Adds the numbers of a row whose kind is known, and takes over what it owns. -ENOMEM. */
int sum_add_row(struct sum *sum, int64_t kind, struct row *row);

/* Adds what belongs to no call: the most processes in any of the intervals, and user time. -ENOMEM. */
int sum_add_share(struct sum *sum, int64_t kind, uint64_t processes, uint64_t user_ns);

/* Adds the times and the flags of an interval. */
void sum_add_interval(struct sum *sum, const struct interval *interval);

/* Writes it, whose rows are taken out, as what belongs to an interval that is written. */
int content_write(struct db *db, int64_t interval, struct sum *sum);

/* Adds what belongs to an interval, of its kinds those that are wanted. */
int content_add(struct db *db, int64_t interval, struct sum *sum);

/* Adds what was counted in a snapshot, but not its times; new kinds are written. See db.h. */
int sum_add_snapshot(struct sum *sum, struct db *db, const struct snapshot *snapshot);

/*
 * Turns it into a snapshot of the host of the last interval's run, with kinds as processes; the sum
 * is empty afterwards. See db.h for the errors.
 */
int sum_finish(struct sum *sum, struct db *db, struct snapshot **ret);

#endif
