/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bounds the memory of what has ended: the latest processes keep rows of their own, all before are
 * added up by name, user and cgroup, see model/builder.h. Counts of ended threads whose process is
 * still there cannot be folded: where these are too many, no more are taken in, and the tables in
 * the kernel fill up instead. The first threads to end may keep rows of their own, within a part of both bounds.
 */
#include "base/clock.h"
#include "base/text.h"
#include "collect/collector_private.h"

/* A full collector looks for room again after this pause. */
#define FULL_PAUSE_NS (100 * NS_PER_MS)

struct fate {
	size_t bytes; /* of its rows */
	bool stays;   /* a process must not be folded */
	bool retires; /* a group is added to that of other kinds */
};

/* Says what a fold adds up, and what it leaves alone. */
struct choice {
	const struct collector *collector;
	const struct snapshot *all;
	struct process *live; /* of records in use, sorted; identities alone */
	size_t nr_live;
	struct fate *fates; /* of each process, or group of those that were folded */
	uint64_t before_ns; /* those that ended earlier are folded */
};

static void choice_done(struct choice *choice)
{
	free(choice->live);
	free(choice->fates);
}

static bool process_stays(const struct choice *choice, const struct process *process)
{
	const struct collector *c = choice->collector;

	/* The last reading had it by a name that it may have lost since: nobody would find it. */
	if (process->ended_ns >= c->base_ns && c->nr_base &&
	    bsearch(process, c->base, c->nr_base, sizeof(*c->base), process_compare))
		return true;
	/* A process that is not counted any more may be counted again, unless it is gone. */
	return bsearch(process, choice->live, choice->nr_live, sizeof(*choice->live),
		       process_compare) ||
	       !pid_is_free((pid_t)process->pid);
}

static bool process_folds(const struct process *process, const void *closure)
{
	const struct choice *choice = closure;
	size_t i = (size_t)(process - choice->all->processes);

	return process->pid ? !choice->fates[i].stays && process->ended_ns < choice->before_ns
			    : choice->fates[i].retires;
}

static int choice_list_live(struct choice *choice)
{
	const struct collector *c = choice->collector;
	uint32_t used = records_used(c);

	choice->live = calloc(used + 1, sizeof(*choice->live));
	if (!choice->live)
		return -ENOMEM;
	for (uint32_t i = 1; i < used; i++) {
		const struct task_record *record = record_at(c, i);

		if (!record)
			return -ENOMEM;
		if (record_state(record) != RECORD_FREE)
			choice->live[choice->nr_live++] =
				(struct process){ .pid = record->pid, .boot_ns = record->boot_ns };
	}
	qsort(choice->live, choice->nr_live, sizeof(*choice->live), process_compare);
	return 0;
}

static int choice_look(struct choice *choice)
{
	const struct snapshot *all = choice->all;
	size_t count = all->nr_processes, row = snapshot_rows_of(all, 0, NULL), end;

	choice->fates = calloc(count + 1, sizeof(*choice->fates));
	if (!choice->fates || choice_list_live(choice))
		return -ENOMEM;
	/* Rows of nobody are in front, and have no process. */
	for (size_t i = 0; i < count; i++) {
		const struct process *process = &all->processes[i];

		for (end = row + snapshot_rows_of(all, row, process); row < end; row++)
			choice->fates[i].bytes += row_bytes(all->rows[row]);
		choice->fates[i].stays = process->pid && process_stays(choice, process);
	}
	return 0;
}

/* --- which processes keep rows of their own ------------------------------------------------------ */

static int compare_ends(const void *a, const void *b)
{
	const struct process *const *x = a, *const *y = b;

	return compare_u64((*y)->ended_ns, (*x)->ended_ns);
}

/* Finds when the oldest process that is to be kept ended: the latest, as far as there is room. */
static int choice_keep_latest(struct choice *choice)
{
	const struct collector *c = choice->collector;
	const struct snapshot *all = choice->all;
	const struct process **ends __cleanup(freep) = calloc(all->nr_processes + 1, sizeof(*ends));
	size_t count = 0, bytes = 0;

	if (!ends)
		return -ENOMEM;
	for (size_t i = 0; i < all->nr_processes; i++) {
		if (all->processes[i].pid && !choice->fates[i].stays)
			ends[count++] = &all->processes[i];
	}
	qsort(ends, count, sizeof(*ends), compare_ends);
	for (size_t i = 0; i < count; i++) {
		bytes += choice->fates[ends[i] - all->processes].bytes;
		if (i == c->keep_exited || bytes > c->keep_bytes / 2)
			break;
		choice->before_ns = ends[i]->ended_ns;
	}
	return 0;
}

/* --- which groups are retired -------------------------------------------------------------------- */

static bool process_is_kind(const struct process *process)
{
	return process->pid == 0 && process->boot_ns >= FOLDED_FIRST && process->uid != UID_NONE;
}

