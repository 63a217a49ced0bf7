/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Maps a table. Addresses for all of it are reserved, and what is mapped of them grows with the highest
 * index asked for and does not shrink: the programs hand out those that came back first.
 */
#include "collect/map_array.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"

/* A multiple of all page sizes. */
#define MAP_STEP_BYTES ((size_t)1024 * 1024)

struct map_array {
	char *memory;
	size_t element, mapped_bytes, all_bytes;
	uint32_t size;
	int fd; /* the map's */
};

int map_array_new(const struct bpf_map *map, struct map_array **ret)
{
	struct map_array *array __cleanup(freep) = calloc(1, sizeof(*array));
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *memory;

	if (!array)
		return -ENOMEM;
	array->fd = bpf_map__fd(map);
	array->size = bpf_map__max_entries(map);
	/* The kernel rounds each element up to 8 bytes. */
	array->element = (bpf_map__value_size(map) + 7u) & ~(size_t)7u;
	array->all_bytes = (array->size * array->element + page - 1) & ~(page - 1);
	memory = mmap(NULL, array->all_bytes, PROT_NONE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return -errno;
	array->memory = memory;
	*ret = steal_ptr(&array);
	return 0;
}

void map_array_free(struct map_array *array)
{
	if (!array)
		return;
	munmap(array->memory, array->all_bytes);
	free(array);
}

uint32_t map_array_size(const struct map_array *array)
{
	return array->size;
}

static int map_up_to(struct map_array *array, size_t bytes)
{
	size_t more = (bytes - array->mapped_bytes + MAP_STEP_BYTES - 1) & ~(MAP_STEP_BYTES - 1);

	if (more > array->all_bytes - array->mapped_bytes)
		more = array->all_bytes - array->mapped_bytes;
	if (mmap(array->memory + array->mapped_bytes, more, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_FIXED, array->fd, (off_t)array->mapped_bytes) == MAP_FAILED) {
		/* Older kernels have given these addresses back: reserve them again, or do without. */
		if (mmap(array->memory + array->mapped_bytes, more, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
			 0) == MAP_FAILED)
			array->all_bytes = array->mapped_bytes;
		return -ENOMEM;
	}
	/* Copies of this process, which run errands, have no use for it, and copying takes time. */
	madvise(array->memory + array->mapped_bytes, more, MADV_DONTFORK);
	array->mapped_bytes += more;
	return 0;
}

void *map_array_at(struct map_array *array, uint32_t index)
{
	size_t end = ((size_t)index + 1) * array->element;

	if (index >= array->size)
		return NULL;
	if (end > array->mapped_bytes && map_up_to(array, end))
		return NULL;
	return array->memory + end - array->element;
}
