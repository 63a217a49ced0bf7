/* SPDX-License-Identifier: BSD-2-Clause */
/* Which ranges of code the .eh_frame of an ELF file says anything about. */
#ifndef BPFTRUSS_CFI_RANGES_H
#define BPFTRUSS_CFI_RANGES_H

#include <stddef.h>
#include <stdint.h>

#include <libelf.h>

#define MAX_CFI_RANGES 4000000

struct cfi_range {
	uint64_t start; /* ELF virtual address */
	uint64_t end;
};

struct cfi_ranges {
	struct cfi_range *ranges; /* by start; they may overlap */
	size_t nr;
	size_t capacity;
};

/* 0 (also when there are none), -ENOMEM or -E2BIG. *ret is zeroed first. */
int cfi_ranges_read(Elf *elf, struct cfi_ranges *ret);

void cfi_ranges_done(struct cfi_ranges *ranges);

#endif
