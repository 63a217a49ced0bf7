/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the counting of stacks: which stack a call has, told to user space once by its frames, and
 * how often each slot's calls had it. Every call of a slot is in exactly one of its entries, or
 * among those that found no room.
 */
#pragma once

#include "kernel_types.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include "bpftruss/abi.h"
#include "bpftruss/stack_abi.h"
#include "arch.bpf.h"
#include "records.bpf.h"
#include "slots.bpf.h"
#include "unwind.bpf.h"

const volatile bool kernel_stacks = false;

/* Ids that user space has the frames of. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u64);
	__type(value, u8);
} stacks_sent SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct stack_key);
	__type(value, u32);
} stack_index SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct stack_entry);
} stack_entries SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_STACK);
	__uint(max_entries, 1);
	__type(value, u32);
} returned_stacks SEC(".maps");

/* No number is reused, so that what a cache holds for a layout stays right. */
struct {
	__u32 last;
} layouts __attribute__((aligned(64))) SEC(".data.layouts");

static __always_inline u32 layout_new(void)
{
	return __sync_add_and_fetch(&layouts.last, 1);
}

static __always_inline u32 task_exec_pages(struct task_struct *task)
{
	struct mm_struct *mm = task->mm;

	return mm->exec_vm;
}

/* --- which stack ------------------------------------------------------------------------------ */

/* A place beyond the end becomes the last one: without a branch, which the verifier would follow. */
static __always_inline u64 address_limit(u64 address)
{
	u64 beyond = address / FRAME_ADDRESS_END;

	barrier_var(beyond);
	return (address | -(-beyond >> 63)) & (FRAME_ADDRESS_END - 1);
}

/* The same by the kernel, which knows its architecture. */
static __noinline int walk_frame_pointers(struct task_struct *task, struct walk *walk)
{
	struct stack_event *event = &walk->event;
	long size =
		bpf_get_task_stack(task, event->frames, sizeof(event->frames), BPF_F_USER_STACK);

	for (u32 i = 0; i < MAX_FRAMES; i++) {
		if (i * (long)sizeof(u64) >= size)
			break;
		walk_add_frame(walk, i, FRAME_RAW | address_limit(event->frames[i]));
	}
	return 0;
}

/* An id of 0 means none, or that there is no room for another. */
static __always_inline u64 walk_id(const struct walk *walk, u64 process)
{
	u64 id = walk->hash ^ walk->end * 0xff51afd7ed558ccd;

	if (walk->raw)
		id ^= process * 0xc4ceb9fe1a85ec53;
	/* The same addresses may be other code by then. */
	if (walk->raw & RAW_IN_LAYOUT)
		id ^= walk->event.process.layout * 0x9e3779b97f4a7c15;
	id ^= id >> 33;
	id *= 0xff51afd7ed558ccd;
	id ^= id >> 33;
	return id ?: 1;
}

/* Asks the map only about ids that are not among those of this CPU. */
static __always_inline bool stack_is_sent(struct walk *walk, u64 id)
{
	u64 *met = &walk->sent[id & (SENT_IDS - 1)];

	if (*met == id)
		return true;
	if (!bpf_map_lookup_elem(&stacks_sent, &id))
		return false;
	*met = id;
	return true;
}

/* Sends the frames of a stack that is new. Returns whether it may be counted. */
LOOKED_AT_ONCE u32 stack_send(struct walk *walk, u64 id, u64 kernel)
{
	u64 size = offsetof(struct stack_event, frames);
	struct stack_event *event;
	u32 n, share;
	u8 sent = 1;

	if (!stacks || !walk)
		return false;
	event = &walk->event;
	n = walk->nr_frames;
	share = task_share(current_task());
	if (!share_take(share, POOL_SENT))
		return false;
	event->id = id;
	event->kernel = kernel;
	event->end = walk->end;
	if (n > MAX_FRAMES)
		n = MAX_FRAMES;
	/* Else the compiler computes with a copy, whose limit the verifier does not learn. */
	barrier_var(n);
	event->nr_frames = n;
	size += n * sizeof(u64);
	/*
	 * Without room now it is tried again when it comes again. Up to 6.3 the upper half of what an update returns
	 * means nothing.
	 */
	if (bpf_ringbuf_output(&stack_events, event, size, 0) ||
	    (int)bpf_map_update_elem(&stacks_sent, &id, &sent, BPF_NOEXIST))
		share_return(share, POOL_SENT);
	return true;
}

/* Addresses mean something to this process only, until it executes another program. */
static __always_inline u64 process_hash(struct task_struct *task)
{
	return task->group_leader->start_boottime ^ task->mm->start_stack << 8 ^
	       (u64)task->tgid << 40;
}

/* Tells user space which process a stack is of; the id has needed the layout before. */
static __always_inline void stack_describe(struct task_struct *task, struct stack_event *event)
{
	struct task_struct *shown = task_with_memory(task);
	struct mm_struct *mm = task->mm;

	event->uid = bpf_get_current_uid_gid();
	event->exec_pages = mm->exec_vm;
	event->process.pid = pid_here(shown, shown->pid);
	event->process.started_ns = shown->start_boottime;
	event->process.stack_start = mm->start_stack;
}

