/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes calls as JSON: the operations of a writer of values, and what is around the arguments. */
#include "json/call.h"

#include "base/text.h"
#include "calls/truss.h"
#include "json/json.h"
#include "model/label.h"
#include "syscalls/names.h"

#define GROUPS_MAX 8

struct call_writer {
	struct value_writer base;
	struct json_writer *to;
	const char *field; /* key of the next value; NULL in a list */
	bool is_pointer;   /* the argument is an address of something */
	bool is_cut, is_outermost;
	size_t depth;
	enum group_kind groups[GROUPS_MAX];
};

static struct call_writer *writer_of(struct value_writer *to)
{
	return (struct call_writer *)to;
}

/* --- arguments ---------------------------------------------------------------------------------- */

static const char *const kinds[NR_ARGUMENT_KIND] = {
	[ARG_INT] = "int",         [ARG_UINT] = "uint",       [ARG_LONG] = "int",
	[ARG_SIZE] = "uint",       [ARG_OFFSET] = "int",      [ARG_OFFSET_HIGH] = "uint",
	[ARG_HEX] = "bits",        [ARG_ADDRESS] = "address", [ARG_FD] = "fd",
	[ARG_DIRFD] = "fd",        [ARG_PATH] = "path",       [ARG_STRING] = "string",
	[ARG_STRINGS] = "strings", [ARG_BUFFER] = "data",     [ARG_IOVEC] = "iovec",
	[ARG_MSGHDR] = "msghdr",   [ARG_STRUCT] = "struct",   [ARG_FLAGS] = "flags",
	[ARG_ENUM] = "enum",       [ARG_MODE] = "mode",       [ARG_SIGNAL] = "signal",
	[ARG_SIGSET] = "sigset",   [ARG_PID] = "pid",         [ARG_UID] = "uid",
	[ARG_DEV] = "device",      [ARG_FUTEX] = "address",   [ARG_MS] = "ms",
	[ARG_UNUSED] = "bits",
};

static void put_argument(struct value_writer *to, const struct argument *argument,
			 bool was_read_late)
{
	struct call_writer *writer = writer_of(to);

	json_put_object(writer->to, NULL);
	json_put_word(writer->to, "name", argument->name);
	json_put_word(writer->to, "kind",
		      argument->kind == ARG_STRUCT ? argument->type : kinds[argument->kind]);
	if (was_read_late)
		json_put_word(writer->to, "read", "after");
	writer->field = "value";
	writer->is_outermost = true;
	writer->is_pointer = argument->kind != ARG_ADDRESS && argument->kind != ARG_FUTEX;
	writer->is_cut = false;
}

static void put_argument_end(struct value_writer *to)
{
	struct call_writer *writer = writer_of(to);

	if (writer->is_cut)
		json_put_bool(writer->to, "cut", true);
	json_put_end(writer->to);
}

/* --- values ------------------------------------------------------------------------------------- */

static void put_number(struct value_writer *to, int64_t value)
{
	json_put_number(writer_of(to)->to, writer_of(to)->field, (uint64_t)value);
}

static void put_natural(struct value_writer *to, uint64_t value)
{
	json_put_natural(writer_of(to)->to, writer_of(to)->field, value);
}

/* Within a group a number and its meaning are an object. */
static void put_symbol(struct value_writer *to, const char *text, size_t length, uint64_t value)
{
	struct call_writer *writer = writer_of(to);

	if (writer->depth && writer->groups[writer->depth - 1] >= GROUP_SET) {
		json_put_data(writer->to, NULL, text, length);
		return;
	}
	if (!writer->is_outermost)
		json_put_object(writer->to, writer->field);
	json_put_natural(writer->to, "value", value);
	json_put_data(writer->to, "text", text, length);
	if (!writer->is_outermost)
		json_put_end(writer->to);
}

static void put_string(struct value_writer *to, const void *bytes, size_t size, bool is_cut)
{
	struct call_writer *writer = writer_of(to);

	json_put_data(writer->to, writer->field, bytes, size);
	writer->is_cut |= is_cut;
}

static void put_fd(struct value_writer *to, int fd, const char *word, struct fd_text name)
{
	struct call_writer *writer = writer_of(to);

	put_number(to, fd);
	if (writer->is_outermost && word)
		json_put_word(writer->to, "text", word);
	if (writer->is_outermost && name.text)
		json_put_text(writer->to, "is", name.text);
	if (writer->is_outermost && name.text && name.is_late)
		json_put_word(writer->to, "found", "after");
}

static void put_address(struct value_writer *to, uint64_t address, enum address_state state)
{
	struct call_writer *writer = writer_of(to);
	bool is_instead = writer->is_outermost && writer->is_pointer;

	if (address && !is_instead)
		json_put_natural(writer->to, writer->field, address);
	else
		json_put_null(writer->to, writer->field);
	if (address && is_instead)
		json_put_natural(writer->to, "address", address);
	if (writer->is_outermost && state != ADDRESS_PLAIN)
		json_put_word(writer->to, "missing",
			      state == ADDRESS_ABSENT ? "not in memory" : "not read");
}

static void put_after(struct value_writer *to)
{
	writer_of(to)->field = "after";
	writer_of(to)->is_outermost = true;
}

