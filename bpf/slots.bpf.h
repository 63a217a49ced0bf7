/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the slots (one a task and system call), their tallies and the overflow rows. The slot of a
 * native call is found through its record; making one is rare and out of line.
 */
#pragma once

#include "kernel_types.h"
#include <bpf/bpf_helpers.h>
#include "bpftruss/abi.h"
#include "arch.bpf.h"
#include "losses.bpf.h"
#include "pool.bpf.h"
#include "records.bpf.h"

/* User space leaves no more than there are CPUs; it sets the masks that are not set here. */
const volatile struct overflow_sets overflow_sets[NR_SYSCALL_ABI] = {
	[NATIVE_ABI] = { .mask = MAX_NATIVE_SETS - 1 },
};

/* enum call_split: rows are split by this. */
const volatile __u32 split_by = SPLIT_NONE;

/* This many of the entries that are found by key are for calls that are not split. */
const volatile __u32 foreign_left = 0;

static __always_inline bool splits_by_argument(void)
{
	return split_by == SPLIT_PATH || split_by == SPLIT_FILE;
}

/* Only the calls marked here are asked for, or all; and of these only some may be shown. */
const volatile bool some_calls = false;
const volatile bool shows_some = false;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, NR_SYSCALL_ABI * CALLS_INDEXED);
	__type(key, u32);
	__type(value, u8);
} chosen_calls SEC(".maps");

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
	__uint(max_entries, DEFAULT_MAX_LINES);
	__type(key, u32);
	__type(value, struct hist_line);
} lines SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_STACK);
	__uint(max_entries, DEFAULT_MAX_LINES);
	__type(value, u32);
} returned_lines SEC(".maps");

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
	__uint(max_entries, OVERFLOW_ROWS);
	__type(key, u32);
	__type(value, struct overflow_row);
} overflow SEC(".maps");

static __always_inline struct call_slot *slot_at(u32 index)
{
	return bpf_map_lookup_elem(&slots, &index);
}

static __always_inline struct tally *tally_at(u32 index)
{
	return bpf_map_lookup_elem(&tallies, &index);
}

/* A call as the programs pass it around, beside its record. Without pointers, and without holes. */
struct call {
	u32 index; /* of the record */
	s32 nr;
	u16 abi;
	u16 is_split; /* 0 when its start was not seen, too */
	u32 slot;     /* index of its slot, once that is found */
	u64 split;
};

/* The open call of a record. Without extras no rows are split. */
static __always_inline struct call call_of(const struct task_record *record, u32 index,
					   const bool extras)
{
	struct call call = { .index = index, .nr = record->nr, .abi = record->abi };

	if (extras && split_by) {
		call.is_split = record->flags & RECORD_CALL_OPEN;
		call.split = record->split;
	}
	return call;
}

/* Numbers that have no place in the map have all marks: user space looks at these. */
static __always_inline bool call_is_marked(u16 abi, s32 nr, u8 mark)
{
	u32 key = abi * CALLS_INDEXED + (u32)nr;
	u8 *marked;

	if ((u32)nr >= CALLS_INDEXED)
		return true;
	marked = bpf_map_lookup_elem(&chosen_calls, &key);
	return marked && *marked & mark;
}

/* Whether a call is asked for. */
static __always_inline bool call_is_chosen(u16 abi, s32 nr)
{
	return !some_calls || call_is_marked(abi, nr, CALL_MARK_CHOSEN);
}

static __always_inline bool call_is_split(const struct call *call)
{
	if (!call->is_split || !split_by)
		return false;
	/* A call that has no such argument is in the row of its number. */
	if (splits_by_argument() && call->split == ARGUMENT_ABSENT)
		return false;
	return (u32)call->nr < CALLS_INDEXED && call_is_chosen(call->abi, call->nr);
}

static __always_inline bool call_is_stacked(u16 abi, s32 nr)
{
	return !some_calls || ((u32)nr < CALLS_INDEXED && call_is_chosen(abi, nr));
}

