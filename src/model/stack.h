/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Call stacks by id: what their frames are called. A table only grows, and a stack that was found in
 * it stays where it is as long as the table lives, its frames until it is put there anew.
 */
#pragma once

#include "base/mem.h"
#include "bpftruss/stack_abi.h"

/* The id of calls whose stack found no room: [other stacks]. Never that of a stack. */
#define STACK_OTHERS 0

/* Names are untrusted bytes. */
struct stack_frame {
	const char *module; /* base name of the file, [vdso], [kernel]; NULL: of no file */
	const char *symbol; /* demangled; NULL: unknown */
	uint64_t offset; /* from the symbol; without one, in the module; without that, an address */
	bool inlined;    /* into the next frame outwards */
	bool kernel;
};

struct stack {
	uint64_t id;
	enum stack_end end;
	size_t nr_frames;
	struct stack_frame *frames; /* innermost first */
};

/* Places in code that were seen on stacks. */
struct name_counts {
	uint64_t places;  /* that are kept */
	uint64_t bytes;   /* of memory for them and their names */
	uint64_t waiting; /* frames that have no name yet */
	uint64_t failed;  /* places without a name since nobody could tell one */
	uint64_t refused; /* beyond what is kept: each time one was met */
};

struct stack_table;

/* Returns 0 or -ENOMEM. */
int stack_table_new(struct stack_table **ret);
void stack_table_free(struct stack_table *table);
CLEANUP_OF(stack_table, stack_table_free)

/*
 * The table's own copy of a string, of which there is one as long as the table lives; NULL for NULL. 0 or
 * -ENOMEM.
 */
int stack_table_intern(struct stack_table *table, const char *string, const char **ret);

/* The same, if there is one already; NULL: there is none. */
const char *stack_table_string(const struct stack_table *table, const char *string);

/*
 * Adds a stack whose strings are the table's own: none is looked for or copied. If its id is there
 * already, the frames are replaced: more of their names is known by now. 0 or -ENOMEM.
 */
int stack_table_put(struct stack_table *table, const struct stack *stack);

/* NULL when it is not there: its frames were lost. */
const struct stack *stack_table_find(const struct stack_table *table, uint64_t id);

/* How reports say that a stack is not complete: [truncated]; NULL for STACK_COMPLETE. */
const char *stack_end_name(enum stack_end end);
