/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the memory of processes that have ended: the latest keep rows of their own, all before are
 * added up by name, user and cgroup; of these groups, too, there is a limit. Nothing is ever lost
 * but which of them it was.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "collect/collector_private.h"

/* Beyond this, names, users and cgroups that have not been seen yet share a group. */
#define FOLDED_KINDS 1000

/* The processes to fold, and the groups they fold into, by the order in which these were made. */
struct fold {
	struct snapshot *all;
	struct process *groups;
	size_t nr_groups;
	uint64_t before_ns;   /* those that ended earlier are folded */
	struct process *live; /* of records in use, sorted; identities alone */
	size_t nr_live;
};

static bool process_is_live(const struct fold *fold, const struct process *process)
{
	return bsearch(process, fold->live, fold->nr_live, sizeof(*fold->live), process_compare);
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

/* Whether the last reading had it by a name that it may have lost since: nobody would find it. */
static bool process_is_bound(const struct collector *c, const struct process *process)
{
	return process->ended_ns >= c->base_ns && c->nr_base &&
	       bsearch(process, c->base, c->nr_base, sizeof(*c->base), process_compare);
}

static bool process_folds(const struct collector *c, const struct fold *fold,
			  const struct process *process)
{
	return process->pid && process->ended_ns < fold->before_ns &&
	       !process_is_bound(c, process) && !process_is_live(fold, process) &&
	       !process_exists(process);
}

static const struct process *fold_find(const struct fold *fold, const struct process *kind)
{
	for (size_t i = 0; i < fold->nr_groups; i++) {
		if (process_same_kind(&fold->groups[i], kind))
			return &fold->groups[i];
	}
	return NULL;
}

/* A group without counts. The array has room for them all. */
static const struct process *fold_add_group(struct fold *fold, const struct process *kind,
					    uint64_t serial)
{
	struct process *group = &fold->groups[fold->nr_groups++];

	*group = (struct process){ .uid = kind->uid,
				   .cgroup_id = kind->cgroup_id,
				   .boot_ns = serial };
	memcpy(group->comm, kind->comm, sizeof(group->comm));
	return group;
}

/* The group of a process, made when new. */
static const struct process *fold_group(struct fold *fold, const struct process *process)
{
	struct process kind = *process;
	const struct process *found = fold_find(fold, &kind);

	if (!found && fold->nr_groups >= FOLDED_KINDS) {
		kind = process_of_other_kinds();
		found = fold_find(fold, &kind);
	}
	return found ?: fold_add_group(fold, &kind, FOLDED_FIRST + fold->nr_groups);
}

/* Groups of earlier folds keep their numbers: snapshots are subtracted from each other. */
static int fold_prepare(struct fold *fold)
{
	fold->groups = calloc(FOLDED_KINDS + 1, sizeof(*fold->groups));
	if (!fold->groups)
		return -ENOMEM;
	for (size_t i = 0; i < fold->all->nr_processes; i++) {
		const struct process *process = &fold->all->processes[i];

		if (process_is_folded(process))
			fold_add_group(fold, process, process->boot_ns);
	}
	return 0;
}

static int fold_list_live(const struct collector *c, struct fold *fold)
{
	uint32_t used = records_used(c);

	fold->live = calloc(used, sizeof(*fold->live));
	if (!fold->live)
		return -ENOMEM;
	for (uint32_t i = 1; i < used; i++) {
		const struct task_record *record = record_at(c, i);

		if (!record)
			return -ENOMEM;
		if (record_state(record) != RECORD_FREE)
			fold->live[fold->nr_live++] =
				(struct process){ .pid = record->pid, .boot_ns = record->boot_ns };
	}
	qsort(fold->live, fold->nr_live, sizeof(*fold->live), process_compare);
	return 0;
}

static int fold_process(const struct collector *c, struct fold *fold, struct process *process,
			struct row *rows, size_t nr_rows)
{
	struct process moved = *process;

	if (process_folds(c, fold, process)) {
		moved = *fold_group(fold, process);
		process_clear_counts(&moved);
		process_add_counts(&moved, process);
		moved.ended_ns = process->ended_ns;
		moved.nr_folded = 1;
	}
	for (size_t i = 0; i < nr_rows; i++) {
		rows[i].pid = moved.pid;
		rows[i].boot_ns = moved.boot_ns;
		rows[i].tid = 0;
		rows[i].tid_ns = 0;
		if (builder_move_row(c->ended, &rows[i]))
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
	size_t count = 0, keep = c->keep_exited;
	uint64_t *ends __cleanup(freep) = calloc(fold->all->nr_processes + 1, sizeof(*ends));

	if (!ends)
		return -ENOMEM;
	for (size_t i = 0; i < fold->all->nr_processes; i++) {
		if (!process_is_folded(&fold->all->processes[i]))
			ends[count++] = fold->all->processes[i].ended_ns;
	}
	qsort(ends, count, sizeof(*ends), compare_ended);
	fold->before_ns = count > keep ? ends[count - keep] : 0;
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

	if (builder_processes(c->ended) < (c->fold_at ?: 2 * (size_t)c->keep_exited))
		return 0;
	all = calloc(1, sizeof(*all));
	if (!all || builder_finish(c->ended, all))
		return -ENOMEM;
	fold.all = all;
	err = fold_prepare(&fold);
	if (!err)
		err = fold_list_live(c, &fold);
	if (!err)
		err = fold_set_limit(c, &fold);
	if (!err)
		err = fold_all(c, &fold);
	free(fold.groups);
	free(fold.live);
	/* Some may have had to stay: not again before as many more have come. */
	c->fold_at = builder_processes(c->ended) + c->keep_exited;
	return err;
}
