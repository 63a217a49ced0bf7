/* SPDX-License-Identifier: BSD-2-Clause */
/* What was counted between two snapshots of the same counting. */
#ifndef BPFTRUSS_DIFF_H
#define BPFTRUSS_DIFF_H

#include "model/snapshot.h"

/*
 * later - earlier: rows without a call in between or in flight are left out, processes are not;
 * calls in flight and names are those of later. Returns 0, -ENOMEM, or -EINVAL when the two are not
 * readings of one counting, the earlier first.
 */
int snapshot_diff(const struct snapshot *earlier, const struct snapshot *later,
		  struct snapshot **ret);

#endif
