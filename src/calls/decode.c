/* SPDX-License-Identifier: BSD-2-Clause */
/* Walks through the arguments of a call, each kind of which has a function that says what it is. */
#include "calls/decode.h"

#include <fcntl.h>

#include "base/text.h"
#include "calls/call.h"
#include "calls/choose.h"
#include "calls/sets.h"
#include "calls/structures.h"

struct call_decoder {
	struct decode_options options;
	const struct flag_set *sets[NR_OWN_SET];
	/* Of numbers that are in no table the last that was seen. */
	struct call_shape odd;
	enum syscall_abi odd_abi;
	int odd_nr;
	struct call_shape shapes[NR_SYSCALL_ABI][CALLS_INDEXED];
};

int call_decoder_new(const struct decode_options *options, struct call_decoder **ret)
{
	struct call_decoder *decoder = calloc(1, sizeof(*decoder));

	if (!decoder)
		return -ENOMEM;
	decoder->options = *options;
	for (size_t i = 0; i < NR_OWN_SET; i++)
		decoder->sets[i] = own_set_find(i);
	*ret = decoder;
	return 0;
}

void call_decoder_free(struct call_decoder *decoder)
{
	free(decoder);
}

/* --- calls -------------------------------------------------------------------------------------- */

static void shape_fill(const struct decode_options *options, enum syscall_abi abi, int nr,
		       struct call_shape *ret)
{
	*ret = (struct call_shape){ .arguments = call_arguments(abi, nr) };
	syscall_name(abi, nr, ret->name, sizeof(ret->name));
	ret->name_length = strlen(ret->name);
	ret->choose = argument_chooser_find(ret->name);
	ret->is_raw = options->raw && syscall_set_has(options->raw, abi, nr);
	ret->is_verbose = options->verbose && syscall_set_has(options->verbose, abi, nr);
}

static const struct call_shape *shape_of(struct call_decoder *decoder,
					 const struct call_record *record)
{
	/* A damaged record may have any. */
	enum syscall_abi abi = record->abi < NR_SYSCALL_ABI ? record->abi : ABI_X86_64;
	bool is_indexed = record->nr >= 0 && record->nr < CALLS_INDEXED;
	struct call_shape *shape = is_indexed ? &decoder->shapes[abi][record->nr] : &decoder->odd;

	if (!is_indexed && (decoder->odd_abi != abi || decoder->odd_nr != record->nr))
		decoder->odd.arguments = NULL;
	if (!shape->arguments)
		shape_fill(&decoder->options, abi, record->nr, shape);
	decoder->odd_abi = is_indexed ? decoder->odd_abi : abi;
	decoder->odd_nr = is_indexed ? decoder->odd_nr : record->nr;
	return shape;
}

const char *call_name(struct call_decoder *decoder, const struct call_record *record,
		      size_t *ret_length)
{
	const struct call_shape *shape = shape_of(decoder, record);

	*ret_length = shape->name_length;
	return shape->name;
}

static bool has_32_bits(enum syscall_abi abi)
{
	return abi == ABI_I386 || abi == ABI_ARM;
}

const struct flag_set *call_set(const struct call_decoder *decoder, enum own_set set)
{
	return decoder->sets[set];
}

const char *call_fd_name(const struct call_decoder *decoder, const struct call_record *record,
			 int fd, bool is_made)
{
	const struct decode_options *options = &decoder->options;

	return options->fd_name ? options->fd_name(options->context, record, fd, is_made) : NULL;
}

/* --- memory ------------------------------------------------------------------------------------- */

void call_put_address(const struct call *call, uint64_t address, const struct call_memory *memory)
{
	bool is_absent = address && memory && memory->flags & PIECE_UNREADABLE;

	call->to->ops->address(call->to, address, is_absent ? ADDRESS_ABSENT : ADDRESS_PLAIN);
}

static bool find_memory(const struct call *call, size_t i, unsigned int part,
			struct call_memory *ret)
{
	return call->has_pieces && call_pieces_find(&call->pieces, i, part, ret);
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
	    find_memory(call, i, part, ret)) {
		if (!(ret->flags & PIECE_UNREADABLE))
			return true;
		call_put_address(call, address, ret);
		return false;
	}
	is_expected = is_expected && is_always_read(call->shape->arguments->arguments[i].kind);
	call->to->ops->address(call->to, address, is_expected ? ADDRESS_UNREAD : ADDRESS_PLAIN);
	return false;
}

size_t call_length(const struct call *call, const struct argument *argument)
{
	uint64_t length = SIZE_MAX;
	struct call_memory memory;

	switch (argument->length_kind) {
	case LENGTH_ARGUMENT:
		length = call_argument(call, argument->length);
		break;
	case LENGTH_RESULT:
		length = call->record->result > 0 ? (uint64_t)call->record->result : 0;
		length = min_u64(length, call_argument(call, argument->length));
		break;
	case LENGTH_FIXED:
		length = argument->length;
		break;
	case LENGTH_POINTED:
		if (find_memory(call, argument->length, PART_SELF, &memory) && memory.size >= 4)
			length = memory_word(memory.bytes, 4, false);
		break;
	default:
		break;
	}
	return length;
}

