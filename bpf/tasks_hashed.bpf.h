/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps them in a hash by the address of the task, for kernels without task storage for tracing
 * programs (before 5.13). Nor do these have atomic operations that tell what was there before
 * (5.12): of several who want to do something at once the one may who removes an entry of the hash,
 * or adds it, for only one can. Those entries lie beside the task's own, whose address is a
 * multiple of eight, and are made together with it: so that neither fails for want of room.
 * That x86 does not reorder stores is relied upon.
 */
#ifndef BPFTRUSS_TASKS_HASHED_BPF_H
#define BPFTRUSS_TASKS_HASHED_BPF_H

#include "kernel_types.h"
#include <bpf/bpf_helpers.h>
#include "bpftruss/abi.h"
#include "losses.bpf.h"
#include "task_fields.bpf.h"

/* Two to four of each task: room for 16,384 at the least, in 6 MiB. */
#define HASHED_ENTRIES 65536

/* Far longer than it takes to add three entries. */
#define CREATE_SPINS 1024

#define EEXIST 17

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, HASHED_ENTRIES);
	__type(key, u64);
	__type(value, struct task_ref);
} tasks SEC(".maps");

enum task_entry {
	ENTRY_REF,
	ENTRY_CLAIMABLE, /* nobody has claimed it */
	ENTRY_ENDABLE,   /* nobody has ended its counting */
	ENTRY_CHOSEN,
	ENTRY_LOCK, /* the others are being made */
};

#define store_release(word, value)                           \
	do {                                                 \
		barrier();                                   \
		*(volatile typeof(*(word)) *)(word) = value; \
		barrier();                                   \
	} while (0)

/* Nothing preempts a program there. */
static __always_inline void word_replace(u64 *word, u64 old, u64 value)
{
	*(volatile u64 *)word = value;
}

/* Look-ups in a hash never fail. */
const volatile bool lookups_can_fail = false;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} never_kept SEC(".maps");

static __always_inline bool lookups_fail(struct task_struct *task)
{
	return false;
}

/* Nothing tells those that have none apart. */
static __always_inline bool task_may_count(struct task_struct *task)
{
	return true;
}

static __always_inline struct task_ref *task_ref_find(struct task_struct *task)
{
	u64 key = (u64)task;

	return bpf_map_lookup_elem(&tasks, &key);
}

static __always_inline u32 task_born(struct task_struct *task)
{
	return task_field(task, start_boottime);
}

/* 0 if this made it, -EEXIST if it was there. */
static __always_inline int entry_add(struct task_struct *task, enum task_entry entry)
{
	u64 key = (u64)task + entry;
	struct task_ref none = { .nr = -1, .born = task_born(task) };

	/* As an int: up to 6.3 the upper half of what the kernel returns means nothing. */
	return bpf_map_update_elem(&tasks, &key, &none, BPF_NOEXIST);
}

/* True if this removed it. */
static __always_inline bool entry_remove(struct task_struct *task, enum task_entry entry)
{
	u64 key = (u64)task + entry;

	return !bpf_map_delete_elem(&tasks, &key);
}

static __noinline int task_ref_free(struct task_struct *task)
{
	if (!task_ref_find(task))
		return 0;
	entry_remove(task, ENTRY_CHOSEN);
	entry_remove(task, ENTRY_CLAIMABLE);
	entry_remove(task, ENTRY_ENDABLE);
	entry_remove(task, ENTRY_REF);
	return 0;
}

static __always_inline void task_ref_free_stale(struct task_struct *task)
{
	struct task_ref *ref = task_ref_find(task);

	/* Only now: an exec from another thread changes the start of the task that goes on. */
	if (ref && ref->born != task_born(task))
		task_ref_free(task);
}

/* All three or none; by the holder of ENTRY_LOCK. */
static __noinline int entries_make(struct task_struct *task)
{
	if (task_ref_find(task))
		return 0;
	if (!entry_add(task, ENTRY_CLAIMABLE) && !entry_add(task, ENTRY_ENDABLE) &&
	    !entry_add(task, ENTRY_REF))
		return 0;
	entry_remove(task, ENTRY_CLAIMABLE);
	entry_remove(task, ENTRY_ENDABLE);
	return 0;
}

static __noinline struct task_ref *task_ref_create(struct task_struct *task)
{
	struct task_ref *ref = task_ref_find(task);
	int err;

	if (ref)
		return ref;
	err = entry_add(task, ENTRY_LOCK);
	if (!err) {
		entries_make(task);
		entry_remove(task, ENTRY_LOCK);
		return task_ref_find(task);
	}
	/* Another CPU makes them. */
	for (int i = 0; i < CREATE_SPINS && err == -EEXIST && !ref; i++)
		ref = task_ref_find(task);
	return ref;
}

static __always_inline bool ref_is_counted(struct task_ref *ref)
{
	return *(volatile u32 *)&ref->flags & TASK_COUNTED;
}

static __always_inline bool ref_claim(struct task_struct *task, struct task_ref *ref)
{
	return entry_remove(task, ENTRY_CLAIMABLE);
}

/* Adding is the only atomic step there is; flags belong to whoever has claimed the task. */
static __always_inline void ref_publish(struct task_ref *ref, u32 flags)
{
	flags |= TASK_COUNTED;
	__sync_fetch_and_add(&ref->flags, flags & ~*(volatile u32 *)&ref->flags);
}

static __always_inline bool ref_end_begin(struct task_struct *task, struct task_ref *ref,
					  u32 *ret_record)
{
	if (!ref_is_counted(ref) || !entry_remove(task, ENTRY_ENDABLE))
		return false;
	*ret_record = ref->record;
	store_release(&ref->record, 0);
	return true;
}

static __always_inline bool ref_end_finish(struct task_struct *task, struct task_ref *ref)
{
	__sync_fetch_and_add(&ref->flags, -(TASK_MEMBER & *(volatile u32 *)&ref->flags));
	/* Unless it is at its end it may be counted again, if others have not taken the room. */
	if (!(task_field(task, flags) & PF_EXITING) &&
	    (entry_add(task, ENTRY_ENDABLE) || entry_add(task, ENTRY_CLAIMABLE)))
		loss_add(LOSS_TASK_UNTRACKED);
	return true;
}

static __always_inline bool ref_is_chosen(struct task_struct *task, struct task_ref *ref)
{
	u64 key = (u64)task + ENTRY_CHOSEN;

	return bpf_map_lookup_elem(&tasks, &key);
}

static __always_inline int ref_choose(struct task_struct *task, struct task_ref *ref)
{
	int err = entry_add(task, ENTRY_CHOSEN);

	return err == -EEXIST ? 0 : err ?: 1;
}

static __always_inline bool ref_unchoose(struct task_struct *task, struct task_ref *ref)
{
	return entry_remove(task, ENTRY_CHOSEN);
}

#endif
