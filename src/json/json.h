/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * JSON, as all of bpftruss writes and reads it.
 *
 * It is written as it goes: compact, on one line, in printable ASCII. The calls follow the text from
 * front to back. A failure is remembered, and json_end() returns it.
 *
 * Nobody vouches for what is read: each value is asked for by its key, with its type and range. The
 * document remembers the first thing that is wrong, and is empty from then on: numbers are the caller's
 * default, lists have nothing in them, texts are NULL. So a reader asks for all that it wants and looks
 * for an error once, before it uses what it got.
 */
#pragma once

#include <jansson.h>

#include "base/diag.h"
#include "model/rates.h"
#include "model/snapshot.h"

/* The value of "schema" in an object; readers refuse all others. */
#define JSON_SCHEMA 1

#define JSON_DEPTH  16
#define JSON_BUFFER 16384

struct json_writer {
	FILE *out;       /* borrowed */
	int err;         /* the first: 0 or -EIO */
	bool has_before; /* a comma is due before the next value */
	unsigned int depth;
	char ends[JSON_DEPTH]; /* what closes each level */
	size_t used;
	char buffer[JSON_BUFFER];
};

void json_begin(struct json_writer *to, FILE *out);

/* Closes what is open, and writes the rest and a line end. Returns 0 or -EIO. */
int json_end(struct json_writer *to);

/*
 * All that follows takes the key of the value: a plain word in an object, NULL in a list and for
 * the outermost value.
 */

/* These may be JSON_DEPTH deep in each other. */
void json_put_object(struct json_writer *to, const char *key);
void json_put_list(struct json_writer *to, const char *key);

/* Closes the innermost object or list. */
void json_put_end(struct json_writer *to);

/* Writes a signed number of 64 bits, as all readers take it: from 2^63 on it shows as negative. */
void json_put_number(struct json_writer *to, const char *key, uint64_t value);

/*
 * Writes a number of 64 bits without a sign. From 2^63 on, which many readers cannot hold, ours among them, it is a
 * text in hexadecimal.
 */
void json_put_natural(struct json_writer *to, const char *key, uint64_t value);

/* null when it is not known. */
void json_put_number_if(struct json_writer *to, const char *key, bool known, uint64_t value);

/* Writes as many digits as it takes to read the same; null when it is not finite. */
void json_put_real(struct json_writer *to, const char *key, double value);

void json_put_bool(struct json_writer *to, const char *key, bool value);
void json_put_null(struct json_writer *to, const char *key);

/* Text of ours: printable ASCII without quotes and backslashes. */
void json_put_word(struct json_writer *to, const char *key, const char *word);

/*
 * Bytes that somebody else chose, up to a NUL or size: a byte that is not part of valid UTF-8, or is
 * DEL, becomes the four characters \xNN.
 */
void json_put_bytes(struct json_writer *to, const char *key, const char *bytes, size_t size);

/* The same of all bytes; a NUL is \x00. */
void json_put_data(struct json_writer *to, const char *key, const void *data, size_t size);

/* The same up to a NUL; NULL is written as null. */
void json_put_text(struct json_writer *to, const char *key, const char *text);

/*
 * Writes the container with its runtime, and the pod with its quality of service; "-" when in none, null when
 * that is not known, as with NULL.
 */
void json_put_container(struct json_writer *to, const struct container *container);
void json_put_pod(struct json_writer *to, const struct container *container);

/* CLOCK_REALTIME in ns as RFC 3339. */
void json_put_time(struct json_writer *to, const char *key, int64_t real_ns);

/* Begins an object with "schema" and "version", as every document of ours does. */
void json_put_document(struct json_writer *to, const char *key);

/* The object of report_json(). */
void json_put_snapshot(struct json_writer *to, const char *key, const struct snapshot *snapshot);

/* Writes where and when something was counted: the members host to elapsed_ns. */
void json_put_origin(struct json_writer *to, const struct snapshot *snapshot);

/* The parts of a merged snapshot; of any other nothing is written. */
void json_put_parts(struct json_writer *to, const struct snapshot *snapshot);

/*
 * Where a row, a process or a thread of a merged snapshot was counted; null in a sum of hosts. Of any other snapshot
 * nothing is written.
 */
void json_put_part(struct json_writer *to, const struct snapshot *snapshot, uint32_t host);

/* Each loss by its name, as an object under "losses". */
void json_put_losses(struct json_writer *to, const struct losses *losses);

/* Times of threads, those that are not known as null. */
void json_put_microstates(struct json_writer *to, const struct microstates *states, bool has_runq,
			  bool has_lock);

/* --- reading ------------------------------------------------------------------------------------ */

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
 * Parses a document and returns the whole, an object of our schema. An error is remembered.
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

/* Returns the bytes that json_put_bytes() escaped; owned by the caller. NULL as none above. */
char *json_get_text(const struct json_place *at, const char *key, unsigned int flags);

/* The same into an array, which it may fill without a NUL; what is behind it stays. */
void json_get_bytes(const struct json_place *at, const char *key, void *buf, size_t size);

/* Returns ns, as json_put_time() writes it; 0 after errors. */
int64_t json_get_time(const struct json_place *at, const char *key);

/* Borrowed; NULL as none above, which is an empty list. */
const json_t *json_get_list(const struct json_place *at, const char *key);

/* A place whose object is NULL as none above. */
struct json_place json_get_object(const struct json_place *at, const char *key, unsigned int flags);

/* The object at an index of a list; false behind the last, and after errors. */
bool json_get_element(const struct json_place *at, const json_t *list, size_t index,
		      struct json_place *ret);

/*
 * Reads what json_put_snapshot() wrote; the stacks are as in report_json_read(). NULL on failure,
 * which the document remembers.
 */
struct snapshot *json_get_snapshot(const struct json_place *at, struct stack_table **ret_stacks);

/* Reads what these have written, and which version has saved the snapshot. */
void json_get_parts(const struct json_place *whole, struct snapshot *snapshot);
uint32_t json_get_part(const struct json_place *at, const struct snapshot *snapshot);

/* The threads of a snapshot, as the list threads, if there are any. */
void json_put_threads(struct json_writer *to, const struct snapshot *snapshot);
void json_get_threads(const struct json_place *whole, struct snapshot *snapshot);

/* Why a path or file is not known, in one word. */
const char *json_argument_reason(enum argument_key key);

/* The path or file that a row is split by, and if there is none, why. */
void json_put_argument(struct json_writer *to, const struct snapshot *snapshot,
		       const struct row *row);
void json_get_argument(const struct json_place *at, const struct argument_texts *texts,
		       struct row *row);

/* All paths and files that rows of a snapshot have; *ret stays as it is if there can be none. */
void json_get_arguments(const struct json_place *whole, struct argument_texts **ret);
