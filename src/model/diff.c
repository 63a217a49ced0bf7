/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Subtracts snapshots, and adds differences up. Counters only grow, so every difference is exact; joined
 * with any others, none is counted twice. A row that is
 * gone from the later one has an heir there, into which it was added: a thread's is its process's
 * row of ended threads, a folded process's is that of its name, user and cgroup. If that has none that is
 * split in the same way it is the one of its number, and if there is none, the one of ROW_NR_OTHER.
 */
#include "model/diff.h"

#include "model/builder.h"

struct diff {
	const struct snapshot *earlier, *later;
	struct snapshot *out;
	const struct process **heirs; /* where each earlier process is now */
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

/* Each is itself now, or the group it was folded into. -EINVAL: not one snapshot after the other. */
static int diff_find_heirs(struct diff *diff)
{
	const struct snapshot *later = diff->later;

	for (size_t i = 0; i < diff->earlier->nr_processes; i++) {
		const struct process *old = &diff->earlier->processes[i];

		diff->heirs[i] = snapshot_find_process(later, old->pid, old->boot_ns)
					 ?: find_folded(later, old);
		if (!diff->heirs[i])
			return -EINVAL;
	}
	return 0;
}

/* Finds the row that an earlier one has become part of; NULL: none. */
static struct row *const *diff_find_heir(const struct diff *diff, const struct row *old)
{
	const struct process *process =
		snapshot_find_process(diff->earlier, old->pid, old->boot_ns);
	const struct process *heir =
		process ? diff->heirs[process - diff->earlier->processes] : NULL;
	struct row identity = *old;
	struct row *const *found;

	if (!heir)
		return NULL;
	identity.pid = heir->pid;
	identity.boot_ns = heir->boot_ns;
	identity.tid = 0;
	identity.tid_ns = 0;
	found = snapshot_place_row(diff->later, &identity);
	if (found || heir->pid)
		return found;
	row_forget_split(&identity);
	found = snapshot_place_row(diff->later, &identity);
	row_forget_number(&identity);
	return found ?: snapshot_place_row(diff->later, &identity);
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
	if (!*less && !row->in_flight && row->calls == old->calls &&
	    row->open_wall_ns <= old->open_wall_ns) {
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
	const bool is_torn = out->losses.count[LOSS_TORN_READ];
	int err = diff_subtract_all(diff);

	for (size_t i = 0; i < later->nr_rows; i++) {
		struct row *row = out->rows[i], *whole = later->rows[i];

		if (row == whole)
			continue;
		if (row && is_torn && !err)
			row_settle(row);
		row = row ?: row_ref(whole);
		if (!row->calls && !row->in_flight && !row->open_wall_ns)
			row_unref(row);
		else
			out->rows[out->nr_rows++] = row;
	}
	return err;
}

/* Clocks that went back leave what is less than before: it counts as a loss of the difference. */
static void diff_processes(const struct diff *diff)
{
	for (size_t i = 0; i < diff->earlier->nr_processes; i++) {
		const struct process *old = &diff->earlier->processes[i], *heir = diff->heirs[i];
		struct process *process = &diff->out->processes[heir - diff->later->processes];

		diff->out->losses.count[LOSS_TIME_CLAMPED] += process_subtract_counts(process, old);
		if (heir->pid != old->pid || old->pid == 0)
			process->nr_folded -= old->pid ? 1 : old->nr_folded;
	}
}

/* Threads that have ended are in their process alone. */
static void diff_threads(const struct diff *diff)
{
	for (size_t i = 0; i < diff->out->nr_threads; i++) {
		struct thread *thread = &diff->out->threads[i];
		const struct row key = { .pid = thread->its.pid,
					 .boot_ns = thread->its.boot_ns,
					 .tid = thread->tid,
					 .tid_ns = thread->tid_ns };
		const struct thread *old = snapshot_find_thread(diff->earlier, &key);

		/* A counter that went back is already counted as a loss of the process. */
		if (old)
			process_subtract_counts(&thread->its, &old->its);
	}
}

/*
 * What a late loss distorts may be in the earlier rows, or only in the later ones. If it is the only one of its
 * kind, the difference has it, too.
 */
static void diff_losses(const struct snapshot *earlier, const struct snapshot *later,
			struct losses *ret)
{
	*ret = later->losses;
	losses_subtract(ret, &earlier->losses);
	for (int i = 0; i < NR_MODEL_LOSS; i++)
		ret->count[i] = ret->count[i] ?: earlier->losses_late.count[i];
}

int snapshot_diff(const struct snapshot *earlier, const struct snapshot *later,
		  struct snapshot **ret)
{
	struct snapshot *out __cleanup(snapshot_freep) = NULL;
	const struct process **heirs __cleanup(freep) =
		calloc(earlier->nr_processes + 1, sizeof(*heirs));
	struct diff diff = { earlier, later, NULL, heirs };
	int err;

