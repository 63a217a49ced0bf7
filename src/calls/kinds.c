/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes arguments: each kind has a function. */
#include "calls/kinds.h"

#include "base/text.h"
#include "calls/sets.h"
#include "calls/structures.h"

static void put_int(const struct call *call, const struct argument *argument, size_t i)
{
	(void)argument;
	call->to->ops->number(call->to, (int32_t)call_argument(call, i));
}

static void put_uint(const struct call *call, const struct argument *argument, size_t i)
{
	(void)argument;
	call->to->ops->natural(call->to, (uint32_t)call_argument(call, i));
}

static void put_long(const struct call *call, const struct argument *argument, size_t i)
{
	uint64_t value = call_argument(call, i);

	(void)argument;
	call->to->ops->number(call->to,
			      abi_has_32_bits(call->abi) ? (int32_t)value : (int64_t)value);
}

static void put_size(const struct call *call, const struct argument *argument, size_t i)
{
	(void)argument;
	call->to->ops->natural(call->to, call_argument(call, i));
}

/* Two registers make one number, the low one first. */
static void put_offset(const struct call *call, const struct argument *argument, size_t i)
{
	const struct call_arguments *all = call->shape->arguments;
	uint64_t value = call_argument(call, i);

	if (i + 1 < all->count && all->arguments[i + 1].kind == ARG_OFFSET_HIGH) {
		value = (uint32_t)value | call_argument(call, i + 1) << 32;
		call->to->ops->number(call->to, (int64_t)value);
		return;
	}
	put_long(call, argument, i);
}

static void put_hex(const struct call *call, const struct argument *argument, size_t i)
{
	uint64_t value = call_argument(call, i);

	(void)argument;
	value ? call->to->ops->hex(call->to, value) : call->to->ops->natural(call->to, 0);
}

static void put_address(const struct call *call, const struct argument *argument, size_t i)
{
	(void)argument;
	call_put_address(call, call_argument(call, i), NULL);
}

static void put_fd(const struct call *call, const struct argument *argument, size_t i)
{
	call_put_fd(call, (int)call_argument(call, i),
		    argument->kind == ARG_DIRFD ? FD_DIRECTORY : FD_USED);
}

static void put_string(const struct call *call, const struct argument *argument, size_t i)
{
	struct call_memory memory;

	if (call_take_memory(call, argument, i, PART_SELF, call_argument(call, i), &memory))
		call->to->ops->string(call->to, memory.bytes,
				      strnlen((const char *)memory.bytes, memory.size),
				      memory.flags & PIECE_CUT);
}

/* A list of texts ends with a piece of the array itself, which is cut if there were more. */
static void put_strings(const struct call *call, const struct argument *argument, size_t i)
{
	struct call_memory memory;
	uint64_t address = call_argument(call, i);
	struct value_writer *to = call->to;
	unsigned int n = 0;

	if (!call_find_memory(call, i, PART_BUFFERS, &memory) &&
	    !call_take_memory(call, argument, i, PART_SELF, address, &memory))
		return;
	to->ops->group(to, GROUP_LIST);
	for (; n < CALL_STRINGS && call_find_memory(call, i, PART_BUFFERS + n, &memory); n++) {
		/* The position is not known. */
		if (memory.flags & PIECE_UNREADABLE) {
			to->ops->more(to);
			continue;
		}
		to->ops->string(to, memory.bytes, strnlen((const char *)memory.bytes, memory.size),
				memory.flags & PIECE_CUT);
	}
	if (!call_find_memory(call, i, PART_SELF, &memory) ||
	    memory.flags & (PIECE_CUT | PIECE_UNREADABLE))
		to->ops->more(to);
	to->ops->group_end(to);
}

static void put_buffer(const struct call *call, const struct argument *argument, size_t i)
{
	size_t length = call_length(call, argument);
	struct call_memory memory;
	uint64_t address = call_argument(call, i);

	if (address && !length && !call->has_failed) {
		call->to->ops->string(call->to, "", 0, false);
		return;
	}
	if (!call_take_memory(call, argument, i, PART_SELF, address, &memory))
		return;
	call_put_data(call, &memory, length);
}

static void put_iovec(const struct call *call, const struct argument *argument, size_t i)
{
	struct call_memory memory;
	uint64_t bytes = UINT64_MAX;

	if (!call_take_memory(call, argument, i, PART_SELF, call_argument(call, i), &memory))
		return;
	/* Data that was not read is absent. */
	if (argument->is_written)
		bytes = call->record->result > 0 ? (uint64_t)call->record->result : 0;
	structure_put_iovec(call, argument, i, &memory, call_length(call, argument), bytes);
}

static void put_msghdr(const struct call *call, const struct argument *argument, size_t i)
{
	struct call_memory memory;

	if (call_take_memory(call, argument, i, PART_SELF, call_argument(call, i), &memory))
		structure_put_msghdr(call, argument, i, &memory);
}

/* strace has the ready descriptors of select() in its result. */
static void put_after(const struct call *call, const struct argument *argument, size_t i)
{
	bool is_in_result = call->to->style == STYLE_STRACE && !strcmp(argument->type, "fd_set");
	struct call_memory memory;

	if (is_in_result || !call_find_after(call, i, &memory))
		return;
	call->to->ops->after(call->to);
	structure_put(call, argument, i, &memory);
}

