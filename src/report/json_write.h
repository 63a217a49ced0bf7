/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes all JSON of bpftruss as it goes: compact, on one line, in printable ASCII. The calls follow
 * the text from front to back. A failure is remembered, and json_end() returns it.
 */
#ifndef BPFTRUSS_JSON_WRITE_H
#define BPFTRUSS_JSON_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

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

/* Writes the rest and a line end. Everything must be closed. Returns 0 or -EIO. */
int json_end(struct json_writer *to);

/*
 * All that follows takes the key of the value: a plain word in an object, NULL in a list and for
 * the outermost value.
 */

/* Up to JSON_DEPTH of these in each other. */
void json_put_object(struct json_writer *to, const char *key);
void json_put_list(struct json_writer *to, const char *key);

/* Closes the innermost object or list. */
void json_put_end(struct json_writer *to);

/* Writes a signed number of 64 bits, as all readers take it: from 2^63 on it shows as negative. */
void json_put_number(struct json_writer *to, const char *key, uint64_t value);

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

/* The same up to a NUL; NULL is written as null. */
void json_put_text(struct json_writer *to, const char *key, const char *text);

/* CLOCK_REALTIME in ns as RFC 3339. */
void json_put_time(struct json_writer *to, const char *key, int64_t real_ns);

/* "schema" and "version", with which every object begins. */
void json_put_version(struct json_writer *to);

#endif
