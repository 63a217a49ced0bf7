/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The hot path: what one call adds to its slot, and to the task's time outside of calls.
 *
 * The advance of the task's CPU clock (clock.bpf.h) between enter and exit is the call's CPU time,
 * between exit and the next enter it is CPU time outside of calls. Wall time minus CPU time of a call
 * was spent off the CPU; of that, the growth of run_delay was spent waiting for one and the rest
 * asleep.
 *
 * Events of a task alternate: enter, exit, enter, exit. Everything else is "unusual", out of line,
 * and either explained (see call_end_unusual) or counted as a loss.
 */
#pragma once

#include "kernel_types.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include "bpftruss/abi.h"
#include "bpftruss/hist_bucket.h"
#include "arch.bpf.h"
#include "arguments.bpf.h"
#include "calls.bpf.h"
#include "control.bpf.h"
#include "losses.bpf.h"
#include "records.bpf.h"
#include "slots.bpf.h"
#include "stacks.bpf.h"

/* Faster calls are not counted at all. */
const volatile __u64 slower_than_ns = 0;

#define MAX_ERRNO             4095
#define SIGKILL               9
#define SIGSYS                31
#define ERESTARTSYS           512
#define ERESTART_RESTARTBLOCK 516

static __always_inline bool result_is_error(s64 result)
{
	return (u64)result >= (u64)-MAX_ERRNO;
}

/* Codes that the kernel turns into a restart or EINTR after sys_exit: neither success nor error. */
static __always_inline bool result_is_interrupted(s64 result)
{
	return result <= -ERESTARTSYS && result >= -ERESTART_RESTARTBLOCK && result != -515;
}

static __always_inline bool result_is_failure(s64 result)
{
	return result_is_error(result) && !result_is_interrupted(result);
}

/* Not a single cache line of a slot is shared between tasks, so plain arithmetic is exact. */
LOOKED_AT_ONCE int slot_count_error(struct call_slot *slot, s64 result)
{
	if (!slot)
		return 0;
	if (result_is_interrupted(result)) {
		slot->interrupted++;
	} else {
		slot->errors++;
		if (errnos_are_off())
			loss_add(LOSS_ERRNO_OFF);
		else if (!slot_tally(slot, -result, 1))
			loss_add(LOSS_ERRNO_TABLE_FULL);
	}
	return 0;
}

LOOKED_AT_ONCE int slot_carry_bucket(struct call_slot *slot, u32 bucket)
{
	if (slot && !slot_tally(slot, TALLY_WRAP + bucket, 1))
		loss_add(LOSS_BUCKET_WRAPPED);
	return 0;
}

static __always_inline void slot_count_result(struct call_slot *slot, s64 result)
{
	if (result_is_error(result))
		slot_count_error(slot, result);
	else if (result > 0)
		slot->result_sum += result;
}

/* Returns whether there was room for it. */
static __always_inline bool slot_count_time(struct call_slot *slot, u64 start, u64 wall, u64 off,
					    u64 runq)
{
	u32 bucket = hist_bucket(wall);
	u32 *count = slot_bucket(slot, bucket);

	if (!count) {
		loss_add(LOSS_HIST_TABLE_FULL);
		slot->untimed++;
		return false;
	}
	if (++*count == 0)
		slot_carry_bucket(slot, bucket);
	slot->wall_ns += wall;
	if (off) {
		slot->off_ns += off;
		slot->runq_ns += runq;
	}
	if (~wall > slot->min_inverted_ns)
		slot->min_inverted_ns = ~wall;
	if (wall > slot->max_ns) {
		slot->max_ns = wall;
		slot->max_start_ns = start;
	}
	return true;
}

/* A call that finds no slot: its number and outcome still count, its time and owner are lost. */
__noinline int overflow_count(u32 abi, s32 nr, s64 result, enum loss reason)
{
	struct overflow_row *row = overflow_row_find(abi, nr);

	loss_add(reason);
	if (!row)
		return 0;
	__sync_fetch_and_add(&row->calls, 1);
	if (result_is_error(result)) {
		if (result_is_interrupted(result))
			__sync_fetch_and_add(&row->interrupted, 1);
		else
			__sync_fetch_and_add(&row->errors, 1);
	}
	return 0;
}

