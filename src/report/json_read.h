/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads JSON that nobody vouches for: each value is asked for by its key, with its type and range.
 * The document remembers the first thing that is wrong, and is empty from then on: numbers are the
 * caller's default, lists have nothing in them, texts are NULL. So a reader asks for all that it
 * wants and looks for an error once, before it uses what it got.
 */
#ifndef BPFTRUSS_JSON_READ_H
#define BPFTRUSS_JSON_READ_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

struct json_document {
	json_t *root;   /* owned */
	struct diag *d; /* borrowed; NULL: nobody wants a sentence */
	int err;        /* the first: -EINVAL or -ENOMEM */
};

/* An object of a document. Nothing is owned. */
struct json_place {
	const json_t *object;
	struct json_document *document;
};

/*
 * Parses a document and returns the whole, an object of our schema. What is wrong is remembered.
 * json_close() is due in all cases.
 */
struct json_place json_open(struct json_document *document, const char *text, size_t size,
			    struct diag *d);
void json_close(struct json_document *document);

/* Remembers an error, with a sentence. */
__attribute__((format(printf, 2, 3))) void json_refuse(const struct json_place *at,
						       const char *format, ...);

/* Remembers what a function returned; 0 is no error. */
void json_check(const struct json_place *at, int err);

enum json_flag {
	JSON_OR_NULL = 1 << 0,   /* may be null */
	JSON_OR_ABSENT = 1 << 1, /* may be absent */
	JSON_ANY_BITS = 1 << 2,  /* any 64 bits, as a signed number; others are 0 … INT64_MAX */
	JSON_32_BITS = 1 << 3,   /* a number up to UINT32_MAX */
};

/* none is returned for null, for what is absent, and after errors. */
uint64_t json_get_number(const struct json_place *at, const char *key, unsigned int flags,
			 uint64_t none);

bool json_get_bool(const struct json_place *at, const char *key, unsigned int flags);

/* The text as it stands there, borrowed; NULL on failure as above. */
const char *json_get_word(const struct json_place *at, const char *key, unsigned int flags);

/* With the bytes that json_put_bytes() escaped; owned by the caller. NULL as none above. */
char *json_get_text(const struct json_place *at, const char *key, unsigned int flags);

/* The same into an array, which it may fill without a NUL; what is behind it stays. */
void json_get_bytes(const struct json_place *at, const char *key, void *buf, size_t size);

/* In ns, as json_put_time() writes it; 0 after errors. */
int64_t json_get_time(const struct json_place *at, const char *key);

/* Borrowed; NULL as none above, which is an empty list. */
const json_t *json_get_list(const struct json_place *at, const char *key);

/* A place whose object is NULL as none above. */
struct json_place json_get_object(const struct json_place *at, const char *key, unsigned int flags);

/* The object at an index of a list; false behind the last, and after errors. */
bool json_get_element(const struct json_place *at, const json_t *list, size_t index,
		      struct json_place *ret);

#endif
