/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns subtraction of snapshots: counters only grow, so every difference is exact. A row that is
 * gone from the later one has an heir there, into which it was added: a thread's is its process's
 * row of ended threads, a folded process's is that of its name, user and cgroup.
 */
#include "model/diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct diff {
	const struct snapshot *earlier;
	struct snapshot *out; /* begins as a copy of the later one */
};

static int diff_copy_later(struct diff *diff, const struct snapshot *later)
{
	struct snapshot *out = diff->out;

	out->rows = calloc(later->nr_rows + 1, sizeof(*out->rows));
	out->processes = calloc(later->nr_processes + 1, sizeof(*out->processes));
	if (!out->rows || !out->processes)
		return -ENOMEM;
	for (; out->nr_rows < later->nr_rows; out->nr_rows++) {
		if (row_copy(&out->rows[out->nr_rows], &later->rows[out->nr_rows]))
			return -ENOMEM;
	}
	for (; out->nr_processes < later->nr_processes; out->nr_processes++)
		out->processes[out->nr_processes] = later->processes[out->nr_processes];
	return 0;
}

static const struct process *find_group(const struct snapshot *snapshot, const struct process *kind)
{
	for (size_t i = 0; i < snapshot->nr_processes; i++) {
		const struct process *group = &snapshot->processes[i];

		if (group->pid)
			return NULL;
		if (group->boot_ns && process_same_kind(group, kind))
			return group;
	}
	return NULL;
}

/* A group of its own, once there, takes all of its kind; before, they went to the one of others. */
static const struct process *find_folded(const struct snapshot *snapshot,
					 const struct process *process)
{
	struct process others = process_of_other_kinds();

	return find_group(snapshot, process) ?: find_group(snapshot, &others);
}

/* Where an earlier process is now: itself, the group it was folded into, or nowhere. */
static const struct process *diff_heir(const struct diff *diff, uint32_t pid, uint64_t boot_ns)
{
	const struct process *same = snapshot_find_process(diff->out, pid, boot_ns);
	const struct process *old = snapshot_find_process(diff->earlier, pid, boot_ns);

	return same || !old ? same : find_folded(diff->out, old);
}

/* Where an earlier row is now. NULL: not one snapshot after the other. */
static const struct row *diff_find_row(const struct diff *diff, const struct row *old)
{
	const struct row *same = snapshot_find_row(diff->out, old);
	const struct process *heir;
	struct row identity = *old;

	if (same)
		return same;
	heir = diff_heir(diff, old->pid, old->boot_ns);
	if (!heir)
		return NULL;
	identity.pid = heir->pid;
	identity.boot_ns = heir->boot_ns;
	identity.tid = 0;
	identity.tid_ns = 0;
	return snapshot_find_row(diff->out, &identity);
}

static int diff_rows(const struct diff *diff)
{
	for (size_t i = 0; i < diff->earlier->nr_rows; i++) {
		const struct row *old = &diff->earlier->rows[i];
		const struct row *row = diff_find_row(diff, old);

		/* A call that was in flight and is no more has a row only if it ended. */
		if (!row && old->calls)
			return -EINVAL;
		if (row && row_subtract(&diff->out->rows[row - diff->out->rows], old))
			return -EINVAL;
	}
	return 0;
}

static int diff_processes(const struct diff *diff)
{
	for (size_t i = 0; i < diff->earlier->nr_processes; i++) {
		const struct process *old = &diff->earlier->processes[i];
		const struct process *heir = diff_heir(diff, old->pid, old->boot_ns);
		struct process *process;

		if (!heir)
			return -EINVAL;
		process = &diff->out->processes[heir - diff->out->processes];
		process->user_ns -= old->user_ns;
		if (heir->pid != old->pid || old->pid == 0)
			process->nr_folded -= old->pid ? 1 : old->nr_folded;
	}
	return 0;
}

static void diff_drop_idle_rows(struct snapshot *out)
{
	size_t kept = 0;

	for (size_t i = 0; i < out->nr_rows; i++) {
		if (out->rows[i].calls || out->rows[i].in_flight)
			out->rows[kept++] = out->rows[i];
		else
			row_done(&out->rows[i]);
	}
	out->nr_rows = kept;
}

int snapshot_diff(const struct snapshot *earlier, const struct snapshot *later,
		  struct snapshot **ret)
{
	struct snapshot *out __cleanup(snapshot_freep) = NULL;
	struct diff diff = { .earlier = earlier };
	int err;

	if (strcmp(earlier->boot_id ?: "", later->boot_id ?: ""))
		return -EINVAL;
	if (snapshot_new_like(later, &out))
		return -ENOMEM;
	diff.out = out;
	err = diff_copy_later(&diff, later);
	/* Rows first: they look for the heirs of processes as these were. */
	if (!err)
		err = diff_rows(&diff);
	if (!err)
		err = diff_processes(&diff);
	if (err)
		return err;
	diff_drop_idle_rows(out);
	out->start_ns = earlier->end_ns;
	out->elapsed_ns = later->end_mono_ns - earlier->end_mono_ns;
	losses_subtract(&out->losses, &earlier->losses);
	*ret = steal_ptr(&out);
	return 0;
}
