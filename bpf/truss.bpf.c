// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * The programs that bpftruss attaches, each a few lines that find the task and hand on:
 *
 *   sys_enter, sys_exit    -> account.bpf.h: counts, errors, times, histogram of one call
 *   sched_switch           -> the task's time off the CPU
 *   fork, exec, exit       -> who is counted (records.bpf.h), and the end of a record
 *   iter/task              -> adopts the threads of a target that exist already
 *
 *   losses.bpf.h   every way to give up        slots.bpf.h     (task, system call) -> counters
 *   pool.bpf.h     array indices               overflow.bpf.h  tasks without a record
 *   arch.bpf.h     ABIs, special numbers       kernel_types.h  the kernel fields we read
 *
 * Nothing here sends an event per call. User space maps the arrays and reads; counters only grow.
 */
#include "kernel_types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "account.bpf.h"
#include "overflow.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Set by user space before its last read: from then on nothing changes. */
struct {
	__u32 stopped;
} control __attribute__((aligned(64))) SEC(".data.control");

/* Tasks counted now, and how many the iterator has adopted. */
struct {
	__u32 live;
	__u32 adopted;
} population __attribute__((aligned(64))) SEC(".data.population");

/* Wakes user space when a task has ended; the state itself is in the record. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 * 1024);
} task_ends SEC(".maps");

static __always_inline bool counting(void)
{
	return !*(volatile u32 *)&control.stopped;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(on_sys_enter, struct pt_regs *regs, long nr)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_record *record;
	struct task_ref *ref = NULL;
	u32 index;

	if (!task_may_count(task) || !counting())
		return 0;
	record = current_record(task, &index, &ref);
	if (record)
		call_begin(task, record, index, nr);
	else if (ref && ref->flags & TASK_COUNTED)
		overflow_begin(task, ref, nr);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_sys_exit, struct pt_regs *regs, long result)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_record *record;
	struct task_ref *ref = NULL;
	u32 index;

	if (!task_may_count(task) || !counting())
		return 0;
	record = current_record(task, &index, &ref);
	if (record)
		call_end(task, record, index, regs, result);
	else if (ref && ref->flags & TASK_COUNTED)
		overflow_end(task, ref, regs, result);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct task_record *record;
	u64 now = 0;

	if (!counting())
		return 0;
	record = task_record_find(prev);
	if (record) {
		now = bpf_ktime_get_ns();
		record->out_ns = now;
	}
	record = task_record_find(next);
	if (record && record->out_ns) {
		if (!now)
			now = bpf_ktime_get_ns();
		record->off_ns += now - record->out_ns;
		record->out_ns = 0;
	}
	return 0;
}

/* Claims a task for counting; the fork hook and the iterator may both try. */
static __always_inline bool task_claim(struct task_ref *ref, u32 flags)
{
	if (__sync_fetch_and_or(&ref->flags, flags | TASK_COUNTED) & TASK_COUNTED)
		return false;
	__sync_fetch_and_add(&population.live, 1);
	return true;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	struct task_ref *parent_ref = task_ref_find(parent);
	struct task_ref *ref;

	if (!parent_ref || !(parent_ref->flags & TASK_COUNTED) || !counting())
		return 0;
	if (child->tgid != parent->tgid && !(parent_ref->flags & TASK_FOLLOW))
		return 0;
	ref = bpf_task_storage_get(&tasks, child, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!ref) {
		loss_add(LOSS_TASK_UNTRACKED);
		return 0;
	}
	if (task_claim(ref, parent_ref->flags & (TASK_TARGET | TASK_FOLLOW)))
		record_start(child, ref, false, RECORD_OPEN_EARLY, -1, NATIVE_ABI);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task)
{
	struct task_record *record = task_record_find(task);

	if (!record || !counting())
		return 0;
	/* An exec from another thread takes over the leader's pid. */
	record->tid = task->pid;
	record_copy_comm(record, task);
	return 0;
}

/* Settles what is open, and hands the record to user space. */
static __always_inline void record_end(struct task_struct *task, struct task_record *record,
				       u32 index)
{
	struct call call = { record, index, record->nr, record->abi };

	if (record->flags & RECORD_CALL_OPEN ||
	    (record->flags & RECORD_OPEN_EARLY && record->nr >= 0))
		call_count_no_return(&call);
	else if (!(record->flags & RECORD_AWAIT_EXEC))
		record->user_ns += bpf_ktime_get_ns() - record->off_ns - record->mark_cpu_ns;
	record_copy_comm(record, task);
	record->task = 0;
	record->state = RECORD_ENDED;
}

/*
 * Ends the counting of a task. The exit hook and the iterator may both get here, so each of the
 * two steps is claimed. The record is let go first: the task's last context switch must not touch
 * what user space may have reused.
 */
static __always_inline void task_end(struct task_struct *task, struct task_ref *ref)
{
	u32 index = __sync_lock_test_and_set(&ref->record, 0);
	struct task_record *record = index ? record_find(index) : NULL;

	if (record)
		record_end(task, record, index);
	if (!(__sync_fetch_and_and(&ref->flags, 0) & TASK_COUNTED))
		return;
	if (!record)
		overflow_task_end(ref);
	__sync_fetch_and_sub(&population.live, 1);
	bpf_ringbuf_output(&task_ends, &index, sizeof(index), 0);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	struct task_ref *ref = task_ref_find(task);

	if (ref && ref->flags & TASK_COUNTED && counting())
		task_end(task, ref);
	return 0;
}

/* The call a task sleeps in, told from its saved registers; -1 when it runs or is in user mode. */
static __always_inline s32 task_blocked_nr(struct task_struct *task)
{
	if (task->on_cpu || !bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return -1;
	return regs_nr((struct pt_regs *)bpf_task_pt_regs(task));
}

/*
 * Adopts every thread of the processes that user space marked. Run until a pass adopts none: by
 * then each thread was adopted here or by on_fork.
 */
SEC("iter/task")
int adopt_targets(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct task_ref *leader_ref, *ref;
	struct task_record *record;
	u16 flags, abi;
	s32 nr;

	if (!task || task->flags & PF_EXITING)
		return 0;
	leader_ref = task_ref_find(task->group_leader);
	if (!leader_ref || !(leader_ref->flags & TASK_TARGET))
		return 0;
	flags = leader_ref->flags & TASK_AWAIT_EXEC ? RECORD_AWAIT_EXEC : RECORD_OPEN_EARLY;
	ref = bpf_task_storage_get(&tasks, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!ref) {
		loss_add(LOSS_TASK_UNTRACKED);
		return 0;
	}
	if (!task_claim(ref, leader_ref->flags & (TASK_TARGET | TASK_FOLLOW)))
		return 0;
	population.adopted++;
	nr = task_blocked_nr(task);
	abi = task_abi(task, &nr);
	record_start(task, ref, task->on_cpu, flags, nr, abi);
	record = ref->record ? record_find(ref->record) : NULL;
	/* Switched out before on_sched_switch could know it? */
	if (record && !task->on_cpu && !record->out_ns)
		record->out_ns = record->start_ns;
	/* Gone before on_exit could know it? */
	if (task->flags & PF_EXITING)
		task_end(task, ref);
	return 0;
}
