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

/* The share of a kind, made when it is new and wanted; NULL: there is none, or no memory. */
static struct share *share_place(struct sum *sum, int64_t kind, bool make)
{
	size_t at = sum->nr_shares;
	struct share *grown;

	while (at > 0 && sum->shares[at - 1].kind >= kind)
		at--;
	if (at < sum->nr_shares && sum->shares[at].kind == kind)
		return &sum->shares[at];
	grown = make ? reallocarray(sum->shares, sum->nr_shares + 1, sizeof(*grown)) : NULL;
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
	if (sum->by_call && !share_place(sum, kind = KIND_ALL, true))
		return -ENOMEM;
	row_forget_owner(row);
	if (kind != KIND_NOBODY)
		row->boot_ns = KIND_FIRST + (uint64_t)kind;
	return builder_move_row(sum->builder, row);
}

int sum_add_share(struct sum *sum, const struct share *share)
{
	struct share *place = share_place(sum, sum->by_call ? KIND_ALL : share->kind, true);

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

/* A snapshot on its way into a sum. */
struct adding {
	struct sum *sum;
	struct db *db;
	const struct snapshot *snapshot;
	int64_t *kinds; /* owned: of its processes, and of nobody; 0: not known yet */
	int64_t room;   /* for new kinds */
};

static void adding_done(struct adding *adding)
{
	free(adding->kinds);
}

static int64_t *known_kind(const struct adding *adding, const struct process *process)
{
	const struct snapshot *snapshot = adding->snapshot;

	return &adding->kinds[process ? process - snapshot->processes
				      : (ptrdiff_t)snapshot->nr_processes];
}

/* The id of the kind of a process, NULL is nobody; one that is new is added. -errno on failure. */
static int64_t take_kind(struct adding *adding, const struct process *process)
{
	int64_t *known = known_kind(adding, process);
	struct kind kind;
	int err;

	if (*known)
		return *known;
	kind = kind_of(adding->snapshot, process);
	err = kind_take(adding->db, &kind, &adding->room);
	return err ?: (*known = kind.id);
}

/* A row without calls that ended is not kept. */
static int add_row(struct adding *adding, struct row row)
{
	const struct process *process =
		snapshot_find_process(adding->snapshot, row.pid, row.boot_ns);
	int64_t kind = row.calls ? take_kind(adding, process) : 0;
	struct row copy;
	int err;

	if (kind <= 0)
		return (int)kind;
	if (kind != KIND_NOBODY && !share_place(adding->sum, kind, true))
		return -ENOMEM;
	/* Calls in flight are in the interval in which they end; stacks are in none. */
	row.in_flight = row.in_flight_early = 0;
	row.oldest_start_ns = UINT64_MAX;
	row.open_wall_ns = row.open_off_ns = 0;
	row.stacks = NULL;
	row.nr_stacks = 0;
	if (row_copy(&copy, &row))
		return -ENOMEM;
	err = sum_add_row(adding->sum, kind, &copy);
	row_done(&copy);
	return err;
}

static int add_time(struct adding *adding, const struct process *process)
{
	int64_t kind = process->user_ns ? take_kind(adding, process) : KIND_NOBODY;
	struct share *share;

	if (kind < 0 || kind == KIND_NOBODY)
		return kind < 0 ? (int)kind : 0;
	share = share_place(adding->sum, kind, true);
	if (!share)
		return -ENOMEM;
	share->user_ns += process->user_ns;
	return 0;
}

/* How many processes of the interval one of the snapshot stands for. */
static uint64_t processes_seen(const struct snapshot *snapshot, const struct process *process)
{
	if (!process->pid)
		return process->nr_folded;
	return !process->ended_ns ||
	       process->ended_ns + snapshot->elapsed_ns >= snapshot->end_mono_ns;
}

/* A kind that did nothing is not kept. */
static int add_presence(struct adding *adding, const struct process *process)
{
	struct kind kind = kind_of(adding->snapshot, process);
	int64_t known = *known_kind(adding, process);
	int err = known ? 0 : kind_find(adding->db, &kind);
	struct share *share = share_place(adding->sum, known ?: kind.id, false);

	if (share)
		share->processes += processes_seen(adding->snapshot, process);
	return err;
}

int sum_add_snapshot(struct sum *sum, struct db *db, const struct snapshot *snapshot)
{
	struct adding adding __cleanup(adding_done) = { sum, db, snapshot, NULL, 0 };
	int err = kinds_room(db, &adding.room);

	adding.kinds = calloc(snapshot->nr_processes + 1, sizeof(*adding.kinds));
	if (err || !adding.kinds)
		return err ?: -ENOMEM;
	for (size_t i = 0; i < snapshot->nr_rows && !err; i++)
		err = add_row(&adding, *snapshot->rows[i]);
	for (size_t i = 0; i < snapshot->nr_processes && !err; i++)
		err = add_time(&adding, &snapshot->processes[i]);
	for (size_t i = 0; i < snapshot->nr_processes && !err; i++)
		err = add_presence(&adding, &snapshot->processes[i]);
	losses_merge(&sum->losses, &snapshot->losses);
	return err;
}

static int add_process(struct sum *sum, struct db *db, const struct share *share,
		       struct snapshot *snapshot)
{
	struct process process = { .comm = "[all]", .uid = UID_NONE, .boot_ns = KIND_FIRST };
	int err = sum->by_call ? 0 : kind_read(db, share->kind, snapshot, &process);

	if (err)
		return err;
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
	/* The latest name of an id counts. */
	for (size_t i = sum->nr_shares; i-- > 0 && !err;)
		err = add_process(sum, db, &sum->shares[i], snapshot);
	err = err ?: builder_finish(sum->builder, snapshot);
	if (err)
		return err;
	sum_done(sum);
	*ret = steal_ptr(&snapshot);
	return 0;
}
