/* SPDX-License-Identifier: BSD-2-Clause */
/* Walks through the arguments of a call; each kind of argument has a function. */
#include "calls/decode.h"

#include "base/text.h"
#include "calls/call.h"
#include "calls/choose.h"
#include "calls/kinds.h"
#include "calls/sets.h"
#include "calls/structures.h"

struct call_decoder {
	struct decode_options options;
	const struct flag_set *sets[NR_OWN_SET];
	/* The last number seen that is in no table. */
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
	ret->is_wait = !strcmp(ret->name, "wait4") || !strcmp(ret->name, "waitpid");
	ret->is_raw = options->raw && syscall_set_has(options->raw, abi, nr);
	ret->is_verbose = options->verbose && syscall_set_has(options->verbose, abi, nr);
}

/* A damaged record may have any. */
static enum syscall_abi abi_of(const struct call_record *record)
{
	return record->abi < NR_SYSCALL_ABI ? record->abi : ABI_X86_64;
}

static const struct call_shape *shape_of(struct call_decoder *decoder,
					 const struct call_record *record)
{
	enum syscall_abi abi = abi_of(record);
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

const struct flag_set *call_set(const struct call_decoder *decoder, enum own_set set)
{
	return decoder->sets[set];
}

struct fd_text call_fd_name(const struct call_decoder *decoder, const struct call_record *record,
			    int fd, bool is_made)
{
	const struct decode_options *options = &decoder->options;

	return options->fd_name ? options->fd_name(options->context, record, fd, is_made)
				: (struct fd_text){ .text = NULL };
}

/* --- the whole ---------------------------------------------------------------------------------- */

/* Whether the value that is shown as what the program passed needs a mark. */
static bool is_marked_late(const struct call *call, const struct argument *argument, size_t i)
{
	return !call->shape->is_raw && !argument->is_written && call_was_read_late(call, i) &&
	       !call_was_overwritten(call, argument, i);
}

/* The largest errno, and the codes for calls that begin again. */
#define ERRNO_MAX 4095

/* The error that a call has returned, positive; else 0. */
static int result_errno(const struct call_record *record)
{
	int64_t value = abi_has_32_bits(record->abi) ? (int32_t)record->result : record->result;

	return record->flags & CALL_RETURNED && value < 0 && value >= -ERRNO_MAX ? (int)-value : 0;
}

static void call_begin(struct call *call, struct call_decoder *decoder,
		       const struct call_record *record, struct value_writer *to)
{
	static const enum layout layouts[NR_SYSCALL_ABI] = {
		[ABI_X86_64] = LAYOUT_64, [ABI_I386] = LAYOUT_I386, [ABI_X32] = LAYOUT_X32,
		[ABI_ARM64] = LAYOUT_64,  [ABI_ARM] = LAYOUT_ARM,
	};

	call->fd_name = decoder->options.fd_name;
	call->context = decoder->options.context;
	call->data_bytes = decoder->options.data_bytes ?: SIZE_MAX;
	call->record = record;
	call->shape = shape_of(decoder, record);
	call->to = to;
	to->sets = decoder->sets;
	to->shows_names = to->style == STYLE_STRACE && !strcmp(call->shape->name, "clone");
	call->abi = abi_of(record);
	call->layout = layouts[call->abi];
	call->has_failed = !(record->flags & CALL_RETURNED) || result_errno(record) ||
			   (!record->result && call->shape->is_wait);
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
		to->ops->argument(to, argument, is_marked_late(&call, argument, i));
		call_put_value(&call, argument, i);
		to->ops->argument_end(to);
	}
}

/* --- results ------------------------------------------------------------------------------------ */

struct call_result call_result(struct call_decoder *decoder, const struct call_record *record)
{
	struct call_result result = {
		.kind = shape_of(decoder, record)->arguments->result,
		.has_returned = record->flags & CALL_RETURNED,
		.err = result_errno(record),
		.value = abi_has_32_bits(record->abi) ? (int32_t)record->result : record->result,
	};

	if (result.kind == RESULT_HEX && abi_has_32_bits(record->abi))
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
	if (!call_find_memory(&call, 0, PART_SELF, &memory) || memory.flags & PIECE_UNREADABLE)
		return false;
	structure_put_ready(&call, &memory);
	return true;
}

bool call_put_after(struct call_decoder *decoder, const struct call_record *record, size_t i,
		    struct value_writer *to)
{
	struct call_memory memory;
	struct call call;

	call_begin(&call, decoder, record, to);
	/* strace has no names there. */
	call.fd_name = NULL;
	return i < call.shape->arguments->count && call_find_after(&call, i, &memory) &&
	       structure_put(&call, &call.shape->arguments->arguments[i], i, &memory);
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
		      struct call_buffer *ret)
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
		     left && call_find_memory(&call, i, part, &ret->memory); part++) {
			ret->memory.size = min_u64(ret->memory.size, left);
			left -= ret->memory.size;
			if (!n--) {
				ret->argument = (unsigned int)i;
				ret->part = part;
				ret->more = is_one ? left : UINT64_MAX;
				return true;
			}
			if (is_one)
				break;
		}
	}
	return false;
}
