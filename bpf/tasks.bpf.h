/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps a struct task_ref with each task, from the first interest in it until the kernel frees the
 * task and it. Flags change by atomic steps.
 */
#pragma once

#include "kernel_types.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include "bpftruss/abi.h"
#include "losses.bpf.h"

/* A task loses these flags when it is counted no more. */
#define TASK_MEMBER (TASK_COUNTED | TASK_CLAIMED | TASK_ENDING | TASK_TARGET | TASK_FOLLOW)

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_ref);
} tasks SEC(".maps");

/* Stores a word that other CPUs take together with all that was stored before. */
#define store_release(word, value) ((void)__sync_lock_test_and_set(word, value))

/* Stores a word unless another program has replaced the old one. */
static __always_inline void word_replace(u64 *word, u64 old, u64 value)
{
	__sync_val_compare_and_swap(word, old, value);
}

/* False for nearly every task that has no task_ref, at the price of one load. */
static __always_inline bool task_may_count(struct task_struct *task)
{
	return !bpf_core_field_exists(task->bpf_storage) || task->bpf_storage;
}

/*
 * Whether the kernel refuses to look at task storage while somebody who was preempted on this CPU
 * changes some, as before 6.2: then a look-up that finds nothing proves nothing.
 */
const volatile bool lookups_can_fail = false;

#define EBUSY 16

/* Nothing is ever kept here: an attempt to remove it tells why a look-up has failed. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, u32);
} never_kept SEC(".maps");

/* Whether look-ups fail on this CPU just now. */
static __always_inline bool lookups_fail(struct task_struct *task)
{
	return (int)bpf_task_storage_delete(&never_kept, task) == -EBUSY;
}

static __always_inline struct task_ref *task_ref_get(struct task_struct *task)
{
	return bpf_task_storage_get(&tasks, task, NULL, 0);
}

/*
 * Works like task_ref_get(), and costs a task without storage one load: for places that every task
 * passes. Up to 6.19 each load of a pointer from a task makes the verifier search all types of the
 * kernel, which takes 1 ms.
 */
static __always_inline struct task_ref *task_ref_find(struct task_struct *task)
{
	return task_may_count(task) ? task_ref_get(task) : NULL;
}

/* True if no ref was found because the kernel refused to look. */
static __always_inline bool ref_was_refused(const struct task_ref *ref, struct task_struct *task)
{
	return lookups_can_fail && !ref && task_may_count(task) && lookups_fail(task);
}

/* Works like task_ref_get(); that the kernel refused to look is a loss. */
static __always_inline struct task_ref *task_ref_look_up(struct task_struct *task)
{
	struct task_ref *ref = task_ref_get(task);

	if (ref_was_refused(ref, task))
		loss_add(LOSS_LOOKUP_BUSY);
	return ref;
}

/* NULL when the kernel has no memory for it, or is busy with task storage on this CPU. */
static __always_inline struct task_ref *task_ref_create(struct task_struct *task)
{
	return bpf_task_storage_get(&tasks, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

/* All that was stored before the task was counted can be read after this. */
static __always_inline bool ref_is_counted(struct task_ref *ref)
{
	return __sync_fetch_and_or(&ref->flags, 0) & TASK_COUNTED;
}

/* True for the one who is to make the task's record. */
static __always_inline bool ref_claim(struct task_ref *ref)
{
	return !(__sync_fetch_and_or(&ref->flags, TASK_CLAIMED) & TASK_CLAIMED);
}

/* The task is counted from now on, by whoever claimed it. */
static __always_inline void ref_publish(struct task_ref *ref, u32 flags)
{
	__sync_fetch_and_or(&ref->flags, flags | TASK_COUNTED);
}

/* True for the one who is to end the counting of a task. */
static __always_inline bool ref_claim_end(struct task_ref *ref)
{
	return !(__sync_fetch_and_or(&ref->flags, TASK_ENDING) & TASK_ENDING);
}

/* True for the one by whom the task is counted no more; it may be claimed again. */
static __always_inline bool ref_end(struct task_ref *ref)
{
	return __sync_fetch_and_and(&ref->flags, ~TASK_MEMBER) & TASK_COUNTED;
}

/* True if a selector has chosen it, for now. */
static __always_inline bool ref_is_chosen(struct task_ref *ref)
{
	return ref->flags & TASK_CHOSEN;
}

/* True if it was not chosen before. */
static __always_inline bool ref_choose(struct task_ref *ref)
{
	return !(__sync_fetch_and_or(&ref->flags, TASK_CHOSEN) & TASK_CHOSEN);
}

/* True if it was chosen. */
static __always_inline bool ref_unchoose(struct task_ref *ref)
{
	return __sync_fetch_and_and(&ref->flags, ~TASK_CHOSEN) & TASK_CHOSEN;
}
