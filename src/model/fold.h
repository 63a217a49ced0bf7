/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Adds up ended processes by name, user and cgroup, within a budget of memory: these groups have
 * pid 0. Where the budget is spent, a new group is that of process_of_other_kinds(), and a new row
 * of a group is that of ROW_NR_OTHER. As the rows of groups only grow, no budget has room again once
 * it is spent, unless groups are retired: a group or row that exists has all that was folded of its
 * kind or number since then.
 */
#ifndef BPFTRUSS_FOLD_H
#define BPFTRUSS_FOLD_H

#include "model/builder.h"

/* There are no more groups than these; no user has more than half of them. */
#define FOLD_MAX_KINDS 2000

struct fold_options {
	/*
	 * Whether a process is to be folded. A group is retired: it joins that of other kinds. Between
	 * two readings of which one is subtracted from the other, only in front of all other folds.
	 */
	bool (*folds)(const struct process *process, const void *closure);
	const void *closure;
	size_t max_bytes; /* of the rows of all groups; no user's take more than half of it */
	uint64_t *serial; /* of the next new group, FOLDED_FIRST or more; counted on */
};

/*
 * Moves the rows and processes of a snapshot into a builder, those that are to be folded into
 * groups. Returns 0 or -ENOMEM: then some are in neither, and both are to be freed.
 */
int snapshot_fold(struct snapshot *from, const struct fold_options *options, struct builder *into);

/*
 * Adds what a snapshot has lost by folding: ended processes in the group of other kinds, calls in rows
 * of ROW_NR_OTHER of any process.
 */
void snapshot_count_folded(const struct snapshot *snapshot, struct losses *losses);

#endif
