/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What was counted in some intervals, added up by kind of process and system call: what an interval
 * becomes before it is written, what a roll-up is made of, and a step of an answer.
 */
#ifndef BPFTRUSS_STORE_SUM_H
#define BPFTRUSS_STORE_SUM_H

#include "model/builder.h"
#include "model/snapshot.h"
#include "store/interval.h"
#include "store/kind.h"
#include "store/run.h"

/* A kind's part that belongs to no call. */
struct share {
	int64_t kind;
	uint64_t processes; /* the most in any of the intervals */
	uint64_t user_ns;
};

/* The id of what stands for all kinds in a sum by call; rows of kind begin with 1. */
#define KIND_ALL 0

struct sum {
	bool by_call;            /* all kinds are one */
	struct builder *builder; /* rows: pid 0, boot_ns = KIND_FIRST + kind; made when needed */
	struct share *shares;    /* by kind */
	size_t nr_shares;
	struct losses losses;
	uint64_t covered_ns;
	struct interval first, last; /* in the order in which they were added */
	int64_t start_ns, end_ns;    /* the extremes of all */
	size_t nr_intervals;
};

void sum_done(struct sum *sum);

/* Adds the numbers of a row whose kind is known; its identity is overwritten. -ENOMEM. */
int sum_add_row(struct sum *sum, int64_t kind, const struct row *row);
int sum_add_share(struct sum *sum, const struct share *share);

/* Adds the times and the flags of an interval. */
void sum_add_interval(struct sum *sum, const struct interval *interval);

/* Where the kinds of a snapshot are looked up. */
struct kind_source {
	struct kinds *kinds;
	struct db *db;    /* new ones are written there; NULL: they are not */
	int64_t interval; /* to which they are added */
	bool bounded;     /* beyond KINDS_MAX they are others, as with a db */
};

/* Adds what was counted in a snapshot, but not its times. See db.h for the errors. */
int sum_add_snapshot(struct sum *sum, const struct kind_source *source,
		     const struct snapshot *snapshot);

/*
 * Turns it into a snapshot of the host of a run, with kinds as processes; the sum is empty
 * afterwards. Returns 0 or -ENOMEM.
 */
int sum_finish(struct sum *sum, const struct kinds *kinds, const struct run *run,
	       struct snapshot **ret);

#endif
