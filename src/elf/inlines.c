/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Walks through DWARF to the functions that were inlined. Each unit is walked at most once, for all
 * addresses in it; of the others no more is read than where their code is.
 */
#include "elf/symbols.h"

#include <dwarf.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include <elfutils/libdw.h>

/* The depth of a unit's tree that is looked at. */
#define MAX_WALK_DEPTH 256

/* The limit is below that of the process, which would end without any answer. */
#define WALK_SECONDS 6
#define CLOCK_EVERY  1024

/* An inlined function, once for all addresses in it. */
struct inline_node {
	uint32_t text; /* its name */
	uint32_t
		outer; /* the number of the one that it was inlined into; 0: a function with a symbol */
	uint32_t depth; /* 1: outermost */
};

struct inline_walk {
	const struct elf_addresses *addresses;
	uint32_t *innermost;       /* for each address a node; 0: none */
	struct inline_node *nodes; /* node 0 is none */
	size_t nr_nodes;
	struct functions_builder builder;
	size_t steps;
	clock_t end; /* of the time that it may take */
};

static void walk_done(struct inline_walk *walk)
{
	free(walk->innermost);
	free(walk->nodes);
	functions_builder_done(&walk->builder);
}

/* --- the way through DWARF -------------------------------------------------------------------- */

/* A place in the tree. */
struct walk_place {
	uint32_t node; /* the inlined function around it, 0: none */
	uint32_t depth;
};

enum die_role {
	DIE_OTHER = 0,
	DIE_SCOPE,    /* may have functions inside */
	DIE_FUNCTION, /* with an instance of its own where it has code */
	DIE_BLOCK,    /* of a function */
	DIE_INLINED,
};

static enum die_role die_role(Dwarf_Die *die)
{
	static const struct {
		int tag;
		enum die_role role;
	} roles[] = {
		{ DW_TAG_inlined_subroutine, DIE_INLINED },
		{ DW_TAG_lexical_block, DIE_BLOCK },
		{ DW_TAG_subprogram, DIE_FUNCTION },
		{ DW_TAG_namespace, DIE_SCOPE },
		{ DW_TAG_structure_type, DIE_SCOPE },
		{ DW_TAG_class_type, DIE_SCOPE },
		{ DW_TAG_union_type, DIE_SCOPE },
		{ DW_TAG_enumeration_type, DIE_SCOPE },
		{ DW_TAG_module, DIE_SCOPE },
		{ DW_TAG_try_block, DIE_BLOCK },
		{ DW_TAG_catch_block, DIE_BLOCK },
	};
	int tag = dwarf_tag(die);

	for (size_t i = 0; i < ARRAY_SIZE(roles); i++) {
		if (roles[i].tag == tag)
			return roles[i].role;
	}
	return DIE_OTHER;
}

/* How many of the addresses are in a range; those get the node, if there is one. */
static size_t range_mark(struct inline_walk *walk, uint64_t start, uint64_t end, uint32_t node)
{
	const struct elf_addresses *addresses = walk->addresses;
	size_t first = elf_addresses_find(addresses, start), i;

	for (i = first; i < addresses->nr && addresses->addresses[i] < end; i++) {
		if (!node)
			return 1;
		walk->innermost[i] = node;
	}
	return i - first;
}

/* The same of the code of an entry. */
static size_t die_mark(struct inline_walk *walk, Dwarf_Die *die, uint32_t node)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t offset = 0;
	size_t found = 0;

	while ((offset = dwarf_ranges(die, offset, &base, &start, &end)) > 0) {
		if (start < end)
			found += range_mark(walk, start, end, node);
		if (!node && found)
			break;
	}
	return found;
}

/* The linker's name, which includes namespaces; NULL: not known. */
static const char *function_name(Dwarf_Die *die)
{
	static const unsigned int names[] = { DW_AT_linkage_name, DW_AT_MIPS_linkage_name,
					      DW_AT_name };
	const char *name = NULL;
	Dwarf_Attribute attribute;

	for (size_t i = 0; i < ARRAY_SIZE(names) && (!name || !*name); i++) {
		if (dwarf_attr_integrate(die, names[i], &attribute))
			name = dwarf_formstring(&attribute);
	}
	return name && *name ? name : NULL;
}

/* A function without a name is passed over, but not what was inlined into it. */
static int inlined_add(struct inline_walk *walk, Dwarf_Die *die, uint32_t *node)
{
	uint32_t depth = *node ? walk->nodes[*node].depth + 1 : 1, text = 0;
	const char *name = function_name(die);
	int err;

	if (!name || depth > MAX_INLINE_DEPTH)
		return 0;
	err = functions_add_text(&walk->builder, name, &text);
	if (err)
		return err;
	if (!array_grow(&walk->nodes, walk->nr_nodes, sizeof(*walk->nodes)))
		return -ENOMEM;
	walk->nodes[walk->nr_nodes] = (struct inline_node){ text, *node, depth };
	*node = (uint32_t)walk->nr_nodes++;
	die_mark(walk, die, *node);
	return 0;
}

