/* SPDX-License-Identifier: BSD-2-Clause */
/* Adds up snapshots of several hosts, or of several times of one. */
#pragma once

#include "model/merge_fit.h"

/*
 * Makes one snapshot of at least one, whose order does not matter. Rows and processes keep their host; those
 * of one host and boot are added up. It begins with the first and ends with the last of them, elapsed_ns is
 * the time in which at least one was counting, and times of threads are sums. Calls in flight are those of the
 * latest snapshot of each host since it was booted; a sum of hosts has its own only if it is the latest of them all. Its call stacks are owned by *ret_stacks (NULL: there are none), which must live
 * as long as it does. Returns 0 or -errno with d filled: -EINVAL if two overlap, so that calls would count twice,
 * or hold different things.
 */
int snapshot_merge(const struct merge_input *inputs, size_t count, struct snapshot **ret,
		   struct stack_table **ret_stacks, struct diag *d);

enum merge_sum {
	MERGE_SUM_HOSTS,     /* whichever host they are of */
	MERGE_SUM_PROCESSES, /* of each host */
	NR_MERGE_SUM,
};

/*
 * Adds up the processes of a snapshot by name, user and cgroup. In a sum of hosts, a user has a name only if it is
 * the same on all of them. Call stacks are those of the other. Returns 0 or -ENOMEM.
 */
int snapshot_sum_kinds(const struct snapshot *snapshot, enum merge_sum how, struct snapshot **ret);
