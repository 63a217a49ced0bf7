/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the finished form of inlined functions, and how it grows while DWARF is read. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "elf/demangle.h"
#include "elf/inlines_private.h"

int inline_builder_init(struct inline_builder *builder, const struct elf_addresses *addresses)
{
	*builder = (struct inline_builder){ .addresses = addresses, .nr_nodes = 1 };
	builder->innermost = calloc(addresses->nr + 1, sizeof(*builder->innermost));
	return builder->innermost ? 0 : -ENOMEM;
}

void inline_builder_done(struct inline_builder *builder)
{
	free(builder->innermost);
	free(builder->nodes);
	free(builder->names);
}

/* The first address that is not below start. */
static size_t address_find(const struct elf_addresses *addresses, uint64_t start)
{
	size_t low = 0, high = addresses->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (addresses->addresses[middle] < start)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

size_t inline_builder_mark(struct inline_builder *builder, uint64_t start, uint64_t end,
			   uint32_t node)
{
	const struct elf_addresses *addresses = builder->addresses;
	size_t first = address_find(addresses, start), i;

	for (i = first; i < addresses->nr && addresses->addresses[i] < end; i++) {
		if (!node)
			return 1;
		builder->innermost[i] = node;
	}
	return i - first;
}

static int name_add(struct inline_builder *builder, const char *name, uint32_t *ret)
{
	char demangled[DEMANGLED_SIZE];
	size_t bytes, capacity;
	char *grown;

	if (symbol_demangle(name, demangled))
		name = demangled;
	bytes = strnlen(name, DEMANGLED_SIZE - 1) + 1;
	if (builder->names_bytes + bytes > MAX_INLINE_NAME_BYTES)
		return -E2BIG;
	if (builder->names_bytes + bytes > builder->names_capacity) {
		capacity = 2 * (builder->names_capacity + DEMANGLED_SIZE);
		grown = realloc(builder->names, capacity);
		if (!grown)
			return -ENOMEM;
		builder->names = grown;
		builder->names_capacity = capacity;
	}
	*ret = (uint32_t)builder->names_bytes;
	memcpy(builder->names + builder->names_bytes, name, bytes - 1);
	builder->names_bytes += bytes;
	builder->names[builder->names_bytes - 1] = '\0';
	return 0;
}

int inline_builder_add(struct inline_builder *builder, const char *name, uint32_t outer,
		       uint32_t *ret)
{
	uint32_t offset = 0, depth = outer ? builder->nodes[outer].depth + 1 : 1;
	int err = name_add(builder, name, &offset);

	if (err)
		return err;
	if (builder->nr_nodes >= builder->capacity) {
		size_t capacity = builder->capacity ? builder->capacity * 2 : 256;
		struct inline_node *grown =
			reallocarray(builder->nodes, capacity, sizeof(*builder->nodes));

		if (!grown)
			return -ENOMEM;
		builder->nodes = grown;
		builder->capacity = capacity;
	}
	*ret = (uint32_t)builder->nr_nodes++;
	builder->nodes[*ret] = (struct inline_node){ offset, outer, depth };
	return 0;
}

void inline_builder_cut(struct inline_builder *builder, size_t first)
{
	builder->nr_nodes = first;
	for (size_t i = 0; i < builder->addresses->nr; i++) {
		if (builder->innermost[i] >= first)
			builder->innermost[i] = 0;
	}
}

/* Room for all that the builder knows. */
static int inlines_allocate(const struct inline_builder *builder, struct elf_inlines *inlines)
{
	size_t nr = 0, nr_functions = 0;

	for (size_t i = 0; i < builder->addresses->nr; i++) {
		uint32_t node = builder->innermost[i];

		nr += node != 0;
		nr_functions += node ? builder->nodes[node].depth : 0;
	}
	inlines->chains = calloc(nr + 1, sizeof(*inlines->chains));
	inlines->functions = calloc(nr_functions + 1, sizeof(*inlines->functions));
	return inlines->chains && inlines->functions ? 0 : -ENOMEM;
}

int inline_builder_make(struct inline_builder *builder, struct elf_inlines **ret)
{
	__cleanup(elf_inlines_freep) struct elf_inlines *inlines = calloc(1, sizeof(*inlines));
	int err = inlines ? inlines_allocate(builder, inlines) : -ENOMEM;

	if (err)
		return err;
	for (size_t i = 0; i < builder->addresses->nr; i++) {
		uint32_t node = builder->innermost[i];

		if (!node)
			continue;
		inlines->chains[inlines->nr++] = (struct inline_chain){
			.addr = builder->addresses->addresses[i],
			.first = (uint32_t)inlines->nr_functions,
			.nr = builder->nodes[node].depth,
		};
		for (; node; node = builder->nodes[node].outer)
			inlines->functions[inlines->nr_functions++] = builder->nodes[node].name;
	}
	inlines->names = steal_ptr(&builder->names);
	inlines->names_bytes = builder->names_bytes;
	*ret = steal_ptr(&inlines);
	return 0;
}

void elf_inlines_free(struct elf_inlines *inlines)
{
	if (!inlines)
		return;
	free(inlines->chains);
	free(inlines->functions);
	free(inlines->names);
	free(inlines);
}

static int chain_compare(const void *a, const void *b)
{
	const struct inline_chain *x = a, *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

size_t elf_inlines_find(const struct elf_inlines *inlines, uint64_t addr,
			const char *names[MAX_INLINE_DEPTH])
{
	const struct inline_chain key = { .addr = addr };
	const struct inline_chain *chain =
		bsearch(&key, inlines->chains, inlines->nr, sizeof(key), chain_compare);

	for (uint32_t i = 0; chain && i < chain->nr; i++)
		names[i] = inlines->names + inlines->functions[chain->first + i];
	return chain ? chain->nr : 0;
}
