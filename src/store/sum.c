/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the adding up by kind. */
#include "store/sum.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/db.h"

static int compare_rows(const void *a, const void *b)
{
	return row_compare(*(struct row *const *)a, *(struct row *const *)b);
}

void sum_done(struct sum *sum)
{
	builder_free(sum->builder);
	free(sum->shares);
	*sum = (struct sum){ 0 };
}

/* The share of a kind, made when it is new; NULL: no memory. */
static struct share *share_place(struct sum *sum, int64_t kind)
{
	size_t at = sum->nr_shares;
	struct share *grown;

	while (at > 0 && sum->shares[at - 1].kind >= kind)
		at--;
	if (at < sum->nr_shares && sum->shares[at].kind == kind)
		return &sum->shares[at];
	grown = reallocarray(sum->shares, sum->nr_shares + 1, sizeof(*grown));
	if (!grown)
		return NULL;
	sum->shares = grown;
	memmove(&grown[at + 1], &grown[at], (sum->nr_shares - at) * sizeof(*grown));
	grown[at] = (struct share){ .kind = kind };
	sum->nr_shares++;
	return &grown[at];
}

int sum_add_row(struct sum *sum, int64_t kind, const struct row *row)
{
	struct row counted = *row;

	if (!sum->builder && builder_new(&sum->builder))
		return -ENOMEM;
	if (sum->by_call && !share_place(sum, kind = KIND_ALL))
		return -ENOMEM;
	counted.pid = counted.tid = 0;
	counted.boot_ns = KIND_FIRST + (uint64_t)kind;
	counted.tid_ns = counted.arg0 = 0;
	counted.has_arg0 = false;
	/* Calls in flight are in the interval in which they end. */
	counted.in_flight = counted.in_flight_early = 0;
	counted.oldest_start_ns = UINT64_MAX;
	counted.open_wall_ns = counted.open_off_ns = 0;
	counted.stacks = NULL;
	counted.nr_stacks = 0;
	return builder_add_row(sum->builder, &counted);
}

int sum_add_share(struct sum *sum, const struct share *share)
{
	struct share *place = share_place(sum, sum->by_call ? KIND_ALL : share->kind);

	if (!place)
		return -ENOMEM;
	place->user_ns += share->user_ns;
	/* How many of all kinds there were at a time nobody has noted. */
	if (!sum->by_call && share->processes > place->processes)
		place->processes = share->processes;
	return 0;
}

static void sum_remove_share(struct sum *sum, struct share *share)
{
	size_t after = sum->nr_shares-- - (size_t)(share - sum->shares) - 1;

	memmove(share, share + 1, after * sizeof(*share));
}

void sum_add_interval(struct sum *sum, const struct interval *interval)
{
	if (!sum->nr_intervals++) {
		sum->first = sum->last = *interval;
		sum->start_ns = interval->start_ns;
		sum->end_ns = interval->end_ns;
	}
	sum->covered_ns += (uint64_t)(interval->end_mono_ns - interval->start_mono_ns);
	if (interval->start_ns < sum->start_ns)
		sum->start_ns = interval->start_ns;
	if (interval->end_ns > sum->end_ns)
		sum->end_ns = interval->end_ns;
	/* What only some of them know the sum does not know. */
	sum->first.flags &= interval->flags;
	sum->last = *interval;
}

/* How many processes of the interval one of the snapshot stands for. */
static uint64_t processes_seen(const struct snapshot *snapshot, const struct process *process)
{
	if (!process->pid)
		return process->nr_folded;
	return !process->ended_ns ||
	       process->ended_ns + snapshot->elapsed_ns >= snapshot->end_mono_ns;
}

static int source_take(const struct kind_source *source, const struct kind *value,
		       struct kind **ret)
{
	bool is_new;

	if (source->db)
		return kind_take(source->db, value, source->interval, ret);
	return source->bounded ? kinds_take_bounded(source->kinds, value, ret, &is_new)
			       : kinds_take(source->kinds, value, ret, &is_new);
}

/* The rows of one process: without any that ended there is nothing to keep. */
static int add_rows(struct sum *sum, const struct kind_source *source,
		    const struct snapshot *snapshot, size_t first, size_t end)
{
	const struct row *row = snapshot->rows[first];
	const struct process *process = snapshot_find_process(snapshot, row->pid, row->boot_ns);
	struct kind value = kind_of(snapshot, process), *kind = NULL;
	int err = 0;

	for (size_t i = first; i < end && !err; i++) {
		if (!snapshot->rows[i]->calls)
			continue;
		if (!kind)
			err = source_take(source, &value, &kind);
		err = err ?: sum_add_row(sum, kind->id, snapshot->rows[i]);
	}
	if (!err && kind && kind->sort != KIND_NOBODY && !share_place(sum, kind->id))
		err = -ENOMEM;
	return err;
}

