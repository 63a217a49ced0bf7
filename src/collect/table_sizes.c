/* SPDX-License-Identifier: BSD-2-Clause */
/* Computes the sizes of the tables in the kernel. */
#include "collect/tables.h"

/* An element takes these bytes in the list of those that were given back. */
#define RETURNED_BYTES 4
/* The hash of foreign calls has room for every fifth slot, at 100 bytes each. */
#define FOREIGN_BYTES  20

/*
 * Each table has so many elements for a thread, and at the least, also where users share it; and an element
 * so many bytes. Short processes need many records for a moment, and few slots each.
 */
static const struct {
	uint32_t halves_per_thread, at_least, at_least_shared;
	uint32_t element;
} kinds[NR_TABLE] = {
	[TABLE_TASKS] = { 3, DEFAULT_MAX_TASKS, DEFAULT_MAX_TASKS,
			  sizeof(struct task_record) + RETURNED_BYTES },
	[TABLE_SLOTS] = { 48, DEFAULT_MAX_SLOTS, 2 * DEFAULT_MAX_SLOTS,
			  sizeof(struct call_slot) + RETURNED_BYTES + FOREIGN_BYTES },
	[TABLE_LINES] = { 48 * LINES_PER_ROW, DEFAULT_MAX_LINES, 2 * DEFAULT_MAX_LINES,
			  sizeof(struct hist_line) + RETURNED_BYTES },
	[TABLE_TALLIES] = { 12, DEFAULT_MAX_TALLIES, 2 * DEFAULT_MAX_TALLIES,
			    sizeof(struct tally) + RETURNED_BYTES },
};

/* More threads than any host has, and no product overflows. */
#define MAX_THREADS 4194304u

static uint32_t said(const struct collector_options *options, enum table table)
{
	const uint32_t sizes[NR_TABLE] = { [TABLE_TASKS] = options->max_tasks,
					   [TABLE_SLOTS] = options->max_rows,
					   [TABLE_LINES] = options->max_rows * LINES_PER_ROW,
					   [TABLE_TALLIES] = options->max_errnos };

	return sizes[table];
}

static uint64_t bytes_of(const struct table_sizes *sizes, const struct collector_options *options,
			 bool all)
{
	uint64_t bytes = 0;

	for (int i = 0; i < NR_TABLE; i++) {
		if (all || !said(options, i))
			bytes += (uint64_t)sizes->elements[i] * kinds[i].element;
	}
	return bytes;
}

/*
 * What tallies take for each slot besides errnos: an argument one, and a path one more, as most rows of a path
 * fail in one way; stacks two: the head of their list, those without room.
 */
static uint32_t tallies_more(const struct collector_options *options, uint32_t slots)
{
	uint32_t of_split = options->split_by >= SPLIT_PATH ? 2 : options->split_by ? 1 : 0;

	return slots * (of_split + (options->stacks ? 2 : 0));
}

/* Takes so much of what each table wants, but the least that it is to have if that is more. */
static void sizes_fill(struct table_sizes *sizes, const struct collector_options *options,
		       const struct table_needs *needs, double share, double least_share)
{
	double threads = needs->threads < MAX_THREADS ? needs->threads : MAX_THREADS;
	uint32_t times = needs->shared ? 2 : 1;

	for (int i = 0; i < NR_TABLE; i++) {
		double wanted = threads * times * kinds[i].halves_per_thread / 2 * share;
		double least = least_share *
			       (needs->shared ? kinds[i].at_least_shared : kinds[i].at_least);

		sizes->elements[i] =
			said(options, i) ?: (uint32_t)(wanted > least ? wanted + 1 : least);
	}
	sizes->elements[TABLE_TALLIES] += tallies_more(options, sizes->elements[TABLE_SLOTS]);
}

void table_sizes_choose(const struct collector_options *options, const struct table_needs *needs,
			struct table_sizes *ret)
{
	double share = 1;
	uint64_t bytes;

	sizes_fill(ret, options, needs, share, 1);
	bytes = bytes_of(ret, options, false);
	if (bytes > needs->host_bytes) {
		share = (double)needs->host_bytes / (double)bytes;
		sizes_fill(ret, options, needs, share, 1);
	}
	bytes = bytes_of(ret, options, false);
	if (bytes > needs->most_bytes) {
		double least_share = (double)needs->most_bytes / (double)bytes;

		sizes_fill(ret, options, needs, share * least_share, least_share);
	}
	ret->bytes = bytes_of(ret, options, true);
}

uint32_t table_sizes_grow(const struct collector_options *options, const struct table_needs *needs,
			  const struct table_sizes *now, const bool full[NR_TABLE])
{
	struct table_needs more = *needs;
	struct table_sizes larger;

	more.threads = 0;
	for (int i = 0; i < NR_TABLE; i++) {
		uint32_t more_of_slots =
			i == TABLE_TALLIES ? tallies_more(options, now->elements[TABLE_SLOTS]) : 0;
		uint64_t twice =
			(now->elements[i] - more_of_slots) * 4ull / kinds[i].halves_per_thread + 1;

		if (needs->shared)
			twice /= 2;
		if (full[i] && !said(options, i) && twice > more.threads)
			more.threads = twice < MAX_THREADS ? (uint32_t)twice : MAX_THREADS;
	}
	table_sizes_choose(options, &more, &larger);
	for (int i = 0; i < NR_TABLE; i++) {
		/* The daemon does not begin anew for less than a quarter more. */
		if (full[i] && !said(options, i) && larger.elements[i] / 5 > now->elements[i] / 4)
			return more.threads;
	}
	return 0;
}

uint32_t overflow_sets_share(struct overflow_sets sets[NR_SYSCALL_ABI], uint32_t nr_cpus)
{
	uint32_t sum = 0;

	for (int abi = 0; abi < NR_SYSCALL_ABI; abi++) {
		uint32_t most = sets[abi].mask ? sets[abi].mask + 1 : MAX_FOREIGN_SETS;
		uint32_t count = 1;

		while (count < most && count < nr_cpus)
			count *= 2;
		sets[abi] = (struct overflow_sets){ .first = sum, .mask = count - 1 };
		sum += count;
	}
	return sum;
}