/* Puts a slot that is known by its key on the record's list; user space returned it zeroed. */
static __always_inline struct call_slot *slot_start(struct task_record *record, u32 index, u16 abi,
						    s32 nr)
{
	struct call_slot *slot = slot_at(index);

	if (!slot)
		return NULL;
	slot->nr = nr;
	slot->abi = abi;
	slot->share = record->share;
	slot->next = record->first_slot;
	stores_order();
	record->first_slot = index;
	return slot;
}

/* Puts a new tally on a slot's list. Returns its index; 0 when there is no room for it. */
static __always_inline u32 tally_start(struct call_slot *slot, u32 what, u64 count)
{
	u32 index = pool_take(&returned_tallies, POOL_TALLIES, slot->share);
	struct tally *tally = index ? tally_at(index) : NULL;

	if (!tally)
		return 0;
	tally->what = what;
	tally->count = count;
	tally->next = slot->first_tally;
	slot->first_tally = index;
	return index;
}

/*
 * Adds to a slot's tally, and makes it if there is none. Returns its index; 0 when there is no room
 * for a new one. Readers look at so many: a full list takes no more.
 */
LOOKED_AT_ONCE u32 slot_tally(struct call_slot *slot, u32 what, u32 count)
{
	struct tally *tally;
	u32 index;
	int i;

	if (!slot)
		return 0;
	index = slot->first_tally;
	for (i = 0; i < TALLIES_PER_SLOT && index; i++) {
		tally = tally_at(index);
		if (!tally)
			return 0;
		if (tally->what == what) {
			tally->count += count;
			return index;
		}
		index = tally->next;
	}
	return i < TALLIES_PER_SLOT ? tally_start(slot, what, count) : 0;
}

/* Gives a slot a line of its histogram; 0 when there is no room for it. */
LOOKED_AT_ONCE u32 slot_start_line(struct call_slot *slot, u32 at)
{
	u32 index;

	if (!slot || at >= HIST_LINES)
		return 0;
	index = pool_take(&returned_lines, POOL_LINES, slot->share);
	slot->lines[at] = index;
	return index;
}

/* The counter of a bucket, or NULL. */
static __always_inline u32 *slot_bucket(struct call_slot *slot, u32 bucket)
{
	u32 at = bucket / HIST_LINE_BUCKETS;
	struct hist_line *line;

	/* Else the compiler compares the bucket, and the verifier does not learn the limit of this. */
	barrier_var(at);
	if (at >= HIST_LINES)
		return NULL;
	if (!slot->lines[at] && !slot_start_line(slot, at))
		return NULL;
	line = bpf_map_lookup_elem(&lines, &slot->lines[at]);
	return line ? &line->buckets[bucket % HIST_LINE_BUCKETS] : NULL;
}

/* Takes back the only tally of a slot that could not be made findable, if it has one. */
static __always_inline void slot_drop_tally(struct call_slot *slot)
{
	u32 index = slot->first_tally;

	if (!index)
		return;
	slot->first_tally = 0;
	pool_return(&returned_tallies, POOL_TALLIES, slot->share, index);
}

/* Makes a slot that is found by its key; 0 when there is no room. */
static __always_inline u32 slot_start_foreign(struct task_record *record,
					      const struct foreign_key *key)
{
	struct call_slot *slot;
	u32 index;

	if (!share_has_room(record->share, POOL_SLOTS) ||
	    (key->is_split && pool_left(&pools[POOL_FOREIGN]) <= foreign_left) ||
	    !share_take(record->share, POOL_FOREIGN))
		return 0;
	index = pool_take(&returned_slots, POOL_SLOTS, record->share);
	slot = index ? slot_at(index) : NULL;
	if (!slot) {
		share_return(record->share, POOL_FOREIGN);
		return 0;
	}
	/* A tally is its owner's. */
	slot->share = record->share;
	/* The slot's key is found by this tally when it is freed. */
	if ((key->is_split && !tally_start(slot, TALLY_SPLIT, key->split)) ||
	    bpf_map_update_elem(&foreign_slots, key, &index, BPF_NOEXIST)) {
		slot_drop_tally(slot);
		pool_return(&returned_slots, POOL_SLOTS, record->share, index);
		share_return(record->share, POOL_FOREIGN);
		return 0;
	}
	return index;
}

