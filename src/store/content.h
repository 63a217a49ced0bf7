/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What belongs to an interval: cells (a kind of process and a system call), shares (a kind alone)
 * and losses. See db.h for the errors.
 */
#ifndef BPFTRUSS_STORE_CONTENT_H
#define BPFTRUSS_STORE_CONTENT_H

#include "store/sum.h"

/* Writes a sum, whose rows are taken out of it, as what belongs to an interval that is written. */
int content_write(struct db *db, int64_t interval, struct sum *sum);

/* Adds what belongs to an interval to a sum: the kinds of a set. */
int content_add(struct db *db, int64_t interval, const struct kind_set *kinds, struct sum *sum);

#endif
