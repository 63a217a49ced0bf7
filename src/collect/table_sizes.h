/* SPDX-License-Identifier: BSD-2-Clause */
/* Computes how large the tables in the kernel become, from the threads and the memory there are. */
#ifndef BPFTRUSS_TABLE_SIZES_H
#define BPFTRUSS_TABLE_SIZES_H

#include <stdbool.h>
#include <stdint.h>

#include "bpftruss/abi.h"
#include "collect/options.h"

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

#endif
