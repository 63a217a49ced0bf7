/* SPDX-License-Identifier: BSD-2-Clause */
/* Builds and searches lists of functions; demangles names with libiberty, which allocates nothing. */
#include "elf/functions.h"

#include <setjmp.h>
#include <time.h>

#include <libiberty/demangle.h>
#undef ARRAY_SIZE /* libiberty's own */

#include "base/text.h"

/* Names that are made to be hard to demangle lose their readability, not the file its symbols. */
#define DEMANGLE_CPU_SECONDS 6
#define CLOCK_EVERY          256

#define ELLIPSIS "..."

size_t elf_addresses_find(const struct elf_addresses *addresses, uint64_t address)
{
	return place_u64(addresses->addresses, addresses->nr, sizeof(address), address);
}

void elf_functions_free(struct elf_functions *functions)
{
	if (!functions)
		return;
	free(functions->list);
	free(functions->names);
	free(functions->text);
	free(functions);
}

const struct elf_function *elf_functions_find(const struct elf_functions *functions,
					      uint64_t address)
{
	return bsearch(&address, functions->list, functions->nr, sizeof(*functions->list),
		       compare_first_u64);
}

const char *elf_function_name(const struct elf_functions *functions,
			      const struct elf_function *function, uint32_t number)
{
	return functions->text + functions->names[function->first + number];
}

/* --- building --------------------------------------------------------------------------------- */

int functions_builder_init(struct functions_builder *builder)
{
	*builder = (struct functions_builder){
		.functions = calloc(1, sizeof(*builder->functions)),
	};
	if (!builder->functions)
		return -ENOMEM;
	builder->functions->debug = DEBUG_FILE_NONE;
	/* A list is never NULL, as bsearch() wants it. */
	builder->functions->list = calloc(1, sizeof(*builder->functions->list));
	return builder->functions->list ? 0 : -ENOMEM;
}

void functions_builder_done(struct functions_builder *builder)
{
	elf_functions_free(builder->functions);
}

int functions_add_text(struct functions_builder *builder, const char *name, uint32_t *ret)
{
	struct elf_functions *functions = builder->functions;
	char demangled[DEMANGLED_SIZE], *grown;
	size_t bytes;

	if (builder->nr_text++ % CLOCK_EVERY == 0)
		builder->is_too_slow = clock() >= (clock_t)DEMANGLE_CPU_SECONDS * CLOCKS_PER_SEC;
	if (!builder->is_too_slow && symbol_demangle(name, demangled))
		name = demangled;
	/* A symbol's version follows an @ and is no part of its name. */
	bytes = strcspn(name + (*name == '@'), "@") + (*name == '@') + 1;
	if (bytes > DEMANGLED_SIZE)
		bytes = DEMANGLED_SIZE;
	if (functions->text_bytes + bytes > MAX_NAME_BYTES)
		return -E2BIG;
	if (functions->text_bytes + bytes > builder->text_capacity) {
		grown = realloc(functions->text, 2 * (builder->text_capacity + bytes));
		if (!grown)
			return -ENOMEM;
		functions->text = grown;
		builder->text_capacity = 2 * (builder->text_capacity + bytes);
	}
	*ret = (uint32_t)functions->text_bytes;
	memcpy(functions->text + functions->text_bytes, name, bytes - 1);
	functions->text_bytes += bytes;
	functions->text[functions->text_bytes - 1] = '\0';
	return 0;
}

int functions_add(struct functions_builder *builder, uint64_t address, uint64_t start)
{
	struct elf_functions *functions = builder->functions;

	if (!array_grow(&functions->list, functions->nr, sizeof(*functions->list)))
		return -ENOMEM;
	functions->list[functions->nr++] = (struct elf_function){
		.address = address,
		.start = start,
		.first = (uint32_t)functions->nr_names,
	};
	return 0;
}

int functions_add_name(struct functions_builder *builder, uint32_t text)
{
	struct elf_functions *functions = builder->functions;

	if (!array_grow(&functions->names, functions->nr_names, sizeof(*functions->names)))
		return -ENOMEM;
	functions->names[functions->nr_names++] = text;
	functions->list[functions->nr - 1].nr++;
	return 0;
}

int functions_make(const struct elf_addresses *addresses, const struct raw_symbol *best,
		   const struct elf_identity *identity, struct elf_functions **ret)
{
	struct functions_builder builder __cleanup(functions_builder_done);
	int err = functions_builder_init(&builder);
	const char *last = NULL;
	uint32_t text = 0;

	for (size_t i = 0; i < addresses->nr && !err; i++) {
		if (!best[i].name)
			continue;
		/* Neighbours that share a symbol share its name. */
		if (best[i].name != last)
			err = functions_add_text(&builder, best[i].name, &text);
		last = best[i].name;
		err = err ?: functions_add(&builder, addresses->addresses[i], best[i].start);
		err = err ?: functions_add_name(&builder, text);
	}
	if (err)
		return err;
	if (identity)
		builder.functions->identity = *identity;
	*ret = steal_ptr(&builder.functions);
	return 0;
}

/* --- demangling ------------------------------------------------------------------------------- */

struct demangling {
	char *buf;
	size_t len;
	jmp_buf full; /* nothing else stops a demangler */
};

static void text_add(const char *text, size_t len, void *closure)
{
	struct demangling *demangling = closure;
	size_t room = DEMANGLED_SIZE - sizeof(ELLIPSIS) - demangling->len;
	size_t taken = len < room ? len : room;

	/* They send NULL for an empty text. */
	if (taken)
		memcpy(demangling->buf + demangling->len, text, taken);
	demangling->len += taken;
	if (taken < len)
		longjmp(demangling->full, 1);
}

bool symbol_demangle(const char *name, char buf[DEMANGLED_SIZE])
{
	struct demangling demangling = { .buf = buf };

	if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R'))
		return false;
	if (setjmp(demangling.full)) {
		strcpy(buf + DEMANGLED_SIZE - sizeof(ELLIPSIS), ELLIPSIS);
		return true;
	}
	/* Rust's older scheme looks like C++, which takes its hash for a part of the name. */
	if (!rust_demangle_callback(name, DMGL_NO_OPTS, text_add, &demangling)) {
		demangling.len = 0;
		if (!cplus_demangle_v3_callback(name, DMGL_NO_OPTS, text_add, &demangling))
			return false;
	}
	buf[demangling.len] = '\0';
	return demangling.len > 0;
}
