/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the form of questions about inlined functions, bare addresses, and that of their answers. */
#include "elf/wire_inlines.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "elf/inlines_private.h"
#include "elf/wire.h"
#include "elf/wire_private.h"

struct wire_inlines {
	uint64_t nr;
	uint64_t nr_functions;
	uint64_t names_bytes;
};

_Static_assert(MAX_ADDRESSES * sizeof(struct inline_chain) +
			       (size_t)MAX_INLINE_FUNCTIONS * sizeof(uint32_t) +
			       MAX_INLINE_NAME_BYTES <
		       MAX_WIRE_BYTES,
	       "");

/* --- questions -------------------------------------------------------------------------------- */

int wire_write_addresses(int fd, const struct elf_addresses *addresses)
{
	if (addresses->nr > MAX_ADDRESSES)
		return -E2BIG;
	return wire_bytes_write(fd, addresses->addresses,
				addresses->nr * sizeof(*addresses->addresses));
}

int wire_read_addresses(int fd, struct elf_addresses *ret)
{
	uint64_t bytes = wire_file_size(fd), *addresses;
	size_t nr = bytes / sizeof(*addresses);
	int err;

	if (bytes % sizeof(*addresses) || nr > MAX_ADDRESSES)
		return -EPROTO;
	addresses = malloc(bytes + 1);
	if (!addresses)
		return -ENOMEM;
	err = wire_bytes_read(fd, addresses, bytes, 0);
	for (size_t i = 1; i < nr && !err; i++)
		err = addresses[i] > addresses[i - 1] ? 0 : -EPROTO;
	if (err)
		free(addresses);
	else
		*ret = (struct elf_addresses){ addresses, nr };
	return err;
}

/* --- answers ---------------------------------------------------------------------------------- */

int wire_write_inlines(int fd, const struct elf_inlines *inlines)
{
	const struct wire_inlines header = {
		.nr = inlines->nr,
		.nr_functions = inlines->nr_functions,
		.names_bytes = inlines->names_bytes,
	};
	int err = wire_bytes_write(fd, &header, sizeof(header));

	if (!err)
		err = wire_bytes_write(fd, inlines->chains, inlines->nr * sizeof(*inlines->chains));
	if (!err)
		err = wire_bytes_write(fd, inlines->functions,
				       inlines->nr_functions * sizeof(*inlines->functions));
	return err ? err : wire_bytes_write(fd, inlines->names, inlines->names_bytes);
}

static bool inlines_are_valid(const struct elf_inlines *inlines)
{
	if (inlines->names_bytes && inlines->names[inlines->names_bytes - 1])
		return false;
	for (size_t i = 0; i < inlines->nr_functions; i++) {
		if (inlines->functions[i] >= inlines->names_bytes)
			return false;
	}
	for (size_t i = 0; i < inlines->nr; i++) {
		const struct inline_chain *chain = &inlines->chains[i];

		if (i && chain->addr <= chain[-1].addr)
			return false;
		if (!chain->nr || chain->nr > MAX_INLINE_DEPTH ||
		    chain->first > inlines->nr_functions ||
		    chain->nr > inlines->nr_functions - chain->first)
			return false;
	}
	return true;
}

/* What the header counts, behind it. */
static int inlines_read_arrays(int fd, struct elf_inlines *inlines)
{
	uint64_t chains = inlines->nr * sizeof(*inlines->chains), at = sizeof(struct wire_inlines);
	uint64_t functions = inlines->nr_functions * sizeof(*inlines->functions);
	int err;

	if (wire_file_size(fd) != at + chains + functions + inlines->names_bytes)
		return -EPROTO;
	inlines->chains = malloc(chains + 1);
	inlines->functions = malloc(functions + 1);
	inlines->names = malloc(inlines->names_bytes + 1);
	if (!inlines->chains || !inlines->functions || !inlines->names)
		return -ENOMEM;
	err = wire_bytes_read(fd, inlines->chains, chains, at);
	if (!err)
		err = wire_bytes_read(fd, inlines->functions, functions, at + chains);
	if (!err)
		err = wire_bytes_read(fd, inlines->names, inlines->names_bytes,
				      at + chains + functions);
	return err;
}

int wire_read_inlines(int fd, struct elf_inlines **ret)
{
	__cleanup(elf_inlines_freep) struct elf_inlines *inlines = calloc(1, sizeof(*inlines));
	struct wire_inlines header;
	int err;

	if (!inlines)
		return -ENOMEM;
	if (wire_bytes_read(fd, &header, sizeof(header), 0) || header.nr > MAX_ADDRESSES ||
	    header.nr_functions > MAX_INLINE_FUNCTIONS ||
	    header.names_bytes > MAX_INLINE_NAME_BYTES)
		return -EPROTO;
	inlines->nr = header.nr;
	inlines->nr_functions = header.nr_functions;
	inlines->names_bytes = header.names_bytes;
	err = inlines_read_arrays(fd, inlines);
	if (!err && !inlines_are_valid(inlines))
		err = -EPROTO;
	if (!err)
		*ret = steal_ptr(&inlines);
	return err;
}
