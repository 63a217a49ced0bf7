/* SPDX-License-Identifier: BSD-2-Clause */
/* Puts the parts of a line of truss together. */
#include "calls/truss.h"

#include "base/text.h"
#include "calls/result.h"
#include "calls/text_writer.h"
#include "syscalls/names.h"

/* The column of results, and the blanks before a result that comes later. */
#define RESULT_COLUMN 50
#define RESULT_LEAST  2

#define COLOUR_NAME  "\033[36m"
#define COLOUR_ERROR "\033[31m"
#define COLOUR_END   "\033[0m"

static void put_prefix(const struct call_record *record, const struct truss_options *options,
		       uint64_t before_ns, struct line *out)
{
	if (options->shows_thread) {
		line_put_natural(out, record->pid);
		line_put_char(out, '/');
		line_put_natural(out, record->tid);
		line_put(out, ":\t", 2);
	}
	if (options->shows_time) {
		line_put_seconds(out, above(record->end_ns, options->start_ns));
		line_put_char(out, '\t');
	}
	if (options->shows_delta) {
		line_put_seconds(out, above(record->end_ns, before_ns ?: options->start_ns));
		line_put_char(out, '\t');
	}
	if (options->shows_cpu && record->flags & CALL_TIMED)
		line_put_seconds(out, above(record->wall_ns, record->off_ns));
	else if (options->shows_cpu)
		line_put_char(out, '-');
	if (options->shows_cpu)
		line_put_char(out, '\t');
}

static void put_error(int err, bool is_coloured, struct line *out)
{
	char label[ERRNO_LABEL_MAX];

	if (is_coloured)
		line_put_word(out, COLOUR_ERROR);
	line_put(out, "Err#", 4);
	line_put_natural(out, (uint64_t)err);
	line_put_char(out, ' ');
	errno_label(err, label, sizeof(label));
	line_put_word(out, label);
	if (is_coloured)
		line_put_word(out, COLOUR_END);
}

static void put_result(struct call_decoder *decoder, const struct call_record *record, size_t start,
		       const struct truss_options *options, struct line *out)
{
	struct call_result result = call_result(decoder, record);
	bool is_refused = record->flags & CALL_DENIED;

	if (options->is_sleeping) {
		line_pad(out, start, RESULT_COLUMN, RESULT_LEAST);
		line_put_word(out, "(sleeping...)");
		return;
	}
	if (!result.has_returned && result.kind == RESULT_NONE && !is_refused)
		return;
	line_pad(out, start, RESULT_COLUMN, RESULT_LEAST);
	if (!result.has_returned) {
		line_put_word(out, is_refused ? "(refused)" : "(not returned)");
		return;
	}
	if (result.err) {
		put_error(result.err, options->is_coloured, out);
	} else {
		line_put(out, "= ", 2);
		result_put(decoder, record, &result, STYLE_TRUSS, out);
	}
	if (is_refused)
		line_put_word(out, " (refused)");
}

void truss_put_call(struct call_decoder *decoder, const struct call_record *record,
		    const struct truss_options *options, uint64_t before_ns, struct line *out)
{
	struct text_writer writer;
	size_t start, length;
	const char *name = call_name(decoder, record, &length);

	put_prefix(record, options, before_ns, out);
	start = out->used;
	if (options->is_coloured) {
		line_put_word(out, COLOUR_NAME);
		line_put(out, name, length);
		line_put_word(out, COLOUR_END);
		/* Escape sequences take no room on a screen. */
		start += strlen(COLOUR_NAME COLOUR_END);
	} else {
		line_put(out, name, length);
	}
	text_writer_init(&writer, STYLE_TRUSS, out);
	line_put_char(out, '(');
	call_decode(decoder, record, &writer.base);
	line_put_char(out, ')');
	put_result(decoder, record, start, options, out);
	line_put_char(out, '\n');
}

/* --- buffers ------------------------------------------------------------------------------------ */

/* An offset has four digits, or more if it needs them. */
static void put_offset(uint64_t offset, struct line *out)
{
	char text[24];

	snprintf(text, sizeof(text), "    %04" PRIx64 "  ", offset);
	line_put_word(out, text);
}

static void put_row(const uint8_t *bytes, uint64_t offset, size_t count, struct line *out)
{
	static const char digits[] = "0123456789abcdef";
	char text[3 * ROW_BYTES + 1], shown[ROW_BYTES];

	memset(text, ' ', sizeof(text));
	for (size_t i = 0; i < count; i++) {
		text[3 * i + (i >= ROW_BYTES / 2)] = digits[bytes[i] >> 4];
		text[3 * i + (i >= ROW_BYTES / 2) + 1] = digits[bytes[i] & 15];
		shown[i] = bytes[i] >= ' ' && bytes[i] < 0x7f ? (char)bytes[i] : '.';
	}
	put_offset(offset, out);
	line_put(out, text, sizeof(text));
	line_put_char(out, ' ');
	line_put(out, shown, count);
	line_put_char(out, '\n');
}

static void put_bytes(const uint8_t *bytes, uint64_t offset, uint64_t count, struct line *out)
{
	for (uint64_t at = 0; at < count; at += ROW_BYTES)
		put_row(bytes + at, offset + at, min_u64(count - at, ROW_BYTES), out);
}

static void put_more(uint64_t more, struct line *out)
{
	line_put_word(out, "    ...");
	if (more != UINT64_MAX) {
		line_put_char(out, ' ');
		line_put_natural(out, more);
		line_put_word(out, more == 1 ? " more byte" : " more bytes");
	}
	line_put_char(out, '\n');
}

/* Puts what the record has no room for, and says how much is missing. */
static void put_rests(const struct call_record *record, const struct rests *rests,
		      const struct call_buffer *buffer, struct line *out)
{
	uint64_t offset = buffer->memory.size, more = buffer->more;
	struct rest_bytes found = { .is_cut = true };

	while (rests && found.is_cut &&
	       rests_find(rests, record, buffer->argument, buffer->part, offset, &found)) {
		size_t size = min_u64(found.size, more);

		put_bytes(found.bytes, offset, size, out);
		offset += size;
		more -= more == UINT64_MAX ? 0 : size;
	}
	if (found.is_cut && more)
		put_more(more, out);
}

void truss_put_buffers(struct call_decoder *decoder, const struct call_record *record,
		       const struct rests *rests, struct line *out)
{
	struct call_buffer buffer;

	for (size_t n = 0; call_find_buffer(decoder, record, n, &buffer); n++) {
		put_bytes(buffer.memory.bytes, 0, buffer.memory.size, out);
		if (buffer.memory.flags & PIECE_CUT)
			put_rests(record, rests, &buffer, out);
	}
}
