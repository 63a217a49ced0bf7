/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the records of the tasks that are counted. A record belongs to one task from record_start()
 * until it is marked RECORD_ENDED.
 */
#pragma once

#include "kernel_types.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include "bpftruss/abi.h"
#include "arch.bpf.h"
#include "calls.bpf.h"
#include "clock.bpf.h"
#include "losses.bpf.h"
#include "pool.bpf.h"
#include "selector.bpf.h"
#include "task_fields.bpf.h"
#include "tasks.bpf.h"

/* More CPUs than this share hints. */
#define CPU_HINTS 1024

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

/*
 * live: tasks counted now. adopted: by the iterator so far. left_out: threads and processes that a
 * pass found and had no room for, since user space set it to 0. joins: processes chosen late that
 * user space has not completed yet by running the iterator. leaves: processes chosen no more.
 * ended: records handed to user space so far. unseen: of these, those of tasks that were not seen to end.
 */
struct {
	__u32 live;
	__u32 adopted;
	__u32 left_out;
	__u32 joins;
	__u32 leaves;
	__u32 ended;
	__u32 unseen;
} membership __attribute__((aligned(64))) SEC(".data.membership");

static __always_inline struct task_record *record_find(u32 index)
{
	return bpf_map_lookup_elem(&records, &index);
}

/*
 * The record last used on each CPU. A hint may be stale or another CPU's, but never mistaken: a
 * record names its task exactly as long as it is that task's.
 */
struct {
	__u32 record;
	__u32 pad[15];
} hints[CPU_HINTS] __attribute__((aligned(64))) SEC(".data.hints");

/*
 * The record of the current task, which may count, and its index; when it is counted without one, NULL
 * and its ref.
 */
static __always_inline struct task_record *current_record(struct task_struct *task, u32 *index,
							  struct task_ref **ref)
{
	u32 *hint = &hints[bpf_get_smp_processor_id() & (CPU_HINTS - 1)].record;
	struct task_record *record;
	struct task_ref *found;
	u64 zero;

	*index = *hint;
	record = record_find(*index);
	if (record && word_is(&record->task, (u64)task, &zero)) {
		record = (void *)record + zero;
		/* Where an end was not seen, another task may have the address since. */
		if (record->kernel_pid == (u32)task->pid)
			return record;
	}
	found = task_ref_get(task);
	if (ref_was_refused(found, task))
		loss_add(LOSS_LOOKUP_BUSY);
	/* The order matters: a task gets its record before it is marked as counted. */
	if (!found || !ref_is_counted(found))
		return NULL;
	*ref = found;
	*index = found->record;
	if (!*index)
		return NULL;
	*hint = *index;
	return record_find(*index);
}

/* The record of a task, unless user space has ended it. */
static __always_inline struct task_record *ref_record(const struct task_ref *ref,
						      struct task_struct *task)
{
	struct task_record *record = ref && ref->record ? record_find(ref->record) : NULL;

	return record && record->task == (u64)task ? record : NULL;
}

static __always_inline struct task_record *task_record_find(struct task_struct *task)
{
	return ref_record(task_ref_look_up(task), task);
}

static __always_inline u64 task_cgroup_id(struct task_struct *task)
{
	return BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
}

/* 1 if two values differ; without a branch, which verifiers would follow through all that comes after. */
static __always_inline u32 differ(u64 a, u64 b)
{
	u64 difference = a ^ b;

	barrier_var(difference);
	return (difference | -difference) >> 63;
}

static __always_inline void record_set_comm(struct task_record *record,
					    const struct comm_text *comm)
{
	struct comm_text *kept = (struct comm_text *)record->comm;
	u32 differs = 0;

#pragma unroll
	for (int i = 0; i < COMM_SIZE; i++)
		differs |= kept->bytes[i] ^ comm->bytes[i];
	record->changes[CHANGED_COMM] += differ(differs, 0);
	*kept = *comm;
}

/* Charges what the record is given from now on to its new user. */
static __always_inline void record_set_user(struct task_record *record, struct task_struct *task)
{
	u32 uid = task_uid(task);

	record->changes[CHANGED_USER] += differ(record->uid, uid);
	record->uid = uid;
	/* Not task_share(): this is the end of a long chain of calls. */
	record->share = cred_share(BPF_CORE_READ(task, real_cred));
}

static __always_inline void record_set_cgroup(struct task_record *record, u64 cgroup_id)
{
	record->changes[CHANGED_CGROUP] += differ(record->cgroup_id, cgroup_id);
	record->cgroup_id = cgroup_id;
}

