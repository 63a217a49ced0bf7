/* SPDX-License-Identifier: BSD-2-Clause */
/* These addresses a worker is asked about. */
#ifndef BPFTRUSS_ADDRESSES_H
#define BPFTRUSS_ADDRESSES_H

#include <stddef.h>
#include <stdint.h>

/* To be asked about at a time. */
#define MAX_ADDRESSES 65536

struct elf_addresses {
	uint64_t *addresses; /* ascending, each once */
	size_t nr;
};

#endif