	if (strcmp(earlier->boot_id ?: "", later->boot_id ?: ""))
		return -EINVAL;
	if (!heirs || snapshot_new_part(later, &out))
		return -ENOMEM;
	diff_losses(earlier, later, &out->losses);
	diff.out = out;
	for (; out->nr_processes < later->nr_processes; out->nr_processes++)
		out->processes[out->nr_processes] = later->processes[out->nr_processes];
	err = diff_find_heirs(&diff) ?: diff_rows(&diff);
	if (err)
		return err;
	diff_processes(&diff);
	diff_threads(&diff);
	/* These losses are only those of what is in the difference. */
	out->losses.count[LOSS_NUMBER_FOLDED] = out->losses.count[LOSS_KIND_FOLDED] = 0;
	snapshot_count_folded(out, &out->losses);
	out->start_ns = earlier->end_ns;
	out->elapsed_ns = later->end_mono_ns - earlier->end_mono_ns;
	out->paused_ns = 0;
	*ret = steal_ptr(&out);
	return 0;
}

/* --- differences added up again --------------------------------------------------------------- */

static uint64_t start_mono_ns(const struct snapshot *s)
{
	return s->end_mono_ns - s->elapsed_ns - s->paused_ns;
}

static int join_rows(struct builder *builder, const struct snapshot *part)
{
	for (size_t i = 0; i < part->nr_rows; i++) {
		struct row *from = part->rows[i];
		struct row row = *from; /* borrows what the row owns */

		if (!from->calls)
			continue;
		/* The numbers that add up, without those of the moment. */
		row.in_flight = row.in_flight_early = 0;
		row.oldest_start_ns = UINT64_MAX;
		row.open_wall_ns = row.open_off_ns = 0;
		if (from->in_flight || from->open_wall_ns || from->open_off_ns
			    ? builder_add_row(builder, &row)
			    : builder_share_row(builder, from))
			return -ENOMEM;
	}
	return 0;
}

/* Adds the calls in flight as they are now, in rows with nothing else in them. */
static int join_in_flight(struct builder *builder, const struct snapshot *now)
{
	for (size_t i = 0; i < now->nr_rows; i++) {
		const struct row *from = now->rows[i];
		/* A thread in a call has a row, and a row has a process. */
		const struct process *process =
			snapshot_find_process(now, from->pid, from->boot_ns);
		struct process without = process ? *process : (struct process){ 0 };
		struct row row;

		if (!from->in_flight)
			continue;
		row_init(&row);
		row_copy_identity(&row, from);
		row.in_flight = from->in_flight;
		row.in_flight_early = from->in_flight_early;
		row.oldest_start_ns = from->oldest_start_ns;
		process_clear_counts(&without);
		if (builder_add_row(builder, &row) ||
		    (process && builder_add_process(builder, &without, true)))
			return -ENOMEM;
	}
	return 0;
}

static int join_processes(struct builder *builder, const struct snapshot *part)
{
	for (size_t i = 0; i < part->nr_processes; i++) {
		struct process process = part->processes[i];

		/* Parts do not keep the time of processes that slept all the time. */
		process.usage = (struct usage){ 0 };
		process.threads = 0;
		if (builder_add_process(builder, &process, true))
			return -ENOMEM;
	}
	return 0;
}

/* All of a process but its counts is as it is now, if it is there. */
static void process_update(struct process *process, const struct snapshot *now)
{
	const struct process *latest = snapshot_find_process(now, process->pid, process->boot_ns);
	struct process updated;

	if (!latest)
		return;
	updated = *latest;
	process_clear_counts(&updated);
	process_add_counts(&updated, process);
	*process = updated;
}

int snapshot_join(const struct snapshot *const *parts, size_t count, const struct snapshot *now,
		  struct snapshot **ret)
{
	struct snapshot *out __cleanup(snapshot_freep) = NULL;
	struct builder *builder __cleanup(builder_freep) = NULL;

