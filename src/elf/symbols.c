/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the finished form of symbols: ranges without overlap, and names that are asked for once. */
#include "elf/symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "elf/demangle.h"
#include "elf/spans.h"
#include "elf/symbols_private.h"

/* Names made to be hard to demangle cost their readability, not the file's symbols. */
#define DEMANGLE_SECONDS 4
#define CLOCK_EVERY      256

struct name_builder {
	struct elf_symbols *symbols;
	size_t capacity;
	size_t nr;
	const char *last; /* as it was given */
	bool demangle;
};

static bool demangle_allowed(struct name_builder *builder)
{
	if (builder->demangle && builder->nr++ % CLOCK_EVERY == 0)
		builder->demangle = clock() < (clock_t)DEMANGLE_SECONDS * CLOCKS_PER_SEC;
	return builder->demangle;
}

/* Appends a name and tells where it is. */
static int name_add(struct name_builder *builder, const char *name, uint32_t *ret)
{
	struct elf_symbols *symbols = builder->symbols;
	char demangled[DEMANGLED_SIZE];
	size_t bytes;

	if (demangle_allowed(builder) && symbol_demangle(name, demangled))
		name = demangled;
	/* What follows is the version of a symbol, no part of its name. */
	bytes = strcspn(name + (*name == '@'), "@") + (*name == '@') + 1;
	if (bytes > DEMANGLED_SIZE)
		bytes = DEMANGLED_SIZE;
	if (symbols->names_bytes + bytes > MAX_SYMBOL_NAME_BYTES)
		return -E2BIG;
	if (symbols->names_bytes + bytes > builder->capacity) {
		size_t capacity = 2 * (builder->capacity + DEMANGLED_SIZE);
		char *grown = realloc(symbols->names, capacity);

		if (!grown)
			return -ENOMEM;
		symbols->names = grown;
		builder->capacity = capacity;
	}
	*ret = symbols->names_bytes;
	memcpy(symbols->names + symbols->names_bytes, name, bytes - 1);
	symbols->names_bytes += bytes;
	symbols->names[symbols->names_bytes - 1] = '\0';
	return 0;
}

static int ranges_fill(struct elf_symbols *symbols, const struct raw_symbol *raw, size_t nr,
		       const struct span *spans)
{
	struct name_builder builder = { .symbols = symbols, .demangle = true };
	/* A symbol in several pieces has one name; 0 is none yet. */
	__cleanup(freep) uint32_t *names = calloc(nr + 1, sizeof(*names));
	uint32_t name;
	int err;

	if (!names)
		return -ENOMEM;
	for (size_t i = 0; i < symbols->nr; i++) {
		const struct raw_symbol *symbol = &raw[spans[i].owner];

		if (!names[spans[i].owner]) {
			err = name_add(&builder, symbol->name, &name);
			if (err)
				return err;
			names[spans[i].owner] = name + 1;
		}
		symbols->ranges[i] = (struct symbol_range){
			.start = spans[i].start,
			.end = spans[i].end,
			.addr = symbol->start,
			.name = names[spans[i].owner] - 1,
		};
	}
	return 0;
}

static int spans_of_raw(const struct raw_symbol *raw, size_t nr, struct span **ret, size_t *nr_ret)
{
	__cleanup(freep) struct claim *claims = calloc(nr + 1, sizeof(*claims));

	if (!claims)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		claims[i] = (struct claim){ raw[i].start, raw[i].end };
	return spans_make(claims, nr, ret, nr_ret);
}

int elf_symbols_make(const struct raw_symbol *raw, size_t nr, const struct elf_identity *identity,
		     struct elf_symbols **ret)
{
	__cleanup(elf_symbols_freep) struct elf_symbols *symbols = calloc(1, sizeof(*symbols));
	__cleanup(freep) struct span *spans = NULL;
	int err;

