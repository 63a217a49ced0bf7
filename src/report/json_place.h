/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Values of a JSON document that nobody vouches for: each is asked for by its key, with its type
 * and range, and what is wrong is told with its place. All return 0, -EINVAL with the diag filled,
 * or -ENOMEM.
 */
#ifndef BPFTRUSS_JSON_PLACE_H
#define BPFTRUSS_JSON_PLACE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

/* An object of a document, and where it is: row 12 of the whole. Nothing is owned. */
struct json_place {
	const json_t *object;
	const struct json_place *outer; /* NULL: the whole */
	const char *what;
	size_t index;
	struct diag *d;
};

enum json_field_flag {
	FIELD_REQUIRED = 1 << 0, /* must be there */
	FIELD_NULL = 1 << 1,     /* may be null */
	FIELD_SIGNED = 1 << 2,   /* any 64 bits, as a signed number; else 0 … INT64_MAX */
};

/* A number of a struct. */
struct json_field {
	const char *key;
	size_t offset; /* of a uint64_t */
	unsigned int flags;
};

/* Says what is wrong there. Returns -EINVAL. */
__attribute__((format(printf, 2, 3))) int json_refuse(const struct json_place *place,
						      const char *format, ...);

/* All of these leave *ret as it is when the value is absent or null. */
int json_read_number(const struct json_place *place, const char *key, unsigned int flags,
		     uint64_t *ret);
int json_read_bool(const struct json_place *place, const char *key, bool *ret);

/* Up to a maximum. */
int json_read_number_to(const struct json_place *place, const char *key, unsigned int flags,
			uint64_t max, uint64_t *ret);

/* Numbers into the struct at base. */
int json_read_numbers(const struct json_place *place, const struct json_field *fields,
		      size_t nr_fields, void *base);

/* Borrowed, as it stands there. */
int json_read_string(const struct json_place *place, const char *key, unsigned int flags,
		     const char **ret);

/* With the bytes that were escaped; owned by the caller. */
int json_read_untrusted(const struct json_place *place, const char *key, unsigned int flags,
			char **ret);

/* As clock_rfc3339() writes it. */
int json_read_time(const struct json_place *place, const char *key, int64_t *ret);

/* An object or a list; borrowed. */
int json_read_part(const struct json_place *place, const char *key, json_type type,
		   unsigned int flags, const json_t **ret);

/* The object at an index of a list; what names it. */
int json_read_element(const struct json_place *outer, const json_t *list, size_t index,
		      const char *what, struct json_place *ret);

#endif