static __always_inline bool call_is_shown(u16 abi, s32 nr)
{
	if (!shows_calls)
		return false;
	return shows_some ? call_is_marked(abi, nr, CALL_MARK_SHOWN) : call_is_chosen(abi, nr);
}

static __always_inline u64 record_stack(const struct task_record *record)
{
	return stacks ? record->stack_id : 0;
}

/* Clocks of two CPUs may differ, but no time is below 0. */
static __always_inline u64 time_since(u64 now, u64 start)
{
	u64 time = now - start;

	return (s64)time < 0 ? time_clamp() : time;
}

/*
 * Ends the call that a task was in when it was first counted, if there is one: adds the time since then to the
 * row of its number, where it stood in flight. Does so for the current task only, whose clocks are known.
 */
LOOKED_AT_ONCE int early_call_book(struct task_record *record, u32 index)
{
	struct call call = { .index = index };
	struct call_slot *slot;
	struct clocks clocks;

	if (!record || !RECORD_IN_EARLY_CALL(record) || record->task != (u64)current_task())
		return 0;
	/* Whoever reads it now finds it no longer in flight. */
	record->flags &= ~RECORD_OPEN_EARLY;
	stores_order();
	call.nr = record->nr;
	call.abi = record->abi;
	clocks = clocks_read(current_task(), record);
	slot = slot_find(record, &call);
	if (!slot)
		return 0;
	/* Its CPU clock began with the counting. */
	slot->early_off_ns += time_since(clocks.now, clocks.cpu);
	stores_order();
	slot->early_wall_ns += time_since(clocks.now, record->start_ns);
	return 0;
}

/* Adds a call without time to its slot. */
static __always_inline int call_book_untimed(struct task_record *record, struct call *call,
					     s64 result, u32 denied)
{
	struct call_slot *slot = slot_find(record, call);

	if (!slot)
		return overflow_count(call->abi, call->nr, result, call_slot_loss(record, call));
	slot->calls++;
	stores_order();
	slot->untimed++;
	if (denied)
		slot->denied++;
	slot_count_result(slot, result);
	if (stacks && call_is_stacked(call->abi, call->nr))
		slot_count_stack(slot, record, call, &(struct call_times){},
				 result_is_failure(result));
	stores_order();
	slot->settled = slot->calls;
	return 0;
}

/* A call whose start was not seen, or whose end never comes: counted, without time. */
LOOKED_AT_ONCE int call_count_untimed(struct task_record *record, struct call *call, s64 result,
				      u32 denied)
{
	if (slower_than_ns || !record || !call)
		return 0;
	/* Still open: its end was missed, and with it the result. */
	if (call_is_shown(call->abi, call->nr))
		call_show_untimed(record, call->index, result,
				  (record->flags & RECORD_CALL_OPEN ? 0 : CALL_RETURNED) |
					  (denied ? CALL_DENIED : 0),
				  record_stack(record));
	return call_book_untimed(record, call, result, denied);
}

LOOKED_AT_ONCE int call_count_no_return(struct task_record *record, struct call *call)
{
	struct call_slot *slot;

	if (slower_than_ns || !record || !call)
		return 0;
	if (call_is_shown(call->abi, call->nr) && record->flags & RECORD_CALL_OPEN)
		call_show_untimed(record, call->index, 0, 0, record_stack(record));
	else if (call_is_shown(call->abi, call->nr))
		call_lose(call->index);
	slot = slot_find(record, call);
	if (!slot)
		return overflow_count(call->abi, call->nr, 0, call_slot_loss(record, call));
	slot->calls++;
	stores_order();
	slot->no_return++;
	if (stacks && call_is_stacked(call->abi, call->nr)) {
		if (!record->stack_id && !stacks_are_off())
			record->stack_id = stack_none(WALK_END, STACK_KILLED);
		slot_count_stack(slot, record, call, &(struct call_times){}, false);
	}
	stores_order();
	slot->settled = slot->calls;
	return 0;
}

/*
 * Enter while the record is not simply between calls. Returns whether the call is to be opened;
 * may change its number.
 */
