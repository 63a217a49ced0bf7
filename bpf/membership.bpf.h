/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns who is counted. A process is counted because its pid was given (TASK_TARGET, for good) or
 * because a selector matches it (TASK_CHOSEN on its leader, as long as it does). Threads learn of
 * it in three ways: from the fork that made them, from a pass of the iterator, and, while a process
 * that was chosen late still has threads that neither has reached, at their next call; so do
 * threads whose fork could not hand it on, as the kernel was busy with task storage on that CPU.
 */
#pragma once

#include "account.bpf.h"
#include "events.bpf.h"
#include "overflow.bpf.h"
#include "selector.bpf.h"

/* Some ten microseconds, as the time is read so often in each: the verifier follows every one. */
#define PUBLISH_SPINS 32
#define SPIN_PAUSES   8

static __always_inline bool joins_pending(void)
{
	return *(volatile u32 *)&membership.joins;
}

/* Some thread does not know yet that it is to be counted. */
static __always_inline void joins_announce(void)
{
	__sync_fetch_and_add(&membership.joins, 1);
	event_send(EVENT_PROCESS_JOINED, 0, 0);
}

/*
 * Claims a task for counting; the fork hook and the iterator may both try. It is counted once
 * ref_publish() says so: until then it has no record, and not for want of room.
 */
static __always_inline bool task_claim(struct task_ref *ref)
{
	if (!ref_claim(ref))
		return false;
	__sync_fetch_and_add(&membership.live, 1);
	return true;
}

/* Threads that only the kernel runs; a copy of their maker's registers must not be believed. */
static __always_inline bool task_makes_no_calls(struct task_struct *task)
{
	u32 flags = PF_KTHREAD | PF_IO_WORKER;

	if (bpf_core_field_exists(struct kernel_clone_args, user_worker))
		flags |= PF_USER_WORKER;
	return task->flags & flags;
}

/* Reads the CPU clock of a task that may be another than the current one. */
static __always_inline u64 record_cpu_clock(struct task_struct *task, struct task_record *record,
					    u64 *now)
{
	struct clocks clocks;

	if (task == current_task()) {
		clocks = clocks_read(task, record);
		*now = clocks.now;
		return clocks.cpu;
	}
	*now = bpf_ktime_get_ns();
	return record->clock & CLOCK_STOPPED ? record->clock & ~CLOCK_STOPPED
					     : *now - record->clock;
}

/* Settles what is open: the task makes no more calls that count. */
static __always_inline void record_settle(struct task_struct *task, struct task_ref *ref,
					  struct task_record *record, u32 index, u64 cpu)
{
	struct call call = call_of(record, index, true);

	if (record->flags & RECORD_CALL_OPEN || RECORD_IN_EARLY_CALL(record)) {
		/* Whoever reads it now finds it no longer in flight. */
		record->flags |= RECORD_EXITING;
		stores_order();
		early_call_book(record, index);
		call_count_no_return(record, &call);
	} else {
		user_clock_stop(record, cpu);
	}
	if (task->flags & PF_EXITING && task_is_member(task, ref))
		record_follow(record, task);
}

/*
 * Hands a record, whose clock stands still, to user space, which ends those of tasks that it finds gone:
 * whoever takes the task out of the record does it.
 */
static __always_inline void record_end(struct task_struct *task, struct task_record *record,
				       bool is_unseen)
{
	if (__sync_val_compare_and_swap(&record->task, (u64)task, 0) != (u64)task)
		return;
	usage_copy(&record->usage, task);
	if (is_unseen)
		__sync_fetch_and_add(&membership.unseen, 1);
	/* After all before it: from here on the record is user space's. */
	store_release(&record->state, RECORD_ENDED);
	__sync_fetch_and_add(&membership.ended, 1);
	__sync_fetch_and_sub(&membership.live, 1);
}

/* Tells user space that the record of this index, 0 for none, has ended or will soon. */
static __always_inline void task_tell_end(struct task_struct *task, u32 index)
{
	/* One that lives and has left may have the signal that stopped it there. */
	event_send(EVENT_TASK_ENDED, index,
		   task->flags & PF_EXITING ? task->exit_code & EXIT_SIGNAL : 0);
}

/* The end of a task that found no record, or whose record has ended meanwhile. */
static __always_inline void task_end_without_record(struct task_struct *task, struct task_ref *ref)
{
	if (!ref_end(ref))
		return;
	overflow_task_end(ref);
	__sync_fetch_and_sub(&membership.live, 1);
	task_tell_end(task, 0);
}

/*
 * Ends the counting of a task. Its exit and the iterator may both get here, so it is claimed. The record
 * is let go before it ends: the task's next context switch must not touch what user space may have
 * reused; but its clock is read before that, as that switch will not be seen.
 */
