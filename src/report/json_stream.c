/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the spelling of JSON that is written as it goes: the same bytes as those of jansson, compact
 * and in ASCII. Invariant: the buffer has room for the longest thing that is written in one piece.
 */
#include "report/json_stream.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "report/label.h"

/* More than any number, or one character as two escapes. */
#define PIECE_MAX 32

/* Most names have no more; longer ones need memory. */
#define FEW_BYTES 64

void json_stream_init(struct json_stream *stream, FILE *out)
{
	stream->out = out;
	stream->err = 0;
	stream->has_before = false;
	stream->depth = 0;
	stream->used = 0;
}

static void stream_flush(struct json_stream *stream)
{
	if (!stream->err && fwrite(stream->buffer, 1, stream->used, stream->out) != stream->used)
		stream->err = -EIO;
	stream->used = 0;
}

/* Room for one piece; what is written into it is added by moving used. */
static inline char *stream_room(struct json_stream *stream)
{
	if (stream->used + PIECE_MAX > JSON_STREAM_BUFFER)
		stream_flush(stream);
	return stream->buffer + stream->used;
}

static inline void stream_bytes(struct json_stream *stream, const char *bytes, size_t size)
{
	while (__builtin_expect(stream->used + size > JSON_STREAM_BUFFER, 0)) {
		size_t part = JSON_STREAM_BUFFER - stream->used;

		memcpy(stream->buffer + stream->used, bytes, part);
		stream->used += part;
		stream_flush(stream);
		bytes += part;
		size -= part;
	}
	memcpy(stream->buffer + stream->used, bytes, size);
	stream->used += size;
}

static inline void stream_byte(struct json_stream *stream, char byte)
{
	*stream_room(stream) = byte;
	stream->used++;
}

/* What stands before a value. */
static void stream_begin(struct json_stream *stream, const char *key)
{
	size_t length = key ? strlen(key) : 0;
	char *room = stream_room(stream);

	*room = ',';
	stream->used += stream->has_before;
	stream->has_before = true;
	if (!key)
		return;
	stream_bytes(stream, "\"", 1);
	stream_bytes(stream, key, length);
	stream_bytes(stream, "\":", 2);
}

static void stream_open(struct json_stream *stream, const char *key, char begin, char end)
{
	stream_begin(stream, key);
	stream_byte(stream, begin);
	stream->has_before = false;
	stream->ends[stream->depth++] = end;
}

void json_stream_object(struct json_stream *stream, const char *key)
{
	stream_open(stream, key, '{', '}');
}

void json_stream_list(struct json_stream *stream, const char *key)
{
	stream_open(stream, key, '[', ']');
}

void json_stream_end(struct json_stream *stream)
{
	stream_byte(stream, stream->ends[--stream->depth]);
	stream->has_before = true;
}

static unsigned int digits_count(uint64_t value)
{
	unsigned int count = 1;

	for (; value >= 10000; value /= 10000)
		count += 4;
	return count + (value >= 10) + (value >= 100) + (value >= 1000);
}

/* Two at a time, from the back. */
static void stream_digits(struct json_stream *stream, uint64_t value)
{
	static const char pairs[] =
		"0001020304050607080910111213141516171819202122232425262728293031"
		"3233343536373839404142434445464748495051525354555657585960616263"
		"6465666768697071727374757677787980818283848586878889909192939495"
		"96979899";
	unsigned int count = digits_count(value);
	char *at = stream_room(stream) + count;

	stream->used += count;
	for (; value >= 100; value /= 100) {
		at -= 2;
		memcpy(at, &pairs[value % 100 * 2], 2);
	}
	if (value >= 10)
		memcpy(at - 2, &pairs[value * 2], 2);
	else
		at[-1] = (char)('0' + value);
}

void json_stream_number(struct json_stream *stream, const char *key, uint64_t value)
{
	bool negative = (int64_t)value < 0;

	stream_begin(stream, key);
	if (negative)
		stream_byte(stream, '-');
	stream_digits(stream, negative ? -value : value);
}

