/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes results, and for a few calls what they mean. */
#include "calls/result.h"

#include <fcntl.h>

#include "calls/sets.h"
#include "calls/text_writer.h"

static void put_flags(struct call_decoder *decoder, uint64_t value, enum own_set set,
		      struct line *out)
{
	struct text_writer writer;

	if (!value && set != OWN_OPEN) {
		line_put_char(out, '0');
		return;
	}
	text_writer_init(&writer, STYLE_STRACE, out);
	line_put_hex(out, value, true);
	line_put_word(out, " (flags ");
	set_put_flags(&writer.base, call_set(decoder, set), value);
	line_put_char(out, ')');
}

static bool put_fcntl(struct call_decoder *decoder, const struct call_record *record,
		      enum call_style style, struct line *out)
{
	switch (record->arguments[1]) {
	case F_GETFL:
		put_flags(decoder, (uint64_t)record->result, OWN_OPEN, out);
		return true;
	case F_GETFD:
		put_flags(decoder, (uint64_t)record->result, OWN_FD_FLAGS, out);
		return true;
	case F_DUPFD:
	case F_DUPFD_CLOEXEC: {
		struct call_result copy = call_result(decoder, record);

		text_put_fd(out, (int)copy.value, NULL,
			    call_fd_name(decoder, record, (int)copy.value, true), style);
		return true;
	}
	default:
		return false;
	}
}

/* strace lists the ready descriptors here. */
static bool put_poll(struct call_decoder *decoder, const struct call_record *record,
		     enum call_style style, struct line *out)
{
	struct text_writer writer;
	size_t before = out->used;

	if (style != STYLE_STRACE)
		return false;
	line_put_number(out, record->result);
	if (!record->result) {
		line_put_word(out, " (Timeout)");
		return true;
	}
	text_writer_init(&writer, STYLE_STRACE, out);
	line_put(out, " (", 2);
	if (call_put_ready(decoder, record, &writer.base))
		line_put_char(out, ')');
	else
		out->used = before;
	return out->used > before;
}

/* strace lists the ready descriptors of sets that have any here. */
static bool put_select(struct call_decoder *decoder, const struct call_record *record,
		       enum call_style style, struct line *out)
{
	static const char *const names[] = { NULL, "in ", "out ", "except " };
	const char *before = " (";
	struct text_writer writer;

	if (style != STYLE_STRACE)
		return false;
	line_put_number(out, record->result);
	if (!record->result)
		line_put_word(out, " (Timeout)");
	for (size_t i = 1; record->result && i < ARRAY_SIZE(names); i++) {
		size_t start = out->used, value;

		line_put_word(out, before);
		line_put_word(out, names[i]);
		value = out->used;
		text_writer_init(&writer, STYLE_STRACE, out);
		if (call_put_after(decoder, record, i, &writer.base) && out->used > value + 2)
			before = ", ";
		else
			out->used = start;
	}
	if (*before == ',')
		line_put_char(out, ')');
	return true;
}

static bool put_umask(struct call_decoder *decoder, const struct call_record *record,
		      enum call_style style, struct line *out)
{
	(void)decoder;
	(void)style;
	line_put_octal(out, (uint64_t)record->result & 0777, 3);
	return true;
}

static const struct {
	const char *name;
	bool (*put)(struct call_decoder *decoder, const struct call_record *record,
		    enum call_style style, struct line *out);
} specials[] = {
	{ "fcntl", put_fcntl },     { "fcntl64", put_fcntl },          { "poll", put_poll },
	{ "ppoll", put_poll },      { "select", put_select },          { "_newselect", put_select },
	{ "pselect6", put_select }, { "pselect6_time64", put_select }, { "umask", put_umask },
};

void result_put(struct call_decoder *decoder, const struct call_record *record,
		const struct call_result *result, enum call_style style, struct line *out)
{
	size_t length;
	const char *name = call_name(decoder, record, &length);

	for (size_t i = 0; i < ARRAY_SIZE(specials); i++) {
		if (!strcmp(name, specials[i].name) && specials[i].put(decoder, record, style, out))
			return;
	}
	if (result->kind == RESULT_FD)
		text_put_fd(out, (int)result->value, NULL, result->fd_name, style);
	else if (result->kind == RESULT_HEX && result->value)
		line_put_hex(out, (uint64_t)result->value, false);
	else
		line_put_number(out, result->value);
}