static __noinline int task_end(struct task_struct *task, struct task_ref *ref)
{
	struct task_record *record;
	u64 now, cpu;
	u32 index;

	if (!ref_claim_end(ref))
		return 0;
	index = ref->record;
	record = ref_record(ref, task);
	if (!index) {
		task_end_without_record(task, ref);
		return 0;
	}
	if (record) {
		cpu = record_cpu_clock(task, record, &now);
		store_release(&ref->record, 0);
		record_settle(task, ref, record, index, cpu);
		record->clock = cpu | CLOCK_STOPPED;
		record->switch_ns = now;
		record_end(task, record, false);
	}
	ref_end(ref);
	task_tell_end(task, index);
	return 0;
}

/*
 * The current task begins to exit: it makes no more calls, but takes CPU time to free its memory and files,
 * until task_die(). User space hears of it now: where a switch is on its way, a ring may have a lock that
 * sleeps (PREEMPT_RT before 6.12).
 */
static __noinline int task_exit(struct task_struct *task, struct task_ref *ref)
{
	struct task_record *record;
	u64 now, cpu;
	u32 index;

	if (!ref_claim_end(ref))
		return 0;
	index = ref->record;
	record = ref_record(ref, task);
	if (!index)
		task_end_without_record(task, ref);
	if (!record)
		return 0;
	cpu = record_cpu_clock(task, record, &now);
	record_settle(task, ref, record, index, cpu);
	/* No iterator finds it any more once it has no pid. */
	usage_copy(&record->usage, task);
	record->enter_ns = now;
	stores_order();
	record->flags = RECORD_EXITING | (record->flags & RECORD_AWAIT_EXEC);
	task_tell_end(task, index);
	return 0;
}

/*
 * The last context switch of a task, whose clock it has stopped. One that was not seen to exit is claimed
 * here, unless the iterator has found it and ends it.
 */
static __noinline int task_die(struct task_struct *task, struct task_ref *ref)
{
	struct task_record *record = ref_record(ref, task);
	bool is_unseen = record && !(record->flags & RECORD_EXITING);

	if (!record || (is_unseen && (!(ref->flags & TASK_COUNTED) || !ref_claim_end(ref))))
		return 0;
	store_release(&ref->record, 0);
	record_end(task, record, is_unseen);
	ref_end(ref);
	return 0;
}

/* There is no room for what is to be kept of a process. At the start there will be other passes. */
static __always_inline void process_left_out(void)
{
	if (*(volatile u32 *)&control.starting)
		__sync_fetch_and_add(&membership.left_out, 1);
	else
		loss_add(LOSS_TASK_UNTRACKED);
}

/*
 * Notes on its leader whether a process is chosen. One that may have other threads, which do not know of it,
 * joins with notice. Returns whether it can be counted.
 */
static __noinline bool process_mark(struct task_struct *leader, bool chosen, bool notice)
{
	struct task_ref *ref;

	if (chosen)
		ref = task_ref_create(leader);
	else if (*(volatile u32 *)&control.starting)
		ref = task_ref_get(leader);
	else
		ref = task_ref_look_up(leader);
	if (chosen && !ref)
		process_left_out();
	if (!ref || ref->flags & TASK_IGNORED)
		return false;
	if (chosen) {
		if (ref_choose(ref) && notice)
			joins_announce();
	} else if (ref_unchoose(ref)) {
		__sync_fetch_and_add(&membership.leaves, 1);
	}
	return chosen;
}

/* Asks the selectors about a process under its name; a new process has the name of the thread that made it. */
static __noinline bool process_selected(struct task_struct *leader)
{
	struct comm_text comm;

	comm_copy(&comm, leader);
	return task_selected(leader, &comm);
}

/*
 * Notes what the selectors say about a process. If the answer changed before it was noted, whoever changed it
 * may have found no ref yet, or have been overruled: so this asks the selectors again.
 */
static __always_inline bool process_reconsider(struct task_struct *leader, bool notice)
{
	bool chosen = process_selected(leader), counted = process_mark(leader, chosen, notice);

	if (process_selected(leader) != chosen)
		counted = process_mark(leader, !chosen, true);
	return counted;
}

/* The record of a task that goes on being counted, or NULL. */
static __always_inline struct task_record *member_record(struct task_struct *task)
{
	struct task_ref *ref = task_ref_look_up(task);
	struct task_record *record = ref_record(ref, task);

	return record && task_is_member(task, ref) ? record : NULL;
}

