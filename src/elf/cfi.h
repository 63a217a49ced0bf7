/* SPDX-License-Identifier: BSD-2-Clause */
/* Call frame information: which ranges of code .eh_frame tells of, and what in the unwinder's words. */
#ifndef BPFTRUSS_CFI_H
#define BPFTRUSS_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elfutils/libdw.h>

#include "bpftruss/stack_abi.h"

#define MAX_CFI_RANGES 4000000

struct cfi_range {
	uint64_t start; /* ELF virtual address */
	uint64_t end;
};

struct cfi_ranges {
	struct cfi_range *ranges; /* by start; they may overlap */
	size_t nr;
};

/* 0 (also when there are none), -ENOMEM or -E2BIG. *ret is zeroed first. */
int cfi_ranges_read(Elf *elf, struct cfi_ranges *ret);

void cfi_ranges_done(struct cfi_ranges *ranges);

/*
 * Translates what DWARF says of a place in code. Unused fields are 0, so that equal rules have equal
 * bytes.
 */
struct unwind_rule frame_rule_make(Dwarf_Frame *frame, bool is_signal);

#endif