/* --- groups ------------------------------------------------------------------------------------- */

static void put_group(struct value_writer *to, enum group_kind kind)
{
	struct call_writer *writer = writer_of(to);

	if (kind == GROUP_STRUCT) {
		json_put_object(writer->to, writer->field);
	} else if (kind == GROUP_OTHERS) {
		json_put_object(writer->to, writer->field);
		json_put_list(writer->to, "all_but");
	} else {
		json_put_list(writer->to, writer->field);
	}
	writer->groups[writer->depth++] = kind;
	writer->field = NULL;
	writer->is_outermost = false;
}

static void put_field(struct value_writer *to, const char *name)
{
	writer_of(to)->field = name;
}

static void put_more(struct value_writer *to)
{
	writer_of(to)->is_cut = true;
}

static void put_group_end(struct value_writer *to)
{
	struct call_writer *writer = writer_of(to);

	json_put_end(writer->to);
	if (writer->groups[--writer->depth] == GROUP_OTHERS)
		json_put_end(writer->to);
	/* Values in a list have no keys; in a structure, put_field() sets the next key. */
	writer->field = NULL;
}

static const struct value_writer_ops ops = {
	.argument = put_argument,
	.argument_end = put_argument_end,
	.number = put_number,
	.natural = put_natural,
	.hex = put_natural,
	.symbol = put_symbol,
	.string = put_string,
	.fd = put_fd,
	.address = put_address,
	.after = put_after,
	.group = put_group,
	.field = put_field,
	.more = put_more,
	.group_end = put_group_end,
};

/* --- calls -------------------------------------------------------------------------------------- */

static void put_result(struct json_writer *to, struct call_decoder *decoder,
		       const struct call_record *record)
{
	struct call_result result = call_result(decoder, record);
	char label[ERRNO_LABEL_MAX];

	json_put_number_if(to, "result", result.has_returned, (uint64_t)result.value);
	if (result.fd_name.text)
		json_put_text(to, "result_is", result.fd_name.text);
	if (result.err) {
		errno_label(result.err, label, sizeof(label));
		json_put_word(to, "errno", label);
	} else {
		json_put_null(to, "errno");
	}
	if (record->flags & CALL_DENIED)
		json_put_bool(to, "denied", true);
}

static void put_times(struct json_writer *to, const struct call_record *record)
{
	bool known = record->flags & CALL_TIMED;

	json_put_number_if(to, "wall_ns", known, record->wall_ns);
	json_put_number_if(to, "cpu_ns", known, above(record->wall_ns, record->off_ns));
	json_put_number_if(to, "runq_ns", known, record->runq_ns);
	json_put_number_if(to, "sleep_ns", known, above(record->off_ns, record->runq_ns));
}

static void put_stack(struct json_writer *to, const struct stack *stack)
{
	if (!stack)
		return;
	json_put_list(to, "stack");
	for (size_t i = 0; i < stack->nr_frames; i++) {
		char *text __cleanup(freep) = frame_label(&stack->frames[i], FRAME_EXACT);

		json_put_text(to, NULL, text ?: "");
	}
	json_put_end(to);
}

/* Who reads the report again shows the call without decoding it. */
static void put_line(struct json_writer *to, struct call_decoder *decoder,
		     const struct call_record *record)
{
	static const struct truss_options options = { .start_ns = 0 };
	struct line line __cleanup(line_done) = { 0 };

	truss_put_call(decoder, record, &options, 0, &line);
	/* Without its line end. */
	if (!line.failed)
		json_put_data(to, "line", line.bytes, line.used - 1);
}

static void put_call(struct json_writer *to, struct call_decoder *decoder,
		     const struct call_record *record, int64_t real_ns, const struct stack *stack)
{
	struct call_writer writer = { .base = { .ops = &ops, .style = STYLE_JSON }, .to = to };
	size_t length;

	json_put_time(to, "time", real_ns);
	json_put_number(to, "pid", record->pid);
	json_put_number(to, "tid", record->tid);
	json_put_bytes(to, "comm", record->comm, sizeof(record->comm));
	if (!(record->flags & CALL_SLOWEST))
		json_put_number(to, "number", record->number);
	json_put_word(to, "syscall", call_name(decoder, record, &length));
	if (record->abi != LABEL_NATIVE_ABI)
		json_put_word(to, "abi", abi_name(record->abi));
	json_put_list(to, "args");
	call_decode(decoder, record, &writer.base);
	json_put_end(to);
	put_result(to, decoder, record);
	put_times(to, record);
	put_stack(to, stack);
	if (record->flags & CALL_SLOWEST)
		put_line(to, decoder, record);
}

void json_put_call(struct json_writer *to, struct call_decoder *decoder,
		   const struct call_record *record, int64_t real_ns, const struct stack *stack)
{
	json_put_object(to, NULL);
	put_call(to, decoder, record, real_ns, stack);
	json_put_end(to);
}

int report_call_json(struct call_decoder *decoder, const struct call_record *record,
		     int64_t real_ns, const struct stack *stack, FILE *out)
{
	struct json_writer to;

	json_begin(&to, out);
	json_put_object(&to, NULL);
	json_put_number(&to, "schema", JSON_SCHEMA);
	put_call(&to, decoder, record, real_ns, stack);
	return json_end(&to);
}
