/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tasks that found no room for a record: the same pairing of enter and exit, kept in task storage,
 * counted by system call only.
 */
#pragma once

#include "account.bpf.h"

/*
 * A task that begins a call and has no record gets one if there is room by now, unless it still is to
 * be told how an earlier call went on. Returns its index, or 0.
 */
static __noinline u32 overflow_leave(struct task_struct *task, struct task_ref *ref)
{
	if (ref->state || !pool_left(&pools[POOL_RECORDS]))
		return 0;
	if (!ref->share)
		ref->share = task_share(task) + 1;
	if (!share_has_room(ref->share - 1, POOL_RECORDS))
		return 0;
	record_start(task, ref, true, 0, -1, NATIVE_ABI);
	return ref->record;
}

static __noinline int overflow_begin(struct task_struct *task, struct task_ref *ref, s32 nr)
{
	u16 abi = task_abi(task, &nr);

	if (ref->state & RECORD_AWAIT_EXEC && !call_is_exec(abi, nr))
		return 0;
	if (ref->state & RECORD_RESTARTS && nr == special_calls(abi)->restart && abi == ref->abi)
		nr = ref->nr;
	if (ref->state & RECORD_CALL_OPEN) {
		loss_add(LOSS_EXIT_MISSED);
		overflow_count(ref->abi, ref->nr, 0, LOSS_TASK_TABLE_FULL);
	}
	ref->nr = nr;
	ref->abi = abi;
	ref->state = RECORD_CALL_OPEN;
	return 0;
}

static __noinline int overflow_end(struct task_struct *task, struct task_ref *ref,
				   struct pt_regs *regs, s64 result)
{
	s32 nr = regs_nr(regs);
	u16 abi = task_abi(task, &nr);

	if (ref->state & RECORD_AWAIT_EXEC)
		return 0;
	if (ref->state & RECORD_SKIP_EXIT) {
		ref->state = 0;
		return 0;
	}
	if (ref->state & RECORD_CALL_OPEN) {
		result = call_result(ref->nr, regs, result);
		nr = ref->nr;
		abi = ref->abi;
	} else if (exit_is_childs(ref->state, ref->nr, abi, nr, result)) {
		ref->state = 0;
		return 0;
	} else if (task_is_trapped(task, regs, result)) {
		result = 0;
	}
	ref->state = result == -ERESTART_RESTARTBLOCK ? RECORD_RESTARTS : 0;
	return overflow_count(abi, nr, result, LOSS_TASK_TABLE_FULL);
}

static __always_inline void overflow_task_end(struct task_ref *ref)
{
	if (ref->state & RECORD_CALL_OPEN)
		overflow_count(ref->abi, ref->nr, 0, LOSS_TASK_TABLE_FULL);
}
