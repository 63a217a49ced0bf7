/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sends each call that has ended to user space, with what its arguments point at: one record a call, at
 * its end, in the ring of its CPU. Invariant: each call that is counted in a slot of a chosen call gets
 * the next number of its thread, and is sent, left out by a condition, or lost; each way is counted.
 *
 * Memory is read when the call begins, as the call may change it. What was not in memory then is read
 * again at the end: by then the kernel has touched it.
 */
#pragma once

#include "kernel_types.h"
#include <bpf/bpf_helpers.h>
#include "bpftruss/call_abi.h"
#include "arch.bpf.h"
#include "control.bpf.h"
#include "fetch.bpf.h"

/* Set by user space before the programs run. */
const volatile struct call_conditions conditions = {};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct call_totals);
} call_totals SEC(".maps");

/* --- the call ----------------------------------------------------------------------------------- */

/* Reads what a call's arguments point at. Returns whether there is anything. */
static __always_inline bool call_read(struct open_call *open, u32 index)
{
	struct call_plan *plan = call_plan_of(open->call.abi, open->call.nr);
	bool reads = false;

	open->used = 0;
	open->failed = 0;
	if (!plan)
		return false;
	for (u32 i = 0; i < CALL_FETCHES && i < plan->nr_fetches; i++) {
		if (plan->fetches[i].at_exit || !fetch_is_due(open, &plan->fetches[i]))
			continue;
		reads = true;
		if (fetch_run(index, i, 0))
			open->failed |= 1 << i;
	}
	return reads;
}

static __always_inline bool call_has_fd(const struct open_call *open)
{
	struct call_plan *plan = call_plan_of(open->call.abi, open->call.nr);

	for (u32 i = 0; plan && i < CALL_ARGUMENTS; i++) {
		if (plan->fd_arguments >> i & 1 && (s32)open->call.arguments[i] == conditions.fd)
			return true;
	}
	return false;
}

/* Whether one of its descriptors is among those whose data is sent whole. */
static __always_inline bool call_is_whole(const struct open_call *open)
{
	struct call_plan *plan = call_plan_of(open->call.abi, open->call.nr);

	for (u32 i = 0; plan && i < CALL_ARGUMENTS; i++) {
		u32 fd = open->call.arguments[i];

		if (plan->fd_arguments >> i & 1 && fd < 64 && whole_fds >> fd & 1)
			return true;
	}
	return false;
}

/* Notes what the registers hold when a call begins or ends. */
static __always_inline void call_note_registers(struct open_call *open, struct pt_regs *regs,
						u16 abi, s32 nr)
{
	regs_arguments(regs, abi, open->call.arguments);
	open->call.abi = abi;
	open->call.nr = nr;
	open->used = 0;
	if (conditions.only_fd)
		open->has_fd = call_has_fd(open);
	if (whole_fds)
		open->is_whole = call_is_whole(open);
}

/* A call begins: notes its arguments, and what they point at. Returns whether that took time. */
static __always_inline bool call_note(u32 index, struct pt_regs *regs, u16 abi, s32 nr)
{
	struct open_call *open = open_call_at(index);

	if (!open)
		return false;
	call_note_registers(open, regs, abi, nr);
	/* If the recorder is taken up again before it ends, it is one whose start was not seen. */
	if (calls_are_off()) {
		open->failed = ~0u;
		return false;
	}
	open->failed = 0;
	/* Nothing is read for a call that will be left out. */
	return (!conditions.only_fd || open->has_fd) && call_read(open, index);
}

/* The number of pages that are brought in for one call at most. */
#define MISSING_PAGES 16
#define PAGE_BYTES    4096

/* Lets the kernel bring in what was not in memory, and reads again. Only programs that may sleep can. */
static __always_inline void call_fault_in(struct open_call *open, u32 index)
{
	u8 byte;

	for (int i = 0; i < MISSING_PAGES && open->failed; i++) {
		u64 address = open->reading.missing;

		if (bpf_copy_from_user(&byte, 1, (const void *)address))
			return;
		/* A string may go on there. */
		bpf_copy_from_user(&byte, 1, (const void *)((address | (PAGE_BYTES - 1)) + 1));
		call_read(open, index);
	}
}

