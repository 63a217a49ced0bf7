/* SPDX-License-Identifier: BSD-2-Clause */
/* Questions to a snapshot; the answers are values of their own. */
#ifndef BPFTRUSS_QUERY_H
#define BPFTRUSS_QUERY_H

#include "model/snapshot.h"
#include "syscalls/syscall_set.h"

/* As snapshot_new_like(), with room for all rows and processes of the other. 0 or -ENOMEM. */
int snapshot_new_part(const struct snapshot *snapshot, struct snapshot **ret);

/* The snapshot with the rows of some system calls only; a NULL set keeps all. 0 or -ENOMEM. */
int snapshot_select(const struct snapshot *snapshot, const struct syscall_set *set,
		    struct snapshot **ret);

#endif