/* --- kinds of arguments ------------------------------------------------------------------------- */

void call_put_fd(const struct call *call, int fd, bool is_dirfd)
{
	bool is_cwd = is_dirfd && fd == AT_FDCWD;
	const char *name = fd >= 0 || is_cwd ? call_fd_name(call->decoder, call->record, fd, false)
				      : NULL;

	call->to->ops->fd(call->to, fd, is_cwd ? "AT_FDCWD" : NULL, name);
}

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
	call->to->ops->number(call->to, has_32_bits(call->record->abi) ? (int32_t)value
								       : (int64_t)value);
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
	call_put_fd(call, (int)call_argument(call, i), argument->kind == ARG_DIRFD);
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

	if (!find_memory(call, i, PART_BUFFERS, &memory) &&
	    !call_take_memory(call, argument, i, PART_SELF, address, &memory))
		return;
	to->ops->group(to, GROUP_LIST);
	for (; n < CALL_STRINGS && find_memory(call, i, PART_BUFFERS + n, &memory); n++) {
		/* Where it stands is not known. */
		if (memory.flags & PIECE_UNREADABLE) {
			to->ops->more(to);
			continue;
		}
		to->ops->string(to, memory.bytes,
				strnlen((const char *)memory.bytes, memory.size),
				memory.flags & PIECE_CUT);
	}
	if (!find_memory(call, i, PART_SELF, &memory) ||
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
	call->to->ops->string(call->to, memory.bytes, min_u64(memory.size, length),
			      memory.flags & PIECE_CUT ||
				      (length != SIZE_MAX && memory.size < length));
}

