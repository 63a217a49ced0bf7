/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes JSON as it goes, for reports of many rows: compact, in printable ASCII. The calls follow
 * the text from front to back. A failure is remembered and told by json_stream_done().
 */
#ifndef BPFTRUSS_JSON_STREAM_H
#define BPFTRUSS_JSON_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define JSON_STREAM_DEPTH  16
#define JSON_STREAM_BUFFER 16384

struct json_stream {
	FILE *out;       /* borrowed */
	int err;         /* the first: -EIO or -ENOMEM */
	bool has_before; /* a comma is due before the next value */
	unsigned int depth;
	char ends[JSON_STREAM_DEPTH]; /* what closes each level */
	size_t used;
	char buffer[JSON_STREAM_BUFFER];
};

void json_stream_init(struct json_stream *stream, FILE *out);

/* Writes the rest and a line end. Everything must be closed. Returns 0, -EIO or -ENOMEM. */
int json_stream_done(struct json_stream *stream);

/*
 * All that follows takes the key of the value: a plain word in an object, NULL in a list and for
 * the outermost value.
 */

/* Up to JSON_STREAM_DEPTH of these in each other. */
void json_stream_object(struct json_stream *stream, const char *key);
void json_stream_list(struct json_stream *stream, const char *key);

/* Closes the innermost object or list. */
void json_stream_end(struct json_stream *stream);

/* As a signed number of 64 bits, as all readers take it: from 2^63 on it shows as negative. */
void json_stream_number(struct json_stream *stream, const char *key, uint64_t value);

/* null when it is not known. */
void json_stream_number_if(struct json_stream *stream, const char *key, bool known, uint64_t value);

void json_stream_bool(struct json_stream *stream, const char *key, bool value);
void json_stream_null(struct json_stream *stream, const char *key);

/* Text of ours: printable ASCII without quotes and backslashes. */
void json_stream_word(struct json_stream *stream, const char *key, const char *word);

/* Bytes that somebody else chose, up to a NUL or size, through text_escape(). */
void json_stream_untrusted(struct json_stream *stream, const char *key, const char *bytes,
			   size_t size);

/* The same up to a NUL; NULL is written as null. */
void json_stream_untrusted_text(struct json_stream *stream, const char *key, const char *text);

/* CLOCK_REALTIME as RFC 3339. */
void json_stream_time(struct json_stream *stream, const char *key, int64_t real_ns);

#endif
