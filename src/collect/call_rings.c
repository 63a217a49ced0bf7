/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes the rings and plans of the per-call view, and empties the rings. */
#include "collect/call_rings.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/clock.h"
#include "collect/tables.h"
#include "syscalls/names.h"
#include "truss.skel.h"

/* The memory of all rings together. */
#define RINGS_BYTES ((size_t)64 << 20)

struct call_ring {
	struct call_rings *rings;
	struct ring_buffer *buffer; /* NULL: this CPU has none */
	int fd;                     /* of the map; -1: none */
};

struct call_rings {
	struct call_ring *rings; /* by CPU */
	uint32_t count;
	uint32_t bytes; /* of each */
	struct map_array *open_calls;
	struct call_record *last; /* of threads that have ended since the last taking */
	size_t nr_last;
	uint64_t *
		early; /* by record: when one began of which it is known in what call it slept then */
	size_t nr_early;

	/* Only while records are taken. */
	call_taker *take;
	void *context;
	uint64_t horizon_ns;
	int err;
};

static uint32_t possible_cpus(void)
{
	int count = libbpf_num_possible_cpus();

	return count > 0 ? (uint32_t)count : 1;
}

void call_rings_configure(struct truss_bpf *skel, const struct collector_options *options)
{
	const struct call_view *view = options->view;
	struct bpf_map *const maps[] = { skel->maps.open_calls, skel->maps.call_rings,
					 skel->maps.call_totals };

	for (size_t i = 0; i < ARRAY_SIZE(maps) && !view; i++)
		bpf_map__set_autocreate(maps[i], false);
	if (!view)
		return;
	skel->rodata->shows_calls = !view->only_slowest;
	skel->rodata->sends_slowest = view->only_slowest;
	skel->rodata->whole_fds = view->whole_fds;
	memcpy((void *)&skel->rodata->conditions, &view->conditions, sizeof(view->conditions));
	bpf_map__set_max_entries(skel->maps.open_calls, bpf_map__max_entries(skel->maps.records));
	bpf_map__set_max_entries(skel->maps.call_rings, possible_cpus());
}

/* A power of 2, as the kernel wants it. */
static uint32_t ring_bytes(uint32_t wanted, uint32_t cpus)
{
	uint32_t bytes = RING_BYTES_MIN;

	while (bytes < (wanted ?: RING_BYTES_MAX) &&
	       (wanted || (size_t)bytes * 2 * cpus <= RINGS_BYTES))
		bytes *= 2;
	return bytes;
}

int call_plans_fill(const struct truss_bpf *skel, const struct plan_options *options)
{
	struct call_plan plan;
	uint32_t key;
	int err = 0;

	for (int abi = 0; abi < NR_SYSCALL_ABI; abi++) {
		for (int nr = syscall_next(abi, -1); nr >= 0 && !err; nr = syscall_next(abi, nr)) {
			if (nr >= CALLS_INDEXED)
				continue;
			call_plan_fill(abi, nr, options, &plan);
			if (!plan.nr_fetches && !plan.fd_arguments && !plan.path_arguments)
				continue;
			key = (uint32_t)CALL_PLAN(abi, nr);
			err = bpf_map__update_elem(skel->maps.call_plans, &key, sizeof(key), &plan,
						   sizeof(plan), BPF_ANY);
		}
	}
	return err;
}

/* Also stops at a record beyond the horizon, or a busy CPU would keep it here forever. */
static int ring_take(void *closure, void *data, size_t size)
{
	const struct call_ring *ring = closure;
	const struct call_record *record = data;
	struct call_rings *rings = ring->rings;

	if (size < sizeof(*record) || record->size > size)
		return 0;
	rings->err = rings->take(rings->context, record);
	return rings->err || record->end_ns > rings->horizon_ns ? -ECANCELED : 0;
}

