/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts an interval. First everything is found a place, which may fail and changes no
 * counter; then every row is added to exactly one call of one owner, which cannot fail.
 *
 * An owner keeps its place until it has been gone for METRICS_KEEP_GONE_NS; places that are free go
 * to those with the most calls in the interval. What an owner did before it had a place stays in
 * `other`, which therefore never shrinks.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "metrics/state.h"
#include "syscalls/syscall_set.h"

/* A process of the interval. */
struct member {
	const struct process *process;
	char *label; /* owned; NULL: of `other` */
	uint64_t calls;
	bool active; /* alive, or was when the interval began */
	struct metrics_owner *owner;
};

/* A row, and where it is counted. */
struct move {
	const struct row *row;
	struct metrics_owner *owner;
	struct metrics_call *call;
};

struct plan {
	struct metrics *metrics;
	const struct snapshot *interval;
	struct member *members; /* as the processes of the interval */
	struct move *moves;     /* as its rows, then the one with the most calls first */
};

static void plan_done(struct plan *plan)
{
	for (size_t i = 0; plan->members && i < plan->interval->nr_processes; i++)
		free(plan->members[i].label);
	free(plan->members);
	free(plan->moves);
}

static const struct metrics_grouping *plan_grouping(const struct plan *plan)
{
	return &metrics_groupings[plan->metrics->options.group];
}

/* NULL: nobody's. */
static struct member *plan_member(const struct plan *plan, const struct row *row)
{
	const struct process *process =
		snapshot_find_process(plan->interval, row->pid, row->boot_ns);

	return process ? &plan->members[process - plan->interval->processes] : NULL;
}

static int plan_name_members(struct plan *plan)
{
	char label[METRICS_NAME_MAX];

	for (size_t i = 0; i < plan->interval->nr_processes; i++) {
		struct member *member = &plan->members[i];

		member->process = &plan->interval->processes[i];
		member->active = member->process->pid && !member->process->ended_ns;
		if (!metrics_process_name(plan->interval, member->process,
					  plan_grouping(plan)->name, label) ||
		    metrics_name_is_reserved(label))
			continue;
		member->label = strdup(label);
		if (!member->label)
			return -ENOMEM;
	}
	return 0;
}

static void plan_count_calls(struct plan *plan)
{
	for (size_t i = 0; i < plan->interval->nr_rows; i++) {
		const struct row *row = plan->interval->rows[i];
		struct member *member = plan_member(plan, row);

		plan->moves[i].row = row;
		if (!member)
			continue;
		member->calls += row->calls;
		member->active |= row->calls > 0;
	}
}

/* A pid that has come again is another owner. */
static bool owner_is_outdated(const struct plan *plan, const struct metrics_owner *owner,
			      const struct member *member)
{
	return plan->metrics->options.group == METRICS_BY_PID &&
	       owner->boot_ns < member->process->boot_ns;
}

static void member_see_owner(struct plan *plan, struct member *member)
{
	struct metrics_owner *owner =
		member->label ? labels_find(&plan->metrics->owners, member->label) : NULL;

	if (!owner || !member->active)
		return;
	if (owner_is_outdated(plan, owner, member))
		metrics_retire_owner(plan->metrics, owner);
	else
		owner->seen_ns = plan->interval->end_mono_ns;
}

static void plan_retire(struct plan *plan)
{
	struct metrics *metrics = plan->metrics;
	uint64_t now_ns = plan->interval->end_mono_ns;

	for (size_t i = 0; i < plan->interval->nr_processes; i++)
		member_see_owner(plan, &plan->members[i]);
	for (size_t i = metrics->owners.count; i-- > 0;) {
		struct metrics_owner *owner = metrics->owners.all[i];

		if (owner != metrics->other && owner != metrics->unattributed &&
		    now_ns > owner->seen_ns && now_ns - owner->seen_ns > METRICS_KEEP_GONE_NS)
			metrics_retire_owner(metrics, owner);
	}
}

/* Of processes of the same pid the latest first: it is the one that may live. */
static int compare_labels(const void *x, const void *y)
{
	const struct member *a = *(struct member *const *)x, *b = *(struct member *const *)y;
	uint64_t a_ns = a->process->boot_ns, b_ns = b->process->boot_ns;

	return strcmp(a->label, b->label) ?: (a_ns < b_ns) - (a_ns > b_ns);
}

/* Most calls first. */
static int compare_candidates(const void *x, const void *y)
{
	const struct member *a = *(struct member *const *)x, *b = *(struct member *const *)y;

	if (a->calls != b->calls)
		return a->calls < b->calls ? 1 : -1;
	return strcmp(a->label, b->label);
}

/* One member for each label that has calls but no owner; the calls of all are added up in it. */
static size_t plan_find_candidates(const struct plan *plan, struct member **candidates)
{
	size_t count = 0, kept = 0;

	for (size_t i = 0; i < plan->interval->nr_processes; i++) {
		struct member *member = &plan->members[i];

		if (member->label && member->calls &&
		    !labels_find(&plan->metrics->owners, member->label))
			candidates[count++] = member;
	}
	qsort(candidates, count, sizeof(*candidates), compare_labels);
	for (size_t i = 0; i < count; i++) {
		struct member *last = kept ? candidates[kept - 1] : NULL;

		if (last && !strcmp(last->label, candidates[i]->label))
			last->calls += candidates[i]->calls;
		else
			candidates[kept++] = candidates[i];
	}
	qsort(candidates, kept, sizeof(*candidates), compare_candidates);
	return kept;
}

