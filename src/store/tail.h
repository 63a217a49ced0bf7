/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What goes on where the history ends and is not in it: in an answer it is as if it had been
 * appended, and leaves no trace. Its kinds have a place among those of the database meanwhile.
 */
#ifndef BPFTRUSS_STORE_TAIL_H
#define BPFTRUSS_STORE_TAIL_H

#include "store/history_private.h"
#include "store/sum.h"

/* The id of its interval, which no row has. */
#define TAIL_ID 0

struct tail {
	struct kinds *kinds; /* of the database; NULL: there is no tail */
	size_t nr_kinds;     /* and last_kind: as they were before */
	int64_t last_kind;
	struct run run; /* owned; may be one that is written */
	struct interval interval;
	struct sum sum;        /* owned: shares and losses */
	struct snapshot *rows; /* owned: rows of the kinds */
};

/* Returns 0 or -ENOMEM; tail_done() is due in both cases, before the database changes. */
int tail_open(struct history *history, const struct snapshot *snapshot, struct tail *ret);

void tail_done(struct tail *tail);

/* Adds the kinds that are wanted, but not its times. Returns 0 or -ENOMEM. */
int tail_add(const struct tail *tail, const bool *wanted, struct sum *sum);

#endif
