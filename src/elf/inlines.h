/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which functions a compiler has inlined where, as DWARF tells. Addresses are ELF virtual
 * addresses; names are demangled, and untrusted bytes.
 */
#ifndef BPFTRUSS_INLINES_H
#define BPFTRUSS_INLINES_H

#include <stddef.h>
#include <stdint.h>

#include "elf/addresses.h"

/* At one address; those further in are left out. */
#define MAX_INLINE_DEPTH 64

struct elf_inlines;

/*
 * Fills names, innermost first, with the functions that were inlined into the one whose own code
 * is around an address, and returns their number. Names live as long as the answer.
 */
size_t elf_inlines_find(const struct elf_inlines *inlines, uint64_t addr,
			const char *names[MAX_INLINE_DEPTH]);

/*
 * Looks into fd, or debug_fd when there is one (-1: none). An address about which nothing is found,
 * in the time that is given, has none. Parses in the calling process: see elf/worker.h. 0, -ENOMEM,
 * -EBADMSG (no ELF, no DWARF, another build's).
 */
int elf_inlines_read(int fd, int debug_fd, const struct elf_addresses *addresses,
		     struct elf_inlines **ret);

/* NULL is fine. */
void elf_inlines_free(struct elf_inlines *inlines);

static inline void elf_inlines_freep(struct elf_inlines **inlines)
{
	elf_inlines_free(*inlines);
}

#endif
