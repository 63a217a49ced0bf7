/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the sample of what the programs cost: of one run in 1,024 it is known how long it took. Which
 * ones a hash of a clock says that was read for another purpose, so the others pay no more than that.
 * A sample begins once the task's record is found, and leaves out what reading the clock for it takes.
 */
#pragma once

#include "kernel_types.h"
#include <bpf/bpf_helpers.h>
#include "bpftruss/abi.h"

/* Longer than any run: the CPU was taken away meanwhile. */
#define COST_MAX_NS 100000

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, NR_COST);
	__type(key, u32);
	__type(value, struct cost_sample);
} costs SEC(".maps");

/* Hashes 32 bits, as some clocks have steps of many nanoseconds. */
static __always_inline bool cost_is_sampled(u64 clock_ns)
{
	return (u32)clock_ns * 0x9e3779b1 >> (32 - COST_SAMPLE_SHIFT) == 0;
}

/* The time if this run is in the sample, else 0. */
static __always_inline u64 cost_begin(u64 clock_ns)
{
	return cost_is_sampled(clock_ns) ? bpf_ktime_get_ns() : 0;
}

/* Adds a run that ends now. */
static __noinline int cost_add(u32 kind, u64 begin_ns)
{
	u64 end_ns = bpf_ktime_get_ns(), again_ns = bpf_ktime_get_ns();
	u64 spent_ns = end_ns - begin_ns, clock_ns = again_ns - end_ns;
	struct cost_sample *sample = bpf_map_lookup_elem(&costs, &kind);

	if (!sample || spent_ns > COST_MAX_NS)
		return 0;
	/* Atomic, as a program may be preempted by another on its CPU. */
	__sync_fetch_and_add(&sample->ns, spent_ns > clock_ns ? spent_ns - clock_ns : 0);
	__sync_fetch_and_add(&sample->runs, 1);
	return 0;
}
