/* SPDX-License-Identifier: BSD-2-Clause */
/* The inside of struct elf_symbols, for those that make one and those that send one. */
#ifndef BPFTRUSS_SYMBOLS_PRIVATE_H
#define BPFTRUSS_SYMBOLS_PRIVATE_H

#include "elf/symbols.h"

/* Of an answer. */
#define MAX_SYMBOL_RANGES 1000000

struct symbol_range {
	uint64_t start; /* below end, at or above the end of the one before */
	uint64_t end;
	uint64_t addr; /* of the symbol, at or below start */
	uint32_t name; /* offset in names */
	uint32_t pad;
};

struct elf_symbols {
	struct elf_identity identity;
	uint64_t load_offset;
	size_t debug; /* DEBUG_FILE_NONE, or an index */
	struct symbol_range *ranges;
	size_t nr;
	char *names; /* each ends in NUL */
	size_t names_bytes;
};

/* A function as its file tells of it. */
struct raw_symbol {
	uint64_t start;
	uint64_t end;     /* above start */
	const char *name; /* as it is in the file, no longer needed when the symbols are made */
	uint8_t rank;     /* for its file to sort by */
};

/* Of symbols that overlap, the later wins. 0, -ENOMEM or -E2BIG. */
int elf_symbols_make(const struct raw_symbol *raw, size_t nr, const struct elf_identity *identity,
		     struct elf_symbols **ret);

/*
 * The same, of those that each of some addresses is to be called by: best[i] for addresses[i], without
 * a name where there is none.
 */
int elf_symbols_make_some(const struct raw_symbol *best, const struct elf_addresses *addresses,
			  const struct elf_identity *identity, struct elf_symbols **ret);

/* The first of the addresses that is not below one. */
size_t address_find(const struct elf_addresses *addresses, uint64_t addr);

struct raw_symbols {
	struct raw_symbol *symbols;
	size_t nr;
	size_t capacity;
};

int raw_symbol_add(struct raw_symbols *raw, const struct raw_symbol *symbol);

void raw_symbols_done(struct raw_symbols *raw);

#endif
