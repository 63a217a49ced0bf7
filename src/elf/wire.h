/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Carries questions to a worker, and its answers back. Data to be written is taken as good; data
 * that is read comes from a process that foreign bytes may have taken over, and is checked in full
 * before it is believed.
 */
#pragma once

#include "elf/functions.h"
#include "elf/unwind_rows.h"

/* Nothing valid is longer: it is memory twice, here and there. */
#define MAX_WIRE_BYTES (80u << 20)

/* 0 or a negative errno; -E2BIG: too many addresses. */
int wire_write_addresses(int fd, const struct elf_addresses *addresses);
int wire_write_unwind(int fd, const struct elf_unwind *unwind);
int wire_write_functions(int fd, const struct elf_functions *functions);

/*
 * Read from the beginning of the file. 0, -ENOMEM or -EPROTO: it makes no sense. The caller frees
 * ret->addresses.
 */
int wire_read_addresses(int fd, struct elf_addresses *ret);
int wire_read_unwind(int fd, struct elf_unwind **ret);
int wire_read_functions(int fd, struct elf_functions **ret);