LOOKED_AT_ONCE u32 call_begin_unusual(struct task_record *record, struct call *call)
{
	struct call lost;
	u16 flags;

	if (!record || !call)
		return false;
	flags = record->flags;
	if (flags & RECORD_AWAIT_EXEC) {
		if (!call_is_exec(call->abi, call->nr))
			return false;
		/* Until here it was bpftruss. */
		clock_start(current_task(), record, true, bpf_ktime_get_ns());
		usage_copy(&record->usage_at_start, current_task());
	}
	/* If the end of what it was in was not seen, the time since its last event counts as outside. */
	user_clock_go(record);
	if (flags & RECORD_RESTARTS) {
		/* restart_syscall is the interrupted call going on. */
		if (call->nr == special_calls(call->abi)->restart && call->abi == record->abi)
			call->nr = record->nr;
		return true;
	}
	/* The task had left that call already, or waited in seccomp to enter it. */
	early_call_book(record, call->index);
	if (flags & RECORD_CALL_OPEN) {
		lost = call_of(record, call->index, true);
		loss_add(LOSS_EXIT_MISSED);
		call_count_untimed(record, &lost, 0, false);
	}
	return true;
}

/*
 * A call that nobody asked for costs no clock: its CPU time counts as that outside of calls. The first call
 * of a thread and whatever is unusual are counted, and left out by user space.
 */
static __always_inline bool call_leave_out(struct task_struct *task, struct task_record *record,
					   s32 nr)
{
	u16 abi;

	if (!some_calls || record->flags & ~RECORD_LEFT_OUT || !record->enter_ns)
		return false;
	abi = task_abi(task, &nr);
	record->flags = 0;
	if (call_is_chosen(abi, nr) || call_sets_user(abi, nr))
		return false;
	record->flags = RECORD_LEFT_OUT;
	return true;
}

/* The end of such a call. If restart_syscall goes on with it, that is none that was asked for either. */
static __always_inline bool call_was_left_out(struct task_struct *task, struct task_record *record,
					      struct pt_regs *regs, s64 result)
{
	if (!some_calls || record->flags != RECORD_LEFT_OUT)
		return false;
	record->flags = 0;
	/* rt_sigreturn has no result: see call_result(). */
	if (result == -ERESTART_RESTARTBLOCK && regs_nr(regs) != -1) {
		record->nr = regs_nr(regs);
		record->abi = task_abi(task, &record->nr);
		record->flags = RECORD_RESTARTS;
	}
	return true;
}

/* Says what rows are split by; nobody uses the answer where they are not split. */
static __always_inline u64 call_split(struct pt_regs *regs, u16 abi)
{
	return split_by == SPLIT_CPU ? bpf_get_smp_processor_id()
				     : regs_arg(regs, abi, split_by - SPLIT_ARG0);
}

static __always_inline void call_begin(struct task_struct *task, struct task_record *record,
				       u32 index, struct pt_regs *regs, s32 nr, const bool extras)
{
	u16 abi = task_abi(task, &nr);
	struct clocks clocks;

	if (record->flags) {
		struct call call = { .index = index, .nr = nr, .abi = abi };

		if (!call_begin_unusual(record, &call))
			return;
		nr = call.nr;
	}
	record->nr = nr;
	record->abi = abi;
	if (extras && stacks)
		record->stack_id = record->kernel_stack_id = 0;
	if (extras && split_by && !splits_by_argument())
		record->split = call_split(regs, abi);
	clocks = clocks_read(task, record);
	user_clock_stop(record, clocks.cpu);
	/* The time that this takes is nobody's. */
	if (extras && splits_by_argument()) {
		record->split = call_argument(index, regs, abi, nr, record->share);
		clocks = clocks_read(task, record);
		record->mark_cpu_ns = clocks.cpu;
	}
	record->enter_delay_ns = clocks.delay_ns;
	record->enter_ns = clocks.now;
	stores_order();
	record->flags = RECORD_CALL_OPEN;
}

/* A call that has just been opened begins now: what was done in between is nobody's. */
static __noinline int call_begin_later(struct task_record *record)
{
	struct clocks clocks = clocks_read(current_task(), record);

	if (record->flags != RECORD_CALL_OPEN)
		return 0;
	/* It may have waited for memory or a CPU in between. */
	record->enter_delay_ns = clocks.delay_ns;
	record->enter_ns = clocks.now;
	stores_order();
	record->mark_cpu_ns = clocks.cpu;
	if (stacks)
		record->kernel_stack_id = 0;
	return 0;
}

