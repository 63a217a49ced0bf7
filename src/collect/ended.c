/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the memory of processes that have ended: the latest keep rows of their own, all before are
 * added up by name, user and cgroup. Nothing is ever lost but which of them it was.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "collect/collector_private.h"

/* Serial numbers of folded groups start here: no process has started that late after boot. */
#define FOLDED_FIRST (UINT64_MAX / 2)

/* The processes to fold, and the groups they fold into, by the order in which these were made. */
struct fold {
	struct snapshot *all;
	struct process *groups;
	size_t nr_groups;
	uint64_t before_ns; /* those that ended earlier are folded */
};

static bool process_is_live(const struct collector *c, const struct process *process)
{
	uint32_t used = records_used(c);

	for (uint32_t i = 1; i < used; i++) {
		const struct task_record *record = &c->arrays.records[i];

		if (__atomic_load_n(&record->state, __ATOMIC_ACQUIRE) != RECORD_FREE &&
		    record->pid == process->pid && record->boot_ns == process->boot_ns)
			return true;
	}
	return false;
}

/* One that is counted no more may come back, unless it is gone. */
static bool process_exists(const struct process *process)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u", process->pid);
	return access(path, F_OK) == 0;
}

static bool process_is_folded(const struct process *process)
{
	return process->pid == 0 && process->boot_ns >= FOLDED_FIRST;
}

static bool process_folds(const struct collector *c, const struct fold *fold,
			  const struct process *process)
{
	return process->pid && process->ended_ns < fold->before_ns &&
	       !process_is_live(c, process) && !process_exists(process);
}

static bool same_kind(const struct process *a, const struct process *b)
{
	return a->uid == b->uid && a->cgroup_id == b->cgroup_id &&
	       !memcmp(a->comm, b->comm, sizeof(a->comm));
}

/* The group of a process, made when new. Its array has room for one a process. */
static const struct process *fold_group(struct fold *fold, const struct process *process)
{
	struct process *group;

	for (size_t i = 0; i < fold->nr_groups; i++) {
		if (same_kind(&fold->groups[i], process))
			return &fold->groups[i];
	}
	group = &fold->groups[fold->nr_groups];
	*group = (struct process){ .uid = process->uid, .cgroup_id = process->cgroup_id };
	group->boot_ns = FOLDED_FIRST + fold->nr_groups++;
	memcpy(group->comm, process->comm, sizeof(group->comm));
	return group;
}

/* Groups of earlier folds keep their numbers: snapshots are subtracted from each other. */
static int fold_prepare(struct fold *fold)
{
	fold->groups = calloc(fold->all->nr_processes + 1, sizeof(*fold->groups));
	if (!fold->groups)
		return -ENOMEM;
	for (size_t i = 0; i < fold->all->nr_processes; i++) {
		const struct process *process = &fold->all->processes[i];

		if (process_is_folded(process))
			fold->groups[fold->nr_groups++] = *process;
	}
	return 0;
}

static int fold_process(const struct collector *c, struct fold *fold, struct process *process,
			struct row *rows, size_t nr_rows)
{
	const struct process *group;
	struct process moved = *process;

	if (process_folds(c, fold, process)) {
		group = fold_group(fold, process);
		moved.pid = 0;
		moved.boot_ns = group->boot_ns;
		moved.nr_folded = 1;
	}
	for (size_t i = 0; i < nr_rows; i++) {
		rows[i].pid = moved.pid;
		rows[i].boot_ns = moved.boot_ns;
		rows[i].tid = 0;
		if (builder_add_row(c->ended, &rows[i]))
			return -ENOMEM;
	}
	return builder_add_process(c->ended, &moved, true);
}

static int compare_ended(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* When the oldest process that is to be kept ended. */
static int fold_set_limit(const struct collector *c, struct fold *fold)
{
	size_t count = fold->all->nr_processes, keep = c->keep_exited;
	uint64_t *ends __cleanup(freep) = calloc(count + 1, sizeof(*ends));

	if (!ends)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		ends[i] = fold->all->processes[i].ended_ns;
	qsort(ends, count, sizeof(*ends), compare_ended);
	fold->before_ns = ends[count - keep];
	/* What had not ended at the last reading may have been known there by another name. */
	if (c->intervals && fold->before_ns > c->base_ns)
		fold->before_ns = c->base_ns;
	return 0;
}

/* Rows and processes are both in the order of processes. */
static int fold_all(const struct collector *c, struct fold *fold)
{
	struct snapshot *all = fold->all;
	size_t row = 0, first;

	for (size_t i = 0; i < all->nr_processes; i++) {
		struct process *process = &all->processes[i];

		first = row;
		while (row < all->nr_rows && all->rows[row].pid == process->pid &&
		       all->rows[row].boot_ns == process->boot_ns)
			row++;
		if (fold_process(c, fold, process, &all->rows[first], row - first))
			return -ENOMEM;
	}
	return 0;
}

int ended_fold(struct collector *c)
{
	struct snapshot *all __cleanup(snapshot_freep) = NULL;
	struct fold fold = { 0 };
	int err;

	if (builder_processes(c->ended) < 2 * (size_t)c->keep_exited)
		return 0;
	all = calloc(1, sizeof(*all));
	if (!all || builder_finish(c->ended, all))
		return -ENOMEM;
	fold.all = all;
	err = fold_prepare(&fold);
	if (!err)
		err = fold_set_limit(c, &fold);
	if (!err)
		err = fold_all(c, &fold);
	free(fold.groups);
	return err;
}
