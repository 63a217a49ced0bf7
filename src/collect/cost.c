/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns what counting costs the host: the sample of the programs' runs, and how full the tables are. */
#include "base/text.h"
#include "collect/collector.h"
#include "collect/collector_private.h"

int map_add_cpus(const struct bpf_map *map, uint32_t key, uint64_t *sums, size_t count)
{
	int nr_cpus = libbpf_num_possible_cpus(), err;
	uint64_t *numbers __cleanup(freep) = NULL;

	if (nr_cpus < 0)
		return nr_cpus;
	numbers = calloc((size_t)nr_cpus * count, sizeof(*numbers));
	if (!numbers)
		return -ENOMEM;
	err = bpf_map__lookup_elem(map, &key, sizeof(key), numbers,
				   (size_t)nr_cpus * count * sizeof(*numbers), 0);
	for (size_t i = 0; i < (size_t)nr_cpus * count && !err; i++)
		sums[i % count] += numbers[i];
	return err;
}

static double sample_mean_ns(const struct cost_sample *sample)
{
	return sample->runs ? (double)sample->ns / (double)sample->runs : 0;
}

/* Index 0 means none. */
static struct table_fill table_fill(const struct truss_bpf *skel, enum pool_kind kind)
{
	const struct pool *pool = (const struct pool *)&skel->data_pools->pools[kind];
	uint32_t mark = pool->mark < pool->limit ? pool->mark : pool->limit;

	return (struct table_fill){
		.used = __atomic_load_n(&pool->used, __ATOMIC_RELAXED),
		.capacity = pool->limit ? pool->limit - 1 : 0,
		/* Indexes that came back are handed out first. */
		.peak = mark ? mark - 1 : 0,
		.most = tables_most_of_user(skel, kind),
	};
}

/* Fills in what only a look at all records tells. */
static int cost_fill_records(const struct collector *c, struct collector_cost *cost)
{
	uint32_t used = records_used(c);
	uint32_t *pids __cleanup(freep) = calloc(used, sizeof(*pids));
	size_t count = 0;

	if (!pids)
		return -ENOMEM;
	for (uint32_t i = 1; i < used; i++) {
		const struct task_record *record = record_at(c, i);
		if (!record)
			return -ENOMEM;
		if (record_state(record) == RECORD_LIVE)
			pids[count++] = record->pid;
	}
	qsort(pids, count, sizeof(*pids), compare_first_u32);
	for (size_t i = 0; i < count; i++)
		cost->processes += i == 0 || pids[i] != pids[i - 1];
	return 0;
}

/* Adds the memory that a map takes by the kernel's word. False: it does not let us see. */
static bool map_add_bytes(const struct bpf_map *map, uint64_t *sum)
{
	FILE *file __cleanup(fclosep) = NULL;
	char path[64], line[256];
	uint64_t bytes;

	if (!bpf_map__autocreate(map) || bpf_map__fd(map) < 0)
		return true;
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", bpf_map__fd(map));
	file = fopen(path, "re");
	if (!file)
		return false;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "memlock: %" SCNu64, &bytes) == 1)
			*sum += bytes;
	}
	return true;
}

/* A part of the sum would be misleading. */
uint64_t collector_kernel_bytes(const struct collector *c)
{
	uint64_t maps = 0;
	size_t files, tables;
	struct bpf_map *map;

	bpf_object__for_each_map(map, c->skel->obj)
	{
		if (!map_add_bytes(map, &maps))
			return 0;
	}
	collector_tables(c, &files, &tables);
	return maps + tables + (c->rings ? call_rings_bytes(c->rings) : 0);
}

int collector_cost(const struct collector *c, struct collector_cost *ret)
{
	struct cost_sample sums[NR_COST] = { 0 };
	const struct cost_sample *enter = &sums[COST_ENTER], *leave = &sums[COST_EXIT];
	struct collector_cost cost = { 0 };
	const struct truss_bpf *skel = c->skel;
	int err = cost_fill_records(c, &cost);

	for (uint32_t kind = 0; kind < NR_COST && !err; kind++)
		err = map_add_cpus(c->skel->maps.costs, kind, (uint64_t *)&sums[kind],
				   sizeof(*sums) / sizeof(uint64_t));
	if (err)
		return err;
	cost.records = table_fill(skel, POOL_RECORDS);
	cost.slots = table_fill(skel, POOL_SLOTS);
	cost.lines = table_fill(skel, POOL_LINES);
	cost.tallies = table_fill(skel, POOL_TALLIES);
	cost.stacks = table_fill(skel, POOL_STACKS);
	cost.foreign = table_fill(skel, POOL_FOREIGN);
	cost.paths = table_fill(skel, POOL_PATHS);
	cost.max_table_bytes = tables_most_bytes(&c->tables);
	for (int i = 0; i < NR_COST; i++)
		cost.programs_ns += sums[i].ns << COST_SAMPLE_SHIFT;
	if (enter->runs && leave->runs)
		cost.call_ns = sample_mean_ns(enter) + sample_mean_ns(leave);
	cost.call_samples = enter->runs + leave->runs;
	cost.switch_ns = sample_mean_ns(&sums[COST_SWITCH]);
	cost.switch_samples = sums[COST_SWITCH].runs;
	cost.threads = collector_live(c);
	*ret = cost;
	return 0;
}
