/* SPDX-License-Identifier: BSD-2-Clause */
/* Questions to a snapshot; the answers are values of their own. */
#ifndef BPFTRUSS_QUERY_H
#define BPFTRUSS_QUERY_H

#include "model/group.h"
#include "model/snapshot.h"
#include "syscalls/syscall_set.h"

/* Does what snapshot_new_like() does, with room for all rows and processes. 0 or -ENOMEM. */
int snapshot_new_part(const struct snapshot *snapshot, struct snapshot **ret);

/* The snapshot with the rows of some system calls only; a NULL set keeps all. 0 or -ENOMEM. */
int snapshot_select(const struct snapshot *snapshot, const struct syscall_set *set,
		    struct snapshot **ret);

/* Rows that belong to nobody: one for each system call. */
struct row_list {
	struct row **rows; /* owned; by ABI and number, pid 0 */
	size_t nr_rows;
};

void row_list_done(struct row_list *list);

/* Adds up rows by system call: those that the test has, or all if it is NULL. 0 or -ENOMEM. */
int snapshot_sum_by_syscall(const struct snapshot *snapshot, const struct row_test *test,
			    struct row_list *ret);

#endif
