/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads what the arguments of a call point at, by the plan of its number, into the thread's open call.
 * What is not in memory is marked, and can be read again.
 */
#pragma once

#include "kernel_types.h"
#include <bpf/bpf_helpers.h>
#include "bpftruss/call_abi.h"
#include "arch.bpf.h"

const volatile bool shows_calls = false;

/* Calls that take longer than any before of their thread and kind are sent, and no others. */
const volatile bool sends_slowest = false;

/* A bit for each of the first 64 descriptors: their data is sent whole. */
const volatile __u64 whole_fds = 0;

struct call_ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, RING_BYTES_MIN);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, u32);
	__array(values, struct call_ring);
} call_rings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct open_call);
} open_calls SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, NR_SYSCALL_ABI * CALLS_INDEXED);
	__type(key, u32);
	__type(value, struct call_plan);
} call_plans SEC(".maps");

/* Never finds any, and so verifiers see no more, unless calls are sent. */
static __always_inline struct open_call *open_call_at(u32 index)
{
	return shows_calls || sends_slowest ? bpf_map_lookup_elem(&open_calls, &index) : NULL;
}

static __always_inline struct call_plan *call_plan_of(u16 abi, s32 nr)
{
	u32 key = CALL_PLAN(abi, (u32)nr);

	return (u32)nr < CALLS_INDEXED ? bpf_map_lookup_elem(&call_plans, &key) : NULL;
}

/* --- pieces ------------------------------------------------------------------------------------- */

/* A value of reading.is_string: the string is in the kernel's memory. */
#define IN_KERNEL 2

#define AT_FDCWD (-100)

/* Reads a string with its NUL. Returns its size without that, below 0 if it could not be read. */
static __always_inline long user_string_read(void *to, u32 room, u64 address)
{
	long got = bpf_probe_read_user_str(to, room, (const void *)address);

	/* Kernels before 6.16 do not count the NUL of an empty string. */
	return got > 0 ? got - 1 : got;
}

/* Reads a string, or its beginning. Returns its size, below 0 if it could not be read. */
static __always_inline long piece_read_string(const struct open_call *open,
					      struct call_piece *piece, u64 address, u32 *flags)
{
	u32 limit = open->reading.limit;
	/* One more than are kept, and the NUL: then a string is known to be longer. */
	u32 room = limit + 2;
	long got;

	/* Old verifiers must see the comparison of what is used. */
	barrier_var(room);
	if (room > MAX_FETCH)
		room = MAX_FETCH;
	got = open->reading.is_string == IN_KERNEL
		      ? bpf_probe_read_kernel_str(piece + 1, room, (const void *)address) - 1
		      : user_string_read(piece + 1, room, address);
	if (got <= (long)limit)
		return got;
	*flags |= PIECE_CUT;
	return limit;
}

/* Reads bytes, or the first of them, in the same way. */
static __always_inline long piece_read_bytes(const struct open_call *open, struct call_piece *piece,
					     u64 address, u32 size, u32 *flags)
{
	u32 limit = open->reading.limit, room = size < limit ? size : limit;

	if (room < size)
		*flags |= PIECE_CUT;
	barrier_var(room);
	if (room > MAX_FETCH)
		room = MAX_FETCH;
	return bpf_probe_read_user(piece + 1, room, (const void *)address) ? -1 : (long)room;
}

/*
 * Sends one record of the bytes behind a piece that open->reading describes, from an offset on. Returns 1 if that
 * was not possible: what is lost is missing where the buffer is shown. The stack of its callers has little room
 * for it.
 */
