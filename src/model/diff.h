/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Computes what was counted between two snapshots of the same counting, and over any span between
 * readings.
 */
#pragma once

#include "model/snapshot.h"

/*
 * later - earlier: rows without a call in between or in flight are left out, processes are not;
 * calls in flight and names are those of later. Returns 0, -ENOMEM, or -EINVAL when the two are not
 * readings of one counting, the earlier first.
 */
int snapshot_diff(const struct snapshot *earlier, const struct snapshot *later,
		  struct snapshot **ret);

/*
 * Adds up the differences between consecutive readings, the last of which is now (a whole one, not
 * a difference). Values of one moment (calls in flight, threads, names) are those of now. A min or
 * max is the lowest or highest bound of the parts. Returns 0 or -ENOMEM.
 */
int snapshot_join(const struct snapshot *const *parts, size_t count, const struct snapshot *now,
		  struct snapshot **ret);

/*
 * Removes what says nothing in a difference that is to be joined, and gives its memory back: rows
 * of nothing but calls in flight, processes that neither made calls nor used CPU time nor ended,
 * and names that then nobody has.
 */
void snapshot_keep_counts(struct snapshot *difference);
