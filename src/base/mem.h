/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ownership of locals: cleanup attributes and hand-over; arrays and trees that grow. It also
 * includes the C library's everyday headers: errors, integers, memory, trees, strings, streams and
 * descriptors.
 */
#pragma once

#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define __cleanup(function) __attribute__((cleanup(function)))

/* Moves a pointer out of a variable that would be cleaned up: return steal_ptr(&x). */
#define steal_ptr(pointer)                              \
	({                                              \
		__typeof__(*(pointer)) p_ = *(pointer); \
		*(pointer) = NULL;                      \
		p_;                                     \
	})

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/*
 * Makes room for one more item in an array of count others that has grown by this alone, from NULL:
 * it doubles at each power of two. array points to the pointer. False: no memory; all is as it was.
 */
static inline bool array_grow(void *array, size_t count, size_t size)
{
	void *items;

	if (count & (count - 1))
		return true;
	memcpy(&items, array, sizeof(items));
	items = reallocarray(items, count ? 2 * count : 1, size);
	if (items)
		memcpy(array, &items, sizeof(items));
	return items;
}

/*
 * Adds a copy of an item to a tree of tsearch(3), in which there is no such item. Returns the copy, which
 * is to be freed with the tree; NULL: no memory.
 */
static inline void *tree_add(void **tree, const void *item, size_t size, __compar_fn_t compare)
{
	void *copy = malloc(size);

	if (copy && tsearch(memcpy(copy, item, size), tree, compare))
		return copy;
	free(copy);
	return NULL;
}

static inline void freep(void *pointer)
{
	free(*(void **)pointer);
}

static inline void closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

/* Moves a descriptor out of a variable that would be closed: return steal_fd(&fd). */
static inline int steal_fd(int *fd)
{
	const int moved = *fd;

	*fd = -1;
	return moved;
}

/* Defines what __cleanup() calls for a pointer: x_freep() for x_free(), which takes NULL. */
#define CLEANUP_OF(type, free)                       \
	static inline void free##p(struct type **at) \
	{                                            \
		free(*at);                           \
	}

static inline void fclosep(FILE **file)
{
	if (*file)
		fclose(*file);
}
