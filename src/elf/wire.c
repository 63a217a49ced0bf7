/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes and reads a worker's question and answer: a struct, and the arrays that it counts. A
 * process that can still write to the file changes nothing: a copy is checked. Pointers that come
 * are forgotten before anything else is done.
 */
#include "elf/wire.h"

#include <sys/stat.h>

#include "elf/symbols.h"

#define MAX_NAMES ((size_t)MAX_ADDRESSES * MAX_INLINE_DEPTH)

_Static_assert(MAX_UNWIND_ROWS * sizeof(struct unwind_row) < MAX_WIRE_BYTES - 4096, "");
_Static_assert(MAX_ADDRESSES * sizeof(struct elf_function) + MAX_NAMES * sizeof(uint32_t) +
			       MAX_NAME_BYTES <
		       MAX_WIRE_BYTES - 4096,
	       "");

/* --- bytes ------------------------------------------------------------------------------------ */

/* The place of the next bytes; err is the first error before them. */
struct wire {
	int fd;
	int err;
	uint64_t at;
};

/* Files in memory are written and read at once, if at all. */
static void bytes_write(struct wire *wire, const void *bytes, size_t size)
{
	ssize_t done = wire->err ? 0 : write(wire->fd, bytes, size);

	if (!wire->err && done != (ssize_t)size)
		wire->err = done < 0 ? -errno : -ENOSPC;
}

static void bytes_read(struct wire *wire, void *bytes, size_t size)
{
	if (!wire->err && pread(wire->fd, bytes, size, (off_t)wire->at) != (ssize_t)size)
		wire->err = -EPROTO;
	wire->at += size;
}

/* Allocates it, too; NULL after an error. */
static void *array_read(struct wire *wire, uint64_t nr, size_t size)
{
	void *array = wire->err ? NULL : malloc(nr * size + 1);

	if (!array && !wire->err)
		wire->err = -ENOMEM;
	bytes_read(wire, array, nr * size);
	return array;
}

/* 0 where it is unknown, too. */
static uint64_t file_bytes(int fd)
{
	struct stat status;

	return fstat(fd, &status) || status.st_size < 0 ? 0 : (uint64_t)status.st_size;
}

/* --- questions -------------------------------------------------------------------------------- */

int wire_write_addresses(int fd, const struct elf_addresses *addresses)
{
	struct wire wire = { .fd = fd };

	if (addresses->nr > MAX_ADDRESSES)
		return -E2BIG;
	bytes_write(&wire, addresses->addresses, addresses->nr * sizeof(*addresses->addresses));
	return wire.err;
}

int wire_read_addresses(int fd, struct elf_addresses *ret)
{
	uint64_t bytes = file_bytes(fd), *addresses;
	size_t nr = bytes / sizeof(*addresses);
	struct wire wire = { .fd = fd };

	if (bytes % sizeof(*addresses) || nr > MAX_ADDRESSES)
		return -EPROTO;
	addresses = array_read(&wire, nr, sizeof(*addresses));
	for (size_t i = 1; i < nr && !wire.err; i++)
		wire.err = addresses[i] > addresses[i - 1] ? 0 : -EPROTO;
	if (wire.err)
		free(addresses);
	else
		*ret = (struct elf_addresses){ addresses, nr };
	return wire.err;
}

/* --- unwind rows ------------------------------------------------------------------------------ */

int wire_write_unwind(int fd, const struct elf_unwind *unwind)
{
	struct wire wire = { .fd = fd };

	bytes_write(&wire, unwind, sizeof(*unwind));
	bytes_write(&wire, unwind->rows, unwind->nr_rows * sizeof(*unwind->rows));
	return wire.err;
}

static bool unwind_is_valid(const struct elf_unwind *unwind)
{
	uint64_t start = unwind->text_start, end = unwind->text_end;

	if (start > end || end > FRAME_OFFSET_MASK || end - start > MAX_UNWIND_BYTES ||
	    start & ((1ULL << UNWIND_PAGE_SHIFT) - 1))
		return false;
	if (!unwind->nr_rows)
		return true;
	if (unwind->rows[0].pc != start || unwind->rows[unwind->nr_rows - 1].pc >= end)
		return false;
	for (size_t i = 0; i < unwind->nr_rows; i++) {
		const struct unwind_row *row = &unwind->rows[i];

		if (i && row->pc <= row[-1].pc)
			return false;
		if (row->rule.cfa > CFA_UNSUPPORTED || row->rule.rbp > RBP_FRAME)
			return false;
	}
	return true;
}

