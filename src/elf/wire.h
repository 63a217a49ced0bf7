/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How a worker's answer travels. What is written is taken as good; what is read comes from a
 * process that foreign bytes may have taken over, and is checked in full before it is believed.
 */
#ifndef BPFTRUSS_WIRE_H
#define BPFTRUSS_WIRE_H

#include "elf/symbols.h"
#include "elf/unwind_rows.h"

/* Nothing valid is longer: it is memory twice, here and there. */
#define MAX_WIRE_BYTES (80u << 20)

/* 0 or a negative errno. */
int wire_write_unwind(int fd, const struct elf_unwind *unwind);
int wire_write_symbols(int fd, const struct elf_symbols *symbols);

/* From the beginning of the file; 0, -ENOMEM or -EPROTO: it makes no sense. */
int wire_read_unwind(int fd, struct elf_unwind **ret);
int wire_read_symbols(int fd, struct elf_symbols **ret);

#endif
