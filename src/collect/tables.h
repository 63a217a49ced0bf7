/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How large the tables in the kernel are, and where they are mapped. They are made for the threads that
 * there are, with room for more, as far as that takes a small share of the memory.
 */
#ifndef BPFTRUSS_TABLES_H
#define BPFTRUSS_TABLES_H

#include <stdint.h>

#include "collect/options.h"
#include "collect/map_array.h"
#include "collect/table_sizes.h"

struct truss_bpf;
struct overflow_row;
struct stack_entry;

/* The most of its memory that a host spends on the tables, unless it was told how large they are to be. */
#define TABLES_PERCENT 2

struct tables {
	struct map_array *arrays[NR_TABLE];
	struct overflow_row *overflow;
	struct stack_entry *stacks; /* NULL without --stacks */
	struct table_needs needs;
	struct table_sizes sizes;
};

/* Fills in how many threads there are, and what their tables would take. */
void tables_plan(struct tables *tables, const struct collector_options *options);

/* What the tables may take if the user does not size them, and they need more than their least. */
uint64_t tables_most_bytes(const struct tables *tables);

/* The most that one user has of a table; 0: nobody is to leave room for others. */
uint32_t tables_most_of_user(const struct truss_bpf *skel, enum pool_kind kind);

/* Whether three quarters of a table are used, or of what one user alone may have of it. */
bool tables_are_nearly_full(const struct truss_bpf *skel, enum pool_kind kind);

/* As collector_wants_threads(). */
uint32_t tables_want_threads(const struct tables *tables, struct truss_bpf *skel,
			     const struct collector_options *options);

/* Sizes the maps of an object that is not loaded yet. */
void tables_size(struct tables *tables, struct truss_bpf *skel,
		 const struct collector_options *options);

/* Maps them once they are loaded. 0 or -errno; tables_unmap() is due in both cases. */
int tables_map(struct tables *tables, struct truss_bpf *skel);

void tables_unmap(struct tables *tables, struct truss_bpf *skel);

#endif
