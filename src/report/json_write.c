/* SPDX-License-Identifier: BSD-2-Clause */
/* Spells JSON. The buffer always has room for the longest thing that is written in one piece. */
#include "report/json_write.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "report/label.h"

/* More than any number, or one character as two escapes. */
#define PIECE_MAX 32

void json_begin(struct json_writer *to, FILE *out)
{
	to->out = out;
	to->err = 0;
	to->has_before = false;
	to->depth = 0;
	to->used = 0;
}

static void flush(struct json_writer *to)
{
	if (!to->err && fwrite(to->buffer, 1, to->used, to->out) != to->used)
		to->err = -EIO;
	to->used = 0;
}

int json_end(struct json_writer *to)
{
	flush(to);
	if (!to->err && fputc('\n', to->out) == EOF)
		to->err = -EIO;
	return to->err;
}

/* Room for so many bytes, less than a buffer; what is written into it is added by moving used. */
static inline char *room(struct json_writer *to, size_t size)
{
	if (to->used + size > JSON_BUFFER)
		flush(to);
	return to->buffer + to->used;
}

static inline void put_raw(struct json_writer *to, const char *bytes, size_t size)
{
	while (to->used + size > JSON_BUFFER) {
		size_t part = JSON_BUFFER - to->used;

		memcpy(to->buffer + to->used, bytes, part);
		to->used += part;
		flush(to);
		bytes += part;
		size -= part;
	}
	memcpy(to->buffer + to->used, bytes, size);
	to->used += size;
}

static inline void put_byte(struct json_writer *to, char byte)
{
	*room(to, 1) = byte;
	to->used++;
}

/* Writes what stands before a value. */
static void put_key(struct json_writer *to, const char *key)
{
	size_t length = key ? strlen(key) : 0;
	char *at = room(to, length + sizeof(",\"\":"));

	*at = ',';
	at += to->has_before;
	to->has_before = true;
	if (key) {
		*at++ = '"';
		at = stpcpy(stpcpy(at, key), "\":");
	}
	to->used = (size_t)(at - to->buffer);
}

static void put_open(struct json_writer *to, const char *key, char begin, char end)
{
	put_key(to, key);
	put_byte(to, begin);
	to->has_before = false;
	to->ends[to->depth++] = end;
}

void json_put_object(struct json_writer *to, const char *key)
{
	put_open(to, key, '{', '}');
}

void json_put_list(struct json_writer *to, const char *key)
{
	put_open(to, key, '[', ']');
}

void json_put_end(struct json_writer *to)
{
	put_byte(to, to->ends[--to->depth]);
	to->has_before = true;
}

/* --- numbers ------------------------------------------------------------------------------------ */

void json_put_number(struct json_writer *to, const char *key, uint64_t value)
{
	char digits[PIECE_MAX], *at = digits + sizeof(digits);
	uint64_t left = (int64_t)value < 0 ? -value : value;

	put_key(to, key);
	do {
		*--at = (char)('0' + left % 10);
		left /= 10;
	} while (left);
	if ((int64_t)value < 0)
		*--at = '-';
	put_raw(to, at, (size_t)(digits + sizeof(digits) - at));
}

void json_put_number_if(struct json_writer *to, const char *key, bool known, uint64_t value)
{
	if (known)
		json_put_number(to, key, value);
	else
		json_put_null(to, key);
}

/* The shortest text that reads back; with a dot or an exponent, so that readers see what it is. */
void json_put_real(struct json_writer *to, const char *key, double value)
{
	char text[PIECE_MAX];
	int digits = DBL_DIG;

	if (!isfinite(value)) {
		json_put_null(to, key);
		return;
	}
	do
		snprintf(text, sizeof(text), "%.*g", digits, value);
	while (strtod(text, NULL) != value && digits++ < DBL_DECIMAL_DIG);
	if (!strpbrk(text, ".e"))
		strcat(text, ".0");
	put_key(to, key);
	put_raw(to, text, strlen(text));
}

void json_put_null(struct json_writer *to, const char *key)
{
	put_key(to, key);
	put_raw(to, "null", 4);
}

void json_put_bool(struct json_writer *to, const char *key, bool value)
{
	put_key(to, key);
	put_raw(to, value ? "true" : "false", value ? 4 : 5);
}

/* --- text --------------------------------------------------------------------------------------- */

void json_put_word(struct json_writer *to, const char *key, const char *word)
{
	put_key(to, key);
	put_byte(to, '"');
	put_raw(to, word, strlen(word));
	put_byte(to, '"');
}

/* Escapes the character, or the byte that belongs to none, at the start; returns its length. */
static size_t put_escape(struct json_writer *to, const char *bytes, size_t left)
{
	static const char named[] = "\b\f\n\r\t\"\\", names[] = "bfnrt\"\\";
	const char *name = strchr(named, *bytes);
	size_t length;
	unsigned int code = text_code(bytes, left, &length);
	char *at = room(to, PIECE_MAX);

	if (name)
		to->used += (size_t)sprintf(at, "\\%c", names[name - named]);
	else if (!length)
		to->used += (size_t)sprintf(at, "\\\\x%02x", (unsigned char)*bytes);
	else if (code < 0x10000)
		to->used += (size_t)sprintf(at, "\\u%04X", code);
	else
		to->used += (size_t)sprintf(at, "\\u%04X\\u%04X", 0xd800 + ((code - 0x10000) >> 10),
					    0xdc00 + (code & 0x3ff));
	return length ?: 1;
}

void json_put_bytes(struct json_writer *to, const char *key, const char *bytes, size_t size)
{
	size_t left = strnlen(bytes, size), length;

	put_key(to, key);
	put_byte(to, '"');
	for (; left; left -= length, bytes += length) {
		length = text_plain_length(bytes, left);
		if (length)
			put_raw(to, bytes, length);
		else
			length = put_escape(to, bytes, left);
	}
	put_byte(to, '"');
}

void json_put_text(struct json_writer *to, const char *key, const char *text)
{
	if (text)
		json_put_bytes(to, key, text, SIZE_MAX);
	else
		json_put_null(to, key);
}

void json_put_time(struct json_writer *to, const char *key, int64_t real_ns)
{
	char text[CLOCK_RFC3339_SIZE];

	clock_rfc3339(real_ns, text, sizeof(text));
	json_put_word(to, key, text);
}

void json_put_version(struct json_writer *to)
{
	json_put_number(to, "schema", JSON_SCHEMA);
	json_put_word(to, "version", BPFTRUSS_VERSION);
}
