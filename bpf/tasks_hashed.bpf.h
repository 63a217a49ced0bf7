/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps them in a hash by the address of the task, for kernels without task storage for tracing
 * programs (before 5.13). Nor do these have atomic operations that tell what was there before
 * (5.12): of several who want to change a flag at once the one may who adds an entry to the hash,
 * or removes it, for only one can. A task's address is even, so those entries lie beside its own.
 * That x86 does not reorder stores is relied upon.
 */
#ifndef BPFTRUSS_TASKS_HASHED_BPF_H
#define BPFTRUSS_TASKS_HASHED_BPF_H

#include "task_fields.bpf.h"

/* Up to four of each task: room for 16,384 tasks, in 6 MiB. */
#define HASHED_ENTRIES 65536

#define EEXIST 17

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, HASHED_ENTRIES);
	__type(key, u64);
	__type(value, struct task_ref);
} tasks SEC(".maps");

enum task_entry { ENTRY_REF, ENTRY_CLAIMED, ENTRY_COUNTED, ENTRY_CHOSEN };

#define store_release(word, value)                           \
	do {                                                 \
		barrier();                                   \
		*(volatile typeof(*(word)) *)(word) = value; \
		barrier();                                   \
	} while (0)

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

/* True if this made it; a loss when there is no room. */
static __always_inline bool entry_add(struct task_struct *task, enum task_entry entry)
{
	u64 key = (u64)task + entry;
	struct task_ref none = { .nr = -1 };
	/* Up to 6.3 the upper half of what it returns means nothing. */
	int err = bpf_map_update_elem(&tasks, &key, &none, BPF_NOEXIST);

	if (err && err != -EEXIST)
		loss_add(LOSS_TASK_UNTRACKED);
	return !err;
}

/* True if this removed it. */
static __always_inline bool entry_remove(struct task_struct *task, enum task_entry entry)
{
	u64 key = (u64)task + entry;

	return !bpf_map_delete_elem(&tasks, &key);
}

static __noinline struct task_ref *task_ref_create(struct task_struct *task)
{
	struct task_ref *ref = task_ref_find(task);
	u64 key = (u64)task;
	struct task_ref none = { .nr = -1 };

	if (ref)
		return ref;
	bpf_map_update_elem(&tasks, &key, &none, BPF_NOEXIST);
	return task_ref_find(task);
}

static __noinline int task_ref_free(struct task_struct *task)
{
	if (!task_ref_find(task))
		return 0;
	entry_remove(task, ENTRY_CLAIMED);
	entry_remove(task, ENTRY_COUNTED);
	entry_remove(task, ENTRY_CHOSEN);
	entry_remove(task, ENTRY_REF);
	return 0;
}

static __always_inline bool ref_is_counted(struct task_ref *ref)
{
	return *(volatile u32 *)&ref->flags & TASK_COUNTED;
}

/* Flags that nobody else changes now: adding is the only atomic step there is. */
static __always_inline void flags_set(struct task_ref *ref, u32 flags)
{
	__sync_fetch_and_add(&ref->flags, flags & ~*(volatile u32 *)&ref->flags);
}

static __always_inline void flags_clear(struct task_ref *ref, u32 flags)
{
	__sync_fetch_and_add(&ref->flags, -(flags & *(volatile u32 *)&ref->flags));
}

static __always_inline bool ref_claim(struct task_struct *task, struct task_ref *ref)
{
	if (!entry_add(task, ENTRY_CLAIMED))
		return false;
	if (!entry_add(task, ENTRY_COUNTED)) {
		entry_remove(task, ENTRY_CLAIMED);
		return false;
	}
	flags_set(ref, TASK_CLAIMED);
	return true;
}

static __always_inline void ref_publish(struct task_ref *ref, u32 flags)
{
	flags_set(ref, flags | TASK_COUNTED);
}

static __always_inline bool ref_end_begin(struct task_struct *task, struct task_ref *ref,
					  u32 *ret_record)
{
	if (!ref_is_counted(ref) || !entry_remove(task, ENTRY_COUNTED))
		return false;
	*ret_record = ref->record;
	store_release(&ref->record, 0);
	return true;
}

static __always_inline bool ref_end_finish(struct task_struct *task, struct task_ref *ref)
{
	flags_clear(ref, TASK_MEMBER);
	entry_remove(task, ENTRY_CLAIMED);
	return true;
}

static __always_inline bool ref_choose(struct task_struct *task, struct task_ref *ref)
{
	if (!entry_add(task, ENTRY_CHOSEN))
		return false;
	flags_set(ref, TASK_CHOSEN);
	return true;
}

static __always_inline bool ref_unchoose(struct task_struct *task, struct task_ref *ref)
{
	if (!(*(volatile u32 *)&ref->flags & TASK_CHOSEN) || !entry_remove(task, ENTRY_CHOSEN))
		return false;
	flags_clear(ref, TASK_CHOSEN);
	return true;
}

#endif