LOOKED_AT_ONCE int rest_send(u32 index, u32 offset)
{
	u32 cpu = bpf_get_smp_processor_id(), room;
	struct open_call *open = open_call_at(index);
	struct call_rest *rest;
	void *ring;

	/* Without calls that are sent there are no rings, either. */
	if (!open || !whole_fds)
		return 1;
	ring = bpf_map_lookup_elem(&call_rings, &cpu);
	if (!ring)
		return 1;
	rest = bpf_ringbuf_reserve(ring, sizeof(*rest), 0);
	if (!rest)
		return 1;
	room = open->reading.size - offset;
	__builtin_memset(&rest->call, 0, sizeof(rest->call));
	rest->call.size = sizeof(*rest);
	rest->call.flags = CALL_REST;
	rest->call.record = index;
	rest->call.arguments[0] = offset;
	/* When a call has ended, it has its number, and its times are set. */
	if (open->reading.flags & PIECE_AT_EXIT) {
		rest->call.number = open->number;
		rest->call.end_ns = open->call.end_ns;
	} else {
		rest->call.number = open->number + 1;
		rest->call.end_ns = bpf_ktime_get_ns();
	}
	__builtin_memset(&rest->piece, 0, sizeof(rest->piece));
	rest->piece.argument = open->reading.argument;
	rest->piece.part = open->reading.part;
	rest->piece.flags = room > REST_BYTES ? PIECE_CUT : 0;
	rest->piece.size = room > REST_BYTES ? REST_BYTES : room;
	barrier_var(room);
	if (room > REST_BYTES)
		room = REST_BYTES;
	if (bpf_probe_read_user(rest->bytes, room,
				(const void *)(open->reading.address + offset))) {
		bpf_ringbuf_discard(rest, BPF_RB_NO_WAKEUP);
		return 1;
	}
	bpf_ringbuf_submit(rest, BPF_RB_NO_WAKEUP);
	return 0;
}

static __always_inline void rests_send(struct open_call *open, u32 index, u32 part, u64 address,
				       u32 offset, u32 size)
{
	open->reading.part = part;
	open->reading.address = address;
	open->reading.size = size;
	for (u32 i = 0; i < MAX_RESTS && offset < open->reading.size; i++, offset += REST_BYTES) {
		if (rest_send(index, offset))
			break;
	}
}

/*
 * Appends what an address points at, as open->reading says. Returns 1 if it could not be read. Of the
 * functions that take no more than numbers verifiers look at each once.
 */
LOOKED_AT_ONCE int piece_add(u32 index, u32 part, u64 address, u32 size)
{
	struct open_call *open = open_call_at(index);
	struct call_piece *piece;
	u32 at, flags;
	long got;

	if (!open)
		return 0;
	at = open->used;
	flags = open->reading.flags;
	if (at > CALL_BYTES)
		return 0;
	piece = (struct call_piece *)&open->bytes[at];
	got = open->reading.is_string ? piece_read_string(open, piece, address, &flags)
				      : piece_read_bytes(open, piece, address, size, &flags);
	if (got < 0) {
		flags |= PIECE_UNREADABLE;
		open->reading.missing = address;
		got = 0;
	}
	piece->argument = open->reading.argument;
	piece->part = part;
	piece->flags = flags;
	piece->size = got;
	open->used = at + sizeof(*piece) + (((u32)got + 7) & ~7u);
	if (whole_fds && open->is_whole && !open->reading.is_string && flags & PIECE_CUT &&
	    !(flags & PIECE_UNREADABLE))
		rests_send(open, index, part, address, got, size);
	return !!(flags & PIECE_UNREADABLE);
}

/* A piece without bytes says that the part could not be read, or that there was more. */
static __always_inline void piece_mark(struct open_call *open, u32 part, u32 flags)
{
	struct call_piece *piece;
	u32 at = open->used;

	if (at > CALL_BYTES)
		return;
	piece = (struct call_piece *)&open->bytes[at];
	piece->argument = open->reading.argument;
	piece->part = part;
	piece->flags = open->reading.flags | flags;
	piece->size = 0;
	open->used = at + sizeof(*piece);
}

/* --- what an argument points at ----------------------------------------------------------------- */

