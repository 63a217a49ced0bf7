/* SPDX-License-Identifier: BSD-2-Clause */
/* The inside of struct elf_inlines, for those that make one and those that send one. */
#ifndef BPFTRUSS_INLINES_PRIVATE_H
#define BPFTRUSS_INLINES_PRIVATE_H

#include <stdbool.h>

#include "elf/inlines.h"

#define MAX_INLINE_FUNCTIONS  (MAX_ADDRESSES * MAX_INLINE_DEPTH)
#define MAX_INLINE_NAME_BYTES (32 << 20)

/* What was inlined at an address; there is none without. */
struct inline_chain {
	uint64_t addr;  /* above that of the chain before */
	uint32_t first; /* of its functions, innermost first */
	uint32_t nr;    /* 1 to MAX_INLINE_DEPTH */
};

struct elf_inlines {
	struct inline_chain *chains;
	size_t nr;
	uint32_t *functions; /* offsets in names */
	size_t nr_functions;
	char *names; /* each ends in NUL */
	size_t names_bytes;
};

/* An inlined function, once for all addresses in it. */
struct inline_node {
	uint32_t name; /* offset in names */
	uint32_t
		outer; /* number of the one that it was inlined into; 0: a function with a symbol */
	uint32_t depth; /* 1: outermost */
};

/* What is known so far. Node 0 is none. */
struct inline_builder {
	const struct elf_addresses *addresses;
	uint32_t *innermost; /* for each address a node */
	struct inline_node *nodes;
	size_t nr_nodes;
	size_t capacity;
	char *names;
	size_t names_bytes;
	size_t names_capacity;
};

/* Whatever it returns, inline_builder_done() is due. */
int inline_builder_init(struct inline_builder *builder, const struct elf_addresses *addresses);
void inline_builder_done(struct inline_builder *builder);

/* How many of the addresses are in a range; those get the node, unless that is 0. */
size_t inline_builder_mark(struct inline_builder *builder, uint64_t start, uint64_t end,
			   uint32_t node);

/* The name is as in the file. 0, -ENOMEM or -E2BIG. */
int inline_builder_add(struct inline_builder *builder, const char *name, uint32_t outer,
		       uint32_t *ret);

/* Takes back the nodes from this one on. */
void inline_builder_cut(struct inline_builder *builder, size_t first);

int inline_builder_make(struct inline_builder *builder, struct elf_inlines **ret);

#endif