/* How much room there was and how much there was for it; strace says the latter only if it is another number. */
static bool put_lengths(const struct call *call, const struct argument *argument, size_t i,
			const struct call_memory *room)
{
	const struct value_writer_ops *ops = call->to->ops;
	struct call_memory length;
	uint64_t before, after;

	if (strcmp(argument->type, "socklen") || !call_find_after(call, i, &length) ||
	    room->size < 4 || length.size < 4)
		return false;
	before = memory_word(room->bytes, 4, false);
	after = memory_word(length.bytes, 4, false);
	if (before == after && call->to->style != STYLE_JSON)
		return structure_put(call, argument, i, room);
	if (call->to->style == STYLE_JSON)
		return false;
	ops->group(call->to, GROUP_LIST);
	ops->natural(call->to, before);
	ops->after(call->to);
	ops->natural(call->to, after);
	ops->group_end(call->to);
	return true;
}

/* Whether the kernel had no room for an address of a socket, or nobody knows how much it had. */
static bool lacks_room(const struct call *call, const struct argument *argument)
{
	return argument->length_kind == LENGTH_POINTED && !strcmp(argument->type, "sockaddr") &&
	       !call->has_failed &&
	       (call_was_read_late(call, argument->length) || call_length(call, argument) < 2);
}

static void put_struct(const struct call *call, const struct argument *argument, size_t i)
{
	struct call_memory memory;
	uint64_t address = call_argument(call, i);

	/* Nothing was to be read. */
	if (address && argument->length_kind == LENGTH_RESULT && !call->has_failed &&
	    !call_length(call, argument) && structure_is_known(call, argument->type)) {
		call->to->ops->group(call->to, GROUP_LIST);
		call->to->ops->group_end(call->to);
		return;
	}
	if (address && lacks_room(call, argument)) {
		call_put_address(call, address, NULL);
		return;
	}
	if (call_was_overwritten(call, argument, i)) {
		call_put_address(call, address, NULL);
		put_after(call, argument, i);
		return;
	}
	if (!call_take_memory(call, argument, i, PART_SELF, address, &memory))
		return;
	if (put_lengths(call, argument, i, &memory))
		return;
	if (!structure_put(call, argument, i, &memory))
		call_put_address(call, address, NULL);
	else
		put_after(call, argument, i);
}

static void put_flags(const struct call *call, const struct argument *argument, size_t i)
{
	set_put_flags(call->to, argument->set, call_argument(call, i));
}

static void put_enum(const struct call *call, const struct argument *argument, size_t i)
{
	set_put_enum(call->to, argument->set, call_argument(call, i));
}

static void put_mode(const struct call *call, const struct argument *argument, size_t i)
{
	(void)argument;
	/* Only mknod() has the type of the file in its mode. */
	set_put_mode(call->to, (uint16_t)call_argument(call, i), true);
}

static void put_signal(const struct call *call, const struct argument *argument, size_t i)
{
	(void)argument;
	set_put_signal(call->to, call_argument(call, i));
}

static void put_sigset(const struct call *call, const struct argument *argument, size_t i)
{
	struct call_memory memory;

	if (call_take_memory(call, argument, i, PART_SELF, call_argument(call, i), &memory))
		set_put_signals(call->to,
				memory_word(memory.bytes, min_u64(memory.size, 8), false));
}

static void put_dev(const struct call *call, const struct argument *argument, size_t i)
{
	(void)argument;
	set_put_device(call->to, (uint32_t)call_argument(call, i));
}

static void put_nothing(const struct call *call, const struct argument *argument, size_t i)
{
	(void)argument;
	put_hex(call, argument, i);
}

static void (*const puts_kind[NR_ARGUMENT_KIND])(const struct call *call,
						 const struct argument *argument, size_t i) = {
	[ARG_INT] = put_int,         [ARG_UINT] = put_uint,       [ARG_LONG] = put_long,
	[ARG_SIZE] = put_size,       [ARG_OFFSET] = put_offset,   [ARG_OFFSET_HIGH] = put_nothing,
	[ARG_HEX] = put_hex,         [ARG_ADDRESS] = put_address, [ARG_FD] = put_fd,
	[ARG_DIRFD] = put_fd,        [ARG_PATH] = put_string,     [ARG_STRING] = put_string,
	[ARG_STRINGS] = put_strings, [ARG_BUFFER] = put_buffer,   [ARG_IOVEC] = put_iovec,
	[ARG_MSGHDR] = put_msghdr,   [ARG_STRUCT] = put_struct,   [ARG_FLAGS] = put_flags,
	[ARG_ENUM] = put_enum,       [ARG_MODE] = put_mode,       [ARG_SIGNAL] = put_signal,
	[ARG_SIGSET] = put_sigset,   [ARG_PID] = put_int,         [ARG_UID] = put_int,
	[ARG_DEV] = put_dev,         [ARG_FUTEX] = put_address,   [ARG_MS] = put_int,
	[ARG_UNUSED] = put_nothing,
};

void call_put_value(const struct call *call, const struct argument *argument, size_t i)
{
	if (argument->kind < NR_ARGUMENT_KIND && puts_kind[argument->kind])
		puts_kind[argument->kind](call, argument, i);
	else
		put_hex(call, argument, i);
}
