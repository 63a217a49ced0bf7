/* SPDX-License-Identifier: BSD-2-Clause */
/* Sizes the tables in the kernel by threads and memory, and maps them. */
#include "collect/tables.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/mem.h"
#include "bpftruss/abi.h"
#include "collect/cgroups.h"
#include "truss.skel.h"

/* What each thread is given room for at the start. */
#define ROWS_PER_THREAD   16
#define ERRNOS_PER_THREAD 6

/* What differs between the tables. */
struct table_kind {
	uint32_t at_least;
	size_t element;
};

static const struct table_kind kinds[NR_TABLE] = {
	[TABLE_TASKS] = { DEFAULT_MAX_TASKS, sizeof(struct task_record) },
	[TABLE_SLOTS] = { DEFAULT_MAX_SLOTS, sizeof(struct call_slot) },
	[TABLE_TALLIES] = { DEFAULT_MAX_TALLIES, sizeof(struct tally) },
};

static struct pool *table_pool(struct truss_bpf *skel, enum table table)
{
	struct pool *const pools[NR_TABLE] = {
		[TABLE_TASKS] = (struct pool *)&skel->data_pools->pools.records,
		[TABLE_SLOTS] = (struct pool *)&skel->data_pools->pools.slots,
		[TABLE_TALLIES] = (struct pool *)&skel->data_pools->pools.tallies,
	};

	return pools[table];
}

struct table_maps {
	struct bpf_map *map, *returned;
};

static struct table_maps table_maps(const struct truss_bpf *skel, enum table table)
{
	const struct table_maps maps[NR_TABLE] = {
		[TABLE_TASKS] = { skel->maps.records, skel->maps.returned_records },
		[TABLE_SLOTS] = { skel->maps.slots, skel->maps.returned_slots },
		[TABLE_TALLIES] = { skel->maps.tallies, skel->maps.returned_tallies },
	};

	return maps[table];
}

/* --- how many threads there are, and how much memory -------------------------------------------- */

static uint32_t threads_of_host(void)
{
	FILE *file __cleanup(fclosep) = fopen("/proc/loadavg", "re");
	unsigned int threads = 0;

	if (!file || fscanf(file, "%*s %*s %*s %*u/%u", &threads) != 1)
		return 0;
	return threads;
}

/* 0 for a process that is gone. */
static uint32_t threads_of(pid_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	return stat(path, &st) || st.st_nlink < 2 ? 0 : (uint32_t)st.st_nlink - 2;
}

static uint32_t threads_to_count(const struct collector_options *options)
{
	uint32_t threads = 0;

	if (options->nr_selectors)
		return threads_of_host();
	for (size_t i = 0; i < options->nr_pids; i++)
		threads += threads_of(options->pids[i]);
	return threads;
}

/* A cgroup may not use what the host has: BPF maps are charged to whoever makes them. */
static uint64_t memory_bytes(void)
{
	struct sysinfo info;
	uint64_t host, cgroup = cgroup_memory_limit();

	if (sysinfo(&info))
		return 0;
	host = (uint64_t)info.totalram * info.mem_unit * TABLES_PERCENT / 100;
	return cgroup / 2 < host ? cgroup / 2 : host;
}

/* --- sizes --------------------------------------------------------------------------------------- */

static uint32_t wanted(enum table table, uint32_t threads, const struct collector_options *options)
{
	const uint32_t said[NR_TABLE] = { [TABLE_TASKS] = options->max_tasks,
					  [TABLE_SLOTS] = options->max_rows,
					  [TABLE_TALLIES] = options->max_errnos };
	const uint32_t by_threads[NR_TABLE] = { [TABLE_TASKS] = threads + threads / 2,
						[TABLE_SLOTS] = threads * ROWS_PER_THREAD,
						[TABLE_TALLIES] = threads * ERRNOS_PER_THREAD };

	if (said[table])
		return said[table];
	return by_threads[table] > kinds[table].at_least ? by_threads[table]
							 : kinds[table].at_least;
}

static uint64_t sizes_bytes(const uint32_t sizes[NR_TABLE])
{
	uint64_t bytes = 0;

	for (int i = 0; i < NR_TABLE; i++)
		bytes += sizes[i] * kinds[i].element;
	return bytes;
}