	if (!symbols)
		return -ENOMEM;
	if (identity)
		symbols->identity = *identity;
	symbols->debug = DEBUG_FILE_NONE;
	err = spans_of_raw(raw, nr, &spans, &symbols->nr);
	if (err)
		return err;
	symbols->ranges = calloc(symbols->nr + 1, sizeof(*symbols->ranges));
	if (!symbols->ranges)
		return -ENOMEM;
	err = ranges_fill(symbols, raw, nr, spans);
	if (err)
		return err;
	*ret = steal_ptr(&symbols);
	return 0;
}

size_t address_find(const struct elf_addresses *addresses, uint64_t addr)
{
	size_t low = 0, high = addresses->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (addresses->addresses[middle] < addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Neighbours that share a function share its name. */
static int range_add(struct name_builder *builder, const struct raw_symbol *symbol, uint64_t addr)
{
	struct elf_symbols *symbols = builder->symbols;
	const struct symbol_range *last = symbols->nr ? &symbols->ranges[symbols->nr - 1] : NULL;
	uint32_t name = last ? last->name : 0;
	int err = 0;

	if (!last || last->addr != symbol->start || builder->last != symbol->name)
		err = name_add(builder, symbol->name, &name);
	builder->last = symbol->name;
	symbols->ranges[symbols->nr] = (struct symbol_range){
		.start = addr, .end = addr + 1, .addr = symbol->start, .name = name
	};
	symbols->nr += !err;
	return err;
}

int elf_symbols_make_some(const struct raw_symbol *best, const struct elf_addresses *addresses,
			  const struct elf_identity *identity, struct elf_symbols **ret)
{
	__cleanup(elf_symbols_freep) struct elf_symbols *symbols = calloc(1, sizeof(*symbols));
	struct name_builder builder = { .symbols = symbols, .demangle = true };
	int err = 0;

	if (symbols)
		symbols->ranges = calloc(addresses->nr + 1, sizeof(*symbols->ranges));
	if (!symbols || !symbols->ranges)
		return -ENOMEM;
	if (identity)
		symbols->identity = *identity;
	symbols->debug = DEBUG_FILE_NONE;
	for (size_t i = 0; i < addresses->nr && !err; i++) {
		if (best[i].name)
			err = range_add(&builder, &best[i], addresses->addresses[i]);
	}
	if (!err)
		*ret = steal_ptr(&symbols);
	return err;
}

void elf_symbols_free(struct elf_symbols *symbols)
{
	if (!symbols)
		return;
	free(symbols->ranges);
	free(symbols->names);
	free(symbols);
}

bool elf_symbols_find(const struct elf_symbols *symbols, uint64_t addr, struct elf_symbol *ret)
{
	size_t low = 0, high = symbols->nr;
	const struct symbol_range *range;

	/* The first that ends above addr. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (symbols->ranges[middle].end <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	range = &symbols->ranges[low];
	if (low == symbols->nr || range->start > addr)
		return false;
	*ret = (struct elf_symbol){ symbols->names + range->name, range->addr };
	return true;
}

size_t elf_symbols_count(const struct elf_symbols *symbols)
{
	return symbols->nr;
}

const struct elf_identity *elf_symbols_identity(const struct elf_symbols *symbols)
{
	return &symbols->identity;
}

uint64_t elf_symbols_load_offset(const struct elf_symbols *symbols)
{
	return symbols->load_offset;
}

size_t elf_symbols_debug_file(const struct elf_symbols *symbols)
{
	return symbols->debug;
}

int raw_symbol_add(struct raw_symbols *raw, const struct raw_symbol *symbol)
{
	if (raw->nr == MAX_SYMBOLS)
		return -E2BIG;
	if (raw->nr == raw->capacity) {
		size_t capacity = raw->capacity ? raw->capacity * 2 : 1024;
		struct raw_symbol *grown = realloc(raw->symbols, capacity * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		raw->symbols = grown;
		raw->capacity = capacity;
	}
	raw->symbols[raw->nr++] = *symbol;
	return 0;
}

void raw_symbols_done(struct raw_symbols *raw)
{
	free(raw->symbols);
}