static int ring_new(struct call_rings *rings, const struct truss_bpf *skel, uint32_t cpu,
		    uint32_t bytes)
{
	struct call_ring *ring = &rings->rings[cpu];
	int err;

	ring->rings = rings;
	ring->fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "call_ring", 0, 0, bytes, NULL);
	if (ring->fd < 0)
		return -errno;
	err = bpf_map__update_elem(skel->maps.call_rings, &cpu, sizeof(cpu), &ring->fd,
				   sizeof(ring->fd), BPF_ANY);
	if (err)
		return err;
	ring->buffer = ring_buffer__new(ring->fd, ring_take, ring, NULL);
	return ring->buffer ? 0 : -errno;
}

int call_rings_new(struct truss_bpf *skel, const struct call_view *view, struct call_rings **ret)
{
	struct call_rings *rings __cleanup(call_rings_freep) = calloc(1, sizeof(*rings));
	uint32_t cpus = possible_cpus();
	int err;

	if (!rings)
		return -ENOMEM;
	rings->rings = calloc(cpus, sizeof(*rings->rings));
	if (!rings->rings)
		return -ENOMEM;
	rings->count = cpus;
	for (uint32_t i = 0; i < cpus; i++)
		rings->rings[i].fd = -1;
	err = call_plans_fill(skel, &view->plan);
	rings->bytes = ring_bytes(view->ring_bytes, cpus);
	for (uint32_t i = 0; i < cpus && !err; i++)
		err = ring_new(rings, skel, i, rings->bytes);
	err = err ?: map_array_new(skel->maps.open_calls, &rings->open_calls);
	if (err)
		return err;
	*ret = steal_ptr(&rings);
	return 0;
}

void call_rings_free(struct call_rings *rings)
{
	if (!rings)
		return;
	for (uint32_t i = 0; i < rings->count; i++) {
		ring_buffer__free(rings->rings[i].buffer);
		closep(&rings->rings[i].fd);
	}
	map_array_free(rings->open_calls);
	free(rings->last);
	free(rings->early);
	free(rings->rings);
	free(rings);
}

size_t call_rings_bytes(const struct call_rings *rings)
{
	return (size_t)rings->bytes * rings->count;
}

int call_rings_take(struct call_rings *rings, uint64_t horizon_ns, call_taker *take, void *context)
{
	int got;

	rings->take = take;
	rings->context = context;
	rings->horizon_ns = horizon_ns;
	rings->err = 0;
	for (uint32_t i = 0; i < rings->count && !rings->err; i++) {
		got = ring_buffer__consume(rings->rings[i].buffer);
		if (got < 0 && got != -ECANCELED && !rings->err)
			rings->err = got;
	}
	for (size_t i = 0; i < rings->nr_last && !rings->err; i++)
		rings->err = take(context, &rings->last[i]);
	rings->nr_last = 0;
	return rings->err;
}

void call_rings_note_last(struct call_rings *rings, uint32_t index,
			  const struct task_record *record)
{
	const struct open_call *open = call_rings_open_call(rings, index);

	if (!open || !open->number ||
	    !array_grow(&rings->last, rings->nr_last, sizeof(*rings->last)))
		return;
	rings->last[rings->nr_last++] = (struct call_record){
		.size = sizeof(*rings->last),
		.flags = CALL_NONE,
		.nr = -1,
		.record = index,
		.pid = record->pid,
		.tid = record->tid,
		.number = open->number + 1,
		.left_out = open->left_out,
		.end_ns = clock_mono_ns(),
	};
}

bool call_rings_knows_early(const struct call_rings *rings, uint32_t index, uint64_t start_ns)
{
	return index < rings->nr_early && rings->early[index] == start_ns;
}

bool call_rings_note_early(struct call_rings *rings, uint32_t index, uint64_t start_ns)
{
	while (rings->nr_early <= index) {
		if (!array_grow(&rings->early, rings->nr_early, sizeof(*rings->early)))
			return false;
		rings->early[rings->nr_early++] = 0;
	}
	rings->early[index] = start_ns;
	return true;
}

const struct open_call *call_rings_open_call(const struct call_rings *rings, uint32_t record)
{
	return map_array_at(rings->open_calls, record);
}