/* Another CPU is making this task's record: it takes a microsecond, and the call must not be lost. */
LOOKED_AT_ONCE u32 task_await_publish(struct task_ref *ref)
{
	for (int i = 0; i < PUBLISH_SPINS && ref; i++) {
		if (*(volatile u32 *)&ref->flags & TASK_COUNTED)
			/* Loads after this see all that was stored before the flag. */
			return ref_is_counted(ref);
#pragma unroll
		for (int pause = 0; pause < SPIN_PAUSES; pause++)
			bpf_ktime_get_ns();
	}
	return false;
}

/* A call by a thread that is not counted, while some process joins. Returns its ref if it is one of that process. */
static __noinline struct task_ref *task_join(struct task_struct *task)
{
	struct task_ref *leader = task_ref_look_up(task->group_leader), *ref;

	if (!process_is_wanted(leader))
		return NULL;
	ref = task_ref_create(task);
	if (!ref)
		loss_add(LOSS_THREAD_LATE);
	if (!ref || ref->flags & TASK_IGNORED)
		return NULL;
	if (task_claim(ref)) {
		record_start(task, ref, true, 0, -1, NATIVE_ABI);
		ref_publish(ref, leader->flags & (TASK_TARGET | TASK_FOLLOW));
	} else if (!task_await_publish(ref)) {
		loss_add(LOSS_THREAD_LATE);
		return NULL;
	}
	return ref;
}

/* Some process has left since this thread was last asked. Without a record, it asks each time. */
static __always_inline bool leave_pending(const struct task_record *record,
					  const struct task_ref *ref)
{
	if (record)
		return record->leaves_seen != membership.leaves;
	return ref && membership.leaves;
}

/* A call by a counted thread after some process has left: was it its own? Returns true if so. */
static __noinline bool task_leave(struct task_struct *task, struct task_record *record)
{
	const u32 leaves = *(volatile u32 *)&membership.leaves;
	struct task_ref *ref = task_ref_look_up(task),
			*leader = task_ref_look_up(task->group_leader);

	/* It asks again at its next call. */
	if (ref_was_refused(ref, task) || ref_was_refused(leader, task->group_leader))
		return false;
	if (record)
		record->leaves_seen = leaves;
	if (!ref || ref->flags & TASK_TARGET || (leader && ref_is_chosen(leader)))
		return false;
	task_end(task, ref);
	return true;
}

static __always_inline bool nr_is_of_interrupt(s32 nr)
{
	return nr < 0 && nr != NR_NOT_KNOWN;
}

/*
 * Counts the exec that a task was in when it was first counted. Unless it slept there, its registers tell; on
 * x86, the kernel has put execve there by now. A helper that the kernel starts has no number on arm64.
 */
LOOKED_AT_ONCE int call_count_early_exec(struct task_record *record, u32 index)
{
	struct task_struct *task = current_task();
	struct call call = { .index = index };

	if (!record || slower_than_ns)
		return 0;
	call.nr = RECORD_IN_EARLY_CALL(record) ? record->nr : task_regs_nr(task);
	call.abi = RECORD_IN_EARLY_CALL(record) ? record->abi : task_abi(task, &call.nr);
	if (nr_is_of_interrupt(call.nr))
		return 0;
	/* It is in one: the number was of another ABI, or is not known. */
	if (!call_is_exec(call.abi, call.nr)) {
		call.abi = NATIVE_ABI;
		call.nr = special_calls(NATIVE_ABI)->execve;
	}
	early_call_book(record, index);
	record->flags = 0;
	if (call_is_shown(call.abi, call.nr))
		call_lose(index);
	return call_book_untimed(record, &call, 0, false);
}

/* Ends the call of the current task, which executes another program. */
static __always_inline void call_end_exec(struct task_record *record, u32 index)
{
	if (record && record->flags == RECORD_CALL_OPEN)
		call_settle_exec(record, index);
	else if (record && record->flags & RECORD_OPEN_EARLY)
		call_count_early_exec(record, index);
}

/* An exec: other threads are gone, the name and the user may have changed. */
static __noinline int exec_reconsider(struct task_struct *task)
{
	struct task_record *record;
	struct task_ref *ref;

	if (process_reconsider(task, false)) {
		ref = task_ref_look_up(task);
		/* The exec itself was still that of the program before. */
		if (ref && task_claim(ref)) {
			record_start(task, ref, true, RECORD_SKIP_EXIT, -1, NATIVE_ABI);
			ref_publish(ref, 0);
		}
		return 0;
	}
	ref = task_ref_look_up(task);
	if (!ref || !(ref->flags & TASK_COUNTED) || ref->flags & TASK_TARGET)
		return 0;
	record = ref->record ? record_find(ref->record) : NULL;
	call_end_exec(record, ref->record);
	return task_end(task, ref);
}

/*
 * An exec from another thread takes over the leader's pid: the thread of before has ended, with
 * the exec as its last call, and one of another id goes on.
 */
