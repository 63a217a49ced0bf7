/* SPDX-License-Identifier: BSD-2-Clause */
/* Spells numbers and foreign bytes, without the cost of a format. */
#include "calls/line.h"

#include "base/clock.h"

#define LINE_FIRST 4096

/* A 64-bit number has at most 20 digits in decimal and 22 in octal. */
#define DIGITS_MAX 24

void line_done(struct line *line)
{
	free(line->bytes);
}

bool line_grow(struct line *line, size_t count)
{
	size_t size = line->size ?: LINE_FIRST;
	char *bytes;

	while (size - line->used < count)
		size *= 2;
	bytes = line->failed ? NULL : realloc(line->bytes, size);
	if (!bytes) {
		line->failed = true;
		return false;
	}
	line->bytes = bytes;
	line->size = size;
	return true;
}

/* --- numbers ------------------------------------------------------------------------------------ */

void line_put_digits(struct line *line, uint64_t value, unsigned int digits)
{
	char text[DIGITS_MAX], *at = text + sizeof(text);

	for (; value || digits; value /= 10) {
		*--at = (char)('0' + value % 10);
		digits -= digits > 0;
	}
	line_put(line, at, (size_t)(text + sizeof(text) - at));
}

void line_put_natural(struct line *line, uint64_t value)
{
	if (value < 10)
		line_put_char(line, (char)('0' + value));
	else
		line_put_digits(line, value, 1);
}

void line_put_number(struct line *line, int64_t value)
{
	if (value < 0)
		line_put_char(line, '-');
	line_put_natural(line, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

static void put_bits(struct line *line, uint64_t value, unsigned int shift, unsigned int digits)
{
	char text[DIGITS_MAX], *at = text + sizeof(text);

	for (; value || digits; value >>= shift) {
		*--at = "0123456789abcdef"[value & ((1U << shift) - 1)];
		digits -= digits > 0;
	}
	line_put(line, at, (size_t)(text + sizeof(text) - at));
}

void line_put_hex(struct line *line, uint64_t value, bool is_plain_zero)
{
	if (!value && is_plain_zero) {
		line_put_char(line, '0');
		return;
	}
	line_put(line, "0x", 2);
	put_bits(line, value, 4, 1);
}

void line_put_octal(struct line *line, uint64_t value, unsigned int digits)
{
	line_put_char(line, '0');
	put_bits(line, value, 3, digits ? digits - 1 : 0);
}

void line_put_seconds(struct line *line, uint64_t ns)
{
	line_put_natural(line, ns / NS_PER_SEC);
	line_put_char(line, '.');
	line_put_digits(line, ns % NS_PER_SEC / 1000, 6);
}

/* --- bytes -------------------------------------------------------------------------------------- */

/* A backslash, and three digits. */
#define ESCAPE_MAX 4

static inline bool is_plain(unsigned char byte)
{
	return byte >= ' ' && byte < 0x7f && byte != '"' && byte != '\\';
}

static char *escape_number(char *at, unsigned char byte, bool before_digit)
{
	*at++ = '\\';
	if (byte > 077 || before_digit)
		*at++ = (char)('0' + (byte >> 6));
	if (byte > 07 || before_digit)
		*at++ = (char)('0' + (byte >> 3 & 7));
	*at++ = (char)('0' + (byte & 7));
	return at;
}

static char *escape_byte(char *at, const unsigned char *byte, const unsigned char *end)
{
	static const char named[] = "\"\\\n\t\r\f\v", names[] = "\"\\ntrfv";
	const char *name = *byte ? strchr(named, *byte) : NULL;

	if (!name)
		return escape_number(at, *byte, byte + 1 < end && byte[1] >= '0' && byte[1] <= '7');
	*at++ = '\\';
	*at++ = names[name - named];
	return at;
}

void line_put_escaped(struct line *line, const void *bytes, size_t count, const char *more)
{
	const unsigned char *from = bytes, *end = from + count;
	char *room = line_room(line, count * ESCAPE_MAX), *at = room;

	if (!room)
		return;
	for (; from < end; from++) {
		if (is_plain(*from) && (!more || !strchr(more, *from)))
			*at++ = (char)*from;
		else
			at = escape_byte(at, from, end);
	}
	line->used += (size_t)(at - room);
}

void line_pad(struct line *line, size_t start, size_t column, size_t least)
{
	size_t width = line->used - start, count = width < column ? column - width : 0;
	char *room;

	if (count < least)
		count = least;
	room = line_room(line, count);
	if (room) {
		memset(room, ' ', count);
		line->used += count;
	}
}
