/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the life of a collector: loading, mapping, attaching, starting, stopping. Invariant: the
 * programs are attached before any task is marked, so they never see a task half way.
 */
#include "collect/collector.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "base/mem.h"
#include "collect/collector_private.h"
#include "collect/features.h"

/* An array and where the collector keeps its mapping. */
struct mapping {
	const struct bpf_map *map;
	void **where;
};

static size_t map_bytes(const struct bpf_map *map)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	/* The kernel rounds each element up to 8 bytes. */
	size_t element = (bpf_map__value_size(map) + 7u) & ~(size_t)7u;

	return (element * bpf_map__max_entries(map) + page - 1) & ~(page - 1);
}

#define NR_MAPPINGS 5

static void collector_list_mappings(struct collector *c, struct mapping list[NR_MAPPINGS])
{
	struct kernel_arrays *a = &c->arrays;

	list[0] = (struct mapping){ c->skel->maps.records, (void **)&a->records };
	list[1] = (struct mapping){ c->skel->maps.slots, (void **)&a->slots };
	list[2] = (struct mapping){ c->skel->maps.tallies, (void **)&a->tallies };
	list[3] = (struct mapping){ c->skel->maps.overflow, (void **)&a->overflow };
	list[4] = (struct mapping){ c->skel->maps.losses, (void **)&a->losses };
}

static int collector_map_arrays(struct collector *c)
{
	struct mapping list[NR_MAPPINGS];
	void *memory;

	collector_list_mappings(c, list);
	for (int i = 0; i < NR_MAPPINGS; i++) {
		memory = mmap(NULL, map_bytes(list[i].map), PROT_READ | PROT_WRITE, MAP_SHARED,
			      bpf_map__fd(list[i].map), 0);
		if (memory == MAP_FAILED)
			return -errno;
		*list[i].where = memory;
	}
	return 0;
}

static void collector_unmap_arrays(struct collector *c)
{
	struct mapping list[NR_MAPPINGS];

	collector_list_mappings(c, list);
	for (int i = 0; i < NR_MAPPINGS; i++) {
		if (*list[i].where)
			munmap(*list[i].where, map_bytes(list[i].map));
	}
}

/* Index 0 of every table means "none", hence one more than what the user asked for. */
static int collector_size_tables(struct collector *c, const struct collector_options *options)
{
	uint32_t tasks = (options->max_tasks ?: DEFAULT_MAX_TASKS) + 1;
	uint32_t rows = (options->max_rows ?: DEFAULT_MAX_SLOTS) + 1;
	uint32_t errnos = (options->max_errnos ?: DEFAULT_MAX_TALLIES) + 1;
	struct truss_bpf *skel = c->skel;
	int err = 0;

	skel->rodata->max_tasks = tasks;
	skel->rodata->max_slots = rows;
	skel->rodata->max_tallies = errnos;
	err |= bpf_map__set_max_entries(skel->maps.records, tasks);
	err |= bpf_map__set_max_entries(skel->maps.returned_records, tasks);
	err |= bpf_map__set_max_entries(skel->maps.slots, rows);
	err |= bpf_map__set_max_entries(skel->maps.returned_slots, rows);
	err |= bpf_map__set_max_entries(skel->maps.tallies, errnos);
	err |= bpf_map__set_max_entries(skel->maps.returned_tallies, errnos);
	return err;
}

/* Nothing to do: the ring only wakes user space. */
static int ignore_task_end(void *context, void *data, size_t size)
{
	(void)context, (void)data, (void)size;
	return 0;
}

static int collector_load(struct collector *c, const struct collector_options *options,
			  struct diag *d)
{
	int err;

	c->skel = truss_bpf__open();
	if (!c->skel)
		return diag_set(d, DIAG_FAILED, errno, "cannot open the BPF object: %s",
				strerror(errno));
	collector_size_tables(c, options);
	err = truss_bpf__load(c->skel);
	if (!err)
		err = truss_bpf__attach(c->skel);
	if (err)
		return diag_set(
			d, DIAG_UNSUPPORTED, -err,
			"the kernel refuses the BPF programs: %s; "
			"'bpftruss doctor' tells what is missing, -v shows the kernel's words",
			strerror(-err));
	err = collector_map_arrays(c);
	if (err)
		return diag_set(d, DIAG_FAILED, -err, "cannot map the kernel's tables: %s",
				strerror(-err));
	c->task_ends =
		ring_buffer__new(bpf_map__fd(c->skel->maps.task_ends), ignore_task_end, NULL, NULL);
	if (!c->task_ends)
		return diag_set(d, DIAG_FAILED, errno, "cannot open the ring buffer: %s",
				strerror(errno));
	return 0;
}