/* Without the element of each that means "none". What the user said is not touched. */
static void sizes_choose(struct tables *tables, const struct collector_options *options,
			 uint32_t sizes[NR_TABLE])
{
	uint64_t bytes;

	tables->threads = threads_to_count(options);
	tables->max_bytes = memory_bytes();
	tables->fixed[TABLE_TASKS] = options->max_tasks;
	tables->fixed[TABLE_SLOTS] = options->max_rows;
	tables->fixed[TABLE_TALLIES] = options->max_errnos;
	for (int i = 0; i < NR_TABLE; i++)
		sizes[i] = wanted(i, tables->threads, options);
	bytes = sizes_bytes(sizes);
	for (int i = 0; i < NR_TABLE && bytes > tables->max_bytes; i++) {
		if (!tables->fixed[i])
			sizes[i] = (uint32_t)(sizes[i] * (double)tables->max_bytes / (double)bytes);
	}
	/* An argument takes a tally too, and stacks two: the head of their list, those without room. */
	sizes[TABLE_TALLIES] += (options->by_arg0 ? sizes[TABLE_SLOTS] : 0) +
				(options->stacks ? 2 * sizes[TABLE_SLOTS] : 0);
	tables->bytes = sizes_bytes(sizes);
}

void tables_plan(struct tables *tables, const struct collector_options *options)
{
	uint32_t sizes[NR_TABLE];

	sizes_choose(tables, options, sizes);
}

/* Tasks without a record on other CPUs are not to write the same cache lines. */
static int size_overflow(struct truss_bpf *skel)
{
	int nr_cpus = libbpf_num_possible_cpus();
	uint32_t sets = 1;

	while (sets < MAX_OVERFLOW_SETS && nr_cpus > 0 && sets < (uint32_t)nr_cpus)
		sets *= 2;
	skel->rodata->overflow_set_mask = sets - 1;
	return bpf_map__set_max_entries(skel->maps.overflow, sets * OVERFLOW_ROWS);
}

static int size_table(struct truss_bpf *skel, enum table table, uint32_t size)
{
	struct table_maps maps = table_maps(skel, table);

	/* Index 0 means "none". */
	table_pool(skel, table)->limit = size + 1;
	return bpf_map__set_max_entries(maps.map, size + 1)
		       ?: bpf_map__set_max_entries(maps.returned, size + 1);
}

int tables_size(struct tables *tables, struct truss_bpf *skel,
		const struct collector_options *options)
{
	uint32_t sizes[NR_TABLE];
	int err = 0;

	sizes_choose(tables, options, sizes);
	for (int i = 0; i < NR_TABLE && !err; i++)
		err = size_table(skel, i, sizes[i]);
	/* Each row of its own argument is found through the hash. */
	err = err
		      ?: bpf_map__set_max_entries(
				 skel->maps.foreign_slots,
				 options->by_arg0 ? sizes[TABLE_SLOTS]
						  : sizes[TABLE_SLOTS] / ROWS_PER_FOREIGN + 1);
	return err ?: size_overflow(skel);
}

/* --- mapping ------------------------------------------------------------------------------------ */

static size_t map_bytes(const struct bpf_map *map)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	/* The kernel rounds each element up to 8 bytes. */
	size_t element = (bpf_map__value_size(map) + 7u) & ~(size_t)7u;

	return (element * bpf_map__max_entries(map) + page - 1) & ~(page - 1);
}

/* All of a map that does not grow; NULL if there is none. */
static int map_whole(const struct bpf_map *map, void **ret)
{
	void *memory;

	if (!bpf_map__autocreate(map))
		return 0;
	memory =
		mmap(NULL, map_bytes(map), PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);
	if (memory == MAP_FAILED)
		return -errno;
	*ret = memory;
	return 0;
}

int tables_map(struct tables *tables, struct truss_bpf *skel)
{
	int err = map_whole(skel->maps.overflow, (void **)&tables->overflow);

	if (!err)
		err = map_whole(skel->maps.stack_entries, (void **)&tables->stacks);
	for (int i = 0; i < NR_TABLE && !err; i++) {
		struct table_maps maps = table_maps(skel, i);

		err = map_array_new(maps.map, &tables->arrays[i]);
	}
	return err;
}

void tables_unmap(struct tables *tables, struct truss_bpf *skel)
{
	if (tables->overflow)
		munmap(tables->overflow, map_bytes(skel->maps.overflow));
	if (tables->stacks)
		munmap(tables->stacks, map_bytes(skel->maps.stack_entries));
	for (int i = 0; i < NR_TABLE; i++)
		map_array_free(tables->arrays[i]);
}
