/* SPDX-License-Identifier: BSD-2-Clause */
/* Hands files to libelf, and takes a first look at them. */
#pragma once

#include "base/mem.h"

struct Elf; /* libelf's, and Elf_Scn */
struct Elf_Scn;

/* 0, -EBADMSG (no ELF file) or -ENOMEM. The descriptor must outlive the handle. */
int elf_handle_open(int fd, struct Elf **ret);
int elf_handle_open_image(void *image, size_t size, struct Elf **ret);

void elf_handle_closep(struct Elf **elf);

/* The first section with contents of a type (0: of any) and name (NULL: any). NULL: there is none. */
struct Elf_Scn *elf_section_find(struct Elf *elf, unsigned int type, const char *name);

#define MAX_BUILD_ID  64
#define MAX_DEBUGLINK 256

/*
 * Holds what an ELF file says of itself, so that its separate debug file can be found. All of it is
 * untrusted, but in bounds and terminated.
 */
struct elf_identity {
	uint8_t build_id[MAX_BUILD_ID];
	char debuglink[MAX_DEBUGLINK]; /* a base name; empty: none */
	uint32_t debuglink_crc;
	uint16_t nr_build_id; /* bytes; 0: none */
	uint8_t has_symtab;   /* it needs no debug file for its names */
	uint8_t has_dwarf;    /* nor for the functions that were inlined */
	uint64_t load_offset; /* from offsets in the file to addresses, as its first code has it */
};

/* The identity of what a loader would map. 0, -EBADMSG (so of an object file) or -ENOMEM. */
int elf_identity_of_file(int fd, struct elf_identity *ret);
