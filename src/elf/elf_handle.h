/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns how a file is handed to libelf. */
#ifndef BPFTRUSS_ELF_HANDLE_H
#define BPFTRUSS_ELF_HANDLE_H

#include <stdbool.h>
#include <stddef.h>

#include <libelf.h>

#include "elf/identity.h"

/* 0, -EBADMSG (no ELF file) or -ENOMEM. The descriptor must outlive the handle. */
int elf_handle_open(int fd, Elf **ret);
int elf_handle_open_image(void *image, size_t size, Elf **ret);

static inline void elf_handle_closep(Elf **elf)
{
	elf_end(*elf);
}

void elf_identity_read(Elf *elf, struct elf_identity *ret);

/* Of what a loader would map: an object file has no addresses yet. 0, -EBADMSG or -ENOMEM. */
int elf_identity_of_file(int fd, struct elf_identity *ret);

/* From offsets in the file to addresses, as the first segment of code has it. 0, -EBADMSG or -ENOMEM. */
int elf_load_offset_of_file(int fd, uint64_t *ret);

/* Whether it belongs to the file: a debug file of another build has other addresses. */
bool debug_file_matches(int debug_fd, const struct elf_identity *identity);

#endif
