/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hands out array indices: those user space gave back first, then never used ones in order.
 * Index 0 is never handed out: in every list and reference it means "none".
 */
#ifndef BPFTRUSS_POOL_BPF_H
#define BPFTRUSS_POOL_BPF_H

#include "kernel_types.h"
#include <bpf/bpf_helpers.h>

/* Where never used indices start; written on cold paths only, so kept off the hot cache lines. */
struct {
	__u32 records;
	__u32 slots;
	__u32 tallies;
	__u32 stacks;
} marks __attribute__((aligned(64))) SEC(".data.marks") = { 1, 1, 1, 1 };

/* Returns an index below limit, or 0 when all are in use. */
static __always_inline u32 pool_take(void *returned, u32 *mark, u32 limit)
{
	u32 index;

	if (!bpf_map_pop_elem(returned, &index))
		return index;
	/* Checked first, so that failing for years cannot wrap the mark. */
	if (*(volatile u32 *)mark >= limit)
		return 0;
	index = __sync_fetch_and_add(mark, 1);
	return index < limit ? index : 0;
}

#endif
