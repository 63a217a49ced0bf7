/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns which of the two BPF objects is loaded, and what user space does in place of the kernel where
 * that lacks task storage: finding the task of a target, and handing out array indices. Maps,
 * variables and programs of both objects have the same names and layout (the build compares them),
 * so that one skeleton serves for both.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "base/mem.h"
#include "collect/collector_private.h"
#include "collect/features.h"
#include "truss_old.skel.h"

static struct truss_bpf *old_object_open(void)
{
	struct truss_bpf *skel = calloc(1, sizeof(*skel));
	int err = skel ? truss_bpf__create_skeleton(skel) : -ENOMEM;

	if (!err) {
		skel->skeleton->data = (void *)truss_old_bpf__elf_bytes(&skel->skeleton->data_sz);
		err = bpf_object__open_skeleton(skel->skeleton, NULL);
	}
	if (!err)
		return skel;
	truss_bpf__destroy(skel);
	errno = -err;
	return NULL;
}

/* BPFTRUSS_OLD_KERNEL=N, above 1: so many entries in the hash of tasks. */
static void old_object_size(const struct truss_bpf *skel)
{
	const char *value = getenv("BPFTRUSS_OLD_KERNEL");
	unsigned long entries = value ? strtoul(value, NULL, 10) : 0;

	if (entries > 1 && entries <= UINT32_MAX)
		bpf_map__set_max_entries(skel->maps.tasks, (uint32_t)entries);
}

int object_open(struct collector *c)
{
	c->old_kernel = !features_have_task_storage();
	c->skel = c->old_kernel ? old_object_open() : truss_bpf__open();
	if (!c->skel)
		return -errno;
	if (c->old_kernel)
		old_object_size(c->skel);
	c->skel->rodata->no_task_pt_regs = features_hide_task_regs();
	c->skel->rodata->lookups_can_fail = features_lookups_can_fail();
	bpf_program__set_autoload(c->skel->progs.on_free, c->old_kernel);
	bpf_program__set_autoload(c->skel->progs.mark_process, c->old_kernel);
	return 0;
}

/* The lowest on top. */
static int pool_fill(const struct bpf_map *returned, struct pool *pool, uint32_t limit)
{
	int err = 0;

	pool->mark = limit;
	for (uint32_t index = limit - 1; index && !err; index--)
		err = bpf_map__update_elem(returned, NULL, 0, &index, sizeof(index), BPF_ANY);
	return err;
}

int object_fill_pools(struct collector *c)
{
	const struct truss_bpf *skel = c->skel;
	int err;

	if (!c->old_kernel)
		return 0;
	err = pool_fill(skel->maps.returned_records, &skel->data_pools->pools.records,
			skel->rodata->max_tasks);
	if (!err)
		err = pool_fill(skel->maps.returned_slots, &skel->data_pools->pools.slots,
				skel->rodata->max_slots);
	if (!err)
		err = pool_fill(skel->maps.returned_tallies, &skel->data_pools->pools.tallies,
				skel->rodata->max_tallies);
	if (!err && c->skel->rodata->stacks)
		err = pool_fill(skel->maps.returned_stacks, &skel->data_pools->pools.stacks,
				skel->rodata->max_stacks);
	return err;
}

/* Has the pass over all tasks mark the process that has this pid now. */
static int mark_by_pass(struct collector *c, pid_t pid, int pidfd, const struct task_ref *ref)
{
	struct truss_bpf__data_marking *data = c->skel->data_marking;
	struct pollfd ended = { .fd = pidfd, .events = POLLIN };
	int err;

	data->marking.pid = (uint32_t)pid;
	data->marking.flags = ref->flags;
	data->marking.failed = 0;
	__atomic_store_n(&data->marking.found, 0, __ATOMIC_SEQ_CST);
	err = object_pass(c->skel->links.mark_process);
	if (err)
		return err;
	/* As it lives, no other process can have had its pid. */
	if (poll(&ended, 1, 0) == 1 || !__atomic_load_n(&data->marking.found, __ATOMIC_SEQ_CST))
		return -ESRCH;
	return __atomic_load_n(&data->marking.failed, __ATOMIC_SEQ_CST) ? -ENOSPC : 0;
}

int object_mark(struct collector *c, pid_t pid, int pidfd, const struct task_ref *ref)
{
	if (c->old_kernel)
		return mark_by_pass(c, pid, pidfd, ref);
	return bpf_map__update_elem(c->skel->maps.tasks, &pidfd, sizeof(pidfd), ref, sizeof(*ref),
				    BPF_ANY);
}

int object_pass(const struct bpf_link *link)
{
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
