/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the form of a worker's answer: a header, and the arrays that it counts. Whoever could still
 * write to the file changes nothing: what is checked is a copy.
 */
#include "elf/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "elf/symbols_private.h"
#include "elf/wire_private.h"

struct wire_unwind {
	uint64_t text_start;
	uint64_t load_offset;
	uint64_t text_end;
	uint64_t nr_rows;
	struct elf_identity identity;
};

struct wire_symbols {
	uint64_t nr;
	uint64_t names_bytes;
	uint64_t load_offset;
	uint64_t debug;
	struct elf_identity identity;
};

_Static_assert(MAX_UNWIND_ROWS * sizeof(struct unwind_row) < MAX_WIRE_BYTES - 4096, "");
_Static_assert(MAX_SYMBOL_RANGES * sizeof(struct symbol_range) + MAX_SYMBOL_NAME_BYTES <
		       MAX_WIRE_BYTES,
	       "");

int wire_bytes_write(int fd, const void *bytes, size_t size)
{
	const char *at = bytes;
	ssize_t done;

	for (; size; size -= done, at += done) {
		done = write(fd, at, size);
		if (done < 0)
			return -errno;
	}
	return 0;
}

int wire_write_unwind(int fd, const struct elf_unwind *unwind)
{
	const struct wire_unwind header = {
		.text_start = unwind->text_start,
		.load_offset = unwind->load_offset,
		.text_end = unwind->text_end,
		.nr_rows = unwind->nr_rows,
		.identity = unwind->identity,
	};
	int err = wire_bytes_write(fd, &header, sizeof(header));

	return err ? err
		   : wire_bytes_write(fd, unwind->rows, unwind->nr_rows * sizeof(*unwind->rows));
}

int wire_write_symbols(int fd, const struct elf_symbols *symbols)
{
	const struct wire_symbols header = {
		.nr = symbols->nr,
		.names_bytes = symbols->names_bytes,
		.load_offset = symbols->load_offset,
		.debug = symbols->debug,
		.identity = symbols->identity,
	};
	int err = wire_bytes_write(fd, &header, sizeof(header));

	if (!err)
		err = wire_bytes_write(fd, symbols->ranges, symbols->nr * sizeof(*symbols->ranges));
	return err ? err : wire_bytes_write(fd, symbols->names, symbols->names_bytes);
}

int wire_bytes_read(int fd, void *bytes, size_t size, uint64_t offset)
{
	char *at = bytes;
	ssize_t done;

	for (; size; size -= done, at += done, offset += done) {
		done = pread(fd, at, size, (off_t)offset);
		if (done <= 0)
			return -EPROTO;
	}
	return 0;
}

uint64_t wire_file_size(int fd)
{
	struct stat status;

	return fstat(fd, &status) || status.st_size < 0 ? 0 : (uint64_t)status.st_size;
}

static bool identity_is_valid(const struct elf_identity *identity)
{
	const char *name = identity->debuglink;

	return identity->nr_build_id <= MAX_BUILD_ID && identity->has_symtab <= 1 &&
	       identity->has_dwarf <= 1 && strnlen(name, MAX_DEBUGLINK) < MAX_DEBUGLINK &&
	       !strchr(name, '/') && strcmp(name, ".") && strcmp(name, "..");
}

static bool unwind_is_valid(const struct elf_unwind *unwind)
{
	uint64_t start = unwind->text_start, end = unwind->text_end;

	if (!identity_is_valid(&unwind->identity))
		return false;
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
	__cleanup(elf_unwind_freep) struct elf_unwind *unwind = calloc(1, sizeof(*unwind));
	struct wire_unwind header;
	uint64_t bytes;

	if (!unwind)
		return -ENOMEM;
	if (wire_bytes_read(fd, &header, sizeof(header), 0) || header.nr_rows > MAX_UNWIND_ROWS)
		return -EPROTO;
	bytes = header.nr_rows * sizeof(*unwind->rows);
	if (wire_file_size(fd) != sizeof(header) + bytes)
		return -EPROTO;
	unwind->text_start = header.text_start;
	unwind->load_offset = header.load_offset;
	unwind->text_end = header.text_end;
	unwind->nr_rows = header.nr_rows;
	unwind->identity = header.identity;
	unwind->rows = malloc(bytes + 1);
	if (!unwind->rows)
		return -ENOMEM;
	if (wire_bytes_read(fd, unwind->rows, bytes, sizeof(header)) || !unwind_is_valid(unwind))
		return -EPROTO;
	*ret = steal_ptr(&unwind);
	return 0;
}

static bool symbols_are_valid(const struct elf_symbols *symbols)
{
	uint64_t end = 0;

	if (!identity_is_valid(&symbols->identity))
		return false;
	if (symbols->names_bytes && symbols->names[symbols->names_bytes - 1])
		return false;
	for (size_t i = 0; i < symbols->nr; i++) {
		const struct symbol_range *range = &symbols->ranges[i];

		if (range->start < end || range->end <= range->start ||
		    range->addr > range->start || range->name >= symbols->names_bytes)
			return false;
		end = range->end;
	}
	return true;
}

int wire_read_symbols(int fd, struct elf_symbols **ret)
{
	__cleanup(elf_symbols_freep) struct elf_symbols *symbols = calloc(1, sizeof(*symbols));
	struct wire_symbols header;
	uint64_t bytes;

	if (!symbols)
		return -ENOMEM;
	if (wire_bytes_read(fd, &header, sizeof(header), 0) || header.nr > MAX_SYMBOL_RANGES ||
	    header.names_bytes > MAX_SYMBOL_NAME_BYTES || header.debug > DEBUG_FILE_NONE)
		return -EPROTO;
	bytes = header.nr * sizeof(*symbols->ranges);
	if (wire_file_size(fd) != sizeof(header) + bytes + header.names_bytes)
		return -EPROTO;
	symbols->nr = header.nr;
	symbols->names_bytes = header.names_bytes;
	symbols->load_offset = header.load_offset;
	symbols->debug = header.debug;
	symbols->identity = header.identity;
	symbols->ranges = malloc(bytes + 1);
	symbols->names = malloc(header.names_bytes + 1);
	if (!symbols->ranges || !symbols->names)
		return -ENOMEM;
	if (wire_bytes_read(fd, symbols->ranges, bytes, sizeof(header)) ||
	    wire_bytes_read(fd, symbols->names, header.names_bytes, sizeof(header) + bytes) ||
	    !symbols_are_valid(symbols))
		return -EPROTO;
	*ret = steal_ptr(&symbols);
	return 0;
}