/*
 * Notes what a call that has just been opened is to be shown with. What may turn out to be the slowest is looked
 * at when it has, but for the calls whose end does not show it any more.
 */
static __always_inline void call_note_shown(struct task_record *record, u32 index,
					    struct pt_regs *regs)
{
	if (record->flags == RECORD_CALL_OPEN &&
	    (call_is_shown(record->abi, record->nr) ||
	     (sends_slowest && call_hides_caller(record->abi, record->nr))) &&
	    call_note(index, regs, record->abi, record->nr))
		call_begin_later(record);
}

/*
 * Seccomp has refused the call with SIGSYS, which it unblocks (a blocked one is somebody else's): the result is
 * a register's content. A process that is being killed does not get that signal any more.
 */
static __always_inline bool task_is_trapped(struct task_struct *task, struct pt_regs *regs,
					    s64 result)
{
	u64 sigsys = 1UL << (SIGSYS - 1), sigkill = 1UL << (SIGKILL - 1);
	u64 pending = task->pending.signal.sig[0];

	return ((pending & sigsys && !(task->blocked.sig[0] & sigsys)) || pending & sigkill) &&
	       regs_are_rolled_back(regs, result);
}

/*
 * The return of a fork in its child, which made no call itself. A thread that was found before its
 * first event may be such a child unless it slept; for any other, seccomp or a tracer made the 0.
 */
__noinline u32 exit_is_childs(u32 flags, s32 early_nr, u32 abi, s32 nr, s64 result)
{
	bool slept = !(flags & RECORD_RESTARTS) && early_nr >= 0;
	bool may_be = flags & RECORD_NEW_CHILD || (flags & RECORD_OPEN_EARLY && !slept);

	return ARCH_CHILD_RETURNS && result == 0 && may_be && call_makes_child(abi, nr);
}

/* Does what call_argument() does with a stack of its own: those of all functions on the way add up. */
static __noinline u64 call_argument_apart(u32 index, struct pt_regs *regs, u16 abi, s32 nr,
					  u32 share)
{
	return call_argument(index, regs, abi, nr, share);
}

/*
 * Exit without an enter. It is, in this order: bpftruss's own child before its execve; the exec
 * by which a process came to be chosen; the return of fork in a new child; the end of a call that
 * began before counting; or a call that never started, because seccomp refused it or a tracer
 * skipped it.
 */
static __noinline int call_end_unusual(struct task_struct *task, struct task_record *record,
				       u32 index, struct pt_regs *regs, s64 result)
{
	struct call call = { .index = index, .nr = regs_nr(regs) };
	u16 flags = record->flags;
	bool is_early = RECORD_IN_EARLY_CALL(record), is_trapped;
	u64 cpu;

	call.abi = task_abi(task, &call.nr);
	if (flags & RECORD_AWAIT_EXEC)
		return 0;
	/* It runs: a clock that still stands goes on. */
	cpu = cpu_clock(record);
	/* What came since that stopped was no user time: it was in the kernel, or its stack was walked. */
	if (record->user_clock & USER_STOPPED)
		record->mark_cpu_ns = cpu;
	stores_order();
	early_call_book(record, index);
	record->flags = 0;
	user_clock_go(record);
	if (flags & RECORD_SKIP_EXIT ||
	    exit_is_childs(flags, record->nr, call.abi, call.nr, result))
		return 0;
	/* rt_sigreturn has no result: see call_result(). */
	if (flags & RECORD_OPEN_EARLY && result == -ERESTART_RESTARTBLOCK && call.nr != -1) {
		record->nr = call.nr;
		record->abi = call.abi;
		record->flags = RECORD_RESTARTS;
	}
	/* What an exec pointed at has gone with the program before. */
	if (splits_by_argument() && !call_is_exec(call.abi, call.nr)) {
		call.split = call_argument_apart(index, regs, call.abi, call.nr, record->share);
		call.is_split = 1;
	}
	/* If it was found awake, this may be its next call. */
	is_trapped = !is_early && task_is_trapped(task, regs, result);
	return call_count_untimed(record, &call, is_trapped ? 0 : result,
				  is_trapped || !(flags & RECORD_OPEN_EARLY));
}