/* The initial pid namespace has a fixed inode number. */
static bool in_initial_pidns(void)
{
	char link[32] = "";
	ssize_t size = readlink("/proc/self/ns/pid", link, sizeof(link) - 1);

	return size > 0 && !strcmp(link, "pid:[4026531836]");
}

int collector_open(const struct collector_options *options, struct collector **ret, struct diag *d)
{
	struct collector *c __cleanup(collector_freep) = NULL;
	int err;

	features_silence_libbpf(!options->verbose);
	err = features_require(d);
	if (err)
		return err;
	c = calloc(1, sizeof(*c));
	if (!c || builder_new(&c->ended))
		return diag_oom(d);
	err = collector_load(c, options, d);
	if (err)
		return err;
	c->has_runq = features_have_runq();
	c->in_initial_pidns = in_initial_pidns();
	*ret = steal_ptr(&c);
	return 0;
}

void collector_free(struct collector *c)
{
	if (!c)
		return;
	ring_buffer__free(c->task_ends);
	if (c->skel)
		collector_unmap_arrays(c);
	truss_bpf__destroy(c->skel);
	builder_free(c->ended);
	free(c->targets);
	free(c);
}

/* Far more than any number of threads that are being made calls for. */
#define MAX_PASSES 1000

/* One pass over all tasks of the system, adopting those of marked processes. */
static int collector_adopt(struct collector *c)
{
	struct bpf_link *link = c->skel->links.adopt_targets;
	int fd __cleanup(closep) = bpf_iter_create(bpf_link__fd(link));
	char buf[64];
	ssize_t got;

	if (fd < 0)
		return -errno;
	do {
		got = read(fd, buf, sizeof(buf));
	} while (got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN)));
	return got < 0 ? -errno : 0;
}

/*
 * Passes until one adopts none and no fork failed to hand on its counting meanwhile, as it does
 * when the kernel is busy with task storage on that CPU: a thread that was missed before such a
 * pass was found by it. Every pass but the last finds something, unless memory is short for good.
 */
static int collector_adopt_all(struct collector *c)
{
	uint32_t *adopted = &c->skel->data_population->population.adopted;
	__u64 *untracked = &c->arrays.losses[LOSS_TASK_UNTRACKED];
	uint32_t before;
	int err;

	for (int i = 0; i < MAX_PASSES; i++) {
		before = __atomic_load_n(adopted, __ATOMIC_ACQUIRE);
		c->untracked_seen = __atomic_load_n(untracked, __ATOMIC_ACQUIRE);
		err = collector_adopt(c);
		if (err)
			return err;
		if (__atomic_load_n(adopted, __ATOMIC_ACQUIRE) == before &&
		    __atomic_load_n(untracked, __ATOMIC_ACQUIRE) == c->untracked_seen)
			return 0;
	}
	return 0;
}

int collector_find_untracked(struct collector *c)
{
	if (__atomic_load_n(&c->arrays.losses[LOSS_TASK_UNTRACKED], __ATOMIC_ACQUIRE) ==
	    c->untracked_seen)
		return 0;
	return collector_adopt_all(c);
}

int collector_start(struct collector *c, struct diag *d)
{
	int err;

	misses_read(c, &c->misses_at_start);
	c->start_real_ns = clock_real_ns();
	c->start_ns = clock_mono_ns();
	err = collector_adopt_all(c);
	if (err)
		return diag_set(d, DIAG_FAILED, -err, "cannot list the tasks: %s", strerror(-err));
	c->untracked_at_start = c->untracked_seen;
	return 0;
}

int collector_fd(const struct collector *c)
{
	return ring_buffer__epoll_fd(c->task_ends);
}

uint32_t collector_live(const struct collector *c)
{
	return __atomic_load_n(&c->skel->data_population->population.live, __ATOMIC_ACQUIRE);
}

void collector_stop(struct collector *c)
{
	if (c->stop_ns)
		return;
	__atomic_store_n(&c->skel->data_control->control.stopped, 1, __ATOMIC_SEQ_CST);
	c->stop_ns = clock_mono_ns();
	c->stop_real_ns = clock_real_ns();
	/*
	 * A program that is running now may not have seen it: wait until all such are done. Where
	 * the kernel refuses, reading is as safe as while counting goes on.
	 */
	syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
}
