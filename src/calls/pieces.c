/* SPDX-License-Identifier: BSD-2-Clause */
/* Walks through the pieces of a record and trusts none of them. */
#include "calls/pieces.h"

/* Pieces begin at its multiples. */
#define PIECE_ALIGN 8

_Static_assert(sizeof(struct call_record) % PIECE_ALIGN == 0, "pieces are aligned");
_Static_assert(sizeof(struct call_piece) == PIECE_ALIGN, "their bytes are aligned");

void call_pieces_read(const struct call_record *record, struct call_pieces *ret)
{
	const unsigned char *at = (const unsigned char *)(record + 1);
	size_t left = record->size - sizeof(*record);

	ret->count = 0;
	while (left >= sizeof(struct call_piece) && ret->count < CALL_PIECES_MAX) {
		const struct call_piece *piece = (const struct call_piece *)at;
		size_t size = sizeof(*piece) + piece->size;

		if (size > left)
			return;
		ret->list[ret->count++] = piece;
		/* The last piece need not be padded. */
		size = (size + PIECE_ALIGN - 1) / PIECE_ALIGN * PIECE_ALIGN;
		size = size < left ? size : left;
		at += size;
		left -= size;
	}
}

bool call_pieces_find(const struct call_pieces *pieces, size_t argument, unsigned int part,
		      struct call_memory *ret)
{
	for (size_t i = pieces->count; i--;) {
		const struct call_piece *piece = pieces->list[i];

		if (piece->argument != argument || piece->part != part)
			continue;
		*ret = (struct call_memory){ (const unsigned char *)(piece + 1), piece->size,
					     piece->flags };
		return true;
	}
	return false;
}
