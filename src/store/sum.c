/* SPDX-License-Identifier: BSD-2-Clause */
/* Adds up by kind. */
#include "store/sum.h"

#include "base/text.h"

void sum_done(struct sum *sum)
{
	builder_free(sum->builder);
	*sum = (struct sum){ 0 };
}

int64_t sum_kind(uint64_t boot_ns)
{
	return boot_ns ? (int64_t)(boot_ns - KIND_FIRST) : KIND_NOBODY;
}

static int sum_begin(struct sum *sum)
{
	return sum->builder ? 0 : builder_new(&sum->builder);
}

static struct process kind_process(int64_t kind)
{
	return (struct process){ .boot_ns = KIND_FIRST + (uint64_t)kind };
}

/* Adds to the process of a kind, which is made when it is new. */
static int add_kind(struct sum *sum, int64_t kind, uint64_t processes, uint64_t user_ns)
{
	struct process process = kind_process(kind);

	process.nr_folded = processes;
	process.user_ns = user_ns;
	return sum_begin(sum) ?: builder_add_process(sum->builder, &process, false);
}

/* NULL: nothing was added to it. */
static struct process *find_kind(struct sum *sum, int64_t kind)
{
	struct process key = kind_process(kind);

	return sum->builder ? builder_find_process(sum->builder, &key) : NULL;
}

int sum_add_row(struct sum *sum, int64_t kind, struct row *row)
{
	if (sum_begin(sum) || (kind == KIND_ALL && add_kind(sum, kind, 0, 0)))
		return -ENOMEM;
	row_forget_owner(row);
	if (kind != KIND_NOBODY)
		row->boot_ns = KIND_FIRST + (uint64_t)kind;
	return builder_move_row(sum->builder, row);
}

int sum_add_share(struct sum *sum, int64_t kind, uint64_t processes, uint64_t user_ns)
{
	struct process *process;

	/* How many of several kinds there were at a time nobody has noted. */
	if (sum->kinds && sum->kinds->folded)
		return add_kind(sum, kind, 0, user_ns);
	process = find_kind(sum, kind);
	if (!process)
		return add_kind(sum, kind, processes, user_ns);
	process->user_ns += user_ns;
	process->nr_folded = max_u64(process->nr_folded, processes);
	return 0;
}

void sum_add_interval(struct sum *sum, const struct interval *interval)
{
	if (!sum->nr_intervals++) {
		sum->first = sum->last = *interval;
		sum->start_ns = interval->start_ns;
		sum->end_ns = interval->end_ns;
		sum->start_mono_ns = interval->start_mono_ns;
	}
	sum->covered_ns += (uint64_t)(interval->end_mono_ns - interval->start_mono_ns);
	if (interval->start_ns < sum->start_ns)
		sum->start_ns = interval->start_ns;
	if (interval->end_ns > sum->end_ns)
		sum->end_ns = interval->end_ns;
	/* A clock that went back in another run is that of another boot. */
	if (interval->start_mono_ns < sum->start_mono_ns ||
	    (interval->run != sum->last.run && interval->start_mono_ns < sum->last.end_mono_ns))
		sum->start_mono_ns = interval->start_mono_ns;
	/* The sum only knows what all of them know. */
	sum->first.flags &= interval->flags;
	sum->last = *interval;
}

/* A snapshot on its way into a sum. */
struct adding {
	struct sum *sum;
	struct db *db;
	const struct snapshot *snapshot;
	int64_t *kinds; /* of its processes, and of nobody; 0: not known yet */
	int64_t room;   /* for new kinds */
};

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
	bool is_named;
	int err;

	if (*known)
		return *known;
	kind = kind_of(adding->snapshot, process);
	is_named = kind.id != KIND_OTHERS;
	err = kind_take(adding->db, &kind, &adding->room);
	if (is_named && kind.id == KIND_OTHERS)
		adding->sum->losses.count[LOSS_KIND_FOLDED] += max_u64(process->nr_folded, 1);
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
	if (kind != KIND_NOBODY && add_kind(adding->sum, kind, 0, 0))
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

	if (kind < 0 || kind == KIND_NOBODY)
		return kind < 0 ? (int)kind : 0;
	return add_kind(adding->sum, kind, 0, process->user_ns);
}

/* A kind that did nothing is not kept. */
static int add_presence(struct adding *adding, const struct process *process)
{
	struct kind kind = kind_of(adding->snapshot, process);
	int64_t known = *known_kind(adding, process);
	int err = known ? 0 : kind_find(adding->db, &kind);
	struct process *added = find_kind(adding->sum, known ?: kind.id);

	/* How many processes of the interval this one stands for. */
	if (added && !process->pid)
		added->nr_folded += process->nr_folded;
	else if (added)
		added->nr_folded +=
			!process->ended_ns || process->ended_ns + adding->snapshot->elapsed_ns >=
						      adding->snapshot->end_mono_ns;
	return err;
}

int sum_add_snapshot(struct sum *sum, struct db *db, const struct snapshot *snapshot)
{
	int64_t *kinds __cleanup(freep) = calloc(snapshot->nr_processes + 1, sizeof(*kinds));
	struct adding adding = { sum, db, snapshot, kinds, 0 };
	int err = kinds ? kinds_room(db, &adding.room) : -ENOMEM;

	if (err)
		return err;
	for (size_t i = 0; i < snapshot->nr_rows && !err; i++)
		err = add_row(&adding, *snapshot->rows[i]);
	for (size_t i = 0; i < snapshot->nr_processes && !err; i++)
		err = add_time(&adding, &snapshot->processes[i]);
	for (size_t i = 0; i < snapshot->nr_processes && !err; i++)
		err = add_presence(&adding, &snapshot->processes[i]);
	losses_merge(&sum->losses, &snapshot->losses);
	return err;
}

/* The latest name of an id counts. */
static int name_kinds(struct db *db, unsigned int folded, struct snapshot *snapshot)
{
	int err = 0;

	for (size_t i = snapshot->nr_processes; i-- > 0 && !err;)
		err = kind_read(db, sum_kind(snapshot->processes[i].boot_ns), folded, snapshot,
				&snapshot->processes[i]);
	return err;
}

int sum_finish(struct sum *sum, struct db *db, struct snapshot **ret)
{
	struct snapshot *snapshot __cleanup(snapshot_freep) = calloc(1, sizeof(*snapshot));
	int err;

	if (!snapshot || sum_begin(sum))
		return -ENOMEM;
	*snapshot = (struct snapshot){
		.start_ns = sum->start_ns,
		.end_ns = sum->end_ns,
		.elapsed_ns = sum->covered_ns,
		.paused_ns = above((uint64_t)(sum->last.end_mono_ns - sum->start_mono_ns),
				   sum->covered_ns),
		.end_mono_ns = (uint64_t)sum->last.end_mono_ns,
		.has_runq = sum->first.flags & INTERVAL_HAS_RUNQ,
		.caller_pidns = sum->first.flags & INTERVAL_CALLER_PIDNS,
		.threads_unknown = (uint64_t)sum->last.threads_unknown,
		.losses = sum->losses,
	};
	err = run_read(db, sum->last.run, snapshot)
		      ?: builder_finish(sum->builder, snapshot)
		      ?: name_kinds(db, sum->kinds ? sum->kinds->folded : 0, snapshot);
	if (err)
		return err;
	sum_done(sum);
	*ret = steal_ptr(&snapshot);
	return 0;
}