/* rt_sigreturn leaves -1 in the registers and the interrupted code's value as its result. */
static __always_inline s64 call_result(s32 nr, struct pt_regs *regs, s64 result)
{
	return result < 0 && nr != -1 && regs_nr(regs) == -1 ? 0 : result;
}

/* The stack of a call that ends, unless it was taken at its start; that is nobody's CPU time. */
static __always_inline void call_take_stack(struct task_record *record, struct pt_regs *regs)
{
	if (record->stack_id || !regs || stacks_are_off())
		return;
	record->stack_id = stack_of_regs(record, regs, WALK_EXIT, record->kernel_stack_id);
	record->mark_cpu_ns = cpu_clock(record);
	stores_order();
}

/* Takes the stack at the start of a call whose end will not show it any more. */
static __always_inline void call_take_hidden_stack(struct task_record *record, struct pt_regs *regs)
{
	if (call_hides_caller(record->abi, record->nr) && record->flags == RECORD_CALL_OPEN &&
	    !stacks_are_off() && call_is_stacked(record->abi, record->nr))
		record->stack_id = stack_of_regs(record, regs, WALK_ENTER, 0);
}

/* A path that was not in memory when the call began may be there now: the kernel has read it. */
static __always_inline void call_read_path_again(struct task_record *record, struct call *call)
{
	if (split_by != SPLIT_PATH || call->split != ARGUMENT_UNKNOWN ||
	    call_is_exec(call->abi, call->nr))
		return;
	call->split =
		argument_key(call->index, call_split_argument(call->abi, call->nr), record->share);
	record->mark_cpu_ns = cpu_clock(record);
	stores_order();
}

/*
 * Shows the call that has just ended, with what it points at by now. What that takes is nobody's CPU time. A
 * function of its own, as the next: on the way to a stack's frames there is no room for what they keep.
 */
static __noinline int call_show_whole(struct task_record *record, u32 index, s64 result)
{
	/* An exec that succeeded has replaced the memory that its arguments pointed at. */
	if (!call_is_exec(record->abi, record->nr) || result < 0)
		call_read_more(index, result);
	call_show(record, index, result);
	record->mark_cpu_ns = cpu_clock(record);
	stores_order();
	return 0;
}

/* Tells of a call that none of its slot was slower than, since user space has asked anew. */
static __noinline int call_tell_slowest(struct task_record *record, u32 index, struct pt_regs *regs,
					s64 result)
{
	/* A call whose end hides its caller was noted when it began. */
	if (!call_hides_caller(record->abi, record->nr)) {
		call_note_late(index, regs, record->abi, record->nr);
		call_read_more(index, result);
	}
	call_send_slowest(record, index, result);
	record->mark_cpu_ns = cpu_clock(record);
	stores_order();
	return 0;
}

/* Adds a call that has ended to its slot. Returns whether it is the slowest there, and that is to be told. */
static __always_inline int call_book(struct task_record *record, struct call *call, s64 result,
				     u64 wall, u64 off, u64 runq, const bool extras)
{
	struct call_slot *slot = slot_find(record, call);
	bool is_slowest;

	if (!slot)
		return overflow_count(call->abi, call->nr, result, call_slot_loss(record, call));
	slot->calls++;
	stores_order();
	is_slowest = extras && sends_slowest && wall > slot->told_ns;
	if (is_slowest)
		call_set_times(call->index, record->enter_ns + wall, wall, off, runq,
			       record_stack(record));
	if (!slot_count_time(slot, record->enter_ns, wall, off, runq)) {
		wall = off = runq = 0;
		is_slowest = false;
	}
	if (is_slowest)
		slot->told_ns = wall;
	slot_count_result(slot, result);
	if (extras && stacks && call_is_stacked(call->abi, call->nr))
		slot_count_stack(slot, record, call, &(struct call_times){ wall, off, runq },
				 result_is_failure(result));
	stores_order();
	slot->settled = slot->calls;
	return is_slowest;
}

/* Does the same for the verifier to look at once, where one more function call costs little. */
LOOKED_AT_ONCE int call_book_once(struct task_record *record, struct call *call, s64 result,
				  const struct call_times *times)
{
	if (!record || !call || !times)
		return 0;
	return call_book(record, call, result, times->wall_ns, times->off_ns, times->runq_ns, true);
}

