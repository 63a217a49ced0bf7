/* SPDX-License-Identifier: BSD-2-Clause */
/* How questions about inlined functions travel to a worker, and its answers back: see elf/wire.h. */
#ifndef BPFTRUSS_WIRE_INLINES_H
#define BPFTRUSS_WIRE_INLINES_H

#include "elf/inlines.h"

/* 0 or a negative errno; -E2BIG: too many at once. */
int wire_write_addresses(int fd, const struct elf_addresses *addresses);
int wire_write_inlines(int fd, const struct elf_inlines *inlines);

/* From the beginning of the file; 0, -ENOMEM or -EPROTO. ret->addresses is to be freed. */
int wire_read_addresses(int fd, struct elf_addresses *ret);
int wire_read_inlines(int fd, struct elf_inlines **ret);

#endif
