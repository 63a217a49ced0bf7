/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the slots (one a task and system call), their tallies and the overflow rows. The slot of a
 * native call is found through its record; making one is rare and out of line.
 */
#ifndef BPFTRUSS_SLOTS_BPF_H
#define BPFTRUSS_SLOTS_BPF_H

#include "kernel_types.h"
#include <bpf/bpf_helpers.h>
#include "bpftruss/abi.h"
#include "arch.bpf.h"
#include "losses.bpf.h"
#include "pool.bpf.h"

const volatile __u32 max_slots = DEFAULT_MAX_SLOTS;
const volatile __u32 max_tallies = DEFAULT_MAX_TALLIES;

/* Slot of every other call: other ABIs, unknown numbers. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, DEFAULT_MAX_FOREIGN);
	__type(key, struct foreign_key);
	__type(value, u32);
} foreign_slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, DEFAULT_MAX_SLOTS);
	__type(key, u32);
	__type(value, struct call_slot);
} slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_STACK);
	__uint(max_entries, DEFAULT_MAX_SLOTS);
	__type(value, u32);
} returned_slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, DEFAULT_MAX_TALLIES);
	__type(key, u32);
	__type(value, struct tally);
} tallies SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_STACK);
	__uint(max_entries, DEFAULT_MAX_TALLIES);
	__type(value, u32);
} returned_tallies SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, NR_SYSCALL_ABI * OVERFLOW_ROWS_PER_ABI);
	__type(key, u32);
	__type(value, struct overflow_row);
} overflow SEC(".maps");

/* A call as the programs pass it around: whose, which. */
struct call {
	struct task_record *record;
	u32 index; /* of the record */
	s32 nr;
	u16 abi;
};

/* Puts a slot that is known by its key on the record's list; user space returned it zeroed. */
static __always_inline struct call_slot *slot_start(struct task_record *record, u32 index, u16 abi,
						    s32 nr)
{
	struct call_slot *slot = bpf_map_lookup_elem(&slots, &index);

	if (!slot)
		return NULL;
	slot->nr = nr;
	slot->abi = abi;
	slot->next = record->first_slot;
	record->first_slot = index;
	return slot;
}

static __noinline struct call_slot *slot_start_indexed(struct task_record *record, u32 nr)
{
	u32 index = pool_take(&returned_slots, &marks.slots, max_slots);

	if (!index || nr >= CALLS_INDEXED)
		return NULL;
	record->slot_of[nr] = index;
	return slot_start(record, index, NATIVE_ABI, nr);
}

static __noinline struct call_slot *slot_find_foreign(struct task_record *record, u32 record_index,
						      u16 abi, s32 nr)
{
	struct foreign_key key = { .record = record_index, .abi = abi, .nr = nr };
	u32 *found = bpf_map_lookup_elem(&foreign_slots, &key);
	u32 index;

	if (found) {
		index = *found;
		return bpf_map_lookup_elem(&slots, &index);
	}
	if (record->foreign_slots >= FOREIGN_SLOTS_PER_TASK)
		return NULL;
	index = pool_take(&returned_slots, &marks.slots, max_slots);
	if (!index)
		return NULL;
	if (bpf_map_update_elem(&foreign_slots, &key, &index, BPF_NOEXIST)) {
		bpf_map_push_elem(&returned_slots, &index, BPF_ANY);
		return NULL;
	}
	record->foreign_slots++;
	return slot_start(record, index, abi, nr);
}

/* The slot of a call, made when new; NULL when the tables are full. */
static __always_inline struct call_slot *slot_find(const struct call *call)
{
	u32 nr = call->nr, index;

	if (call->abi != NATIVE_ABI || nr >= CALLS_INDEXED)
		return slot_find_foreign(call->record, call->index, call->abi, call->nr);
	index = call->record->slot_of[nr];
	if (!index)
		return slot_start_indexed(call->record, nr);
	return bpf_map_lookup_elem(&slots, &index);
}

/* Adds one to a slot's tally; false when there is no room for a new one. */
static __noinline bool slot_tally(struct call_slot *slot, u32 what)
{
	struct tally *tally;
	u32 index = slot->first_tally;

	for (int i = 0; i < TALLIES_PER_SLOT; i++) {
		if (!index)
			break;
		tally = bpf_map_lookup_elem(&tallies, &index);
		if (!tally)
			return false;
		if (tally->what == what) {
			tally->count++;
			return true;
		}
		index = tally->next;
	}
	if (index)
		return false;
	index = pool_take(&returned_tallies, &marks.tallies, max_tallies);
	tally = index ? bpf_map_lookup_elem(&tallies, &index) : NULL;
	if (!tally)
		return false;
	tally->what = what;
	tally->count = 1;
	tally->next = slot->first_tally;
	slot->first_tally = index;
	return true;
}

/* The overflow row of a call: shared by all tasks, hence atomic. */
static __always_inline struct overflow_row *overflow_row_find(u16 abi, s32 nr)
{
	u32 column = (u32)nr < CALLS_INDEXED ? (u32)nr : CALLS_INDEXED;
	u32 key = abi * OVERFLOW_ROWS_PER_ABI + column;

	return bpf_map_lookup_elem(&overflow, &key);
}

#endif