/*
 * The same at the end of a call whose start was not seen: nothing of it was read. A function of its own, as its
 * callers read what the arguments point at, for which the stack has little room.
 */
static __noinline int call_note_late(u32 index, struct pt_regs *regs, u16 abi, s32 nr)
{
	struct open_call *open = open_call_at(index);

	if (open) {
		call_note_registers(open, regs, abi, nr);
		open->failed = ~0u;
	}
	return 0;
}

/* Reads what the call has written, and what was not in memory when it began. */
LOOKED_AT_ONCE int call_read_more(u32 index, s64 result)
{
	struct open_call *open = open_call_at(index);
	struct call_plan *plan = open ? call_plan_of(open->call.abi, open->call.nr) : NULL;

	if (!plan)
		return 0;
	open->call.result = result;
	for (u32 i = 0; i < CALL_FETCHES && i < plan->nr_fetches; i++) {
		if ((plan->fetches[i].at_exit ? result >= 0 : open->failed >> i & 1) &&
		    fetch_is_due(open, &plan->fetches[i]))
			fetch_run(index, i, PIECE_AT_EXIT);
	}
	return 0;
}

/* The strings of a program that is executed, one behind the other, as the kernel has copied them. */
LOOKED_AT_ONCE int fetch_copied(u32 index, u64 address, u64 end)
{
	struct open_call *open = open_call_at(index);
	const struct call_piece *piece;
	u32 flags = PIECE_CUT, at;

	if (!open)
		return 0;
	for (u32 n = 0; n < CALL_STRINGS; n++) {
		flags = 0;
		if (address >= end)
			break;
		flags = PIECE_CUT;
		at = open->used;
		if (at > CALL_BYTES)
			break;
		flags = PIECE_UNREADABLE;
		if (piece_add(index, PART_BUFFERS + n, address, 0))
			break;
		/* After a string that was cut, the start of the next one is unknown. */
		flags = PIECE_CUT;
		piece = (const struct call_piece *)&open->bytes[at];
		if (piece->flags & PIECE_CUT)
			break;
		address += piece->size + 1;
	}
	piece_mark(open, PART_SELF, flags);
	return 0;
}

/* Whether the kernel calls a program as the caller did: execve(), or execveat() from the working directory. */
static __always_inline bool exec_names_program(const struct open_call *open, u32 path)
{
	return !path || (s32)open->call.arguments[0] == AT_FDCWD;
}

/*
 * Reads again what of an exec's strings was not in memory, and goes with the program before: by now the kernel
 * has copies. The path is argument `path`, argv and envp follow.
 */
LOOKED_AT_ONCE int call_read_exec(u32 index, u64 filename, u32 is_script)
{
	struct open_call *open = open_call_at(index);
	struct call_plan *plan = open ? call_plan_of(open->call.abi, open->call.nr) : NULL;
	struct mm_struct *mm = BPF_CORE_READ(current_task(), mm);
	u32 path;

	if (!plan || !mm || !plan->first_path)
		return 0;
	path = plan->first_path - 1;
	for (u32 i = 0; i < CALL_FETCHES && i < plan->nr_fetches; i++) {
		const struct call_fetch *fetch = &plan->fetches[i];

		if (!(open->failed >> i & 1))
			continue;
		open->reading.argument = fetch->argument;
		open->reading.flags = 0;
		open->reading.is_string = 1;
		open->reading.limit = fetch->limit;
		if (fetch->argument == path && exec_names_program(open, path)) {
			open->reading.is_string = IN_KERNEL;
			piece_add(index, PART_SELF, filename, 0);
		} else if (fetch->argument == path + 1 && !is_script) {
			fetch_copied(index, BPF_CORE_READ(mm, arg_start),
				     BPF_CORE_READ(mm, arg_end));
		} else if (fetch->argument == path + 2) {
			fetch_copied(index, BPF_CORE_READ(mm, env_start),
				     BPF_CORE_READ(mm, env_end));
		}
	}
	return 0;
}

