/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an ELF file says of itself, so that its separate debug file can be found. All of it is
 * untrusted, but in bounds and terminated.
 */
#ifndef BPFTRUSS_IDENTITY_H
#define BPFTRUSS_IDENTITY_H

#include <stdint.h>

#define MAX_BUILD_ID  64
#define MAX_DEBUGLINK 256

struct elf_identity {
	uint8_t build_id[MAX_BUILD_ID];
	char debuglink[MAX_DEBUGLINK]; /* a base name; empty: none */
	uint32_t debuglink_crc;
	uint16_t nr_build_id; /* bytes; 0: none */
	uint8_t has_symtab;   /* it needs no debug file for its names */
	uint8_t has_dwarf;    /* nor for the functions that were inlined */
};

#endif
