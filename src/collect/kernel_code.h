/* SPDX-License-Identifier: BSD-2-Clause */
/* The names of the kernel's functions, as /proc/kallsyms has them. */
#ifndef BPFTRUSS_KERNEL_CODE_H
#define BPFTRUSS_KERNEL_CODE_H

#include <stddef.h>
#include <stdint.h>

struct kernel_symbol {
	uint64_t address;
	char *name;
	char *module; /* NULL: the kernel itself */
};

/* Read when it is first asked for. All zero is right to begin with. */
struct kernel_code {
	struct kernel_symbol *symbols; /* by address */
	size_t count;
	int tried;
};

/* The function at an address; NULL when the kernel does not say. Lives as long as the names. */
const struct kernel_symbol *kernel_code_find(struct kernel_code *code, uint64_t address);

void kernel_code_done(struct kernel_code *code);

#endif