/* A task that shares the memory without being a thread maps files without our hearing of it. */
static __always_inline bool memory_is_shared(struct task_struct *task)
{
	struct signal_struct *signal = task->signal;
	struct mm_struct *mm = task->mm;

	return mm->mm_users.counter > signal->nr_threads;
}

/* A function of its own, as what it keeps would count for the walk, too. */
static __noinline u64 stack_identify(struct task_struct *task, struct walk *walk, u32 layout,
				     u64 kernel)
{
	u64 id;

	walk->hash ^= kernel;
	walk->event.process.layout = layout;
	id = walk_id(walk, walk->raw ? process_hash(task) : 0);
	if (stack_is_sent(walk, id))
		return id;
	stack_describe(task, &walk->event);
	return stack_send(walk, id, kernel) ? id : 0;
}

/* The id of the stack that these registers are on, 0 if there is no room for another. */
LOOKED_AT_ONCE u64 stack_take(const struct user_regs *regs, struct stack_bounds *bounds, u32 use,
			      u64 kernel)
{
	struct task_struct *task = current_task();
	struct task_ref *leader = task_ref_get(task->group_leader);
	struct walk_context context = {};
	struct walk *walk;

	if (!stacks)
		return 0;
	context.walk = walk = walk_start(use, 0x243f6a8885a308d3);
	context.cache = bpf_map_lookup_elem(&unwind_cache, &use);
	if (!regs || !bounds || !walk || !context.cache)
		return 0;
	walk->regs = *regs;
	if (leader && !leader->layout) {
		leader->exec_pages = task_exec_pages(task);
		leader->layout = layout_new();
	}
	if (leader && !memory_is_shared(task))
		walk->layout = leader->layout;
	else
		walk->layout = 0;
	if (tables_can_be_walked()) {
		walk_find_stack(walk, task, bounds);
		bpf_loop(MAX_FRAMES + 1, walk_step, &context, 0);
		*bounds = walk->stack;
	} else {
		walk->end = STACK_NO_RULE;
		walk->raw = RAW_IN_LAYOUT;
		walk_frame_pointers(task, walk);
	}
	return stack_identify(task, walk, leader ? leader->layout : 0, kernel);
}

/* Returns the id for a call without a stack, 0 if there is no room for another. */
LOOKED_AT_ONCE u64 stack_none(u32 use, enum stack_end end)
{
	struct walk *walk;
	u64 id;

	if (!stacks)
		return 0;
	walk = walk_start(use, 0);
	if (!walk)
		return 0;
	walk->end = end;
	id = walk_id(walk, 0);
	return stack_is_sent(walk, id) || stack_send(walk, id, 0) ? id : 0;
}

static __always_inline u64 stack_of_regs(struct task_record *record, struct pt_regs *regs, u32 use,
					 u64 kernel)
{
	struct user_regs user = regs_to_walk(regs);

	if (!regs_are_64_bit(regs))
		return stack_none(use, STACK_32_BIT);
	return stack_take(&user, &record->stack, use, kernel);
}

/* The kernel stack of the current task, which goes to sleep; 0 if there is no room for another. */
static __noinline u64 kernel_stack_take(void *ctx)
{
	struct walk *walk = walk_start(WALK_SWITCH, 0x13198a2e03707344);
	long size;
	u64 id;

	if (!walk)
		return 0;
	size = bpf_get_stack(ctx, walk->event.frames, sizeof(walk->event.frames), 0);
	for (u32 i = 0; i < MAX_FRAMES; i++) {
		if (i * (long)sizeof(u64) >= size)
			break;
		walk_add_frame(walk, i, walk->event.frames[i]);
	}
	id = walk_id(walk, 0);
	return stack_is_sent(walk, id) || stack_send(walk, id, id) ? id : 0;
}

/* --- how often -------------------------------------------------------------------------------- */

/* Makes the entry of a slot and a stack; NULL when there is no room. */
static __noinline struct stack_entry *stack_entry_start(struct call_slot *slot,
							const struct stack_key *key)
{
	u32 index = pool_take(&returned_stacks, POOL_STACKS, slot->share);
	struct stack_entry *entry = index ? bpf_map_lookup_elem(&stack_entries, &index) : NULL;
	struct tally *head;
	u32 tally;

	if (!entry)
		return NULL;
	/* The newest is the first. */
	tally = slot_tally(slot, TALLY_STACKS, 0);
	head = tally ? tally_at(tally) : NULL;
	if (!head || bpf_map_update_elem(&stack_index, key, &index, BPF_NOEXIST)) {
		pool_return(&returned_stacks, POOL_STACKS, slot->share, index);
		return NULL;
	}
	entry->id = key->id;
	entry->slot = key->slot;
	entry->next = head->count;
	head->count = index;
	return entry;
}

