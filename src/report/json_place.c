/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns types and ranges of single values, and the sentence that says what is wrong with one. */
#include "report/json_place.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "report/label.h"

#define PLACE_MAX 128

/* "row 12, stack 3: ", from the outside in. */
static size_t place_format(const struct json_place *place, char buf[PLACE_MAX])
{
	size_t used = 0;
	int added;

	*buf = 0;
	if (!place->outer)
		return 0;
	used = place_format(place->outer, buf);
	added = snprintf(buf + used, PLACE_MAX - used, "%s%s %zu", used ? ", " : "", place->what,
			 place->index);
	return used + (size_t)added < PLACE_MAX ? used + (size_t)added : PLACE_MAX - 1;
}

int json_refuse(const struct json_place *place, const char *format, ...)
{
	char where[PLACE_MAX], why[256];
	va_list args;

	place_format(place, where);
	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	return diag_set(place->d, DIAG_FAILED, EINVAL,
			"no report of bpftruss --json, or a damaged one: %s%s%s", where,
			*where ? ": " : "", why);
}

/* NULL with *err 0 when it is absent or null and may be. */
static const json_t *place_value(const struct json_place *place, const char *key,
				 unsigned int flags, int *err)
{
	const json_t *value = json_object_get(place->object, key);

	*err = 0;
	if (!value && flags & FIELD_REQUIRED)
		*err = json_refuse(place, "%s is missing", key);
	if (json_is_null(value)) {
		if (!(flags & FIELD_NULL))
			*err = json_refuse(place, "%s is null", key);
		return NULL;
	}
	return value;
}

int json_read_number(const struct json_place *place, const char *key, unsigned int flags,
		     uint64_t *ret)
{
	int err;
	const json_t *value = place_value(place, key, flags, &err);

	if (!value)
		return err;
	if (!json_is_integer(value))
		return json_refuse(place, "%s is not a whole number", key);
	if (json_integer_value(value) < 0 && !(flags & FIELD_SIGNED))
		return json_refuse(place, "%s is below 0", key);
	*ret = (uint64_t)json_integer_value(value);
	return 0;
}

int json_read_number_to(const struct json_place *place, const char *key, unsigned int flags,
			uint64_t max, uint64_t *ret)
{
	uint64_t value = UINT64_MAX;
	int err = json_read_number(place, key, flags, &value);

	/* Still: absent or null. */
	if (err || value == UINT64_MAX)
		return err;
	if (value > max)
		return json_refuse(place, "%s is too large", key);
	*ret = value;
	return 0;
}

int json_read_numbers(const struct json_place *place, const struct json_field *fields,
		      size_t nr_fields, void *base)
{
	int err = 0;

	for (size_t i = 0; i < nr_fields && !err; i++)
		err = json_read_number(place, fields[i].key, fields[i].flags,
				       (uint64_t *)((char *)base + fields[i].offset));
	return err;
}

int json_read_bool(const struct json_place *place, const char *key, bool *ret)
{
	int err;
	const json_t *value = place_value(place, key, 0, &err);

	if (!value)
		return err;
	if (!json_is_boolean(value))
		return json_refuse(place, "%s is neither true nor false", key);
	*ret = json_is_true(value);
	return 0;
}

int json_read_string(const struct json_place *place, const char *key, unsigned int flags,
		     const char **ret)
{
	int err;
	const json_t *value = place_value(place, key, flags, &err);

	if (!value)
		return err;
	if (!json_is_string(value))
		return json_refuse(place, "%s is not a text", key);
	*ret = json_string_value(value);
	return 0;
}

int json_read_untrusted(const struct json_place *place, const char *key, unsigned int flags,
			char **ret)
{
	const char *text = NULL;
	int err = json_read_string(place, key, flags, &text);
	char *copy;

	if (err || !text)
		return err;
	copy = strdup(text);
	if (!copy)
		return -ENOMEM;
	text_unescape(copy);
	*ret = copy;
	return 0;
}

int json_read_time(const struct json_place *place, const char *key, int64_t *ret)
{
	const char *text = NULL, *rest;
	char again[CLOCK_RFC3339_SIZE];
	struct tm utc = { 0 };
	int64_t seconds, ns = 0;
	int err = json_read_string(place, key, FIELD_REQUIRED, &text);

	if (err)
		return err;
	rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &utc);
	if (!rest || *rest != '.' || sscanf(rest, ".%9" SCNd64, &ns) != 1)
		return json_refuse(place, "%s is not a time", key);
	seconds = timegm(&utc);
	if (__builtin_mul_overflow(seconds, (int64_t)NS_PER_SEC, &seconds) ||
	    __builtin_add_overflow(seconds, ns, &ns))
		return json_refuse(place, "%s is too far from now", key);
	clock_rfc3339(ns, again, sizeof(again));
	if (strcmp(again, text) != 0)
		return json_refuse(place, "%s is not a time as it is written here", key);
	*ret = ns;
	return 0;
}

int json_read_part(const struct json_place *place, const char *key, json_type type,
		   unsigned int flags, const json_t **ret)
{
	int err;
	const json_t *value = place_value(place, key, flags, &err);

	if (!value)
		return err;
	if (json_typeof(value) != type)
		return json_refuse(place, "%s is not %s", key,
				   type == JSON_OBJECT ? "an object" : "a list");
	*ret = value;
	return 0;
}

int json_read_element(const struct json_place *outer, const json_t *list, size_t index,
		      const char *what, struct json_place *ret)
{
	const struct json_place place = { json_array_get(list, index), outer, what, index,
					  outer->d };

	if (!json_is_object(place.object))
		return json_refuse(&place, "not an object");
	*ret = place;
	return 0;
}
