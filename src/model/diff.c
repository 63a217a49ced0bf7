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
#include "base/text.h"
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

/* An earlier row, and the place of the later one from which it is to be subtracted. */
struct pair {
	size_t later;
	const struct row *old;
};

struct pair_list {
	struct pair *pairs;
	size_t count;
};

static int compare_pairs(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	return compare_u64(x->later, y->later);
}

/* Finds the place of each earlier row. Both snapshots are in order, so most are met in passing. */
static int diff_pair_rows(struct diff *diff, struct pair_list *list)
{
	const struct snapshot *later = diff->later;
	size_t at = 0;

	for (size_t i = 0; i < diff->earlier->nr_rows; i++) {
		const struct row *old = diff->earlier->rows[i];
		struct row *const *row;

		while (at < later->nr_rows && row_compare(later->rows[at], old) < 0)
			at++;
		row = at < later->nr_rows ? &later->rows[at] : NULL;
		if (!row || row_compare(*row, old))
			row = diff_find_heir(diff, old);
		/* A call that was in flight and is no more has a row only if it ended. */
		if (!row && old->calls)
			return -EINVAL;
		if (row)
			list->pairs[list->count++] = (struct pair){ row - later->rows, old };
	}
	qsort(list->pairs, list->count, sizeof(*list->pairs), compare_pairs);
	return 0;
}

static bool row_is_idle(const struct row *row)
{
	return !row->calls && !row->in_flight;
}

/* Subtracts earlier rows from a copy. NULL: nothing is left, unless *err is -EINVAL or -ENOMEM. */
static struct row *row_less(const struct row *row, const struct pair *pairs, size_t nr_pairs,
			    int *err)
{
	struct row copy, *less;

	*err = row_copy(&copy, row);
	if (*err)
		return NULL;
	for (size_t i = 0; i < nr_pairs && !*err; i++)
		*err = row_subtract(&copy, pairs[i].old);
	less = *err || row_is_idle(&copy) ? NULL : row_new(&copy);
	if (!*err && !less && !row_is_idle(&copy))
		*err = -ENOMEM;
	row_done(&copy);
	return less;
}

/* Adds what one later row has more than its earlier ones; most have one, and nothing new. */
static int diff_add_row(struct diff *diff, struct row *row, const struct pair *pairs,
			size_t nr_pairs)
{
	struct row *less;
	int err;

	if (row_is_idle(row) && !nr_pairs)
		return 0;
	/* Readings share a row that did not change between them. */
	if (nr_pairs == 1 && row == pairs->old && !row->in_flight)
		return 0;
	if (nr_pairs == 1 && row->calls == pairs->old->calls && !row->in_flight)
		return row_is_after(row, pairs->old) ? 0 : -EINVAL;
	if (!nr_pairs) {
		diff->out->rows[diff->out->nr_rows++] = row_ref(row);
		return 0;
	}
	less = row_less(row, pairs, nr_pairs, &err);
	if (less)
		diff->out->rows[diff->out->nr_rows++] = less;
	return err;
}

static int diff_pairs(struct diff *diff, const struct pair_list *list)
{
	size_t first = 0, end;
	int err = 0;

	for (size_t i = 0; i < diff->later->nr_rows && !err; i++, first = end) {
		for (end = first; end < list->count && list->pairs[end].later == i;)
			end++;
		err = diff_add_row(diff, diff->later->rows[i], &list->pairs[first], end - first);
	}
	return err;
}

static int diff_rows(struct diff *diff)
{
	struct pair_list list = { calloc(diff->earlier->nr_rows + 1, sizeof(*list.pairs)), 0 };
	int err = -ENOMEM;

	diff->out->rows = calloc(diff->later->nr_rows + 1, sizeof(*diff->out->rows));
	if (list.pairs && diff->out->rows)
		err = diff_pair_rows(diff, &list) ?: diff_pairs(diff, &list);
	free(list.pairs);
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
