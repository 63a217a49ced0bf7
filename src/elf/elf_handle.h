/* SPDX-License-Identifier: BSD-2-Clause */
/* Hands files to libelf, and takes a first look at them. */
#ifndef BPFTRUSS_ELF_HANDLE_H
#define BPFTRUSS_ELF_HANDLE_H

#include <stddef.h>

#include <libelf.h>

#include "elf/debug_file.h"

/* 0, -EBADMSG (no ELF file) or -ENOMEM. The descriptor must outlive the handle. */
int elf_handle_open(int fd, Elf **ret);
int elf_handle_open_image(void *image, size_t size, Elf **ret);

static inline void elf_handle_closep(Elf **elf)
{
	elf_end(*elf);
}

/* The identity of what a loader would map. 0, -EBADMSG (so of an object file) or -ENOMEM. */
int elf_identity_of_file(int fd, struct elf_identity *ret);

#endif