/* The bytes of an address in memory. */
static __always_inline u32 abi_word(u16 abi)
{
	return abi == ABI_I386 || abi == ABI_ARM || abi == ABI_X32 ? 4 : 8;
}

/* Reads the address that stands there. */
static __always_inline long read_word(struct open_call *open, u64 address, u64 *ret)
{
	u32 size = open->reading.word == 4 ? 4 : 8;

	*ret = 0;
	if (!bpf_probe_read_user(ret, size, (const void *)address))
		return 0;
	open->reading.missing = address;
	return 1;
}

/* Reads the strings that an array of addresses names. */
LOOKED_AT_ONCE int fetch_strings(u32 index, u64 address)
{
	struct open_call *open = open_call_at(index);
	u32 flags = PIECE_CUT, failed = 0;
	u64 string;

	if (!open)
		return 0;
	open->reading.is_string = 1;
	for (u32 n = 0; n < CALL_STRINGS; n++) {
		flags = PIECE_UNREADABLE;
		if (read_word(open, address + n * open->reading.word, &string))
			break;
		flags = 0;
		if (!string)
			break;
		flags = PIECE_CUT;
		if (open->used > CALL_BYTES)
			break;
		failed |= piece_add(index, PART_BUFFERS + n, string, 0);
	}
	piece_mark(open, PART_SELF, flags);
	return failed | (flags == PIECE_UNREADABLE);
}

/* Reads the buffers of an array of struct iovec. */
static __always_inline int fetch_buffers(struct open_call *open, u32 index, u64 address)
{
	u32 failed = 0, word = open->reading.word;
	u64 base, size;

	for (u32 i = 0; i < CALL_BUFFERS; i++) {
		u64 at = address + i * 2 * word;

		if (i >= open->reading.count || !open->reading.left)
			break;
		if (read_word(open, at, &base) || read_word(open, at + word, &size))
			return 1;
		if (size > open->reading.left)
			size = open->reading.left;
		open->reading.left -= size;
		if (size > 0xffffffff)
			size = 0xffffffff;
		failed |= piece_add(index, PART_BUFFERS + i, base, size);
	}
	return failed;
}

/* Reads an array of struct iovec, and its buffers. */
LOOKED_AT_ONCE int fetch_iovec(u32 index, u32 part, u64 address, u64 count)
{
	struct open_call *open = open_call_at(index);
	u32 limit, element, failed;

	if (!open)
		return 0;
	limit = open->reading.limit;
	element = 2 * open->reading.word;
	open->reading.limit = CALL_BUFFERS * element;
	open->reading.count = count < 1024 ? count : 1024;
	failed = piece_add(index, part, address, open->reading.count * element);
	open->reading.limit = limit;
	return failed ?: fetch_buffers(open, index, address);
}

/* Offsets in a struct msghdr, by the size of an address. */
#define MSGHDR_IOVEC(word)   (2 * (word))
#define MSGHDR_CONTROL(word) (4 * (word))
#define MSGHDR_BYTES(word)   (7 * (word))
#define SOCKADDR_MAX         128
#define CONTROL_MAX          128

/* Reads msg_control. A function of its own, as the stack of the one that reads a message is full. */
LOOKED_AT_ONCE int fetch_control(u32 index, u64 address)
{
	struct open_call *open = open_call_at(index);
	u64 control, size;
	u32 word;

	if (!open)
		return 0;
	word = open->reading.word;
	if (read_word(open, address + MSGHDR_CONTROL(word), &control) ||
	    read_word(open, address + MSGHDR_CONTROL(word) + word, &size))
		return 1;
	open->reading.limit = CONTROL_MAX;
	return control && (u32)size ? piece_add(index, PART_CONTROL, control, (u32)size) : 0;
}