static void put_iovec(const struct call *call, const struct argument *argument, size_t i)
{
	struct call_memory memory;
	uint64_t bytes = UINT64_MAX;

	if (!call_take_memory(call, argument, i, PART_SELF, call_argument(call, i), &memory))
		return;
	/* What was not read is not there. */
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

static void put_struct(const struct call *call, const struct argument *argument, size_t i)
{
	struct call_memory memory;
	uint64_t address = call_argument(call, i);

	/* Nothing was to be read. */
	if (address && argument->length_kind == LENGTH_RESULT && !call->has_failed &&
	    !call_length(call, argument)) {
		call->to->ops->group(call->to, GROUP_LIST);
		call->to->ops->group_end(call->to);
		return;
	}
	if (call_take_memory(call, argument, i, PART_SELF, address, &memory) &&
	    !structure_put(call, argument, i, &memory))
		call_put_address(call, address, NULL);
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
	/* mknod() alone says what kind of file. */
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
	[ARG_INT] = put_int,         [ARG_UINT] = put_uint,
	[ARG_LONG] = put_long,       [ARG_SIZE] = put_size,
	[ARG_OFFSET] = put_offset,   [ARG_OFFSET_HIGH] = put_nothing,
	[ARG_HEX] = put_hex,         [ARG_ADDRESS] = put_address,
	[ARG_FD] = put_fd,           [ARG_DIRFD] = put_fd,
	[ARG_PATH] = put_string,     [ARG_STRING] = put_string,
	[ARG_STRINGS] = put_strings, [ARG_BUFFER] = put_buffer,
	[ARG_IOVEC] = put_iovec,     [ARG_MSGHDR] = put_msghdr,
	[ARG_STRUCT] = put_struct,   [ARG_FLAGS] = put_flags,
	[ARG_ENUM] = put_enum,       [ARG_MODE] = put_mode,
	[ARG_SIGNAL] = put_signal,   [ARG_SIGSET] = put_sigset,
	[ARG_PID] = put_int,         [ARG_UID] = put_int,
	[ARG_DEV] = put_dev,         [ARG_FUTEX] = put_address,
	[ARG_MS] = put_int,          [ARG_UNUSED] = put_nothing,
};

void call_put_value(const struct call *call, const struct argument *argument, size_t i)
{
	if (argument->kind < NR_ARGUMENT_KIND && puts_kind[argument->kind])
		puts_kind[argument->kind](call, argument, i);
	else
		put_hex(call, argument, i);
}

/* --- the whole ---------------------------------------------------------------------------------- */

/* Whether what the program passed was read when the call had ended. */
static bool was_read_late(const struct call *call, const struct argument *argument, size_t i)
{
	struct call_memory memory;

	return call->has_pieces && !argument->is_written &&
	       (find_memory(call, i, PART_SELF, &memory) ||
		find_memory(call, i, PART_BUFFERS, &memory)) &&
	       (memory.flags & (PIECE_AT_EXIT | PIECE_UNREADABLE)) == PIECE_AT_EXIT;
}

static void call_begin(struct call *call, struct call_decoder *decoder,
		       const struct call_record *record, struct value_writer *to)
{
	static const enum layout layouts[NR_SYSCALL_ABI] = {
		[ABI_X86_64] = LAYOUT_64, [ABI_I386] = LAYOUT_I386, [ABI_X32] = LAYOUT_X32,
		[ABI_ARM64] = LAYOUT_64,  [ABI_ARM] = LAYOUT_ARM,
	};

	call->decoder = decoder;
	call->record = record;
	call->shape = shape_of(decoder, record);
	call->to = to;
	to->sets = decoder->sets;
	to->shows_names = to->style == STYLE_STRACE && !strcmp(call->shape->name, "clone");
	call->layout = record->abi < NR_SYSCALL_ABI ? layouts[record->abi] : LAYOUT_64;
	call->has_failed = !(record->flags & CALL_RETURNED) || call_result_errno(record);
	call->has_pieces = record->size > sizeof(*record);
	if (call->has_pieces)
		call_pieces_read(record, &call->pieces);
}

static const struct argument *choose_argument(const struct call *call, size_t *i,
					      struct argument *scratch)
{
	const struct call_shape *shape = call->shape;

	if (!shape->is_raw && shape->choose)
		return shape->choose(call, i, scratch);
	if (!shape->is_raw)
		return &shape->arguments->arguments[*i];
	*scratch = (struct argument){ .kind = ARG_HEX };
	memcpy(scratch->name, shape->arguments->arguments[*i].name, sizeof(scratch->name));
	return scratch;
}

void call_decode(struct call_decoder *decoder, const struct call_record *record,
		 struct value_writer *to)
{
	const struct argument *argument;
	struct argument scratch;
	struct call call;

	call_begin(&call, decoder, record, to);
	for (size_t n = 0; n < call.shape->arguments->count; n++) {
		size_t i = n;

		argument = choose_argument(&call, &i, &scratch);
		if (!argument)
			break;
		if (argument->kind == ARG_OFFSET_HIGH || argument->kind == ARG_UNUSED)
			continue;
		to->ops->argument(to, argument, was_read_late(&call, argument, i));
		call_put_value(&call, argument, i);
		to->ops->argument_end(to);
	}
}

/* --- results ------------------------------------------------------------------------------------ */

/* The largest errno, and the codes for calls that begin again. */
#define ERRNO_MAX 4095

int call_result_errno(const struct call_record *record)
{
	int64_t value = has_32_bits(record->abi) ? (int32_t)record->result : record->result;

	return record->flags & CALL_RETURNED && value < 0 && value >= -ERRNO_MAX ? (int)-value : 0;
}

struct call_result call_result(struct call_decoder *decoder, const struct call_record *record)
{
	struct call_result result = {
		.kind = shape_of(decoder, record)->arguments->result,
		.has_returned = record->flags & CALL_RETURNED,
		.err = call_result_errno(record),
		.value = has_32_bits(record->abi) ? (int32_t)record->result : record->result,
	};

	if (result.kind == RESULT_HEX && has_32_bits(record->abi))
		result.value = (uint32_t)record->result;
	if (result.kind == RESULT_FD && result.value >= 0)
		result.fd_name = call_fd_name(decoder, record, (int)result.value, true);
	return result;
}

bool call_put_ready(struct call_decoder *decoder, const struct call_record *record,
		    struct value_writer *to)
{
	struct call_memory memory;
	struct call call;

	call_begin(&call, decoder, record, to);
	if (!find_memory(&call, 0, PART_SELF, &memory) || memory.flags & PIECE_UNREADABLE)
		return false;
	structure_put_ready(&call, &memory);
	return true;
}

/* How many bytes of an argument's buffers are valid. */
static uint64_t moved_bytes(const struct call *call, const struct argument *argument)
{
	int64_t result = call->record->result;

	if (argument->is_written)
		return call->has_failed || result < 0 ? 0 : (uint64_t)result;
	return argument->kind == ARG_BUFFER ? call_length(call, argument) : UINT64_MAX;
}

bool call_find_buffer(struct call_decoder *decoder, const struct call_record *record, size_t n,
		      struct call_memory *ret)
{
	struct value_writer nobody = { .style = STYLE_TRUSS };
	struct call call;

	call_begin(&call, decoder, record, &nobody);
	for (size_t i = 0; call.has_pieces && i < call.shape->arguments->count; i++) {
		const struct argument *argument = &call.shape->arguments->arguments[i];
		bool is_one = argument->kind == ARG_BUFFER;
		uint64_t left = moved_bytes(&call, argument);

		if (!is_one && argument->kind != ARG_IOVEC && argument->kind != ARG_MSGHDR)
			continue;
		for (unsigned int part = is_one ? PART_SELF : PART_BUFFERS;
		     left && find_memory(&call, i, part, ret); part++) {
			ret->size = min_u64(ret->size, left);
			left -= ret->size;
			if (!n--)
				return true;
			if (is_one)
				break;
		}
	}
	return false;
}
