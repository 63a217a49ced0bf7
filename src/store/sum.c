/* SPDX-License-Identifier: BSD-2-Clause */
/* Adds up by kind. */
#include "store/sum.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

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

/* Nobody has no serial number. */
int64_t sum_kind(const struct row *row)
{
	return row->boot_ns ? (int64_t)(row->boot_ns - KIND_FIRST) : KIND_NOBODY;
}

int sum_add_row(struct sum *sum, int64_t kind, struct row *row)
{
	if (!sum->builder && builder_new(&sum->builder))
		return -ENOMEM;
	if (sum->by_call && !share_place(sum, kind = KIND_ALL))
		return -ENOMEM;
	row_forget_owner(row);
	if (kind != KIND_NOBODY)
		row->boot_ns = KIND_FIRST + (uint64_t)kind;
	return builder_move_row(sum->builder, row);
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

/* A process of a snapshot, what kind it is of, and which rows are its. */
struct member {
	struct kind kind;              /* borrows */
	const struct process *process; /* NULL: nobody */
	size_t first, end;             /* of the rows */
};

static int compare_members(const void *a, const void *b)
{
	return kind_compare(&((const struct member *)a)->kind, &((const struct member *)b)->kind);
}

static bool row_is_before(const struct row *row, const struct process *process)
{
	return row->pid < process->pid ||
	       (row->pid == process->pid && row->boot_ns < process->boot_ns);
}

/* All processes and rows, by kind. There is room for one more than twice as many as processes. */
static size_t members_fill(struct member *members, const struct snapshot *snapshot)
{
	const struct kind nobody = kind_of(snapshot, NULL);
	size_t count = 0, first = 0, end = 0;

	for (size_t i = 0; i < snapshot->nr_processes; i++) {
		const struct process *process = &snapshot->processes[i];

		while (end < snapshot->nr_rows && row_is_before(snapshot->rows[end], process))
			end++;
		if (end > first)
			members[count++] = (struct member){ nobody, NULL, first, end };
		first = end;
		end += snapshot_rows_of(snapshot, first, process);
		members[count++] =
			(struct member){ kind_of(snapshot, process), process, first, end };
		first = end;
	}
	members[count++] = (struct member){ nobody, NULL, first, snapshot->nr_rows };
	qsort(members, count, sizeof(*members), compare_members);
	return count;
}

/* How many processes of the interval one of the snapshot stands for. */
static uint64_t processes_seen(const struct snapshot *snapshot, const struct process *process)
{
	if (!process->pid)
		return process->nr_folded;
	return !process->ended_ns ||
	       process->ended_ns + snapshot->elapsed_ns >= snapshot->end_mono_ns;
}

/* Without a call that ended or time on a CPU there is nothing to keep. */
static bool member_counts(const struct snapshot *snapshot, const struct member *member)
{
	for (size_t i = member->first; i < member->end; i++) {
		if (snapshot->rows[i]->calls)
			return true;
	}
	return member->kind.id != KIND_NOBODY && member->process->user_ns;
}

static int add_rows(struct sum *sum, const struct snapshot *snapshot, const struct member *member,
		    int64_t kind)
{
	int err = 0;

	for (size_t i = member->first; i < member->end && !err; i++) {
		struct row row = *snapshot->rows[i], copy;

		if (!row.calls)
			continue;
		/* Calls in flight are in the interval in which they end; stacks are in none. */
		row.in_flight = row.in_flight_early = 0;
		row.oldest_start_ns = UINT64_MAX;
		row.open_wall_ns = row.open_off_ns = 0;
		row.stacks = NULL;
		row.nr_stacks = 0;
		if (row_copy(&copy, &row))
			return -ENOMEM;
		err = sum_add_row(sum, kind, &copy);
		row_done(&copy);
	}
	return err;
}

/* Members of one kind. */
static int add_members(struct sum *sum, const struct snapshot *snapshot,
		       const struct member *members, size_t count, int64_t kind)
{
	struct share *share = kind == KIND_NOBODY ? NULL : share_place(sum, kind);
	int err = 0;

	if (!share && kind != KIND_NOBODY)
		return -ENOMEM;
	for (size_t i = 0; i < count && !err; i++) {
		err = add_rows(sum, snapshot, &members[i], kind);
		if (!share || !members[i].process)
			continue;
		share->user_ns += members[i].process->user_ns;
		share->processes += processes_seen(snapshot, members[i].process);
	}
	return err;
}

static int add_kinds(struct sum *sum, struct db *db, const struct snapshot *snapshot,
		     struct member *members, size_t count)
{
	int64_t room = 0;
	int err = kinds_room(db, &room);

	for (size_t first = 0, end; first < count && !err; first = end) {
		bool counts = false;

		for (end = first; end < count && !compare_members(&members[first], &members[end]);
		     end++)
			counts = counts || member_counts(snapshot, &members[end]);
		if (!counts)
			continue;
		err = kind_take(db, &members[first].kind, &room)
			      ?: add_members(sum, snapshot, &members[first], end - first,
					     members[first].kind.id);
	}
	return err;
}

int sum_add_snapshot(struct sum *sum, struct db *db, const struct snapshot *snapshot)
{
	struct member *members __cleanup(freep) =
		calloc(2 * snapshot->nr_processes + 1, sizeof(*members));

	if (!members)
		return -ENOMEM;
	losses_merge(&sum->losses, &snapshot->losses);
	return add_kinds(sum, db, snapshot, members, members_fill(members, snapshot));
}

static int add_process(struct sum *sum, struct db *db, const struct share *share,
		       struct snapshot *snapshot)
{
	struct kind kind __cleanup(
		kind_done) = { .id = KIND_ALL, .comm = "[all]", .uid = UID_NONE };
	struct process process;
	int err = sum->by_call ? 0 : kind_read(db, share->kind, &kind);

	if (err)
		return err;
	if (kind_to_process(&kind, snapshot, &process))
		return -ENOMEM;
	process.user_ns = share->user_ns;
	process.nr_folded = share->processes;
	return builder_add_process(sum->builder, &process, false);
}

int sum_finish(struct sum *sum, struct db *db, struct snapshot **ret)
{
	struct run run __cleanup(run_done) = { 0 };
	struct snapshot *snapshot __cleanup(snapshot_freep) = NULL;
	struct snapshot description = {
		.start_ns = sum->start_ns,
		.end_ns = sum->end_ns,
		.elapsed_ns = sum->covered_ns,
		.end_mono_ns = (uint64_t)sum->last.end_mono_ns,
		.has_runq = sum->first.flags & INTERVAL_HAS_RUNQ,
		.caller_pidns = sum->first.flags & INTERVAL_CALLER_PIDNS,
		.threads_unknown = (uint64_t)sum->last.threads_unknown,
		.losses = sum->losses,
	};
	int err = run_read(db, sum->last.run, &run);

	description.host = run.host;
	description.boot_id = run.boot_id;
	description.kernel = run.kernel;
	err = err ?: snapshot_new_like(&description, &snapshot);
	if (!err && !sum->builder)
		err = builder_new(&sum->builder);
	/* Of users with one id the latest name counts. */
	for (size_t i = sum->nr_shares; i-- > 0 && !err;)
		err = add_process(sum, db, &sum->shares[i], snapshot);
	err = err ?: builder_finish(sum->builder, snapshot);
	if (err)
		return err;
	sum_done(sum);
	*ret = steal_ptr(&snapshot);
	return 0;
}