/* Whether the path of a call begins as is asked for. */
LOOKED_AT_ONCE int call_has_path(u32 index)
{
	struct open_call *open = open_call_at(index);
	struct call_plan *plan = open ? call_plan_of(open->call.abi, open->call.nr) : NULL;
	u32 at = 0;

	if (!plan)
		return 0;
	for (u32 n = 0; n < 2 * CALL_FETCHES; n++) {
		const struct call_piece *piece;
		u32 i;

		if (at >= open->used || at > CALL_BYTES)
			return 0;
		piece = (const struct call_piece *)&open->bytes[at];
		at += sizeof(*piece) + ((piece->size + 7) & ~7u);
		if (!(plan->path_arguments >> (piece->argument & 7) & 1) ||
		    piece->part != PART_SELF)
			continue;
		for (i = 0; i < PATH_PREFIX_MAX && i < conditions.path_size; i++) {
			if (((const u8 *)(piece + 1))[i] != conditions.path[i])
				break;
		}
		if (i >= conditions.path_size && piece->size >= conditions.path_size)
			return 1;
	}
	return 0;
}

static __always_inline bool call_has_error(s64 result)
{
	u64 error = -result;

	if (!error || error > 4095)
		return false;
	return conditions.errnos[error / 64 & 63] >> error % 64 & 1;
}

static __always_inline bool call_has_succeeded(s64 result, u32 flags)
{
	return flags & CALL_RETURNED && (u64)result < (u64)-4095;
}

static __always_inline void calls_add(u64 *sum)
{
	__sync_fetch_and_add(sum, 1);
}

/* A condition leaves the call out. */
static __noinline int call_leave(struct open_call *open)
{
	u32 zero = 0;
	struct call_totals *totals = bpf_map_lookup_elem(&call_totals, &zero);

	open->left_out++;
	if (totals)
		calls_add(&totals->left_out);
	return 0;
}

/*
 * Numbers a call that has ended, with these call_flags. Returns whether it may be sent, as far as its
 * memory does not matter: then there is more to be stated of it.
 */
LOOKED_AT_ONCE u32 call_number(u32 index, s64 result, u32 flags)
{
	struct open_call *open = open_call_at(index);

	if (!open)
		return 0;
	open->number++;
	if (!calls_are_off() && (!conditions.only_failed || call_has_error(result)) &&
	    (!conditions.only_succeeded || call_has_succeeded(result, flags)) &&
	    (!conditions.only_fd || open->has_fd))
		return 1;
	call_leave(open);
	return 0;
}

/* Sends what open->call says, if its path is one that is asked for. */
LOOKED_AT_ONCE int call_send(u32 index)
{
	u32 zero = 0, cpu = bpf_get_smp_processor_id(), used;
	struct open_call *open = open_call_at(index);
	struct call_totals *totals;
	void *ring;

	if (!open)
		return 0;
	if (conditions.path_size && !call_has_path(index))
		return call_leave(open);
	totals = bpf_map_lookup_elem(&call_totals, &zero);
	ring = bpf_map_lookup_elem(&call_rings, &cpu);
	used = open->used;
	if (!totals || used > sizeof(open->bytes))
		return 0;
	open->call.size = sizeof(open->call) + used;
	if (!ring ||
	    bpf_ringbuf_output(ring, &open->call, sizeof(open->call) + used, BPF_RB_NO_WAKEUP))
		calls_add(&totals->lost);
	else
		calls_add(&totals->sent);
	return 0;
}

/* The times of a call that has ended and whose start was seen, and its stack. */
static __always_inline void call_set_times(u32 index, u64 end_ns, u64 wall, u64 off, u64 runq,
					   u64 stack_id)
{
	struct open_call *open = open_call_at(index);

	if (!open)
		return;
	open->call.end_ns = end_ns;
	open->call.wall_ns = wall;
	open->call.off_ns = off;
	open->call.runq_ns = runq;
	open->call.stack_id = stack_id;
}

