/* SPDX-License-Identifier: BSD-2-Clause */
/* Encodes protocol buffers. Invariant: after a failure nothing is added any more. */
#include "report/protobuf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum wire_type {
	WIRE_VARINT = 0,
	WIRE_BYTES = 2,
};

void protobuf_done(struct protobuf *message)
{
	free(message->bytes);
	message->bytes = NULL;
}

static void append(struct protobuf *message, const void *bytes, size_t size)
{
	for (size_t i = 0; i < size && !message->err; i++) {
		if (array_grow(&message->bytes, message->size, 1))
			message->bytes[message->size++] = ((const unsigned char *)bytes)[i];
		else
			message->err = -ENOMEM;
	}
}

/* The lowest 7 bits first; the top bit of a byte says that more follow. */
static void append_varint(struct protobuf *message, uint64_t value)
{
	for (; value > 0x7f; value >>= 7)
		append(message, &(unsigned char){ (unsigned char)(value | 0x80) }, 1);
	append(message, &(unsigned char){ (unsigned char)value }, 1);
}

static void append_key(struct protobuf *message, unsigned int field, enum wire_type type)
{
	append_varint(message, (uint64_t)field << 3 | type);
}

void protobuf_add_uint(struct protobuf *message, unsigned int field, uint64_t value)
{
	if (!value)
		return;
	append_key(message, field, WIRE_VARINT);
	append_varint(message, value);
}

void protobuf_add_bytes(struct protobuf *message, unsigned int field, const void *bytes,
			size_t size)
{
	append_key(message, field, WIRE_BYTES);
	append_varint(message, size);
	append(message, bytes, size);
}

void protobuf_append(struct protobuf *message, const struct protobuf *other)
{
	if (other->err)
		message->err = other->err;
	append(message, other->bytes, other->size);
}

void protobuf_add_message(struct protobuf *message, unsigned int field,
			  const struct protobuf *inner)
{
	append_key(message, field, WIRE_BYTES);
	append_varint(message, inner->size);
	protobuf_append(message, inner);
}

void protobuf_add_packed(struct protobuf *message, unsigned int field, const uint64_t *values,
			 size_t count)
{
	struct protobuf packed __cleanup(protobuf_done) = { .size = 0 };

	for (size_t i = 0; i < count; i++)
		append_varint(&packed, values[i]);
	if (count)
		protobuf_add_message(message, field, &packed);
}
