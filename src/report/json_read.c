/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks types and ranges of single values, and makes the sentence that says what is wrong with one. */
#include "report/json_read.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "report/json_write.h"
#include "report/label.h"

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
