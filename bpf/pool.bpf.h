/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hands out array indices: those user space gave back first, then never used ones in order.
 * Index 0 is never handed out: in every list and reference it means "none".
 */
#ifndef BPFTRUSS_POOL_BPF_H
#define BPFTRUSS_POOL_BPF_H

#include "kernel_types.h"
#include <bpf/bpf_helpers.h>
#include "bpftruss/abi.h"

/* Written on cold paths only, so kept off the hot cache lines. */
struct {
	struct pool records;
	struct pool slots;
	struct pool tallies;
	struct pool stacks;
} pools __attribute__((aligned(64)))
SEC(".data.pools") = { { .mark = 1 }, { .mark = 1 }, { .mark = 1 }, { .mark = 1 } };

static __always_inline u32 pool_limit(const struct pool *pool)
{
	return *(volatile const u32 *)&pool->limit;
}

/* Whether all indices are in use: 0 is never handed out. */
static __always_inline bool pool_is_empty(const struct pool *pool)
{
	return *(volatile const u32 *)&pool->used + 1 >= pool_limit(pool);
}

/* One that was never used, or 0. */
static __always_inline u32 pool_take_unused(struct pool *pool)
{
	u32 index;

	/* Checked first, so that failing for years cannot wrap the mark. */
	if (*(volatile u32 *)&pool->mark >= pool_limit(pool))
		return 0;
	index = __sync_fetch_and_add(&pool->mark, 1);
	return index < pool_limit(pool) ? index : 0;
}

/* Returns an index, or 0 when all are in use. */
static __always_inline u32 pool_take(void *returned, struct pool *pool)
{
	u32 index;

	/* Before anything that other CPUs would have to wait for. */
	if (pool_is_empty(pool))
		return 0;
	if (bpf_map_pop_elem(returned, &index))
		index = pool_take_unused(pool);
	if (index)
		__sync_fetch_and_add(&pool->used, 1);
	return index;
}

/* Takes back an index that nothing refers to. User space does the same. */
static __always_inline void pool_return(void *returned, struct pool *pool, u32 index)
{
	bpf_map_push_elem(returned, &index, BPF_ANY);
	__sync_fetch_and_sub(&pool->used, 1);
}

#endif
