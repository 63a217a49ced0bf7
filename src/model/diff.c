/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Subtracts snapshots: counters only grow, so every difference is exact. A row that is
 * gone from the later one has an heir there, into which it was added: a thread's is its process's
 * row of ended threads, a folded process's is that of its name, user and cgroup, or, if that has no
 * row of its number, the one of ROW_NR_OTHER.
 */
#include "model/diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "model/fold.h"

struct diff {
	const struct snapshot *earlier, *later;
	struct snapshot *out;

	/* The process of the row that was asked for last: that of the next mostly is the same. */
	struct process asked;
	const struct process *heir;
};

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

/*
 * A group of its own, once there, takes all of its kind; before, they went to the one of others, as
 * did a group that is there no more.
 */
static const struct process *find_folded(const struct snapshot *snapshot,
					 const struct process *process)
{
	struct process others = process_of_other_kinds();
	const struct process *group = process->pid ? find_group(snapshot, process) : NULL;

	return group ?: find_group(snapshot, &others);
}

/* Where an earlier process is now: itself, the group it was folded into, or nowhere. */
static const struct process *diff_heir(const struct diff *diff, uint32_t pid, uint64_t boot_ns)
{
	const struct process *same = snapshot_find_process(diff->later, pid, boot_ns);
	const struct process *old = snapshot_find_process(diff->earlier, pid, boot_ns);

	return same || !old ? same : find_folded(diff->later, old);
}

static const struct process *diff_row_heir(struct diff *diff, const struct row *old)
{
	if (!diff->asked.boot_ns || !process_has_row(&diff->asked, old)) {
		diff->asked = (struct process){ .pid = old->pid, .boot_ns = old->boot_ns };
		diff->heir = diff_heir(diff, old->pid, old->boot_ns);
	}
	return diff->heir;
}

/* Where an earlier row that is there no more is now. NULL: not one snapshot after the other. */
static struct row *const *diff_find_heir(struct diff *diff, const struct row *old)
{
	const struct process *heir = diff_row_heir(diff, old);
	struct row identity = *old;
	struct row *const *found;

	if (!heir)
		return NULL;
	identity.pid = heir->pid;
	identity.boot_ns = heir->boot_ns;
	identity.tid = 0;
	identity.tid_ns = 0;
	found = snapshot_place_row(diff->later, &identity);
	if (!found && !heir->pid)
		row_forget_number(&identity);
	return found ?: snapshot_place_row(diff->later, &identity);
}

static bool row_is_idle(const struct row *row)
{
	return !row->calls && !row->in_flight;
}

/*
 * Subtracts an earlier row from its heir, the later one at some place. There the rows of the difference
 * have a copy of their own once something is subtracted; the later row itself stands for nothing left.
 */
static int diff_subtract(struct diff *diff, size_t at, const struct row *old)
{
	struct row *row = diff->later->rows[at], **less = &diff->out->rows[at];

	if (*less == row)
		return old->calls ? -EINVAL : 0;
	/* Most rows have nothing new; readings share one that did not change between them. */
	if (!*less && !row->in_flight && row->calls == old->calls) {
		*less = row;
		return row == old || row_is_after(row, old) ? 0 : -EINVAL;
	}
	if (!*less) {
		*less = row_ref(row);
		if (row_unshare(less)) {
			row_unref(row);
			return -ENOMEM;
		}
	}
	return row_subtract(*less, old);
}

/* Finds the heir of each earlier row. Both snapshots are in order, so most are met in passing. */
static int diff_subtract_all(struct diff *diff)
{
	const struct snapshot *later = diff->later;
	size_t at = 0;
	int err = 0;

	for (size_t i = 0; i < diff->earlier->nr_rows && !err; i++) {
		const struct row *old = diff->earlier->rows[i];
		struct row *const *row;

		while (at < later->nr_rows && row_compare(later->rows[at], old) < 0)
			at++;
		row = at < later->nr_rows ? &later->rows[at] : NULL;
		if (!row || row_compare(*row, old))
			row = diff_find_heir(diff, old);
		/* A call that was in flight and is no more has a row only if it ended. */
		if (row)
			err = diff_subtract(diff, (size_t)(row - later->rows), old);
		else
			err = old->calls ? -EINVAL : 0;
	}
	return err;
}

static int diff_rows(struct diff *diff)
{
	const struct snapshot *later = diff->later;
	struct snapshot *out = diff->out;
	int err;

	out->rows = calloc(later->nr_rows + 1, sizeof(*out->rows));
	if (!out->rows)
		return -ENOMEM;
	err = diff_subtract_all(diff);
	for (size_t i = 0; i < later->nr_rows; i++) {
		struct row *row = out->rows[i], *whole = later->rows[i];

		if (row == whole)
			continue;
		row = row ?: row_ref(whole);
		if (row_is_idle(row))
			row_unref(row);
		else
			out->rows[out->nr_rows++] = row;
	}
	return err;
}

/* Clocks that went back leave what is less than before: it counts as a loss of the difference. */
static int diff_processes(const struct diff *diff)
{
	for (size_t i = 0; i < diff->earlier->nr_processes; i++) {
		const struct process *old = &diff->earlier->processes[i];
		const struct process *heir = diff_heir(diff, old->pid, old->boot_ns);
		struct process *process;

		if (!heir)
			return -EINVAL;
		process = &diff->out->processes[heir - diff->later->processes];
		diff->out->losses.count[LOSS_TIME_CLAMPED] += process_subtract_counts(process, old);
		if (heir->pid != old->pid || old->pid == 0)
			process->nr_folded -= old->pid ? 1 : old->nr_folded;
	}
	return 0;
}

int snapshot_diff(const struct snapshot *earlier, const struct snapshot *later,
		  struct snapshot **ret)
{
	struct snapshot *out __cleanup(snapshot_freep) = NULL;
	struct diff diff = { .earlier = earlier, .later = later };
	int err;

	if (strcmp(earlier->boot_id ?: "", later->boot_id ?: ""))
		return -EINVAL;
	if (snapshot_new_like(later, &out))
		return -ENOMEM;
	losses_subtract(&out->losses, &earlier->losses);
	diff.out = out;
	out->processes = calloc(later->nr_processes + 1, sizeof(*out->processes));
	if (!out->processes)
		return -ENOMEM;
	for (; out->nr_processes < later->nr_processes; out->nr_processes++)
		out->processes[out->nr_processes] = later->processes[out->nr_processes];
	err = diff_rows(&diff) ?: diff_processes(&diff);
	if (err)
		return err;
	/* Only of what is in the difference. */
	out->losses.count[LOSS_NUMBER_FOLDED] = out->losses.count[LOSS_KIND_FOLDED] = 0;
	snapshot_count_folded(out, &out->losses);
	out->start_ns = earlier->end_ns;
	out->elapsed_ns = later->end_mono_ns - earlier->end_mono_ns;
	*ret = steal_ptr(&out);
	return 0;
}
