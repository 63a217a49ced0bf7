/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps the loss counters: the only way to give up is to add to one of them. Losses that many calls
 * may add to at once have a counter on each CPU, so that these calls do not wait for each other.
 */
#pragma once

#include "kernel_types.h"
#include <bpf/bpf_helpers.h>
#include "bpftruss/abi.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct loss_counts);
} losses SEC(".maps");

/* Atomic all the same: where a program can be preempted, another may run on its CPU. */
static __always_inline void loss_add(enum loss reason)
{
	u32 zero = 0;
	struct loss_counts *losses_here = bpf_map_lookup_elem(&losses, &zero);

	if (losses_here && (u32)reason < NR_LOSS)
		__sync_fetch_and_add(&losses_here->count[reason], 1);
}