/* Follows all that a row can be grouped by besides its process. */
static __noinline int record_follow(struct task_record *record, struct task_struct *task)
{
	struct comm_text comm;

	comm_copy(&comm, task);
	record_set_comm(record, &comm);
	record_set_user(record, task);
	record_set_cgroup(record, task_cgroup_id(task));
	return 0;
}

/* Whether the threads of a process are to be counted, as what is kept of its leader says. */
static __always_inline bool process_is_wanted(struct task_ref *leader)
{
	return leader && (leader->flags & TASK_TARGET || ref_is_chosen(leader));
}

/* Whether it is counted for what it is now; else it has left, and keeps what it was chosen for. */
static __always_inline bool task_is_member(struct task_struct *task, const struct task_ref *ref)
{
	return !nr_selectors || ref->flags & TASK_TARGET ||
	       process_is_wanted(task_ref_look_up(task->group_leader));
}

/* Follows a call that sets the user of the current task. */
LOOKED_AT_ONCE int record_follow_user(struct task_record *record)
{
	struct task_struct *task = current_task();
	struct task_ref *ref = task_ref_look_up(task);

	/* A task that ends another one's record is in no such call. */
	if (record && ref && record->task == (u64)task && task_is_member(task, ref))
		record_set_user(record, task);
	return 0;
}

static __always_inline void usage_copy(struct task_usage *usage, struct task_struct *task)
{
	usage->utime_ns = task->utime;
	usage->stime_ns = task->stime;
	usage->run_delay_ns = task_run_delay(task);
	usage->min_flt = task->min_flt;
	usage->maj_flt = task->maj_flt;
	usage->nvcsw = task->nvcsw;
	usage->nivcsw = task->nivcsw;
}

/* Returns the index of a record for the owner of a share, or 0. */
LOOKED_AT_ONCE u32 record_take(u32 share)
{
	return pool_take(&returned_records, POOL_RECORDS, share);
}

/*
 * A task that begins so is in the kernel, or may be, until its first event. On arm64 a new child returns
 * without one.
 */
#define RECORD_INSIDE                                               \
	(RECORD_OPEN_EARLY | RECORD_AWAIT_EXEC | RECORD_SKIP_EXIT | \
	 (ARCH_CHILD_RETURNS ? RECORD_NEW_CHILD : 0))

/*
 * Begins to count a task that may be inside a call of early_nr (-1: not known). A task that is off
 * the CPU says so, since the time until it is switched in is not CPU time; whoever adopts a running
 * task checks again after ref->record is visible.
 */
static __always_inline void record_start(struct task_struct *task, struct task_ref *ref,
					 bool on_cpu, u16 flags, s32 early_nr, u16 early_abi)
{
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);
	u32 share = task_share(task), index = record_take(share);
	u64 now = bpf_ktime_get_ns();
	struct task_record *record;

	record = index ? record_find(index) : NULL;
	if (!record) {
		loss_add(LOSS_USER_TIME);
		ref->nr = early_nr;
		ref->abi = early_abi;
		ref->state = flags;
		stores_order();
		return;
	}
	clock_start(task, record, on_cpu, now);
	if (shows_calls)
		calls_begin(index);
	record->share = record->own_share = share;
	record->user_clock = USER_STOPPED;
	if (!(flags & RECORD_INSIDE))
		user_clock_go(record);
	record->slept_ns = flags == RECORD_OPEN_EARLY && early_nr >= 0 ? task_slept_ns(task) : 0;
	record->nr = early_nr;
	record->abi = early_abi;
	record->flags = flags;
	record->first_slot = 0;
	record->foreign_slots = 0;
	record->unknown_slots = 0;
	record->pid = pid_here(leader, task->tgid);
	record->tid = pid_here(task, task->pid);
	record->kernel_pid = task->pid;
	record->boot_ns = BPF_CORE_READ(leader, start_boottime);
	/* If its process may have left since somebody asked, its first call asks again. */
	record->leaves_seen = membership.leaves ? membership.leaves - 1 : 0;
	comm_copy((struct comm_text *)record->comm, task);
	record->uid = task_uid(task);
	record->cgroup_id = task_cgroup_id(task);
	for (int i = 0; i < NR_PROCESS_CHANGE; i++)
		record->changes[i] = 0;
	usage_copy(&record->usage_at_start, task);
	record->usage = record->usage_at_start;
	/* Each store after all before it: other CPUs take what they find from here on. */
	store_release(&record->state, RECORD_LIVE);
	store_release(&ref->record, index);
	store_release(&record->task, (u64)task);
}
