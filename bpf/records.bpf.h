/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the tasks that are counted: their task storage and their records. A record belongs to one
 * task from record_start() until it is marked RECORD_ENDED.
 */
#ifndef BPFTRUSS_RECORDS_BPF_H
#define BPFTRUSS_RECORDS_BPF_H

#include "kernel_types.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include "bpftruss/abi.h"
#include "losses.bpf.h"
#include "pool.bpf.h"

const volatile __u32 max_tasks = DEFAULT_MAX_TASKS;

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_ref);
} tasks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, DEFAULT_MAX_TASKS);
	__type(key, u32);
	__type(value, struct task_record);
} records SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_STACK);
	__uint(max_entries, DEFAULT_MAX_TASKS);
	__type(value, u32);
} returned_records SEC(".maps");

/* What a task has, or NULL. Nearly free for tasks that no BPF program has state for. */
static __always_inline struct task_ref *task_ref_find(struct task_struct *task)
{
	if (bpf_core_field_exists(task->bpf_storage) && !task->bpf_storage)
		return NULL;
	return bpf_task_storage_get(&tasks, task, NULL, 0);
}

static __always_inline struct task_record *record_find(u32 index)
{
	return bpf_map_lookup_elem(&records, &index);
}

static __always_inline struct task_record *task_record_find(struct task_struct *task)
{
	struct task_ref *ref = task_ref_find(task);

	return ref && ref->record ? record_find(ref->record) : NULL;
}

/* Byte by byte: the verifier checks each load against the array's element size. */
static __always_inline void record_copy_comm(struct task_record *record, struct task_struct *task)
{
#pragma unroll
	for (int i = 0; i < COMM_SIZE; i++)
		record->comm[i] = task->comm[i];
}

/*
 * Begins to count a task that may be inside a call of early_nr (-1: not known). A task that is off
 * the CPU says so, since the time until it is switched in is not CPU time; whoever adopts a running
 * task checks again after ref->record is visible.
 */
static __always_inline void record_start(struct task_struct *task, struct task_ref *ref,
					 bool on_cpu, u16 flags, s32 early_nr, u16 early_abi)
{
	u32 index = pool_take(&returned_records, &marks.records, max_tasks);
	u64 now = bpf_ktime_get_ns();
	struct task_record *record;

	record = index ? record_find(index) : NULL;
	if (!record) {
		loss_add(LOSS_USER_TIME);
		ref->nr = early_nr;
		ref->abi = early_abi;
		ref->state = flags;
		return;
	}
	record->start_ns = now;
	record->mark_cpu_ns = now;
	record->off_ns = 0;
	record->out_ns = on_cpu ? 0 : now;
	record->user_ns = 0;
	record->nr = early_nr;
	record->abi = early_abi;
	record->flags = flags;
	record->first_slot = 0;
	record->foreign_slots = 0;
	record->pid = task->tgid;
	record->tid = task->pid;
	record->boot_ns = task->group_leader->start_boottime;
	record_copy_comm(record, task);
	record->state = RECORD_LIVE;
	ref->record = index;
}

#endif
