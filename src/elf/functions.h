/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions at addresses: what a parser of symbols, of a JIT's perf map or of DWARF knows about those
 * addresses that it was asked about. Names are demangled, and untrusted bytes.
 */
#pragma once

#include "elf/debug_file.h"

/* A parser is asked about at most so many addresses at a time. */
#define MAX_ADDRESSES 65536

struct elf_addresses {
	uint64_t *addresses; /* ascending, each once */
	size_t nr;
};

/* Returns the index of the first of the addresses that is not below one. */
size_t elf_addresses_find(const struct elf_addresses *addresses, uint64_t address);

/* Functions that were inlined at one address; those further in are left out. */
#define MAX_INLINE_DEPTH 64

/* Bytes of all names together. */
#define MAX_NAME_BYTES (40 << 20)

/* The functions at one address. */
struct elf_function {
	uint64_t address; /* above that of the one before */
	uint64_t start;   /* of a symbol: where it begins, at or below the address; else 0 */
	uint32_t first;   /* of its names */
	uint32_t nr; /* 1 for a symbol; 1 to MAX_INLINE_DEPTH inlined functions, innermost first */
};

struct elf_functions {
	struct elf_identity identity; /* of a file of symbols; else all zero */
	uint64_t debug;               /* which debug file is that file's; DEBUG_FILE_NONE: none */
	uint64_t map_bytes;           /* of a perf map, all that was read; else 0 */
	struct elf_function *list;    /* no entry for addresses of which nothing is known */
	size_t nr;
	uint32_t *names; /* offsets in text */
	size_t nr_names;
	char *text; /* each name ends in NUL */
	size_t text_bytes;
};

void elf_functions_free(struct elf_functions *functions);
CLEANUP_OF(elf_functions, elf_functions_free)

/* NULL: nothing is known of that address. */
const struct elf_function *elf_functions_find(const struct elf_functions *functions,
					      uint64_t address);

/* The name of a number below function->nr; it lives as long as the functions. */
const char *elf_function_name(const struct elf_functions *functions,
			      const struct elf_function *function, uint32_t number);

/* --- for the parsers -------------------------------------------------------------------------- */

/* A function as its file tells of it. */
struct raw_symbol {
	uint64_t start;
	uint64_t end;     /* above start */
	const char *name; /* as it is in the file; NULL: there is none */
	uint8_t rank;     /* for its file to choose by */
};

/*
 * Makes functions of the symbol that each of some addresses is called by. NULL: there is no identity.
 * 0, -ENOMEM or -E2BIG.
 */
int functions_make(const struct elf_addresses *addresses, const struct raw_symbol *best,
		   const struct elf_identity *identity, struct elf_functions **ret);

struct functions_builder {
	struct elf_functions *functions;
	size_t text_capacity;
	size_t nr_text;   /* names in the text */
	bool is_too_slow; /* to demangle */
};

/* 0 or -ENOMEM; functions_builder_done() is due in both cases. */
int functions_builder_init(struct functions_builder *builder);
void functions_builder_done(struct functions_builder *builder);

/* Adds a name as it is in the file; returns where it is in the text. 0, -ENOMEM or -E2BIG. */
int functions_add_text(struct functions_builder *builder, const char *name, uint32_t *ret);

/* Adds a function at an address; its names are added one by one. 0 or -ENOMEM. */
int functions_add(struct functions_builder *builder, uint64_t address, uint64_t start);
int functions_add_name(struct functions_builder *builder, uint32_t text);

/* A name that does not fit is cut and ends in "...". */
#define DEMANGLED_SIZE 1024

/*
 * The name of a C++ or Rust function as its author wrote it, without parameters and hash. False: it is
 * not mangled. A short name may stand for a very long one: it costs no more than what fits.
 */
bool symbol_demangle(const char *name, char buf[DEMANGLED_SIZE]);
