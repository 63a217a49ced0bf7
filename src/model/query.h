/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Questions to a snapshot, answered by values of their own: which calls it is about (-t), and which
 * processes: what -p, -n, -u, -g and -U say.
 */
#pragma once

#include <sys/types.h>

#include "model/snapshot.h"
#include "syscalls/syscall_set.h"

/* The snapshot with the rows of some system calls only; a NULL set keeps all. 0 or -ENOMEM. */
int snapshot_select(const struct snapshot *snapshot, const struct syscall_set *set,
		    struct snapshot **ret);

/*
 * The snapshot as if its rows had never been split by path or file, and without the losses of that.
 * Returns 0 or -ENOMEM.
 */
int snapshot_unsplit(const struct snapshot *snapshot, struct snapshot **ret);

/* Processes chosen by what they are, as long as they are so. */
struct target_selector {
	enum selector_kind kind;
	const char *text; /* as the user wrote it; borrowed */
};

/* A process is in when it is of any pid or any selector. Without either, all are. */
struct process_filter {
	const pid_t *pids; /* borrowed, as the selectors */
	size_t nr_pids;
	const struct target_selector *selectors;
	size_t nr_selectors;
};

/* The names of a filter as they are compared, one for each selector. */
struct filter_globs;

/* Compiles what borrows the filter. Returns 0 or -ENOMEM. */
int filter_globs_new(const struct process_filter *filter, struct filter_globs **ret);

/* Selectors mean what they do when counting: a glob for a name, a cgroup and all below it. */
bool filter_has(const struct filter_globs *globs, const struct snapshot *snapshot,
		const struct process *process);

/*
 * The snapshot with those processes and their rows only; rows of calls that found no room belong to
 * nobody and stay only when the filter has all. Returns 0 or -ENOMEM.
 */
int snapshot_filter(const struct snapshot *snapshot, const struct process_filter *filter,
		    struct snapshot **ret);
