/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps them in task storage, which the kernel frees with the task. Flags change by atomic steps. */
#ifndef BPFTRUSS_TASKS_STORED_BPF_H
#define BPFTRUSS_TASKS_STORED_BPF_H

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_ref);
} tasks SEC(".maps");

#define store_release(word, value) ((void)__sync_lock_test_and_set(word, value))

static __always_inline void word_replace(u64 *word, u64 old, u64 value)
{
	__sync_val_compare_and_swap(word, old, value);
}

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

static __always_inline struct task_ref *task_ref_find(struct task_struct *task)
{
	return task_may_count(task) ? bpf_task_storage_get(&tasks, task, NULL, 0) : NULL;
}

/* NULL when the kernel has no memory for it, or is busy with task storage on this CPU. */
static __always_inline struct task_ref *task_ref_create(struct task_struct *task)
{
	return bpf_task_storage_get(&tasks, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

static __always_inline void task_ref_free(struct task_struct *task)
{
}

static __always_inline void task_ref_free_stale(struct task_struct *task)
{
}

static __always_inline bool ref_is_counted(struct task_ref *ref)
{
	return __sync_fetch_and_or(&ref->flags, 0) & TASK_COUNTED;
}

static __always_inline bool ref_claim(struct task_struct *task, struct task_ref *ref)
{
	return !(__sync_fetch_and_or(&ref->flags, TASK_CLAIMED) & TASK_CLAIMED);
}

static __always_inline void ref_publish(struct task_ref *ref, u32 flags)
{
	__sync_fetch_and_or(&ref->flags, flags | TASK_COUNTED);
}

static __always_inline bool ref_end_begin(struct task_struct *task, struct task_ref *ref,
					  u32 *ret_record)
{
	*ret_record = __sync_lock_test_and_set(&ref->record, 0);
	return true;
}

static __always_inline bool ref_end_finish(struct task_struct *task, struct task_ref *ref)
{
	return __sync_fetch_and_and(&ref->flags, ~TASK_MEMBER) & TASK_COUNTED;
}

static __always_inline bool ref_is_chosen(struct task_struct *task, struct task_ref *ref)
{
	return ref->flags & TASK_CHOSEN;
}

static __always_inline int ref_choose(struct task_struct *task, struct task_ref *ref)
{
	return !(__sync_fetch_and_or(&ref->flags, TASK_CHOSEN) & TASK_CHOSEN);
}

static __always_inline bool ref_unchoose(struct task_struct *task, struct task_ref *ref)
{
	return __sync_fetch_and_and(&ref->flags, ~TASK_CHOSEN) & TASK_CHOSEN;
}

#endif
