/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the kernel's symbols. Invariant: sorted by address; without privileges there are none. */
#include "collect/kernel_code.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static int symbol_add(struct kernel_code *code, uint64_t address, const char *name,
		      const char *module)
{
	struct kernel_symbol *grown = code->symbols;

	/* Doubles: there are some hundred thousand. */
	if (!(code->count & (code->count - 1)))
		grown = reallocarray(grown, 2 * code->count + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	code->symbols = grown;
	grown[code->count] = (struct kernel_symbol){
		.address = address,
		.name = strdup(name),
		.module = *module ? strdup(module) : NULL,
	};
	code->count++;
	return grown[code->count - 1].name ? 0 : -ENOMEM;
}

/* "ffffffff81000000 t name\t[module]": functions, of which those of modules come last. */
static int symbol_read(struct kernel_code *code, const char *line)
{
	char type, name[256], module[64] = "";
	unsigned long address;

	if (sscanf(line, "%lx %c %255s [%63[^]]", &address, &type, name, module) < 3 ||
	    !strchr("tTwW", type) || !address)
		return 0;
	return symbol_add(code, address, name, module);
}

static int compare_symbols(const void *a, const void *b)
{
	const struct kernel_symbol *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

static void symbols_read(struct kernel_code *code)
{
	FILE *file __cleanup(fclosep) = fopen("/proc/kallsyms", "re");
	char line[512];
	int err = 0;

	while (file && !err && fgets(line, sizeof(line), file))
		err = symbol_read(code, line);
	if (code->count)
		qsort(code->symbols, code->count, sizeof(*code->symbols), compare_symbols);
}

const struct kernel_symbol *kernel_code_find(struct kernel_code *code, uint64_t address)
{
	size_t low = 0, high;

	if (!code->tried)
		symbols_read(code);
	code->tried = 1;
	for (high = code->count; low < high;) {
		size_t middle = (low + high) / 2;

		if (code->symbols[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &code->symbols[low - 1] : NULL;
}

void kernel_code_done(struct kernel_code *code)
{
	for (size_t i = 0; i < code->count; i++) {
		free(code->symbols[i].name);
		free(code->symbols[i].module);
	}
	free(code->symbols);
}