void json_stream_null(struct json_stream *stream, const char *key)
{
	stream_begin(stream, key);
	stream_bytes(stream, "null", 4);
}

void json_stream_number_if(struct json_stream *stream, const char *key, bool known, uint64_t value)
{
	if (known)
		json_stream_number(stream, key, value);
	else
		json_stream_null(stream, key);
}

void json_stream_bool(struct json_stream *stream, const char *key, bool value)
{
	stream_begin(stream, key);
	stream_bytes(stream, value ? "true" : "false", value ? 4 : 5);
}

/* What needs no escape. */
static void stream_quoted(struct json_stream *stream, const char *key, const char *text,
			  size_t size)
{
	stream_begin(stream, key);
	stream_byte(stream, '"');
	stream_bytes(stream, text, size);
	stream_byte(stream, '"');
}

void json_stream_word(struct json_stream *stream, const char *key, const char *word)
{
	stream_quoted(stream, key, word, strlen(word));
}

/* --- text --------------------------------------------------------------------------------------- */

static void stream_unit(struct json_stream *stream, unsigned int unit)
{
	static const char digits[] = "0123456789ABCDEF";
	const char escape[] = {
		'\\',
		'u',
		digits[unit >> 12 & 15],
		digits[unit >> 8 & 15],
		digits[unit >> 4 & 15],
		digits[unit & 15],
	};

	stream_bytes(stream, escape, sizeof(escape));
}

/* Beyond ASCII, or a control character: in units of UTF-16. */
static void stream_code(struct json_stream *stream, unsigned int code)
{
	if (code >= 0x10000) {
		stream_unit(stream, 0xd800 + ((code - 0x10000) >> 10));
		code = 0xdc00 + (code & 0x3ff);
	}
	stream_unit(stream, code);
}

/* Valid UTF-8. */
static void stream_text(struct json_stream *stream, const char *text)
{
	static const char named[] = "\b\f\n\r\t\"\\", names[] = "bfnrt\"\\";

	while (*text) {
		size_t plain = text_plain_length(text, SIZE_MAX), length;
		const char *name;

		stream_bytes(stream, text, plain);
		text += plain;
		if (!*text)
			break;
		name = strchr(named, *text);
		if (name) {
			const char escape[] = { '\\', names[name - named] };

			stream_bytes(stream, escape, sizeof(escape));
			text++;
			continue;
		}
		stream_code(stream, text_code(text, strnlen(text, 4), &length));
		text += length;
	}
}

void json_stream_untrusted(struct json_stream *stream, const char *key, const char *bytes,
			   size_t size)
{
	size_t length = strnlen(bytes, size), plain = text_plain_length(bytes, length);
	char few[TEXT_ESCAPED_MAX(FEW_BYTES)];
	char *many __cleanup(freep) = NULL, *escaped = few;

	if (plain == length) {
		stream_quoted(stream, key, bytes, length);
		return;
	}
	if (length > FEW_BYTES)
		escaped = many = malloc(TEXT_ESCAPED_MAX(length));
	if (!escaped) {
		stream->err = stream->err ?: -ENOMEM;
		return;
	}
	text_escape(bytes, length, escaped);
	stream_begin(stream, key);
	stream_byte(stream, '"');
	stream_text(stream, escaped);
	stream_byte(stream, '"');
}

void json_stream_untrusted_text(struct json_stream *stream, const char *key, const char *text)
{
	if (text)
		json_stream_untrusted(stream, key, text, SIZE_MAX);
	else
		json_stream_null(stream, key);
}

void json_stream_time(struct json_stream *stream, const char *key, int64_t real_ns)
{
	char text[CLOCK_RFC3339_SIZE];

	clock_rfc3339(real_ns, text, sizeof(text));
	json_stream_word(stream, key, text);
}

int json_stream_done(struct json_stream *stream)
{
	stream_byte(stream, '\n');
	stream_flush(stream);
	return stream->err;
}