LOOKED_AT_ONCE int fetch_msghdr(u32 index, u64 address)
{
	struct open_call *open = open_call_at(index);
	u64 name, name_size, iovec, count;
	u32 limit, word;

	if (!open)
		return 0;
	limit = open->reading.limit;
	word = open->reading.word;
	open->reading.limit = MSGHDR_BYTES(8);
	if (piece_add(index, PART_SELF, address, MSGHDR_BYTES(word)) ||
	    read_word(open, address, &name) || read_word(open, address + word, &name_size) ||
	    read_word(open, address + MSGHDR_IOVEC(word), &iovec) ||
	    read_word(open, address + MSGHDR_IOVEC(word) + word, &count))
		return 1;
	open->reading.limit = SOCKADDR_MAX;
	if (name && (u32)name_size)
		piece_add(index, PART_NAME, name, (u32)name_size);
	fetch_control(index, address);
	open->reading.limit = limit;
	return iovec && count ? fetch_iovec(index, PART_IOVEC, iovec, count) : 0;
}

static __always_inline u64 open_argument(const struct open_call *open, u32 i)
{
	return i < CALL_ARGUMENTS ? open->call.arguments[i] : 0;
}

/* This keeps the product from overflowing. */
#define MOST_ELEMENTS (1UL << 40)

/* How many bytes a fetch that counts them is for. */
static __always_inline u64 fetch_size(const struct open_call *open, const struct call_fetch *fetch)
{
	u64 length = open_argument(open, fetch->length);
	u32 pointed = 0;

	if (fetch->length_is_32)
		length = (u32)length;
	switch (fetch->kind) {
	case FETCH_COUNTED:
		return fetch->unit * (length < MOST_ELEMENTS ? length : MOST_ELEMENTS);
	case FETCH_RETURNED:
		/* The result also counts what was left out of a message. */
		if (length > (u64)open->call.result)
			length = open->call.result;
		return fetch->unit * (length < MOST_ELEMENTS ? length : MOST_ELEMENTS);
	case FETCH_POINTED:
		bpf_probe_read_user(&pointed, sizeof(pointed), (const void *)length);
		return pointed;
	default:
		return fetch->unit;
	}
}

/* Reads what one argument points at. Returns 1 if some of it was not in memory. */
LOOKED_AT_ONCE int fetch_run(u32 index, u32 i, u32 flags)
{
	struct open_call *open = open_call_at(index);
	const struct call_fetch *fetch;
	struct call_plan *plan;
	u64 address, size;

	plan = open ? call_plan_of(open->call.abi, open->call.nr) : NULL;
	if (!open || !plan || i >= CALL_FETCHES)
		return 0;
	fetch = &plan->fetches[i];
	address = open_argument(open, fetch->argument);
	if (!address)
		return 0;
	open->reading.argument = fetch->argument;
	open->reading.flags = flags;
	open->reading.is_string = fetch->kind == FETCH_STRING;
	open->reading.limit = fetch->limit;
	open->reading.word = abi_word(open->call.abi);
	open->reading.left = fetch->at_exit ? open->call.result : ~0UL;
	switch (fetch->kind) {
	case FETCH_STRING:
		return piece_add(index, PART_SELF, address, 0);
	case FETCH_STRINGS:
		return fetch_strings(index, address);
	case FETCH_IOVEC:
		return fetch_iovec(index, PART_SELF, address, open_argument(open, fetch->length));
	case FETCH_MSGHDR:
		return fetch_msghdr(index, address);
	}
	size = fetch_size(open, fetch);
	if (size > 0xffffffff)
		size = 0xffffffff;
	return size ? piece_add(index, fetch->part, address, size) : 0;
}

/* Whether what an argument points at is read in this call: another one may decide. */
static __always_inline bool fetch_is_due(const struct open_call *open,
					 const struct call_fetch *fetch)
{
	u32 value;

	if (!fetch->when)
		return true;
	value = open_argument(open, fetch->which);
	return (value & ~63u) == fetch->base && fetch->when >> (value & 63) & 1;
}
