/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The slots of the BPF side, mapped as far as they are in use: what is mapped counts as resident
 * memory of this process, and the whole array is 28 MB.
 */
#ifndef BPFTRUSS_SLOT_ARRAY_H
#define BPFTRUSS_SLOT_ARRAY_H

#include <stdint.h>

#include "bpftruss/abi.h"

struct bpf_map;
struct slot_array;

/* The map must be loaded, and outlive the array. Returns 0 or -errno. */
int slot_array_new(const struct bpf_map *map, struct slot_array **ret);

/* NULL is fine. */
void slot_array_free(struct slot_array *array);

/* A slot by its index; the address stays right. NULL: there is none, or no memory to map it. */
struct call_slot *slot_array_at(struct slot_array *array, uint32_t index);

#endif
