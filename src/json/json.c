/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Spells JSON, and checks types and ranges of single values. The writer's buffer always has room for the
 * longest thing that is written in one piece.
 */
#include "json/json.h"

#include <float.h>
#include <math.h>
#include <time.h>

#include "base/clock.h"
#include "base/text.h"

/* More than any number, or one character as two escapes. */
#define PIECE_MAX 32

void json_begin(struct json_writer *to, FILE *out)
{
	*to = (struct json_writer){ .out = out };
}

static void flush(struct json_writer *to)
{
	if (!to->err && fwrite(to->buffer, 1, to->used, to->out) != to->used)
		to->err = -EIO;
	to->used = 0;
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

static void put_plain(struct json_writer *to, const char *key, const char *text)
{
	put_key(to, key);
	put_raw(to, text, strlen(text));
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

int json_end(struct json_writer *to)
{
	while (to->depth)
		json_put_end(to);
	flush(to);
	if (!to->err && fputc('\n', to->out) == EOF)
		to->err = -EIO;
	return to->err;
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

void json_put_natural(struct json_writer *to, const char *key, uint64_t value)
{
	char text[PIECE_MAX];

	if (value <= INT64_MAX) {
		json_put_number(to, key, value);
		return;
	}
	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	json_put_word(to, key, text);
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
	put_plain(to, key, text);
}

void json_put_null(struct json_writer *to, const char *key)
{
	put_plain(to, key, "null");
}

void json_put_bool(struct json_writer *to, const char *key, bool value)
{
	put_plain(to, key, value ? "true" : "false");
}

/* --- text --------------------------------------------------------------------------------------- */

void json_put_word(struct json_writer *to, const char *key, const char *word)
{
	put_key(to, key);
	put_byte(to, '"');
	put_raw(to, word, strlen(word));
	put_byte(to, '"');
}

/* One character or byte that does not stand for itself; its length. */
static size_t put_special(struct json_writer *to, const char *bytes, size_t left)
{
	static const char named[] = "\b\f\n\r\t\"\\", names[] = "bfnrt\"\\";
	const char *name = *bytes ? strchr(named, *bytes) : NULL;
	char *at = room(to, PIECE_MAX);
	size_t length;
	unsigned int code = text_code(bytes, left, &length);

	if (name)
		to->used += (size_t)sprintf(at, "\\%c", names[name - named]);
	else if (!length || !code)
		to->used += (size_t)sprintf(at, "\\\\x%02x", (unsigned char)*bytes);
	else if (code < 0x10000)
		to->used += (size_t)sprintf(at, "\\u%04X", code);
	else
		to->used += (size_t)sprintf(at, "\\u%04X\\u%04X", 0xd800 + ((code - 0x10000) >> 10),
					    0xdc00 + (code & 0x3ff));
	/* A byte that belongs to no character stands alone. */
	return length ?: 1;
}

void json_put_data(struct json_writer *to, const char *key, const void *data, size_t size)
{
	const char *bytes = data;
	size_t length;

	put_key(to, key);
	put_byte(to, '"');
	for (; size; size -= length, bytes += length) {
		length = text_plain_length(bytes, size);
		if (length)
			put_raw(to, bytes, length);
		else
			length = put_special(to, bytes, size);
	}
	put_byte(to, '"');
}

void json_put_bytes(struct json_writer *to, const char *key, const char *bytes, size_t size)
{
	json_put_data(to, key, bytes, strnlen(bytes, size));
}

void json_put_text(struct json_writer *to, const char *key, const char *text)
{
	if (text)
		json_put_data(to, key, text, strlen(text));
	else
		json_put_null(to, key);
}

void json_put_time(struct json_writer *to, const char *key, int64_t real_ns)
{
	char text[CLOCK_RFC3339_SIZE];

	clock_rfc3339(real_ns, text, sizeof(text));
	json_put_word(to, key, text);
}

void json_put_document(struct json_writer *to, const char *key)
{
	json_put_object(to, key);
	json_put_number(to, "schema", JSON_SCHEMA);
	json_put_word(to, "version", BPFTRUSS_VERSION);
}

/* --- reading ------------------------------------------------------------------------------------ */

struct json_place json_open(struct json_document *document, const char *text, size_t size,
			    struct diag *d)
{
	struct json_place whole = { NULL, document };
	json_error_t error;

	*document = (struct json_document){ .root = NULL, .d = d };
	document->root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
	whole.object = document->root;
	if (!document->root && json_error_code(&error) == json_error_out_of_memory)
		json_check(&whole, -ENOMEM);
	else if (!document->root)
		json_refuse(&whole, "line %d, column %d is not JSON", error.line, error.column);
	else if (json_get_number(&whole, "schema", 0, JSON_SCHEMA) != JSON_SCHEMA)
		json_refuse(&whole, "schema is not %d: another version can read it", JSON_SCHEMA);
	return whole;
}

void json_close(struct json_document *document)
{
	json_decref(document->root);
}

void json_refuse(const struct json_place *at, const char *format, ...)
{
	char why[256];
	va_list args;

	if (at->document->err)
		return;
	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	at->document->err = diag_set(at->document->d, DIAG_FAILED, EINVAL,
				     "no report of bpftruss --json, or a damaged one: %s", why);
}

void json_check(const struct json_place *at, int err)
{
	if (err && !at->document->err)
		at->document->err = err == -ENOMEM ? diag_oom(at->document->d) : err;
}

/* NULL when it is absent, null, of another type, or something was wrong before. */
static const json_t *value_of(const struct json_place *at, const char *key, unsigned int flags,
			      json_type type)
{
	static const char *const types[] = {
		[JSON_OBJECT] = "an object",   [JSON_ARRAY] = "a list",
		[JSON_STRING] = "a text",      [JSON_INTEGER] = "a whole number",
		[JSON_TRUE] = "true or false",
	};
	const json_t *value = at->document->err ? NULL : json_object_get(at->object, key);

	if (!value && !(flags & JSON_OR_ABSENT))
		json_refuse(at, "%s is missing", key);
	if (!value || (json_is_null(value) && flags & JSON_OR_NULL))
		return NULL;
	if (json_typeof(value) == type || (type == JSON_TRUE && json_is_false(value)))
		return value;
	json_refuse(at, "%s is not %s", key, types[type]);
	return NULL;
}

uint64_t json_get_number(const struct json_place *at, const char *key, unsigned int flags,
			 uint64_t none)
{
	const json_t *value = value_of(at, key, flags, JSON_INTEGER);
	uint64_t number;

	if (!value)
		return none;
	number = (uint64_t)json_integer_value(value);
	if (!(flags & JSON_ANY_BITS) && number > (flags & JSON_32_BITS ? UINT32_MAX : INT64_MAX)) {
		json_refuse(at, "%s is below 0 or too large", key);
		return none;
	}
	return number;
}

bool json_get_bool(const struct json_place *at, const char *key, unsigned int flags)
{
	return json_is_true(value_of(at, key, flags, JSON_TRUE));
}

const char *json_get_word(const struct json_place *at, const char *key, unsigned int flags)
{
	return json_string_value(value_of(at, key, flags, JSON_STRING));
}

char *json_get_text(const struct json_place *at, const char *key, unsigned int flags)
{
	const char *text = json_get_word(at, key, flags);
	char *copy = text ? strdup(text) : NULL;

	if (copy)
		text_unescape(copy);
	else if (text)
		json_check(at, -ENOMEM);
	return copy;
}

void json_get_bytes(const struct json_place *at, const char *key, void *buf, size_t size)
{
	char *text __cleanup(freep) = json_get_text(at, key, 0);
	size_t length = text ? strlen(text) : 0;

	if (length > size)
		json_refuse(at, "%s is longer than %zu bytes", key, size);
	else if (text)
		memcpy(buf, text, length);
}

int64_t json_get_time(const struct json_place *at, const char *key)
{
	const char *text = json_get_word(at, key, 0) ?: "", *rest;
	char again[CLOCK_RFC3339_SIZE] = "";
	int64_t seconds, ns = 0;
	struct tm utc = { 0 };

	rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &utc);
	seconds = timegm(&utc);
	if (rest && sscanf(rest, ".%9" SCNd64 "Z", &ns) == 1 &&
	    !__builtin_mul_overflow(seconds, (int64_t)NS_PER_SEC, &seconds) &&
	    !__builtin_add_overflow(seconds, ns, &ns))
		clock_rfc3339(ns, again, sizeof(again));
	/* Nine digits and Z, and a day that there is. */
	if (*text && !strcmp(again, text))
		return ns;
	json_refuse(at, "%s is not a time", key);
	return 0;
}

const json_t *json_get_list(const struct json_place *at, const char *key)
{
	return value_of(at, key, 0, JSON_ARRAY);
}

struct json_place json_get_object(const struct json_place *at, const char *key, unsigned int flags)
{
	return (struct json_place){ value_of(at, key, flags, JSON_OBJECT), at->document };
}

bool json_get_element(const struct json_place *at, const json_t *list, size_t index,
		      struct json_place *ret)
{
	if (at->document->err || index >= json_array_size(list))
		return false;
	*ret = (struct json_place){ json_array_get(list, index), at->document };
	return true;
}