/* A group retires if those that are not older, of all users or of its own, fill half of their share. */
static bool group_retires(const struct choice *choice, size_t group)
{
	const struct process *processes = choice->all->processes;
	size_t max = choice->collector->keep_bytes / 2, all = 0, own = 0, kinds = 0;

	if (!process_is_kind(&processes[group]))
		return false;
	for (size_t i = 0; i < choice->all->nr_processes && !processes[i].pid; i++) {
		if (!process_is_kind(&processes[i]) ||
		    processes[i].ended_ns < processes[group].ended_ns)
			continue;
		kinds++;
		all += choice->fates[i].bytes;
		own += processes[i].uid == processes[group].uid ? choice->fates[i].bytes : 0;
	}
	return all > max / 2 || own > max / 4 || kinds > FOLD_MAX_KINDS / 4;
}

/* --- folding ------------------------------------------------------------------------------------ */

static int ended_fold_all(struct collector *c, struct snapshot *all)
{
	struct choice choice __cleanup(
		choice_done) = { .collector = c, .all = all, .before_ns = UINT64_MAX };
	const struct fold_options options = { .folds = process_folds,
					      .closure = &choice,
					      .max_bytes = c->keep_bytes / 2,
					      .serial = &c->fold_serial,
					      .unsplit = &c->unsplit };
	size_t bytes = 0;
	int err = choice_look(&choice) ?: choice_keep_latest(&choice);

	if (err)
		return err;
	/*
	 * Makes room for new kinds: those of which none has ended for the longest time join the group of
	 * others. Only in front of all folds between two readings: then whoever was in a group that is
	 * gone is there, and whoever is folded later is not.
	 */
	for (size_t i = 0; !c->has_folded && i < all->nr_processes && !all->processes[i].pid; i++)
		choice.fates[i].retires = group_retires(&choice, i);
	for (size_t i = 0; i < all->nr_processes; i++)
		bytes += choice.fates[i].stays ? choice.fates[i].bytes : 0;
	/* Rows that cannot be folded may leave no room for more of them. */
	c->ended_is_full = bytes > c->max_stay_bytes;
	c->full_until_ns = clock_mono_ns() + FULL_PAUSE_NS;
	c->has_folded = c->nr_base;
	return snapshot_fold(all, &options, c->ended) ?: builder_settle(c->ended);
}

struct snapshot *ended_threads_room(const struct collector *c)
{
	const size_t max_bytes = min_u64(c->keep_bytes, c->max_stay_bytes) / 4;

	return c->keeps_threads && c->ended_threads->nr_threads < c->keep_exited &&
			       builder_bytes(c->ended) < max_bytes
		       ? c->ended_threads
		       : NULL;
}

/* Forgets the threads of processes that were folded. */
static void ended_threads_tidy(struct collector *c)
{
	struct snapshot *list = c->ended_threads;
	size_t kept = 0;

	for (size_t i = 0; i < list->nr_threads; i++) {
		if (builder_find_process(c->ended, &list->threads[i].its))
			list->threads[kept++] = list->threads[i];
	}
	list->nr_threads = kept;
}

static int ended_fold_now(struct collector *c)
{
	struct snapshot *all __cleanup(snapshot_freep) = calloc(1, sizeof(*all));

	if (!all)
		return -ENOMEM;
	/* From here on a failure loses what has ended: nothing is told any more then. */
	c->is_broken = true;
	if (builder_finish(c->ended, all) || ended_fold_all(c, all))
		return -ENOMEM;
	c->is_broken = false;
	ended_threads_tidy(c);
	/* Some rows may have had to stay: the next fold waits until as many more have come. */
	c->fold_at = builder_processes(c->ended) + c->keep_exited;
	c->fold_at_bytes = builder_bytes(c->ended) + c->keep_bytes / 2;
	c->settle_at_bytes = 0;
	return 0;
}

static bool ended_is_much(const struct collector *c)
{
	return builder_processes(c->ended) >= (c->fold_at ?: 2 * (size_t)c->keep_exited) ||
	       builder_bytes(c->ended) >= (c->fold_at_bytes ?: c->keep_bytes);
}

bool ended_pauses(const struct collector *c)
{
	return c->ended_is_full && clock_mono_ns() < c->full_until_ns;
}

int ended_fold(struct collector *c)
{
	if (c->ended_is_full)
		return ended_pauses(c) ? 0 : ended_fold_now(c);
	if (!ended_is_much(c) || builder_bytes(c->ended) < c->settle_at_bytes)
		return 0;
	/* Rows that were not merged yet may be all that is too much. */
	c->is_broken = true;
	if (builder_settle(c->ended))
		return -ENOMEM;
	c->is_broken = false;
	c->settle_at_bytes = builder_bytes(c->ended) + c->keep_bytes / 8;
	return ended_is_much(c) ? ended_fold_now(c) : 0;
}

bool ended_takes(const struct collector *c, const struct task_record *record)
{
	return !c->ended_is_full || pid_is_free((pid_t)record->pid);
}
