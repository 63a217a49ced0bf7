/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the loss counters: the only way to give up is to add to one of them. */
#ifndef BPFTRUSS_LOSSES_BPF_H
#define BPFTRUSS_LOSSES_BPF_H

#include "kernel_types.h"
#include <bpf/bpf_helpers.h>
#include "bpftruss/abi.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, NR_LOSS);
	__type(key, u32);
	__type(value, u64);
} losses SEC(".maps");

static __always_inline void loss_add(enum loss reason)
{
	u32 key = reason;
	u64 *count = bpf_map_lookup_elem(&losses, &key);

	if (count)
		__sync_fetch_and_add(count, 1);
}

#endif