/* Adds an open call that ends now to its slot. Without regs they are not those of its caller. */
static __always_inline void call_settle(struct task_struct *task, struct task_record *record,
					u32 index, s64 result, struct pt_regs *regs,
					const bool extras)
{
	struct call call = call_of(record, index, extras);
	struct clocks clocks = clocks_read(task, record);
	u64 wall = time_since(clocks.now, record->enter_ns);
	u64 off = wall - (clocks.cpu - record->mark_cpu_ns), runq = 0;
	int is_slowest;

	if (off) {
		if (off > wall) {
			time_clamp();
			off = wall;
		}
		runq = clocks.delay_ns - record->enter_delay_ns;
		if (runq > off)
			runq = off;
	}
	record->mark_cpu_ns = clocks.cpu;
	stores_order();
	record->flags = result == -ERESTART_RESTARTBLOCK ? RECORD_RESTARTS : 0;
	if (extras && wall < slower_than_ns) {
		if (call_sets_user(call.abi, call.nr))
			record_follow_user(record);
		return;
	}
	/* A call that hides its caller had its stack taken at its start, if there was room. */
	if (extras && stacks && call_is_stacked(call.abi, call.nr) &&
	    !call_hides_caller(call.abi, call.nr))
		call_take_stack(record, regs);
	if (extras && call_is_shown(call.abi, call.nr) &&
	    call_number(index, result, CALL_RETURNED | CALL_TIMED)) {
		call_set_times(index, clocks.now, wall, off, runq, record_stack(record));
		if (regs)
			call_show_whole(record, index, result);
		else
			call_show(record, index, result);
	}
	if (extras && regs)
		call_read_path_again(record, &call);
	is_slowest = regs ? call_book(record, &call, result, wall, off, runq, extras)
			  : call_book_once(record, &call, result,
					   &(struct call_times){ wall, off, runq });
	if (extras && sends_slowest && is_slowest && regs)
		call_tell_slowest(record, index, regs, result);
	else if (extras && sends_slowest && is_slowest)
		call_send_slowest(record, index, result);
}

/* Settles the open call of the current task, which executes another program: it has no stack by now. */
LOOKED_AT_ONCE int call_settle_exec(struct task_record *record, u32 index)
{
	if (record)
		call_settle(current_task(), record, index, 0, NULL, true);
	return 0;
}

/* Reads what a call points at whose start was not seen, so that it can be shown. */
static __noinline int call_note_unusual(struct task_struct *task, u32 index, struct pt_regs *regs,
					s64 result)
{
	s32 nr = regs_nr(regs);
	u16 abi = task_abi(task, &nr);

	if (!call_is_shown(abi, nr))
		return 0;
	call_note_late(index, regs, abi, nr);
	/* An exec that succeeded has replaced the memory that its arguments pointed at. */
	if (!call_is_exec(abi, nr) || result < 0)
		call_read_more(index, result);
	return 0;
}

/* Takes the stack of a call whose start was not seen. */
static __always_inline void
call_take_unusual_stack(struct task_struct *task, struct task_record *record, struct pt_regs *regs)
{
	s32 nr = regs_nr(regs);
	u16 abi = task_abi(task, &nr);

	record->stack_id = record->kernel_stack_id = 0;
	/* The time that it computed before is its own, and not that of the walk. */
	user_clock_stop(record, cpu_clock(record));
	if (!slower_than_ns && call_is_stacked(abi, nr))
		call_take_stack(record, regs);
}

static __always_inline void call_end(struct task_struct *task, struct task_record *record,
				     u32 index, struct pt_regs *regs, s64 result, const bool extras)
{
	if (record->flags == RECORD_CALL_OPEN) {
		call_settle(task, record, index, call_result(record->nr, regs, result), regs,
			    extras);
		user_clock_go(record);
		return;
	}
	if (extras && !(record->flags & (RECORD_AWAIT_EXEC | RECORD_SKIP_EXIT))) {
		if (stacks)
			call_take_unusual_stack(task, record, regs);
		if (shows_calls)
			call_note_unusual(task, index, regs, result);
	}
	call_end_unusual(task, record, index, regs, result);
}