static __noinline int exec_split(struct task_struct *task, struct task_ref *ref)
{
	u32 flags = ref->flags & (TASK_TARGET | TASK_FOLLOW);
	struct task_record *record = ref->record ? record_find(ref->record) : NULL;

	call_end_exec(record, ref->record);
	/* Never 0 in between: that would look like the end. */
	__sync_fetch_and_add(&membership.live, 1);
	task_end(task, ref);
	if (task_claim(ref)) {
		record_start(task, ref, true, RECORD_SKIP_EXIT, -1, NATIVE_ABI);
		ref_publish(ref, flags);
	}
	__sync_fetch_and_sub(&membership.live, 1);
	return 0;
}

/* A successful call that may have changed the user of a process, which is that of its leader. */
static __noinline int user_changed(struct task_struct *task, s32 nr)
{
	u16 abi = task_abi(task, &nr);

	if (task->pid == task->tgid && call_sets_user(abi, nr))
		process_reconsider(task, true);
	return 0;
}

/*
 * Whether a task is inside an execve, its own or one by the kernel, which starts helpers so: that
 * has not yet a number, and no call by which a task renames itself has number 0.
 */
static __noinline bool task_in_exec(struct task_struct *task)
{
	s32 nr;
	u16 abi;

	if (task != current_task())
		return false;
	nr = task_regs_nr(task);
	abi = task_abi(task, &nr);
	return nr == 0 || nr_is_of_interrupt(nr) || call_is_exec(abi, nr);
}

static __always_inline u64 task_state(struct task_struct *task)
{
	struct task_struct___before_5_14 *old = (void *)task;

	if (bpf_core_field_exists(task->__state))
		return task->__state;
	return BPF_CORE_READ(old, state);
}

static __always_inline bool task_is_dead(struct task_struct *task)
{
	return task_state(task) & TASK_DEAD;
}

static __always_inline bool task_goes_to_sleep(struct task_struct *task)
{
	return task_state(task) & TASK_SLEEPS;
}

static __always_inline bool task_sleeps(struct task_struct *task)
{
	return !task->on_cpu && !(task->jobctl & JOBCTL_TRAP_FREEZE) && task_goes_to_sleep(task);
}

/* The call that a task is in, or its last one; -1 if it runs or that is not known. */
static __always_inline s32 task_saved_nr(struct task_struct *task)
{
	s32 nr = task->on_cpu ? -1 : task_regs_nr(task);

	return nr < 0 ? -1 : nr;
}

/* Whether a task that is not running was interrupted outside of any call: that leaves no number. */
static __always_inline bool task_is_outside(struct task_struct *task)
{
	return !task->on_cpu && nr_is_of_interrupt(task_regs_nr(task));
}

/*
 * A thread that has run since before counting goes off its CPU outside of any call. Leaving one would
 * have been an event: so it was outside all the time, and all its CPU time was user time. So was that of a
 * new child, if its return from the fork went unseen.
 */
static __always_inline void record_settle_outside(struct task_struct *task,
						  struct task_record *record)
{
	if ((record->flags == RECORD_OPEN_EARLY || record->flags == RECORD_NEW_CHILD) &&
	    record->nr < 0 && nr_is_of_interrupt(task_regs_nr(task))) {
		record->flags = 0;
		user_clock_go(record);
	}
}

/*
 * Starts to count a thread that has existed for a while. If it sleeps with a number in its
 * registers, it is in that call. If it is stopped, frozen or waits for a CPU, it may be on its way
 * out of it: then it is in none, but a restart_syscall to come is that call going on.
 */
static __noinline int task_adopt(struct task_struct *task, struct task_ref *ref, u32 inherited)
{
	u16 flags = inherited & TASK_AWAIT_EXEC ? RECORD_AWAIT_EXEC : RECORD_OPEN_EARLY;
	s32 nr = task_saved_nr(task);
	u16 abi = task_abi(task, &nr);
	struct task_record *record;

	if (nr >= 0 && !task_sleeps(task) && flags == RECORD_OPEN_EARLY)
		flags |= RECORD_RESTARTS;
	if (flags == RECORD_OPEN_EARLY && task_is_outside(task)) {
		nr = task_forgotten_nr(task);
		flags = nr >= 0 ? RECORD_RESTARTS : 0;
	}
	record_start(task, ref, task->on_cpu, flags, nr, abi);
	ref_publish(ref, inherited & (TASK_TARGET | TASK_FOLLOW));
	record = ref->record ? record_find(ref->record) : NULL;
	if (record) {
		clock_recheck(task, record);
		/* What changed before it was counted told nobody. */
		if (task_is_member(task, ref))
			record_follow(record, task);
	}
	/* Gone before on_exit could know it? */
	if (task->flags & PF_EXITING)
		task_end(task, ref);
	return 0;
}
