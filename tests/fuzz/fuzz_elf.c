/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What reads foreign bytes, in this process: the parsers that a worker runs, and the check of its
 * answer that the privileged side runs. The first byte of an input chooses; what a parser has made
 * must pass the check.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "elf/demangle.h"
#include "elf/inlines_private.h"
#include "elf/perf_map.h"
#include "elf/symbols_private.h"
#include "elf/wire.h"
#include "elf/wire_inlines.h"

#define require(condition)        \
	do {                      \
		if (!(condition)) \
			abort();  \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int file_make(const void *bytes, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	require(fd >= 0 && pwrite(fd, bytes, size, 0) == (ssize_t)size);
	return fd;
}

static void unwind_use(const struct elf_unwind *unwind)
{
	for (size_t i = 0; i < unwind->nr_rows; i++)
		require(elf_unwind_find(unwind, unwind->rows[i].pc) == &unwind->rows[i]);
}

static void symbols_use(const struct elf_symbols *symbols)
{
	struct elf_symbol symbol;

	for (size_t i = 0; i < symbols->nr; i++) {
		require(elf_symbols_find(symbols, symbols->ranges[i].start, &symbol));
		require(symbol.addr <= symbols->ranges[i].start);
		require(strlen(symbol.name) < symbols->names_bytes);
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

static void symbols_check(const struct elf_symbols *symbols)
{
	__cleanup(elf_symbols_freep) struct elf_symbols *read = NULL;
	int copy __cleanup(closep) = file_make("", 0);

	require(!wire_write_symbols(copy, symbols) && !wire_read_symbols(copy, &read));
	symbols_use(read);
}

static void fuzz_symbols(int fd)
{
	__cleanup(elf_symbols_freep) struct elf_symbols *symbols = NULL, *some = NULL;
	const struct debug_files own = { .fds = { fd }, .nr = 1 };
	uint64_t list[] = { 0, 1, 0x1000, 0x1010, 0x1100, 0x2000, UINT64_MAX };
	const struct elf_addresses offsets = { list, ARRAY_SIZE(list) };

	/* Its own debug file, too. */
	if (!elf_symbols_read(fd, &own, NULL, &symbols))
		symbols_check(symbols);
	if (!elf_symbols_read(fd, &own, &offsets, &some))
		symbols_check(some);
}

static void fuzz_perf_map(int fd)
{
	__cleanup(elf_symbols_freep) struct elf_symbols *symbols = NULL, *some = NULL;
	uint64_t list[] = { 0, 1, 0x1000, 0x1010, 0x1100, 0x2000, UINT64_MAX };
	const struct elf_addresses addresses = { list, ARRAY_SIZE(list) };

	if (!perf_map_read(fd, NULL, &symbols))
		symbols_check(symbols);
	if (!perf_map_read(fd, &addresses, &some))
		symbols_check(some);
}

static void fuzz_wire_unwind(int fd)
{
	__cleanup(elf_unwind_freep) struct elf_unwind *unwind = NULL;

	if (!wire_read_unwind(fd, &unwind))
		unwind_use(unwind);
}

static void fuzz_wire_symbols(int fd)
{
	__cleanup(elf_symbols_freep) struct elf_symbols *symbols = NULL;

	if (!wire_read_symbols(fd, &symbols))
		symbols_use(symbols);
}

static void inlines_use(const struct elf_inlines *inlines)
{
	const char *names[MAX_INLINE_DEPTH];

	for (size_t i = 0; i < inlines->nr; i++) {
		size_t nr = elf_inlines_find(inlines, inlines->chains[i].addr, names);

		require(nr == inlines->chains[i].nr);
		while (nr--)
			require(strlen(names[nr]) < inlines->names_bytes);
	}
}

static void fuzz_inlines(int fd)
{
	__cleanup(elf_inlines_freep) struct elf_inlines *inlines = NULL, *read = NULL;
	int copy __cleanup(closep) = file_make("", 0);
	uint64_t list[4096];
	const struct elf_addresses addresses = { list, ARRAY_SIZE(list) };

	for (size_t i = 0; i < ARRAY_SIZE(list); i++)
		list[i] = 0x1000 + i;
	if (elf_inlines_read(fd, -1, &addresses, &inlines))
		return;
	require(!wire_write_inlines(copy, inlines) && !wire_read_inlines(copy, &read));
	inlines_use(read);
}

static void fuzz_wire_inlines(int fd)
{
	__cleanup(elf_inlines_freep) struct elf_inlines *inlines = NULL;

	if (!wire_read_inlines(fd, &inlines))
		inlines_use(inlines);
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
		fuzz_unwind,      fuzz_symbols,      fuzz_perf_map,
		fuzz_wire_unwind, fuzz_wire_symbols, fuzz_demangle,
		fuzz_inlines,     fuzz_wire_inlines, fuzz_wire_addresses,
	};
	int fd __cleanup(closep) = -1;

	if (!size)
		return 0;
	fd = file_make(data + 1, size - 1);
	/* Digits, so that seeds are text where their format is. */
	parsers[(data[0] - '0') % ARRAY_SIZE(parsers)](fd);
	return 0;
}
