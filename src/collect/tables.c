/* SPDX-License-Identifier: BSD-2-Clause */
/* Sizes the tables in the kernel by threads and memory, and maps them. */
#include "collect/tables.h"

#include <bpf/libbpf.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>

#include "bpftruss/call_abi.h"
#include "collect/cgroups.h"
#include "truss.skel.h"

struct table_maps {
	struct bpf_map *map, *returned;
};

static struct table_maps table_maps(const struct truss_bpf *skel, enum table table)
{
	const struct table_maps maps[NR_TABLE] = {
		[TABLE_TASKS] = { skel->maps.records, skel->maps.returned_records },
		[TABLE_SLOTS] = { skel->maps.slots, skel->maps.returned_slots },
		[TABLE_LINES] = { skel->maps.lines, skel->maps.returned_lines },
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

static uint32_t threads_to_count(const struct collector_options *options)
{
	uint32_t threads = options->nr_selectors ? threads_of_host() : 0;
	char path[64];
	struct stat st;

	for (size_t i = 0; i < options->nr_pids && !options->nr_selectors; i++) {
		snprintf(path, sizeof(path), "/proc/%d/task", options->pids[i]);
		if (!stat(path, &st) && st.st_nlink > 2)
			threads += (uint32_t)st.st_nlink - 2;
	}
	return threads > options->threads ? threads : options->threads;
}

/* A cgroup may not use what the host has: BPF maps are charged to whoever makes them. */
static void needs_find(struct table_needs *needs, const struct collector_options *options)
{
	struct sysinfo info;

	needs->threads = threads_to_count(options);
	needs->shared = options->nr_selectors > 0;
	if (!sysinfo(&info))
		needs->host_bytes = (uint64_t)info.totalram * info.mem_unit * TABLES_PERCENT / 100;
	needs->most_bytes = cgroup_memory_limit() / 4;
}

void tables_plan(struct tables *tables, const struct collector_options *options)
{
	needs_find(&tables->needs, options);
	table_sizes_choose(options, &tables->needs, &tables->sizes);
}

uint64_t tables_most_bytes(const struct tables *tables)
{
	const struct table_needs *needs = &tables->needs;

	return needs->host_bytes < needs->most_bytes ? needs->host_bytes : needs->most_bytes;
}

uint32_t tables_most_of_user(const struct truss_bpf *skel, enum pool_kind kind)
{
	uint32_t most = 0, used;

	for (int i = 0; i < USER_SHARES && skel->rodata->has_shares; i++) {
		used = __atomic_load_n(&skel->data_shares->shares[i].used[kind], __ATOMIC_RELAXED);
		most = used > most ? used : most;
	}
	return most;
}

static uint32_t pool_used(const struct truss_bpf *skel, enum pool_kind kind)
{
	return __atomic_load_n(&skel->data_pools->pools[kind].used, __ATOMIC_RELAXED);
}

static bool pool_is_nearly_full(const struct truss_bpf *skel, enum pool_kind kind)
{
	return pool_used(skel, kind) > skel->data_pools->pools[kind].limit / 4 * 3;
}

bool tables_are_nearly_full(const struct truss_bpf *skel, enum pool_kind kind)
{
	const uint32_t left = skel->data_pools->pools[kind].limit - pool_used(skel, kind);

	return pool_is_nearly_full(skel, kind) ||
	       tables_most_of_user(skel, kind) * 5ull > left * 3ull;
}

uint32_t tables_want_threads(const struct tables *tables, struct truss_bpf *skel,
			     const struct collector_options *options)
{
	const bool is_split = skel->rodata->split_by != SPLIT_NONE;
	struct table_needs needs = { 0 };
	bool full[NR_TABLE];

	/* Rows that are split fill what one user may have of them, however large the tables are. */
	for (int i = 0; i < NR_TABLE; i++)
		full[i] = is_split && i != TABLE_TASKS ? pool_is_nearly_full(skel, i)
						       : tables_are_nearly_full(skel, i);
	full[TABLE_SLOTS] |= !is_split && tables_are_nearly_full(skel, POOL_FOREIGN);
	needs_find(&needs, options);
	return table_sizes_grow(options, &needs, &tables->sizes, full);
}

/* --- sizes --------------------------------------------------------------------------------------- */

/* Tasks without a record on other CPUs are not to write the same cache lines. */
static void size_overflow(struct truss_bpf *skel)
{
	int nr_cpus = libbpf_num_possible_cpus();
	uint32_t sets;

	if (nr_cpus < 0)
		return;
	sets = overflow_sets_share(skel->rodata->overflow_sets, (uint32_t)nr_cpus);
	bpf_map__set_max_entries(skel->maps.overflow, sets * OVERFLOW_ROWS);
}

void tables_size(struct tables *tables, struct truss_bpf *skel,
		 const struct collector_options *options)
{
	const uint32_t *sizes = tables->sizes.elements;
	uint32_t foreign;

	tables_plan(tables, options);
	for (int i = 0; i < NR_TABLE; i++) {
		struct table_maps maps = table_maps(skel, i);

		/* Index 0 means "none". */
		skel->data_pools->pools[i].limit = sizes[i] + 1;
		bpf_map__set_max_entries(maps.map, sizes[i] + 1);
		bpf_map__set_max_entries(maps.returned, sizes[i] + 1);
	}
	skel->rodata->has_shares = tables->needs.shared;
	foreign = sizes[TABLE_SLOTS] / ROWS_PER_FOREIGN + 1;
	/* Each row of its own argument is found through the hash. Where all share, others are to find room. */
	skel->rodata->foreign_left = tables->needs.shared ? foreign : 0;
	if (options->split_by)
		foreign = sizes[TABLE_SLOTS] / (tables->needs.shared ? 2 : 1) + 1;
	skel->data_pools->pools[POOL_FOREIGN].limit = foreign;
	bpf_map__set_max_entries(skel->maps.foreign_slots, foreign);
	size_overflow(skel);
}

/* --- mapping ------------------------------------------------------------------------------------ */

/*
 * Addresses for all of a map are reserved, and what is mapped of them grows with the highest index asked
 * for and does not shrink: the programs hand out those that came back first.
 */

/* A multiple of all page sizes. */
#define MAP_STEP_BYTES ((size_t)1024 * 1024)

struct map_array {
	char *memory;
	size_t element, mapped_bytes, all_bytes;
	uint32_t size;
	int fd; /* the map's */
};

int map_array_new(const struct bpf_map *map, struct map_array **ret)
{
	struct map_array *array __cleanup(freep) = calloc(1, sizeof(*array));
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *memory;

	if (!array)
		return -ENOMEM;
	array->fd = bpf_map__fd(map);
	array->size = bpf_map__max_entries(map);
	/* The kernel rounds each element up to 8 bytes. */
	array->element = (bpf_map__value_size(map) + 7u) & ~(size_t)7u;
	array->all_bytes = (array->size * array->element + page - 1) & ~(page - 1);
	memory = mmap(NULL, array->all_bytes, PROT_NONE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return -errno;
	array->memory = memory;
	*ret = steal_ptr(&array);
	return 0;
}

void map_array_free(struct map_array *array)
{
	if (!array)
		return;
	munmap(array->memory, array->all_bytes);
	free(array);
}

uint32_t map_array_size(const struct map_array *array)
{
	return array->size;
}

static int map_up_to(struct map_array *array, size_t bytes)
{
	size_t more = (bytes - array->mapped_bytes + MAP_STEP_BYTES - 1) & ~(MAP_STEP_BYTES - 1);

	if (more > array->all_bytes - array->mapped_bytes)
		more = array->all_bytes - array->mapped_bytes;
	if (mmap(array->memory + array->mapped_bytes, more, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_FIXED, array->fd, (off_t)array->mapped_bytes) == MAP_FAILED) {
		/* Older kernels have given these addresses back: reserve them again, or do without. */
		if (mmap(array->memory + array->mapped_bytes, more, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
			 0) == MAP_FAILED)
			array->all_bytes = array->mapped_bytes;
		return -ENOMEM;
	}
	/* Copies of this process, which run errands, have no use for it, and copying takes time. */
	madvise(array->memory + array->mapped_bytes, more, MADV_DONTFORK);
	array->mapped_bytes += more;
	return 0;
}

void *map_array_at(struct map_array *array, uint32_t index)
{
	size_t end = ((size_t)index + 1) * array->element;

	if (index >= array->size)
		return NULL;
	if (end > array->mapped_bytes && map_up_to(array, end))
		return NULL;
	return array->memory + end - array->element;
}

/* All of a map that does not grow; NULL if there is none. */
static int map_whole(const struct bpf_map *map, struct map_array **array, void **ret)
{
	int err = bpf_map__autocreate(map) ? map_array_new(map, array) : 0;

	if (err || !*array)
		return err;
	if (!map_array_at(*array, (*array)->size - 1))
		return -ENOMEM;
	*ret = (*array)->memory;
	return 0;
}

int tables_map(struct tables *tables, struct truss_bpf *skel)
{
	int err = map_whole(skel->maps.overflow, &tables->all_overflow, (void **)&tables->overflow);

	err = err
		      ?: map_whole(skel->maps.stack_entries, &tables->all_stacks,
				   (void **)&tables->stacks);
	for (int i = 0; i < NR_TABLE && !err; i++) {
		struct table_maps maps = table_maps(skel, i);

		err = map_array_new(maps.map, &tables->arrays[i]);
	}
	return err;
}

void tables_unmap(struct tables *tables)
{
	map_array_free(tables->all_overflow);
	map_array_free(tables->all_stacks);
	for (int i = 0; i < NR_TABLE; i++)
		map_array_free(tables->arrays[i]);
}
