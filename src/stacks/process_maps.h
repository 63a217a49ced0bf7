/* SPDX-License-Identifier: BSD-2-Clause */
/* The lines of /proc/PID/maps. */
#ifndef BPFTRUSS_PROCESS_MAPS_H
#define BPFTRUSS_PROCESS_MAPS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Part of the memory of a process. */
struct code_mapping {
	uint64_t start, end, offset;
	uint32_t dev; /* as the kernel has it: 12 bits of major, 20 of minor */
	bool exec, write;
	uint64_t ino; /* 0: of no file */
};

/* The file's name without folders; empty: unknown. */
struct code_mapping_name {
	char text[NAME_MAX + 1];
};

/* The next line; lines that make no sense are passed over. NULL: no name is wanted. False: no more. */
bool process_maps_next(FILE *maps, struct code_mapping *ret, struct code_mapping_name *name);

/* The mapping of this process that begins at an address. */
bool process_maps_find_own(uint64_t start, struct code_mapping *ret);

#endif
