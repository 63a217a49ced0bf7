/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds what was read of a call's memory, and says so where nothing was. */
#include "calls/call.h"

#include <fcntl.h>

#include "base/text.h"

void call_put_address(const struct call *call, uint64_t address, const struct call_memory *memory)
{
	bool is_absent = address && memory && memory->flags & PIECE_UNREADABLE;

	call->to->ops->address(call->to, address, is_absent ? ADDRESS_ABSENT : ADDRESS_PLAIN);
}

bool call_find_memory(const struct call *call, size_t i, unsigned int part, struct call_memory *ret)
{
	return call->has_pieces && call_pieces_find(&call->pieces, i, part, ret);
}

bool call_find_after(const struct call *call, size_t i, struct call_memory *ret)
{
	return !call->has_failed && call_find_memory(call, i, PART_AFTER, ret) &&
	       !(ret->flags & PIECE_UNREADABLE);
}

bool call_was_read_late(const struct call *call, size_t i)
{
	struct call_memory memory;

	return (call_find_memory(call, i, PART_SELF, &memory) ||
		call_find_memory(call, i, PART_BUFFERS, &memory)) &&
	       (memory.flags & (PIECE_AT_EXIT | PIECE_UNREADABLE)) == PIECE_AT_EXIT;
}

bool call_was_overwritten(const struct call *call, const struct argument *argument, size_t i)
{
	return argument->is_changed && !call->has_failed && call_was_read_late(call, i);
}

static bool is_always_read(enum argument_kind kind)
{
	return kind == ARG_PATH || kind == ARG_STRING || kind == ARG_BUFFER || kind == ARG_IOVEC ||
	       kind == ARG_MSGHDR;
}

bool call_take_memory(const struct call *call, const struct argument *argument, size_t i,
		      unsigned int part, uint64_t address, struct call_memory *ret)
{
	bool is_expected = address && call->record->flags & CALL_TIMED && !argument->is_written;

	if (address && !(argument->is_written && call->has_failed) &&
	    call_find_memory(call, i, part, ret)) {
		if (!(ret->flags & PIECE_UNREADABLE))
			return true;
		call_put_address(call, address, ret);
		return false;
	}
	is_expected = is_expected && is_always_read(call->shape->arguments->arguments[i].kind);
	call->to->ops->address(call->to, address, is_expected ? ADDRESS_UNREAD : ADDRESS_PLAIN);
	return false;
}

void call_put_data(const struct call *call, const struct call_memory *memory, size_t length)
{
	size_t valid = min_u64(memory->size, length), shown = min_u64(valid, call->data_bytes);
	bool is_cut = length == SIZE_MAX ? memory->flags & PIECE_CUT : memory->size < length;

	call->to->ops->string(call->to, memory->bytes, shown, is_cut || shown < valid);
}

static uint64_t given_length(const struct call *call, const struct argument *argument)
{
	uint64_t length = call_argument(call, argument->length);

	return argument_length_is_32(call->shape->arguments, argument) ? (uint32_t)length : length;
}

size_t call_length(const struct call *call, const struct argument *argument)
{
	uint64_t length = SIZE_MAX;
	struct call_memory memory;

	switch (argument->length_kind) {
	case LENGTH_ARGUMENT:
		length = given_length(call, argument);
		break;
	case LENGTH_RESULT:
		length = call->record->result > 0 ? (uint64_t)call->record->result : 0;
		length = min_u64(length, given_length(call, argument));
		break;
	case LENGTH_FIXED:
		length = argument->length;
		break;
	case LENGTH_POINTED:
		if (call_find_memory(call, argument->length, PART_SELF, &memory) &&
		    memory.size >= 4)
			length = memory_word(memory.bytes, 4, false);
		/* How much there was, of which the kernel has written as much as there was room for. */
		if (call_find_memory(call, argument->length, PART_AFTER, &memory) &&
		    memory.size >= 4)
			length = min_u64(length, memory_word(memory.bytes, 4, false));
		break;
	default:
		break;
	}
	return length;
}

void call_put_fd(const struct call *call, int fd, enum fd_role role)
{
	bool is_cwd = role == FD_DIRECTORY && fd == AT_FDCWD;
	struct fd_text name = { .text = NULL };

	if (call->fd_name && (fd >= 0 || is_cwd))
		name = call->fd_name(call->context, call->record, fd, role == FD_MADE);
	call->to->ops->fd(call->to, fd, is_cwd ? "AT_FDCWD" : NULL, name);
}