static __noinline struct stack_entry *stack_entry_find(struct call_slot *slot, u32 slot_index,
						       u64 id)
{
	struct stack_key key = { .id = id, .slot = slot_index };
	u32 *found = bpf_map_lookup_elem(&stack_index, &key);
	u32 index;

	if (!found)
		return stack_entry_start(slot, &key);
	index = *found;
	return bpf_map_lookup_elem(&stack_entries, &index);
}

/* The times of one call. */
struct call_times {
	u64 wall_ns, off_ns, runq_ns;
};

LOOKED_AT_ONCE int slot_count_stack(struct call_slot *slot, struct task_record *record,
				    const struct call *call, const struct call_times *times,
				    u32 errors)
{
	struct stack_entry *entry;
	u64 id;

	if (!stacks || !slot || !record || !call || !times)
		return 0;
	id = record->stack_id;
	record->stack_id = 0;
	entry = id ? stack_entry_find(slot, call->slot, id) : NULL;
	if (!entry) {
		if (!slot_tally(slot, TALLY_NO_STACK, 1))
			loss_add(LOSS_STACK_TABLE_FULL);
		return 0;
	}
	entry->calls++;
	entry->errors += errors;
	entry->wall_ns += times->wall_ns;
	entry->off_ns += times->off_ns;
	entry->runq_ns += times->runq_ns;
	if (times->wall_ns > entry->max_ns)
		entry->max_ns = times->wall_ns;
	return 0;
}

/* --- which text is mapped where --------------------------------------------------------------- */

#define PROT_EXEC 4

/* Any call of another ABI may do the same. */
static __always_inline bool call_maps_memory(u16 abi, s32 nr)
{
	return abi != NATIVE_ABI || nr == NR_REMAP_FILE_PAGES || nr == NR_MMAP ||
	       nr == NR_MPROTECT || nr == NR_MUNMAP || nr == NR_MREMAP || nr == NR_SHMAT ||
	       nr == NR_SHMDT || nr == NR_PKEY_MPROTECT;
}

static long mapping_is_exec(struct task_struct *task, struct vm_area_struct *vma, bool *exec)
{
	*exec = vma->vm_flags & VM_EXEC;
	return 0;
}

/* A call that has ended and may have put other code where there was some. */
struct mapping_change {
	s64 result;
	u64 arg0, arg2;
	s32 nr;
	u32 abi;
};

/* Whether it did. */
static __always_inline bool call_moved_code(struct task_struct *task,
					    const struct mapping_change *call)
{
	bool exec = false;

	if (call->abi != NATIVE_ABI || call->nr == NR_REMAP_FILE_PAGES)
		return true;
	if (call->nr == NR_MMAP || call->nr == NR_MPROTECT || call->nr == NR_PKEY_MPROTECT)
		return call->arg2 & PROT_EXEC;
	if (call->nr != NR_MREMAP || call->result <= 0)
		return false;
	/* Without a look at what was moved, it may have been code. */
	if (!tables_can_be_walked())
		return (u64)call->result != call->arg0;
	bpf_find_vma(task, call->result, mapping_is_exec, &exec, 0);
	return exec;
}

/* Once a process's text has moved, what is cached for its layout is not for it any more. */
LOOKED_AT_ONCE int layout_check(const struct mapping_change *call)
{
	struct task_struct *task = current_task();
	struct task_ref *leader;
	u32 pages;

	if (!stacks || !call)
		return 0;
	leader = task_ref_look_up(task->group_leader);
	if (!leader || !leader->layout)
		return 0;
	pages = task_exec_pages(task);
	if (leader->exec_pages == pages && !call_moved_code(task, call))
		return 0;
	leader->exec_pages = pages;
	leader->layout = layout_new();
	if (call->result > 0 && tables_can_be_walked())
		table_foresee(call->result);
	return 0;
}

static __always_inline void layout_follow(struct task_struct *task, struct pt_regs *regs,
					  s64 result)
{
	s32 nr = regs_nr(regs);
	u16 abi = task_abi(task, &nr);

	if (call_maps_memory(abi, nr))
		layout_check(&(struct mapping_change){ result, regs_arg0(regs, NATIVE_ABI),
						       regs_arg2(regs), nr, abi });
}

/* A child begins with its parent's text. */
static __always_inline void layout_inherit(struct task_struct *parent, struct task_ref *child)
{
	struct task_ref *leader = task_ref_get(parent->group_leader);

	if (!leader)
		return;
	child->layout = leader->layout;
	child->exec_pages = leader->exec_pages;
}

/* An exec: all text is new. */
static __always_inline void layout_forget(struct task_struct *task)
{
	struct task_ref *leader = task_ref_get(task->group_leader);

	if (!leader)
		return;
	leader->layout = 0;
	if (tables_can_be_walked() && leader->flags & TASK_COUNTED)
		table_foresee(task->mm->start_code);
}
