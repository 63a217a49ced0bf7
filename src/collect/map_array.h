/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The elements of a table of the BPF side, mapped as far as they are in use: what is mapped counts as
 * resident memory of this process, and a table is made for more than is used on most days.
 */
#ifndef BPFTRUSS_MAP_ARRAY_H
#define BPFTRUSS_MAP_ARRAY_H

#include <stdint.h>

struct bpf_map;
struct map_array;

/* The map must be loaded, and outlive the array. Returns 0 or -errno. */
int map_array_new(const struct bpf_map *map, struct map_array **ret);

/* NULL is fine. */
void map_array_free(struct map_array *array);

/* An element by its index; the address stays right. NULL: there is none, or no memory to map it. */
void *map_array_at(struct map_array *array, uint32_t index);

/* How many elements there are. */
uint32_t map_array_size(const struct map_array *array);

#endif
