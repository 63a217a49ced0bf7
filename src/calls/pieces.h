/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the memory of a call in its record. Sizes within a record are not trusted: one that is
 * wrong ends the record early.
 */
#pragma once

#include "base/mem.h"
#include "bpftruss/call_abi.h"

/* More than any call has: strings of two arrays, and more than all parts of the other arguments. */
#define CALL_PIECES_MAX (2 * (CALL_STRINGS + 1) + 4 * (PART_BUFFERS + CALL_BUFFERS))

struct call_pieces {
	size_t count;
	const struct call_piece *list[CALL_PIECES_MAX]; /* borrowed from the record */
};

/* Bytes of a call's memory. */
struct call_memory {
	const unsigned char *bytes;
	size_t size;
	unsigned int flags; /* enum piece_flag */
};

/* Finds all pieces of a record, which has the size that it says, up to the first that is not whole. */
void call_pieces_read(const struct call_record *record, struct call_pieces *ret);

/* The last piece of a part of an argument; false: it was not read. */
bool call_pieces_find(const struct call_pieces *pieces, size_t argument, unsigned int part,
		      struct call_memory *ret);

/* A number of up to 8 bytes, not aligned. */
static inline uint64_t memory_word(const unsigned char *bytes, size_t size, bool is_signed)
{
	uint64_t word = 0;
	unsigned int unused = 64 - 8 * (unsigned int)size;

	/* All machines that we know are little-endian. */
	memcpy(&word, bytes, size);
	return is_signed ? (uint64_t)((int64_t)(word << unused) >> unused) : word;
}
