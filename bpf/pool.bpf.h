/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hands out array indices: those user space gave back first, then never used ones in order.
 * Index 0 is never handed out: in every list and reference it means "none".
 */
#pragma once

#include "kernel_types.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include "bpftruss/abi.h"
#include "arch.bpf.h"

/* Written on cold paths only, so kept off the hot cache lines. */
struct pool pools[NR_POOL] __attribute__((aligned(64)))
SEC(".data.pools") = { { .mark = 1 }, { .mark = 1 }, { .mark = 1 }, { .mark = 1 }, { .mark = 1 } };

/* Whether users are to leave room for others, as not all is the targets' own. */
const volatile bool has_shares = false;

struct user_share shares[USER_SHARES] __attribute__((aligned(64))) SEC(".data.shares");

/* Random: who knew it could make two stacks of one id, or two users of one share. */
const volatile __u64 hash_seed = 0;

static __always_inline u32 pool_limit(const struct pool *pool)
{
	return *(volatile const u32 *)&pool->limit;
}

/* User namespaces are nested so deep at most. */
#define USERNS_LEVELS 33

/*
 * Finds the share of whoever answers for a task of these credentials: its user, but in a user
 * namespace, where it may become many users, the user who made the outermost of those, or, if that
 * was root, the namespace.
 */
static __always_inline u32 cred_share(const struct cred *cred)
{
	struct user_namespace *ns = BPF_CORE_READ(cred, user_ns);
	int level = BPF_CORE_READ(ns, level);
	u64 key = BPF_CORE_READ(cred, uid.val);

	if (level > 0) {
		for (int i = 1; i < USERNS_LEVELS && i < level; i++)
			ns = BPF_CORE_READ(ns, parent);
		key = BPF_CORE_READ(ns, owner.val) ?: (u64)ns;
	}
	key = (key ^ hash_seed) * 0x9e3779b97f4a7c15;
	key = (key ^ key >> 32) * 0x9e3779b97f4a7c15;
	return key >> 54;
}

/* Works like cred_share(), on a stack of its own. */
LOOKED_AT_ONCE u32 share_of(u64 address)
{
	return cred_share((const void *)address);
}

static __always_inline u32 task_share(struct task_struct *task)
{
	return share_of((u64)BPF_CORE_READ(task, real_cred));
}

/* Finds the counter of a share and a table. No verifier knows that share is in bounds, the compiler may. */
static __always_inline u32 *share_used(u32 share, enum pool_kind kind)
{
	barrier_var(share);
	return &shares[share & (USER_SHARES - 1)].used[kind];
}

/* How many are left: index 0 is never handed out. */
static __always_inline u32 pool_left(const struct pool *pool)
{
	u32 used = *(volatile const u32 *)&pool->used + 1, limit = pool_limit(pool);

	return used < limit ? limit - used : 0;
}

/*
 * Whether a user may have one more: not more than what is left for the others. So one alone gets half,
 * and however many share the rest, some is left for the next one.
 */
static __always_inline bool share_has_room(u32 share, enum pool_kind kind)
{
	u32 left = pool_left(&pools[kind]);

	return left && (!has_shares || *(volatile u32 *)share_used(share, kind) < left);
}

static __always_inline bool share_take(u32 share, enum pool_kind kind)
{
	/* Before anything that other CPUs would have to wait for. */
	if (!share_has_room(share, kind))
		return false;
	__sync_fetch_and_add(share_used(share, kind), 1);
	__sync_fetch_and_add(&pools[kind].used, 1);
	return true;
}

static __always_inline void share_return(u32 share, enum pool_kind kind)
{
	__sync_fetch_and_sub(&pools[kind].used, 1);
	__sync_fetch_and_sub(share_used(share, kind), 1);
}

/* Returns an index that was never used, or 0. */
static __always_inline u32 pool_take_unused(struct pool *pool)
{
	u32 index;

	/* Checked first, so that failing for years cannot wrap the mark. */
	if (*(volatile u32 *)&pool->mark >= pool_limit(pool))
		return 0;
	index = __sync_fetch_and_add(&pool->mark, 1);
	return index < pool_limit(pool) ? index : 0;
}

/* Returns an index for the owner of a share, or 0 when there is no room for that. */
static __always_inline u32 pool_take(void *returned, enum pool_kind kind, u32 share)
{
	u32 index;

	if (!share_take(share, kind))
		return 0;
	if (bpf_map_pop_elem(returned, &index))
		index = pool_take_unused(&pools[kind]);
	if (!index)
		share_return(share, kind);
	return index;
}

/* Takes back an index that nothing refers to. */
static __always_inline void pool_return(void *returned, enum pool_kind kind, u32 share, u32 index)
{
	bpf_map_push_elem(returned, &index, BPF_ANY);
	share_return(share, kind);
}
