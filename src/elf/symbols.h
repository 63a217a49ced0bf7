/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which function owns an address: of an ELF file (ELF virtual addresses) or of a JIT's perf map
 * (addresses in its process). Ranges ascend and do not overlap. Names are demangled, and
 * untrusted bytes.
 */
#ifndef BPFTRUSS_SYMBOLS_H
#define BPFTRUSS_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/addresses.h"
#include "elf/debug_file.h"
#include "elf/identity.h"

#define MAX_SYMBOLS           4000000
#define MAX_SYMBOL_NAME_BYTES (40 << 20) /* of all names together */

struct elf_symbols;

struct elf_symbol {
	const char *name; /* lives as long as the symbols */
	uint64_t addr;    /* where the function begins */
};

/* False: no symbol's own bytes are there; never the neighbour. */
bool elf_symbols_find(const struct elf_symbols *symbols, uint64_t addr, struct elf_symbol *ret);

/* Ranges, not functions: one with another inside has two. */
size_t elf_symbols_count(const struct elf_symbols *symbols);

/* Of the file itself, not of its debug file; all zero for a perf map. */
const struct elf_identity *elf_symbols_identity(const struct elf_symbols *symbols);

/* To be added to an offset in the file, of code: its address. */
uint64_t elf_symbols_load_offset(const struct elf_symbols *symbols);

/* Which of the debug files that were given is the file's; DEBUG_FILE_NONE: none. */
size_t elf_symbols_debug_file(const struct elf_symbols *symbols);

/*
 * Function symbols of fd: .symtab, else that of the debug file that is the file's (NULL: there is
 * none), else .dynsym and .gnu_debugdata. Only those of some offsets in the file, which can then be
 * found at the addresses of these and nowhere else, so that an answer is small however large the
 * file; NULL: all. Parses in the calling process: see elf/worker.h. 0, -ENOMEM, -EBADMSG, -E2BIG.
 */
int elf_symbols_read(int fd, const struct debug_files *debug, const struct elf_addresses *offsets,
		     struct elf_symbols **ret);

/* NULL is fine. */
void elf_symbols_free(struct elf_symbols *symbols);

static inline void elf_symbols_freep(struct elf_symbols **symbols)
{
	elf_symbols_free(*symbols);
}

#endif
