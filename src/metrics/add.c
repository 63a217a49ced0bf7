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
#include "syscalls/waiting.h"

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

/* NULL: nobody's. */
static struct member *plan_member(const struct plan *plan, const struct row *row)
{
	const struct process *process =
		snapshot_find_process(plan->interval, row->pid, row->boot_ns);

	return process ? &plan->members[process - plan->interval->processes] : NULL;
}

/* Names the members, and counts their calls. */
static int plan_find_members(struct plan *plan)
{
	const struct metrics_name *name = &metrics_groupings[plan->metrics->options.group].owner;
	char label[METRICS_NAME_MAX];

	for (size_t i = 0; i < plan->interval->nr_processes; i++) {
		struct member *member = &plan->members[i];

		member->process = &plan->interval->processes[i];
		member->active = member->process->pid && !member->process->ended_ns;
		if (!metrics_process_name(plan->interval, member->process, name, label) ||
		    metrics_name_is_reserved(label))
			continue;
		member->label = strdup(label);
		if (!member->label)
			return -ENOMEM;
	}
	for (size_t i = 0; i < plan->interval->nr_rows; i++) {
		const struct row *row = plan->interval->rows[i];
		struct member *member = plan_member(plan, row);

		plan->moves[i].row = row;
		if (!member)
			continue;
		member->calls += row->calls;
		member->active |= row->calls > 0;
	}
	return 0;
}

/* The owner of a member's label; NULL: none. */
static struct metrics_owner *member_owner(const struct plan *plan, const struct member *member)
{
	return member->label ? labels_find(&plan->metrics->owners, member->label) : NULL;
}

static void plan_retire(struct plan *plan)
{
	struct metrics *metrics = plan->metrics;
	uint64_t now_ns = plan->interval->end_mono_ns;

	for (size_t i = 0; i < plan->interval->nr_processes; i++) {
		const struct member *member = &plan->members[i];
		struct metrics_owner *owner = member_owner(plan, member);

		if (!owner || !member->active)
			continue;
		/* A pid that has come again is another owner. */
		if (metrics->options.group == METRICS_BY_PID &&
		    owner->boot_ns < member->process->boot_ns)
			metrics_retire_owner(metrics, owner);
		else
			owner->seen_ns = now_ns;
	}
	for (size_t i = metrics->owners.count; i-- > 0;) {
		struct metrics_owner *owner = metrics->owners.all[i];

		if (owner != metrics->other && owner != metrics->unattributed &&
		    above(now_ns, owner->seen_ns) > METRICS_KEEP_GONE_NS)
			metrics_retire_owner(metrics, owner);
	}
}

/* Of processes of the same pid the latest first: it is the one that may live. */
static int compare_labels(const void *x, const void *y)
{
	const struct member *a = *(struct member *const *)x, *b = *(struct member *const *)y;

	return strcmp(a->label, b->label) ?: compare_u64(b->process->boot_ns, a->process->boot_ns);
}

/* Most calls first. */
static int compare_candidates(const void *x, const void *y)
{
	const struct member *a = *(struct member *const *)x, *b = *(struct member *const *)y;

	return compare_u64(b->calls, a->calls) ?: strcmp(a->label, b->label);
}

/* One member for each label that has calls but no owner; the calls of all are added up in it. */
static size_t plan_find_candidates(const struct plan *plan, struct member **candidates)
{
	size_t count = 0, kept = 0;

	for (size_t i = 0; i < plan->interval->nr_processes; i++) {
		struct member *member = &plan->members[i];

		if (member->label && member->calls && !member_owner(plan, member))
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

static int plan_find_owners(struct plan *plan)
{
	const enum metrics_group group = plan->metrics->options.group;
	const struct metrics_name *infos = metrics_groupings[group].infos;
	char text[METRICS_NAME_MAX];

	for (size_t i = 0; i < plan->interval->nr_processes; i++) {
		struct member *member = &plan->members[i];
		struct metrics_owner *owner = member_owner(plan, member);

		/* By pid, one that was outdated by another of the same number. */
		if (owner && group == METRICS_BY_PID && owner->boot_ns != member->process->boot_ns)
			owner = NULL;
		member->owner = owner ?: plan->metrics->other;
		for (size_t j = 0; owner && j < METRICS_MAX_INFOS && infos[j].label; j++) {
			char *copy;

			/*
			 * A process may change its name; what a group was first seen as, it stays,
			 * lest its info flicker.
			 */
			if ((owner->infos[j] && group != METRICS_BY_PID) ||
			    !metrics_process_name(plan->interval, member->process, &infos[j], text))
				continue;
			copy = strdup(text);
			if (!copy)
				return -ENOMEM;
			free(owner->infos[j]);
			owner->infos[j] = copy;
		}
	}
	return 0;
}

static int compare_moves(const void *x, const void *y)
{
	const struct move *a = x, *b = y;

	return compare_u64(b->row->calls, a->row->calls) ?: row_compare(a->row, b->row);
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

int metrics_add(struct metrics *metrics, const struct snapshot *interval)
{
	struct plan plan __cleanup(plan_done) = { .metrics = metrics, .interval = interval };
	struct metrics_call *call;

	plan.members = calloc(interval->nr_processes + 1, sizeof(*plan.members));
	plan.moves = calloc(interval->nr_rows + 1, sizeof(*plan.moves));
	if (!plan.members || !plan.moves || plan_find_members(&plan))
		return -ENOMEM;
	plan_retire(&plan);
	if (plan_admit(&plan) || plan_find_owners(&plan) || plan_find_calls(&plan))
		return -ENOMEM;
	for (size_t i = 0; i < metrics->owners.count; i++) {
		struct metrics_owner *owner = metrics->owners.all[i];

		owner->oldest_ns = 0;
		for (size_t j = 0; (call = metrics_call_at(owner, j)); j++)
			call->sum.in_flight = 0;
	}
	for (size_t i = 0; i < interval->nr_rows; i++) {
		const struct move *move = &plan.moves[i];
		uint64_t age_ns = snapshot_oldest_ns(interval, move->row);

		metrics_call_add(move->call, move->row);
		if (!move->row->in_flight ||
		    syscall_waits(NULL, move->row->abi, (int)move->row->nr))
			continue;
		move->owner->had_oldest = true;
		move->owner->oldest_ns = max_u64(move->owner->oldest_ns, age_ns);
	}
	metrics->intervals++;
	losses_merge(&metrics->losses, &interval->losses);
	return 0;
}