static int plan_admit(struct plan *plan)
{
	struct member **candidates __cleanup(freep) =
		calloc(plan->interval->nr_processes + 1, sizeof(struct member *));
	size_t count;

	if (!candidates)
		return -ENOMEM;
	count = plan_find_candidates(plan, candidates);
	for (size_t i = 0; i < count; i++) {
		struct metrics_owner *owner;
		int err = metrics_add_owner(plan->metrics, candidates[i]->label, &owner);

		if (err == -ENOSPC)
			break;
		if (err)
			return err;
		owner->boot_ns = candidates[i]->process->boot_ns;
		owner->seen_ns = plan->interval->end_mono_ns;
	}
	return 0;
}

static int owner_set_info(struct metrics_owner *owner, size_t index, const char *text)
{
	char *copy;

	if (owner->infos[index] && !strcmp(owner->infos[index], text))
		return 0;
	copy = strdup(text);
	if (!copy)
		return -ENOMEM;
	free(owner->infos[index]);
	owner->infos[index] = copy;
	return 0;
}

/* A process may change its name; what a group was first seen as, it stays, lest its info flicker. */
static int plan_describe(const struct plan *plan, struct metrics_owner *owner,
			 const struct process *process)
{
	const struct metrics_grouping *grouping = plan_grouping(plan);
	char text[METRICS_NAME_MAX];

	for (size_t i = 0; i < METRICS_MAX_INFOS && grouping->infos[i].label; i++) {
		if (owner->infos[i] && grouping->name != METRICS_NAME_PID)
			continue;
		if (metrics_process_name(plan->interval, process, grouping->infos[i].name, text) &&
		    owner_set_info(owner, i, text))
			return -ENOMEM;
	}
	return 0;
}

static int plan_find_owners(struct plan *plan)
{
	for (size_t i = 0; i < plan->interval->nr_processes; i++) {
		struct member *member = &plan->members[i];
		struct metrics_owner *owner =
			member->label ? labels_find(&plan->metrics->owners, member->label) : NULL;

		/* By pid, one that was outdated by another of the same number. */
		if (owner && plan->metrics->options.group == METRICS_BY_PID &&
		    owner->boot_ns != member->process->boot_ns)
			owner = NULL;
		member->owner = owner ?: plan->metrics->other;
		if (owner && plan_describe(plan, owner, member->process))
			return -ENOMEM;
	}
	return 0;
}

static int compare_moves(const void *x, const void *y)
{
	const struct move *a = x, *b = y;

	if (a->row->calls != b->row->calls)
		return a->row->calls < b->row->calls ? 1 : -1;
	return row_compare(a->row, b->row);
}

/* Frequent calls first: if room ends, it is for the rare ones. */
static int plan_find_calls(struct plan *plan)
{
	qsort(plan->moves, plan->interval->nr_rows, sizeof(*plan->moves), compare_moves);
	for (size_t i = 0; i < plan->interval->nr_rows; i++) {
		struct move *move = &plan->moves[i];
		const struct member *member = plan_member(plan, move->row);

		move->owner = member ? member->owner : plan->metrics->unattributed;
		if (metrics_take_row(plan->metrics, move->owner, move->row, &move->call))
			return -ENOMEM;
	}
	return 0;
}

static int plan_make(struct plan *plan)
{
	plan->members = calloc(plan->interval->nr_processes + 1, sizeof(*plan->members));
	plan->moves = calloc(plan->interval->nr_rows + 1, sizeof(*plan->moves));
	if (!plan->members || !plan->moves || plan_name_members(plan))
		return -ENOMEM;
	plan_count_calls(plan);
	plan_retire(plan);
	return plan_admit(plan) ?: plan_find_owners(plan) ?: plan_find_calls(plan);
}

static void owner_reset_gauges(struct metrics_owner *owner)
{
	owner->oldest_ns = 0;
	owner->rest.in_flight = 0;
	for (size_t i = 0; i < owner->calls.count; i++)
		((struct metrics_call *)owner->calls.all[i])->in_flight = 0;
}

static void move_execute(const struct plan *plan, const struct move *move)
{
	uint64_t age_ns = snapshot_oldest_ns(plan->interval, move->row);

	metrics_call_add(move->call, move->row);
	if (!move->row->in_flight || syscall_waits(NULL, move->row->abi, (int)move->row->nr))
		return;
	move->owner->had_oldest = true;
	if (age_ns > move->owner->oldest_ns)
		move->owner->oldest_ns = age_ns;
}

int metrics_add(struct metrics *metrics, const struct snapshot *interval)
{
	struct plan plan __cleanup(plan_done) = { .metrics = metrics, .interval = interval };
	int err = plan_make(&plan);

	if (err)
		return err;
	for (size_t i = 0; i < metrics->owners.count; i++)
		owner_reset_gauges(metrics->owners.all[i]);
	for (size_t i = 0; i < interval->nr_rows; i++)
		move_execute(&plan, &plan.moves[i]);
	metrics->intervals++;
	losses_merge(&metrics->losses, &interval->losses);
	return 0;
}