/* -ETIME: enough. */
static int walk_step(struct inline_walk *walk)
{
	if (walk->steps++ % CLOCK_EVERY)
		return 0;
	return clock() < walk->end ? 0 : -ETIME;
}

/* Whether there may be anything inside, and around what then; 1: there is. */
static int die_enter(struct inline_walk *walk, Dwarf_Die *die, uint32_t *node)
{
	enum die_role role = die_role(die);
	int err;

	if (role == DIE_OTHER)
		return 0;
	if (role == DIE_SCOPE)
		return *node == 0;
	/* Some blocks do not say where they are. */
	if (role == DIE_BLOCK && !dwarf_hasattr(die, DW_AT_low_pc) &&
	    !dwarf_hasattr(die, DW_AT_ranges))
		return 1;
	if (!die_mark(walk, die, 0))
		return 0;
	err = role == DIE_INLINED ? inlined_add(walk, die, node) : 0;
	return err ? err : 1;
}

static int children_walk(struct inline_walk *walk, Dwarf_Die *parent, struct walk_place place)
{
	Dwarf_Die child;
	int err = 0;

	if (place.depth == MAX_WALK_DEPTH || dwarf_child(parent, &child))
		return 0;
	do {
		struct walk_place inside = { place.node, place.depth + 1 };

		err = walk_step(walk) ?: die_enter(walk, &child, &inside.node);
		if (err > 0)
			err = children_walk(walk, &child, inside);
	} while (!err && !dwarf_siblingof(&child, &child));
	return err;
}

static int units_walk(struct inline_walk *walk, Dwarf *dwarf)
{
	const struct walk_place top = { 0, 0 };
	Dwarf_CU *unit = NULL;
	int err = 0;

	while (!err) {
		size_t nodes = walk->nr_nodes;
		Dwarf_Die die;

		if (dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &die, NULL))
			return 0;
		err = walk_step(walk);
		if (!err && die_mark(walk, &die, 0))
			err = children_walk(walk, &die, top);
		if (err != -ETIME && err != -E2BIG)
			continue;
		/* A chain that misses its end would be wrong: the nodes of the unit are taken back. */
		walk->nr_nodes = nodes;
		for (size_t i = 0; i < walk->addresses->nr; i++) {
			if (walk->innermost[i] >= nodes)
				walk->innermost[i] = 0;
		}
	}
	return err == -ETIME || err == -E2BIG ? 0 : err;
}

struct dwarf_file {
	void *bytes;
	size_t size;
	Elf *elf;
	Dwarf *dwarf;
};

static void dwarf_file_done(struct dwarf_file *file)
{
	if (file->dwarf)
		dwarf_end(file->dwarf);
	elf_end(file->elf);
	if (file->bytes)
		munmap(file->bytes, file->size);
}

/* Bytes without a descriptor: libdw would ask a descriptor for its path. */
static int dwarf_open(int fd, struct dwarf_file *file)
{
	struct stat status;
	void *bytes;
	int err;

	if (fstat(fd, &status))
		return -errno;
	if (status.st_size <= 0)
		return -EBADMSG;
	file->size = (size_t)status.st_size;
	bytes = mmap(NULL, file->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd, 0);
	if (bytes == MAP_FAILED)
		return -errno;
	file->bytes = bytes;
	err = elf_handle_open_image(bytes, file->size, &file->elf);
	if (err)
		return err;
	file->dwarf = dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);
	return file->dwarf ? 0 : -EBADMSG;
}

int elf_inlines_read(int fd, const struct elf_addresses *addresses, struct elf_functions **ret)
{
	struct dwarf_file file __cleanup(dwarf_file_done) = { 0 };
	struct inline_walk walk __cleanup(walk_done) = {
		.addresses = addresses,
		.nr_nodes = 1,
		.end = clock() + (clock_t)WALK_SECONDS * CLOCKS_PER_SEC,
	};
	int err = dwarf_open(fd, &file) ?: functions_builder_init(&walk.builder);

	if (err)
		return err;
	walk.innermost = calloc(addresses->nr + 1, sizeof(*walk.innermost));
	err = walk.innermost ? units_walk(&walk, file.dwarf) : -ENOMEM;
	for (size_t i = 0; i < addresses->nr && !err; i++) {
		uint32_t node = walk.innermost[i];

		if (node)
			err = functions_add(&walk.builder, addresses->addresses[i], 0);
		for (; node && !err; node = walk.nodes[node].outer)
			err = functions_add_name(&walk.builder, walk.nodes[node].text);
	}
	if (!err)
		*ret = steal_ptr(&walk.builder.functions);
	return err;
}