/* Of a process without calls only what adds to a kind that has some, or its time, is kept. */
static int add_process(struct sum *sum, const struct kind_source *source,
		       const struct snapshot *snapshot, const struct process *process)
{
	struct kind value = kind_of(snapshot, process), *kind;
	struct share *place;
	size_t nr_shares = sum->nr_shares;
	int err;

	if (value.sort == KIND_NOBODY)
		return 0;
	kind = kinds_lookup(source->kinds, &value);
	if (!kind && !process->user_ns)
		return 0;
	err = source_take(source, &value, &kind);
	if (err)
		return err;
	place = share_place(sum, kind->id);
	if (!place)
		return -ENOMEM;
	place->user_ns += process->user_ns;
	place->processes += processes_seen(snapshot, process);
	/* Nothing but its existence: that is not kept. */
	if (sum->nr_shares > nr_shares && !process->user_ns)
		sum_remove_share(sum, place);
	return 0;
}

int sum_add_snapshot(struct sum *sum, const struct kind_source *source,
		     const struct snapshot *snapshot)
{
	struct row *const *rows = snapshot->rows;
	size_t first = 0;
	int err = 0;

	for (size_t i = 0; i < snapshot->nr_rows && !err; i++) {
		if (i + 1 < snapshot->nr_rows && rows[i + 1]->pid == rows[i]->pid &&
		    rows[i + 1]->boot_ns == rows[i]->boot_ns)
			continue;
		err = add_rows(sum, source, snapshot, first, i + 1);
		first = i + 1;
	}
	for (size_t i = 0; i < snapshot->nr_processes && !err; i++)
		err = add_process(sum, source, snapshot, &snapshot->processes[i]);
	losses_merge(&sum->losses, &snapshot->losses);
	return err;
}

static const struct kind all_kinds = { .id = KIND_ALL, .comm = "[all]", .uid = UID_NONE };

static int add_kinds(struct sum *sum, const struct kinds *kinds, struct snapshot *snapshot)
{
	/* Of users with one id the latest name counts. */
	for (size_t i = sum->nr_shares; i-- > 0;) {
		const struct share *share = &sum->shares[i];
		const struct kind *kind =
			sum->by_call ? &all_kinds : kinds_find(kinds, share->kind);
		struct process process;

		if (!kind)
			return -EBADMSG;
		process = kind_process(kind);
		process.user_ns = share->user_ns;
		process.nr_folded = share->processes;
		if (builder_add_process(sum->builder, &process, false) || kind_name(kind, snapshot))
			return -ENOMEM;
	}
	return 0;
}

/* Calls of nobody belong to no process: their rows come first. */
static void rows_of_nobody(const struct kinds *kinds, struct snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->nr_rows; i++) {
		struct row *row = snapshot->rows[i];
		const struct kind *kind = kinds_find(kinds, (int64_t)(row->boot_ns - KIND_FIRST));

		if (kind && kind->sort == KIND_NOBODY)
			row->boot_ns = 0;
	}
	qsort(snapshot->rows, snapshot->nr_rows, sizeof(*snapshot->rows), compare_rows);
}

int sum_finish(struct sum *sum, const struct kinds *kinds, const struct run *run,
	       struct snapshot **ret)
{
	const struct snapshot description = {
		.host = run->host,
		.boot_id = run->boot_id,
		.kernel = run->kernel,
		.start_ns = sum->start_ns,
		.end_ns = sum->end_ns,
		.elapsed_ns = sum->covered_ns,
		.end_mono_ns = (uint64_t)sum->last.end_mono_ns,
		.has_runq = sum->first.flags & INTERVAL_HAS_RUNQ,
		.caller_pidns = sum->first.flags & INTERVAL_CALLER_PIDNS,
		.threads_unknown = (uint64_t)sum->last.threads_unknown,
		.losses = sum->losses,
	};
	struct snapshot *snapshot __cleanup(snapshot_freep) = NULL;
	int err;

	if (snapshot_new_like(&description, &snapshot) ||
	    (!sum->builder && builder_new(&sum->builder)))
		return -ENOMEM;
	err = add_kinds(sum, kinds, snapshot);
	if (!err && builder_finish(sum->builder, snapshot))
		err = -ENOMEM;
	if (err)
		return err;
	rows_of_nobody(kinds, snapshot);
	sum_done(sum);
	*ret = steal_ptr(&snapshot);
	return 0;
}
