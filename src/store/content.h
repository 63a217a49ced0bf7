/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What belongs to an interval or to a baseline: cells (a kind of process and a system call),
 * shares (a kind alone) and losses. Their rows have the same columns in both.
 */
#ifndef BPFTRUSS_STORE_CONTENT_H
#define BPFTRUSS_STORE_CONTENT_H

#include "store/interval.h"
#include "store/sum.h"

struct db;

enum content_owner {
	CONTENT_INTERVAL,
	CONTENT_BASELINE,
	NR_CONTENT_OWNER,
};

/* How many rows there are, and their checksum. */
struct content_check {
	int64_t nr_cells, nr_shares, nr_losses;
	int64_t checksum;
};

/* A system call as the number that rows have: nr * 8 + abi. */
int64_t content_call(const struct row *row);

/* Writes a sum, whose rows are taken out of it. See db.h for the errors. */
int content_write(struct db *db, enum content_owner owner, int64_t id, struct sum *sum,
		  struct content_check *ret);

/*
 * Reads all rows and compares: -EUCLEAN when they are not what was written, or have a kind that is
 * not known. Adds nothing.
 */
int content_verify(struct db *db, enum content_owner owner, int64_t id, const struct kinds *kinds,
		   const struct content_check *expected);

/* Adds the kinds that are wanted (a flag for each of kinds->items; NULL: all) to a sum. */
int content_add(struct db *db, enum content_owner owner, int64_t id, const struct kinds *kinds,
		const bool *wanted, struct sum *sum);

int content_remove(struct db *db, enum content_owner owner, int64_t id);

#endif
