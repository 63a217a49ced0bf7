/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Knows how large the tables in the kernel are, and where they are mapped. They are made for the
 * threads that there are, with room for more, as far as that takes a small share of the memory.
 */
#pragma once

#include "bpftruss/abi.h"
#include "collect/options.h"

struct bpf_map;
struct truss_bpf;
struct stack_entry;

enum table {
	TABLE_TASKS = POOL_RECORDS,
	TABLE_SLOTS = POOL_SLOTS,
	TABLE_LINES = POOL_LINES,
	TABLE_TALLIES = POOL_TALLIES,
	NR_TABLE = POOL_TALLIES + 1,
};

/* Tells the threads and the memory that tables are sized by. */
struct table_needs {
	uint32_t threads; /* that there are to count; 0: not known */
	uint64_t
		host_bytes; /* of the memory of the host, that they may take beyond their least sizes */
	uint64_t most_bytes; /* that they may take in any case, as a cgroup has no more */
	bool shared;         /* a user may have half of each at most: they are twice as large */
};

struct table_sizes {
	uint32_t elements[NR_TABLE]; /* without the one that means "none" */
	uint64_t bytes;              /* of all of them */
};

/* The most of its memory that a host spends on the tables, unless it was told how large they are to be. */
#define TABLES_PERCENT 2

/*
 * The elements of a table of the BPF side, mapped as far as they are in use: what is mapped counts as
 * resident memory of this process, and a table is made for more than is used on most days.
 */
struct map_array;

struct tables {
	struct map_array *arrays[NR_TABLE], *all_overflow, *all_stacks;
	struct overflow_row *overflow;
	struct stack_entry *stacks; /* NULL without --stacks */
	struct table_needs needs;
	struct table_sizes sizes;
};

/* Fills in how many threads there are, and what their tables would take. */
void tables_plan(struct tables *tables, const struct collector_options *options);

/* Returns the limit of tables that the user does not size, if they need more than their least. */
uint64_t tables_most_bytes(const struct tables *tables);

/* The most that one user has of a table; 0: nobody is to leave room for others. */
uint32_t tables_most_of_user(const struct truss_bpf *skel, enum pool_kind kind);

/* Whether three quarters of a table are used, or of what one user alone may have of it. */
bool tables_are_nearly_full(const struct truss_bpf *skel, enum pool_kind kind);

/* Answers collector_wants_threads(). */
uint32_t tables_want_threads(const struct tables *tables, struct truss_bpf *skel,
			     const struct collector_options *options);

/* Sizes the maps of an object that is not loaded yet. */
void tables_size(struct tables *tables, struct truss_bpf *skel,
		 const struct collector_options *options);

/* Maps them once they are loaded. 0 or -errno; tables_unmap() is due in both cases. */
int tables_map(struct tables *tables, struct truss_bpf *skel);

void tables_unmap(struct tables *tables);

/* Reserves addresses for a map that is loaded. 0 or -errno. */
int map_array_new(const struct bpf_map *map, struct map_array **ret);
void map_array_free(struct map_array *array);

/* An element by its index; the address stays right. NULL: there is none, or no memory to map it. */
void *map_array_at(struct map_array *array, uint32_t index);

/* How many elements there are. */
uint32_t map_array_size(const struct map_array *array);

/* --- table_sizes.c: from the threads and the memory there are ------------------------------------- */

/* Sizes that the user said are obeyed, and take nothing from the other tables. */
void table_sizes_choose(const struct collector_options *options, const struct table_needs *needs,
			struct table_sizes *ret);

/*
 * For how many threads tables of these sizes should be made anew so that those which are full become
 * larger: twice as many as now. 0: none is, the user has sized it, or there is no memory for more.
 */
uint32_t table_sizes_grow(const struct collector_options *options, const struct table_needs *needs,
			  const struct table_sizes *now, const bool full[NR_TABLE]);

/*
 * Gives each ABI its sets of overflow rows, as many as there are CPUs if its mask allows that,
 * and returns their sum. An ABI without a mask is not the native one.
 */
uint32_t overflow_sets_share(struct overflow_sets sets[NR_SYSCALL_ABI], uint32_t nr_cpus);
