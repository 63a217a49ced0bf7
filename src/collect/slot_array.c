/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the mapping of the slots. Invariant: addresses for all of them are reserved, and the first
 * mapped_bytes are the array. It grows with the highest index asked for and does not shrink: the
 * kernel hands out those that came back first.
 */
#include "collect/slot_array.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"

/* A multiple of all page sizes. */
#define MAP_STEP_BYTES ((size_t)1024 * 1024)

struct slot_array {
	struct call_slot *slots;
	size_t mapped_bytes, all_bytes;
	uint32_t max_slots;
	int fd; /* the map's */
};

_Static_assert(sizeof(struct call_slot) % 8 == 0, "the kernel rounds each up to 8 bytes");

int slot_array_new(const struct bpf_map *map, struct slot_array **ret)
{
	struct slot_array *array __cleanup(freep) = calloc(1, sizeof(*array));
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *memory;

	if (!array)
		return -ENOMEM;
	array->fd = bpf_map__fd(map);
	array->max_slots = bpf_map__max_entries(map);
	array->all_bytes = (array->max_slots * sizeof(struct call_slot) + page - 1) & ~(page - 1);
	memory = mmap(NULL, array->all_bytes, PROT_NONE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return -errno;
	array->slots = memory;
	*ret = steal_ptr(&array);
	return 0;
}

void slot_array_free(struct slot_array *array)
{
	if (!array)
		return;
	munmap(array->slots, array->all_bytes);
	free(array);
}

static int slot_array_map(struct slot_array *array, size_t bytes)
{
	size_t more = (bytes - array->mapped_bytes + MAP_STEP_BYTES - 1) & ~(MAP_STEP_BYTES - 1);

	if (more > array->all_bytes - array->mapped_bytes)
		more = array->all_bytes - array->mapped_bytes;
	if (mmap((char *)array->slots + array->mapped_bytes, more, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_FIXED, array->fd, (off_t)array->mapped_bytes) == MAP_FAILED)
		return -errno;
	array->mapped_bytes += more;
	return 0;
}

struct call_slot *slot_array_at(struct slot_array *array, uint32_t index)
{
	size_t end = ((size_t)index + 1) * sizeof(struct call_slot);

	if (index >= array->max_slots)
		return NULL;
	if (end > array->mapped_bytes && slot_array_map(array, end))
		return NULL;
	return &array->slots[index];
}
