/* SPDX-License-Identifier: BSD-2-Clause */
/* Consecutive differences added up again: what was counted over any span between readings. */
#ifndef BPFTRUSS_JOIN_H
#define BPFTRUSS_JOIN_H

#include "model/snapshot.h"

/*
 * Adds up the differences between consecutive readings, the last of which is now (a whole one, not
 * a difference). What is true at one moment only (calls in flight, threads, names) is that of now.
 * A min or max is the lowest or highest bound of the parts. Returns 0 or -ENOMEM.
 */
int snapshot_join(const struct snapshot *const *parts, size_t count, const struct snapshot *now,
		  struct snapshot **ret);

/*
 * Removes what says nothing in a difference that is to be joined, and gives its memory back: rows
 * of nothing but calls in flight, processes that neither made calls nor used CPU time nor ended,
 * and names that then nobody has.
 */
void snapshot_keep_counts(struct snapshot *difference);

#endif