	if (snapshot_new_like(now, &out) || builder_new(&builder) || join_in_flight(builder, now))
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		if (join_rows(builder, parts[i]) || join_processes(builder, parts[i]))
			return -ENOMEM;
	}
	if (builder_finish(builder, out))
		return -ENOMEM;
	for (size_t i = 0; i < out->nr_processes; i++)
		process_update(&out->processes[i], now);
	out->start_ns = count ? parts[0]->start_ns : now->end_ns;
	out->elapsed_ns = 0;
	memset(&out->losses, 0, sizeof(out->losses));
	for (size_t i = 0; i < count; i++) {
		out->elapsed_ns += parts[i]->elapsed_ns;
		losses_merge(&out->losses, &parts[i]->losses);
		/* Names that now has forgotten. */
		if (snapshot_add_names(out, parts[i]))
			return -ENOMEM;
	}
	/* What lies between the parts was not counted. */
	if (count)
		out->paused_ns = above(now->end_mono_ns - start_mono_ns(parts[0]), out->elapsed_ns);
	*ret = steal_ptr(&out);
	return 0;
}

static void keep_rows(struct snapshot *difference)
{
	size_t kept = 0;

	for (size_t i = 0; i < difference->nr_rows; i++) {
		struct row *row = difference->rows[i];

		if (row->calls)
			difference->rows[kept++] = row;
		else
			row_unref(row);
	}
	difference->nr_rows = kept;
}

/* Earlier parts may have a process that ended meanwhile as a live one. */
static void keep_processes(struct snapshot *difference)
{
	const uint64_t start_ns = start_mono_ns(difference);
	size_t kept = 0, row = snapshot_rows_of(difference, 0, NULL);

	for (size_t i = 0; i < difference->nr_processes; i++) {
		const struct process *process = &difference->processes[i];
		size_t nr_rows = snapshot_rows_of(difference, row, process);

		row += nr_rows;
		if (nr_rows || process->user_ns || process->nr_folded ||
		    process->ended_ns > start_ns)
			difference->processes[kept++] = *process;
	}
	difference->nr_processes = kept;
}

/* Without memory to find out which are used, all are kept. */
static size_t keep_names(const struct snapshot *snapshot, struct id_name *names, size_t count,
			 bool of_cgroups)
{
	size_t kept = 0, nr_used = snapshot->nr_processes;
	uint64_t *used __cleanup(freep) = calloc(nr_used + 1, sizeof(*used));

	if (!used)
		return count;
	for (size_t i = 0; i < nr_used; i++)
		used[i] =
			of_cgroups ? snapshot->processes[i].cgroup_id : snapshot->processes[i].uid;
	qsort(used, nr_used, sizeof(*used), compare_first_u64);
	for (size_t i = 0; i < count; i++) {
		if (bsearch(&names[i].id, used, nr_used, sizeof(*used), compare_first_u64))
			names[kept++] = names[i];
		else
			free(names[i].name);
	}
	return kept;
}

/* Where there is no memory to make less of it, the old one stays. */
static void *shrink(void *array, size_t count, size_t size)
{
	return reallocarray(array, count + 1, size) ?: array;
}

void snapshot_keep_counts(struct snapshot *s)
{
	keep_rows(s);
	keep_processes(s);
	/* Each list of texts has all of the one before: now has it. */
	argument_texts_free(steal_ptr(&s->arguments));
	s->nr_users = keep_names(s, s->users, s->nr_users, false);
	s->nr_cgroups = keep_names(s, s->cgroups, s->nr_cgroups, true);
	s->rows = shrink(s->rows, s->nr_rows, sizeof(*s->rows));
	s->processes = shrink(s->processes, s->nr_processes, sizeof(*s->processes));
	s->users = shrink(s->users, s->nr_users, sizeof(*s->users));
	s->cgroups = shrink(s->cgroups, s->nr_cgroups, sizeof(*s->cgroups));
}