int wire_read_unwind(int fd, struct elf_unwind **ret)
{
	struct elf_unwind *unwind __cleanup(elf_unwind_freep) = calloc(1, sizeof(*unwind));
	struct wire wire = { .fd = fd };

	if (!unwind)
		return -ENOMEM;
	bytes_read(&wire, unwind, sizeof(*unwind));
	unwind->rows = NULL;
	if (wire.err || unwind->nr_rows > MAX_UNWIND_ROWS ||
	    file_bytes(fd) != sizeof(*unwind) + unwind->nr_rows * sizeof(*unwind->rows))
		return -EPROTO;
	unwind->rows = array_read(&wire, unwind->nr_rows, sizeof(*unwind->rows));
	if (wire.err)
		return wire.err;
	if (!unwind_is_valid(unwind))
		return -EPROTO;
	*ret = steal_ptr(&unwind);
	return 0;
}

/* --- functions -------------------------------------------------------------------------------- */

int wire_write_functions(int fd, const struct elf_functions *functions)
{
	struct wire wire = { .fd = fd };

	bytes_write(&wire, functions, sizeof(*functions));
	bytes_write(&wire, functions->list, functions->nr * sizeof(*functions->list));
	bytes_write(&wire, functions->names, functions->nr_names * sizeof(*functions->names));
	bytes_write(&wire, functions->text, functions->text_bytes);
	return wire.err;
}

static bool identity_is_valid(const struct elf_identity *identity)
{
	const char *name = identity->debuglink;

	return identity->nr_build_id <= MAX_BUILD_ID && identity->has_symtab <= 1 &&
	       identity->has_dwarf <= 1 && strnlen(name, MAX_DEBUGLINK) < MAX_DEBUGLINK &&
	       !strchr(name, '/') && strcmp(name, ".") && strcmp(name, "..");
}

static bool functions_are_valid(const struct elf_functions *functions)
{
	if (!identity_is_valid(&functions->identity))
		return false;
	if (functions->text_bytes && functions->text[functions->text_bytes - 1])
		return false;
	for (size_t i = 0; i < functions->nr_names; i++) {
		if (functions->names[i] >= functions->text_bytes)
			return false;
	}
	for (size_t i = 0; i < functions->nr; i++) {
		const struct elf_function *function = &functions->list[i];

		if (i && function->address <= function[-1].address)
			return false;
		if (function->start > function->address || !function->nr ||
		    function->nr > MAX_INLINE_DEPTH || function->first > functions->nr_names ||
		    function->nr > functions->nr_names - function->first)
			return false;
	}
	return true;
}

static bool counts_are_valid(int fd, const struct elf_functions *functions)
{
	return functions->nr <= MAX_ADDRESSES && functions->nr_names <= MAX_NAMES &&
	       functions->text_bytes <= MAX_NAME_BYTES && functions->debug <= DEBUG_FILE_NONE &&
	       functions->map_bytes <= MAX_PERF_MAP_BYTES &&
	       file_bytes(fd) == sizeof(*functions) + functions->nr * sizeof(*functions->list) +
					 functions->nr_names * sizeof(*functions->names) +
					 functions->text_bytes;
}

int wire_read_functions(int fd, struct elf_functions **ret)
{
	struct elf_functions *functions __cleanup(elf_functions_freep) =
		calloc(1, sizeof(*functions));
	struct wire wire = { .fd = fd };

	if (!functions)
		return -ENOMEM;
	bytes_read(&wire, functions, sizeof(*functions));
	functions->list = NULL;
	functions->names = NULL;
	functions->text = NULL;
	if (wire.err || !counts_are_valid(fd, functions))
		return -EPROTO;
	functions->list = array_read(&wire, functions->nr, sizeof(*functions->list));
	functions->names = array_read(&wire, functions->nr_names, sizeof(*functions->names));
	functions->text = array_read(&wire, functions->text_bytes, 1);
	if (wire.err)
		return wire.err;
	if (!functions_are_valid(functions))
		return -EPROTO;
	*ret = steal_ptr(&functions);
	return 0;
}
