/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes values as text. */
#include "calls/text_writer.h"

static struct text_writer *writer_of(struct value_writer *to)
{
	return (struct text_writer *)to;
}

/* --- arguments ---------------------------------------------------------------------------------- */

static void put_argument(struct value_writer *to, const struct argument *argument,
			 bool was_read_late)
{
	struct text_writer *writer = writer_of(to);

	if (writer->has_argument)
		line_put(writer->out, ", ", 2);
	if (to->shows_names) {
		line_put_word(writer->out, argument->name);
		line_put_char(writer->out, '=');
	}
	writer->has_argument = true;
	writer->was_read_late = was_read_late && to->style == STYLE_TRUSS;
}

static void put_argument_end(struct value_writer *to)
{
	struct text_writer *writer = writer_of(to);

	if (writer->was_read_late)
		line_mark_late(writer->out);
}

/* Writes the separator before a value; members are separated by put_field(). */
static struct line *value_begin(struct value_writer *to)
{
	struct text_writer *writer = writer_of(to);
	size_t level = writer->depth - 1;

	if (!writer->depth || level >= TEXT_DEPTH || writer->levels[level].kind == GROUP_STRUCT)
		return writer->out;
	if (writer->levels[level].has_before && writer->levels[level].kind == GROUP_LIST)
		line_put(writer->out, ", ", 2);
	else if (writer->levels[level].has_before)
		line_put_char(writer->out, ' ');
	writer->levels[level].has_before = true;
	return writer->out;
}

/* --- values ------------------------------------------------------------------------------------- */

static void put_number(struct value_writer *to, int64_t value)
{
	line_put_number(value_begin(to), value);
}

static void put_natural(struct value_writer *to, uint64_t value)
{
	line_put_natural(value_begin(to), value);
}

static void put_hex(struct value_writer *to, uint64_t value)
{
	line_put_hex(value_begin(to), value, false);
}

static void put_symbol(struct value_writer *to, const char *text, size_t length, uint64_t value)
{
	(void)value;
	line_put(value_begin(to), text, length);
}

static void put_string(struct value_writer *to, const void *bytes, size_t size, bool is_cut)
{
	struct line *out = value_begin(to);

	line_put_char(out, '"');
	line_put_escaped(out, bytes, size, NULL);
	line_put(out, "\"...", is_cut ? 4 : 1);
}

void text_put_fd(struct line *out, int fd, const char *word, struct fd_text known,
		 enum call_style style)
{
	static const char gone[] = " (deleted)";
	const char *name = known.text, *arrow;
	size_t length = name ? strlen(name) : 0, end = sizeof(gone) - 1;
	bool is_gone = length > end && !memcmp(name + length - end, gone, end);

	if (word)
		line_put_word(out, word);
	else
		line_put_number(out, fd);
	if (!name)
		return;
	if (is_gone)
		length -= end;
	line_put_char(out, '<');
	/* The name of a connected socket has two ends. */
	arrow = *name == '/' ? NULL : memmem(name, length, "->", 2);
	if (arrow) {
		line_put_escaped(out, name, (size_t)(arrow - name), "<>");
		line_put(out, "->", 2);
		length -= (size_t)(arrow + 2 - name);
		name = arrow + 2;
	}
	line_put_escaped(out, name, length, "<>");
	line_put_char(out, '>');
	if (is_gone)
		line_put_word(out, gone + 1);
	if (known.is_late && style == STYLE_TRUSS)
		line_mark_late(out);
}

static void put_fd(struct value_writer *to, int fd, const char *word, struct fd_text name)
{
	text_put_fd(value_begin(to), fd, word, name, to->style);
}

static void put_address(struct value_writer *to, uint64_t address, enum address_state state)
{
	struct line *out = value_begin(to);

	if (!address) {
		line_put(out, "NULL", 4);
		return;
	}
	line_put_hex(out, address, false);
	if (to->style == STYLE_TRUSS && state != ADDRESS_PLAIN)
		line_put_word(out, state == ADDRESS_ABSENT ? " (not in memory)" : " (not read)");
}

static void put_after(struct value_writer *to)
{
	struct text_writer *writer = writer_of(to);

	line_put(writer->out, " => ", 4);
	if (writer->depth && writer->depth <= TEXT_DEPTH)
		writer->levels[writer->depth - 1].has_before = false;
}

/* --- groups ------------------------------------------------------------------------------------- */

static void put_group(struct value_writer *to, enum group_kind kind)
{
	struct text_writer *writer = writer_of(to);
	struct line *out = value_begin(to);

	if (kind == GROUP_OTHERS)
		line_put_char(out, '~');
	line_put_char(out, kind == GROUP_STRUCT ? '{' : '[');
	if (writer->depth < TEXT_DEPTH) {
		writer->levels[writer->depth].kind = kind;
		writer->levels[writer->depth].has_before = false;
	}
	writer->depth++;
}

static void put_separator(struct text_writer *writer)
{
	if (!writer->depth || writer->depth > TEXT_DEPTH)
		return;
	if (writer->levels[writer->depth - 1].has_before)
		line_put(writer->out, ", ", 2);
	writer->levels[writer->depth - 1].has_before = true;
}

static void put_field(struct value_writer *to, const char *name)
{
	struct text_writer *writer = writer_of(to);

	put_separator(writer);
	if (!*name)
		return;
	line_put_word(writer->out, name);
	line_put_char(writer->out, '=');
}

static void put_more(struct value_writer *to)
{
	put_separator(writer_of(to));
	line_put(writer_of(to)->out, "...", 3);
}

static void put_group_end(struct value_writer *to)
{
	struct text_writer *writer = writer_of(to);

	writer->depth--;
	line_put_char(writer->out,
		      writer->depth < TEXT_DEPTH &&
				      writer->levels[writer->depth].kind == GROUP_STRUCT
			      ? '}'
			      : ']');
}

void text_writer_init(struct text_writer *writer, enum call_style style, struct line *out)
{
	static const struct value_writer_ops ops = {
		.argument = put_argument,
		.argument_end = put_argument_end,
		.number = put_number,
		.natural = put_natural,
		.hex = put_hex,
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

	writer->base.ops = &ops;
	writer->base.style = style;
	writer->out = out;
	writer->has_argument = false;
	writer->was_read_late = false;
	writer->depth = 0;
}
