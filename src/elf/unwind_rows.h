/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The unwind table of one x86-64 ELF file: from the pc of a row on its rule holds, up to the next
 * row. Rows ascend strictly, begin at text_start and lie below text_end, so that every pc in text
 * has an answer; CFA_NONE where the file says nothing.
 */
#pragma once

#include "base/mem.h"
#include "bpftruss/stack_abi.h"

#define MAX_UNWIND_ROWS  4000000
#define MAX_UNWIND_BYTES ((uint64_t)MAX_UNWIND_PAGES << UNWIND_PAGE_SHIFT)

struct unwind_row {
	uint64_t pc; /* ELF virtual address */
	struct unwind_rule rule;
};

/* No rows: frame pointers only (another machine, no .eh_frame, no text). */
struct elf_unwind {
	uint64_t text_start;  /* of a page */
	uint64_t load_offset; /* ELF virtual address minus offset in the file, of text */
	uint64_t text_end;
	struct unwind_row *rows;
	size_t nr_rows;
};

/*
 * Parses in the calling process: see elf/worker.h. 0, -ENOMEM, -EBADMSG (no ELF), -ENOTSUP (segments
 * of text that are not mapped alike), -E2BIG (beyond the limits above).
 */
int elf_unwind_read(int fd, struct elf_unwind **ret);

void elf_unwind_free(struct elf_unwind *unwind);
CLEANUP_OF(elf_unwind, elf_unwind_free)