/* The index of a slot that is found through the hash, made when new; 0 when there is no room. */
LOOKED_AT_ONCE u32 slot_find_foreign(struct task_record *record, const struct call *call, u32 split)
{
	struct foreign_key key = { 0 };
	u32 *found, index;
	bool unknown;

	if (!record || !call)
		return 0;
	key = (struct foreign_key){ call->index, call->abi, call->nr, split,
				    split ? call->split : 0 };
	unknown = (u32)call->nr >= CALLS_INDEXED;
	if (call_sets_user(call->abi, call->nr))
		record_follow_user(record);
	found = bpf_map_lookup_elem(&foreign_slots, &key);
	if (found)
		return *found;
	if ((unknown && record->unknown_slots >= UNKNOWN_SLOTS_PER_TASK) ||
	    (split && record->foreign_slots >= SPLIT_SLOTS_PER_TASK))
		return 0;
	index = slot_start_foreign(record, &key);
	if (!index)
		return 0;
	record->foreign_slots++;
	record->unknown_slots += unknown;
	slot_start(record, index, call->abi, call->nr);
	return index;
}

/* Works like slot_find_foreign() for a native call, which gets an ordinal while there are some. */
LOOKED_AT_ONCE u32 slot_start_indexed(struct task_record *record, const struct call *call)
{
	u32 ordinal, index;

	if (!record || !call || (u32)call->nr >= CALLS_INDEXED)
		return 0;
	ordinal = record->slot_of[0] + 1;
	if (ordinal > SLOTS_INDEXED)
		return slot_find_foreign(record, call, false);
	index = pool_take(&returned_slots, POOL_SLOTS, record->share);
	if (!index || !slot_start(record, index, NATIVE_ABI, call->nr))
		return 0;
	record->slot_of[ordinal & SLOTS_INDEXED] = index;
	record->slot_of[0] = ordinal;
	record->ordinal_of[(u32)call->nr & (CALLS_INDEXED - 1)] = ordinal;
	return index;
}

/* The index of the slot of a call, made when new; 0 when the tables are full. */
static __always_inline u32 slot_index(struct task_record *record, const struct call *call)
{
	u32 nr = call->nr, ordinal, index;

	if (call_is_split(call)) {
		index = slot_find_foreign(record, call, true);
		if (index)
			return index;
		loss_add(LOSS_SPLIT_TABLE_FULL);
	}
	if (call->abi != NATIVE_ABI || nr >= CALLS_INDEXED)
		return slot_find_foreign(record, call, false);
	ordinal = record->ordinal_of[nr];
	if (ordinal)
		return record->slot_of[ordinal & SLOTS_INDEXED];
	/* These have no ordinal, so that each of them comes here. */
	if (call_sets_user(NATIVE_ABI, call->nr))
		return slot_find_foreign(record, call, false);
	return slot_start_indexed(record, call);
}

static __always_inline struct call_slot *slot_find(struct task_record *record, struct call *call)
{
	struct call_slot *slot;

	call->slot = slot_index(record, call);
	slot = slot_at(call->slot);
	/* Element 0 is nobody's. */
	return call->slot ? slot : NULL;
}

/* Which table was too small for a call. */
static __always_inline enum loss call_slot_loss(const struct task_record *record,
						const struct call *call)
{
	bool indexed = call->abi == NATIVE_ABI && (u32)call->nr < CALLS_INDEXED &&
		       record->slot_of[0] < SLOTS_INDEXED;

	return indexed ? LOSS_SLOT_TABLE_FULL : LOSS_FOREIGN_TABLE_FULL;
}

/* The overflow row of a call: of all tasks on this CPU, and on those that share its set. */
static __always_inline struct overflow_row *overflow_row_find(u32 abi, s32 nr)
{
	u32 column = (u32)nr < CALLS_INDEXED ? (u32)nr : CALLS_INDEXED;
	const volatile struct overflow_sets *sets;
	u32 key;

	if (abi >= NR_SYSCALL_ABI)
		return NULL;
	sets = &overflow_sets[abi];
	key = (sets->first + (bpf_get_smp_processor_id() & sets->mask)) * OVERFLOW_ROWS + column;
	return bpf_map_lookup_elem(&overflow, &key);
}
