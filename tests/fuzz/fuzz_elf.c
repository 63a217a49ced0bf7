/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes what reads foreign bytes, in this process: the parsers that a worker runs, and the check
 * of its answer that the privileged side runs. The first byte of an input chooses; the result of a
 * parser must pass the check.
 */

#include "elf/symbols.h"
#include "elf/wire.h"
#include "fuzz.h"

static void unwind_use(const struct elf_unwind *unwind)
{
	for (size_t i = 0; i < unwind->nr_rows; i++) {
		require(unwind->rows[i].pc < unwind->text_end);
		require(unwind->rows[i].pc >=
			(i ? unwind->rows[i - 1].pc + 1 : unwind->text_start));
	}
}

static void functions_use(const struct elf_functions *functions)
{
	for (size_t i = 0; i < functions->nr; i++) {
		const struct elf_function *function = &functions->list[i];

		require(elf_functions_find(functions, function->address) == function);
		require(function->start <= function->address && function->nr);
		for (uint32_t n = 0; n < function->nr; n++)
			require(strlen(elf_function_name(functions, function, n)) <
				functions->text_bytes);
	}
}

static void fuzz_unwind(int fd)
{
	__cleanup(elf_unwind_freep) struct elf_unwind *unwind = NULL, *read = NULL;
	int copy __cleanup(closep) = file_make("", 0);

	if (elf_unwind_read(fd, &unwind))
		return;
	require(!wire_write_unwind(copy, unwind) && !wire_read_unwind(copy, &read));
	unwind_use(read);
}

static void functions_check(struct elf_functions *functions)
{
	__cleanup(elf_functions_freep) struct elf_functions *own = functions, *read = NULL;
	int copy __cleanup(closep) = file_make("", 0);

	require(!wire_write_functions(copy, own) && !wire_read_functions(copy, &read));
	functions_use(read);
}

static uint64_t some_addresses[] = { 0, 1, 0x1000, 0x1010, 0x1100, 0x2000, UINT64_MAX };
static const struct elf_addresses some = { some_addresses, ARRAY_SIZE(some_addresses) };

static void fuzz_symbols(int fd)
{
	/* Its own debug file, too. */
	const struct debug_files own = { .fds = { fd }, .nr = 1 };
	struct elf_functions *functions;

	if (!elf_symbols_read(fd, &own, &some, &functions))
		functions_check(functions);
}

static void fuzz_perf_map(int fd)
{
	struct elf_functions *functions;

	if (!perf_map_read(fd, &some, &functions))
		functions_check(functions);
}

static void fuzz_wire_unwind(int fd)
{
	__cleanup(elf_unwind_freep) struct elf_unwind *unwind = NULL;

	if (!wire_read_unwind(fd, &unwind))
		unwind_use(unwind);
}

static void fuzz_wire_functions(int fd)
{
	__cleanup(elf_functions_freep) struct elf_functions *functions = NULL;

	if (!wire_read_functions(fd, &functions))
		functions_use(functions);
}

static void fuzz_inlines(int fd)
{
	uint64_t list[4096];
	const struct elf_addresses addresses = { list, ARRAY_SIZE(list) };
	struct elf_functions *functions;

	for (size_t i = 0; i < ARRAY_SIZE(list); i++)
		list[i] = 0x1000 + i;
	if (!elf_inlines_read(fd, &addresses, &functions))
		functions_check(functions);
}

static void fuzz_wire_addresses(int fd)
{
	struct elf_addresses addresses;

	if (wire_read_addresses(fd, &addresses))
		return;
	for (size_t i = 1; i < addresses.nr; i++)
		require(addresses.addresses[i] > addresses.addresses[i - 1]);
	free(addresses.addresses);
}

static void fuzz_demangle(int fd)
{
	char name[2048] = "", demangled[DEMANGLED_SIZE];
	ssize_t n = pread(fd, name, sizeof(name) - 1, 0);

	if (n > 0 && symbol_demangle(name, demangled))
		require(strlen(demangled) < DEMANGLED_SIZE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const parsers[])(int fd) = {
		fuzz_unwind,         fuzz_symbols,  fuzz_perf_map, fuzz_wire_unwind,
		fuzz_wire_functions, fuzz_demangle, fuzz_inlines,  fuzz_wire_addresses,
	};
	int fd __cleanup(closep) = -1;

	if (!size)
		return 0;
	fd = file_make(data + 1, size - 1);
	/* Digits, so that seeds are text where their format is. */
	parsers[(data[0] - '0') % ARRAY_SIZE(parsers)](fd);
	return 0;
}
