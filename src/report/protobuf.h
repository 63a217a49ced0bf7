/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Protocol buffers, as far as writing one takes. A failed allocation is remembered in err, so that
 * filling needs no checks.
 */
#pragma once

#include "base/mem.h"

/* Holds one encoded message; begins as all zero. */
struct protobuf {
	unsigned char *bytes; /* owned */
	size_t size;
	int err; /* 0 or -ENOMEM */
};

void protobuf_done(struct protobuf *message);

/* Scalars that are 0 are left out, as their readers assume that anyway. */
void protobuf_add_uint(struct protobuf *message, unsigned int field, uint64_t value);

/* A string or bytes. */
void protobuf_add_bytes(struct protobuf *message, unsigned int field, const void *bytes,
			size_t size);

/* A repeated scalar, packed. */
void protobuf_add_packed(struct protobuf *message, unsigned int field, const uint64_t *values,
			 size_t count);

void protobuf_add_message(struct protobuf *message, unsigned int field,
			  const struct protobuf *inner);

/* Adds the fields of another message. */
void protobuf_append(struct protobuf *message, const struct protobuf *other);
