/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the way through DWARF to the functions that were inlined. Each unit is walked at most once,
 * for all addresses in it; of the others no more is read than where their code is.
 */
#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include <elfutils/libdw.h>

#include "base/mem.h"
#include "elf/elf_handle.h"
#include "elf/inlines_private.h"

/* Of a unit's tree; what is deeper is not looked at. */
#define MAX_WALK_DEPTH 256

/* Below that of the process, which would end without any answer. */
#define WALK_SECONDS 6
#define CLOCK_EVERY  1024

struct inline_walk {
	struct inline_builder builder;
	size_t steps;
	clock_t end; /* of the time that it may take */
};

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

/* How many of the addresses are in its code; those get the node, if there is one. */
static size_t die_mark(struct inline_walk *walk, Dwarf_Die *die, uint32_t node)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t offset = 0;
	size_t found = 0;

	while ((offset = dwarf_ranges(die, offset, &base, &start, &end)) > 0) {
		if (start < end)
			found += inline_builder_mark(&walk->builder, start, end, node);
		if (!node && found)
			break;
	}
	return found;
}

/* As the linker knows it, since that tells of namespaces; NULL: nobody says. */
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
	const struct inline_builder *builder = &walk->builder;
	const char *name = function_name(die);
	int err;

	if (!name || (*node && builder->nodes[*node].depth == MAX_INLINE_DEPTH))
		return 0;
	err = inline_builder_add(&walk->builder, name, *node, node);
	if (!err)
		die_mark(walk, die, *node);
	return err;
}

static bool die_has_code(Dwarf_Die *die)
{
	return dwarf_hasattr(die, DW_AT_low_pc) || dwarf_hasattr(die, DW_AT_ranges);
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
	if (role == DIE_BLOCK && !die_has_code(die))
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

		err = walk_step(walk);
		if (!err)
			err = die_enter(walk, &child, &inside.node);
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
		size_t nodes = walk->builder.nr_nodes;
		Dwarf_Die die;

		if (dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &die, NULL))
			return 0;
		err = walk_step(walk);
		if (!err && die_mark(walk, &die, 0))
			err = children_walk(walk, &die, top);
		/* A chain that misses its end would be wrong. */
		if (err == -ETIME || err == -E2BIG)
			inline_builder_cut(&walk->builder, nodes);
	}
	return err == -ETIME || err == -E2BIG ? 0 : err;
}

struct mapped_file {
	void *bytes;
	size_t size;
	Elf *elf;
	Dwarf *dwarf;
};

static void mapped_file_done(struct mapped_file *file)
{
	if (file->dwarf)
		dwarf_end(file->dwarf);
	elf_end(file->elf);
	if (file->bytes)
		munmap(file->bytes, file->size);
}

/* As bytes without a descriptor: of that libdw would ask for the path. */
static int dwarf_open(int fd, struct mapped_file *file)
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

int elf_inlines_read(int fd, int debug_fd, const struct elf_addresses *addresses,
		     struct elf_inlines **ret)
{
	__cleanup(mapped_file_done) struct mapped_file file = { 0 };
	struct inline_walk walk = { .end = clock() + (clock_t)WALK_SECONDS * CLOCKS_PER_SEC };
	struct elf_identity identity;
	int err = elf_identity_of_file(fd, &identity);

	if (!err && debug_fd >= 0 && !debug_file_matches(debug_fd, &identity))
		err = -EBADMSG;
	if (!err)
		err = dwarf_open(debug_fd >= 0 ? debug_fd : fd, &file);
	if (err)
		return err;
	err = inline_builder_init(&walk.builder, addresses);
	if (!err)
		err = units_walk(&walk, file.dwarf);
	if (!err)
		err = inline_builder_make(&walk.builder, ret);
	inline_builder_done(&walk.builder);
	return err;
}
