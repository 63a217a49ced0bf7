/* SPDX-License-Identifier: BSD-2-Clause */
/* Gives the call stacks of several snapshots ids of one table, in which each stack is once. */
#pragma once

#include "model/snapshot.h"

struct merged_stacks;

/*
 * Makes the table of all that rows of these snapshots have; each list of ids depends on the stacks alone. Returns
 * 0 or -ENOMEM.
 */
int merged_stacks_new(const struct snapshot *const *snapshots, size_t count,
		      struct merged_stacks **ret);
void merged_stacks_free(struct merged_stacks *stacks);
CLEANUP_OF(merged_stacks, merged_stacks_free)

/* The id of a stack of the snapshot with that index; STACK_OTHERS: its frames were lost. */
uint64_t merged_stacks_id(const struct merged_stacks *stacks, size_t snapshot, uint64_t id);

/* The table, which then is the caller's; NULL: no snapshot has stacks. */
struct stack_table *merged_stacks_take(struct merged_stacks *stacks);