/* Says what else is known of a call when it ends. */
static __always_inline void call_state(struct open_call *open, const struct task_record *record,
				       u32 index, s64 result, u32 flags)
{
	open->call.number = open->number;
	open->call.left_out = open->left_out;
	open->call.record = index;
	open->call.flags = flags;
	open->call.pid = record->pid;
	open->call.tid = record->tid;
	__builtin_memcpy(open->call.comm, record->comm, sizeof(open->call.comm));
	open->call.result = result;
}

/* Shows a call that call_number() lets through and whose times are set, with what was read so far. */
LOOKED_AT_ONCE int call_show(struct task_record *record, u32 index, s64 result)
{
	struct open_call *open = open_call_at(index);

	if (!open || !record)
		return 0;
	call_state(open, record, index, result, CALL_RETURNED | CALL_TIMED);
	return call_send(index);
}

/* Numbers a call of which no times are known, and shows it. */
LOOKED_AT_ONCE int call_show_untimed(struct task_record *record, u32 index, s64 result, u32 flags,
				     u64 stack_id)
{
	struct open_call *open = open_call_at(index);

	if (!open || !record || !call_number(index, result, flags))
		return 0;
	call_state(open, record, index, result, flags);
	call_set_times(index, bpf_ktime_get_ns(), 0, 0, 0, stack_id);
	return call_send(index);
}

/* A call began before its thread was counted and never returns: nothing is known of it that could be shown. */
LOOKED_AT_ONCE int call_lose(u32 index)
{
	u32 zero = 0;
	struct open_call *open = open_call_at(index);
	struct call_totals *totals;

	if (!open)
		return 0;
	open->number++;
	/* It has neither failed nor succeeded. */
	if (conditions.only_failed || conditions.only_succeeded)
		return call_leave(open);
	totals = bpf_map_lookup_elem(&call_totals, &zero);
	if (totals)
		calls_add(&totals->lost);
	return 0;
}

/* The inode of an open file of this task; 0: there is none. */
static __always_inline u64 fd_inode(u32 fd)
{
	struct task_struct *task = current_task();
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file *file = NULL;

	if (!table || fd >= BPF_CORE_READ(table, max_fds))
		return 0;
	bpf_probe_read_kernel(&file, sizeof(file), BPF_CORE_READ(table, fd) + fd);
	return file ? BPF_CORE_READ(file, f_inode, i_ino) : 0;
}

/* Notes by which a file can be known again that a call was about. */
LOOKED_AT_ONCE int call_note_inode(u32 index)
{
	struct open_call *open = open_call_at(index);
	struct call_plan *plan = open ? call_plan_of(open->call.abi, open->call.nr) : NULL;

	if (!plan)
		return 0;
	for (u32 i = 0; i < CALL_ARGUMENTS; i++) {
		s32 fd = open->call.arguments[i];

		if (plan->fd_arguments >> i & 1 && fd >= 0) {
			open->call.inode = fd_inode(fd);
			break;
		}
	}
	return 0;
}

/* Sends a call that took longer than any before, with what was read of it. */
LOOKED_AT_ONCE int call_send_slowest(struct task_record *record, u32 index, s64 result)
{
	struct open_call *open = open_call_at(index);

	if (!open || !record)
		return 0;
	call_state(open, record, index, result, CALL_RETURNED | CALL_TIMED | CALL_SLOWEST);
	open->call.number = open->call.inode = 0;
	call_note_inode(index);
	return call_send(index);
}

/* A thread begins to be counted: its calls are numbered from 1. */
static __always_inline void calls_begin(u32 index)
{
	struct open_call *open = open_call_at(index);

	if (open)
		open->number = open->left_out = 0;
}

/* A process was made: it begins with its maker's descriptors, and may have used them before the fork returns. */
static __always_inline void calls_note_parent(u32 index, u32 parent)
{
	struct open_call *open = open_call_at(index);

	if (open)
		open->left_out = (u64)parent << CALL_PARENT_SHIFT;
}
