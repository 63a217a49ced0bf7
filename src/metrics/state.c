/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps owners and their calls, and the budget of series. Invariants: the series that could be
 * written never exceed max_series, as each is paid for when its room is made; what finds no room is
 * counted in `other`, which was paid for before. Every name is valid UTF-8 without control characters.
 */
#include "metrics/state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "model/unit.h"
#include "syscalls/errnos.h"
#include "syscalls/names.h"

/* --- names -------------------------------------------------------------------------------------- */

const struct metrics_grouping metrics_groupings[NR_METRICS_GROUP] = {
	[METRICS_BY_UNIT] = { { "unit", METRICS_BY_UNIT, false },
			      { { "cgroup", METRICS_BY_CGROUP, true } } },
	[METRICS_BY_CGROUP] = { { "cgroup", METRICS_BY_CGROUP, false },
				{ { "unit", METRICS_BY_UNIT, false } } },
	[METRICS_BY_COMM] = { { "comm", METRICS_BY_COMM, false }, { { .label = NULL } } },
	[METRICS_BY_PID] = { { "pid", METRICS_BY_PID, false },
			     { { "comm", METRICS_BY_COMM, false },
			       { "unit", METRICS_BY_UNIT, false } } },
};

bool metrics_name_is_reserved(const char *label)
{
	/* A label named total would hide in sums, an empty one is none at all. */
	static const char *const reserved[] = { "", "total", METRICS_OTHER, METRICS_UNATTRIBUTED };

	for (size_t i = 0; i < ARRAY_SIZE(reserved); i++) {
		if (!strcmp(reserved[i], label))
			return true;
	}
	return false;
}

bool metrics_process_name(const struct snapshot *snapshot, const struct process *process,
			  const struct metrics_name *name, char out[METRICS_NAME_MAX])
{
	const char *path = snapshot_cgroup(snapshot, process->cgroup_id), *bytes, *unit;
	size_t size, unit_size;

	/* The group of all further kinds has no name, unit or pid; the other folded ones have no pid. */
	if (!process->pid && (name->what == METRICS_BY_PID || process->uid == UID_NONE))
		return false;
	if (name->what == METRICS_BY_PID) {
		snprintf(out, METRICS_NAME_MAX, "%" PRIu32, process->pid);
		return true;
	}
	/* As in the tables: nobody knows, or there is none. */
	bytes = path = path && *path ? path : "-";
	size = strlen(path);
	unit_size = cgroup_unit(path, &unit);
	if (name->what == METRICS_BY_COMM) {
		bytes = process->comm;
		size = sizeof(process->comm);
	} else if (name->what == METRICS_BY_UNIT) {
		bytes = unit;
		size = unit_size;
	} else if (name->up_to_unit && (unit_size != 1 || *unit != '-')) {
		size = (size_t)(unit - path) + unit_size;
	}
	text_escape_visible(bytes, min_u64(size, METRICS_NAME_BYTES), out);
	return true;
}

/* --- labels ------------------------------------------------------------------------------------- */

static int compare_labels(const void *x, const void *y)
{
	return strcmp(*(const char *const *)x, *(const char *const *)y);
}

void *labels_find(const struct labels *labels, const char *label)
{
	void **found = labels->count ? bsearch(&label, labels->all, labels->count,
					       sizeof(*labels->all), compare_labels)
				     : NULL;

	return found ? *found : NULL;
}

/* A new element, all zero but for its label; NULL: no memory. */
static void *labels_add(struct labels *labels, const char *label, size_t size)
{
	void **grown = reallocarray(labels->all, labels->count + 1, sizeof(*grown));
	void *element = calloc(1, size);

	if (grown)
		labels->all = grown;
	if (!grown || !element) {
		free(element);
		return NULL;
	}
	grown[labels->count++] = strcpy(element, label);
	qsort(grown, labels->count, sizeof(*grown), compare_labels);
	return element;
}

/* --- owners ------------------------------------------------------------------------------------- */

/* Calls, interrupted ones, those in flight, errors of errno `other`; of a histogram sum and count, too. */
static size_t series_of_call(const struct metrics *metrics)
{
	return metrics->options.histograms ? 4 + NR_METRICS_BOUND + 3 : 4;
}

/* Its info and its oldest call; the rest of its calls comes on top. */
#define SERIES_PER_OWNER 2

/* No owner may use more than this part of the limit, lest one starve the others. */
#define SHARE_OF_OWNER 4

/* False: there is no room. */
static bool series_take(struct metrics *metrics, struct metrics_owner *owner, size_t series)
{
	size_t limit = metrics->options.max_series;

	if (metrics->series + series > limit || owner->series + series > limit / SHARE_OF_OWNER) {
		metrics->dropped++;
		return false;
	}
	metrics->series += series;
	owner->series += series;
	return true;
}

struct metrics_call *metrics_call_at(struct metrics_owner *owner, size_t index)
{
	if (index < owner->calls.count)
		return owner->calls.all[index];
	return index == owner->calls.count ? &owner->rest : NULL;
}

static void owner_free(struct metrics_owner *owner)
{
	for (size_t i = 0; i < owner->calls.count; i++) {
		row_done(&metrics_call_at(owner, i)->sum);
		free(owner->calls.all[i]);
	}
	for (size_t i = 0; i < METRICS_MAX_INFOS; i++)
		free(owner->infos[i]);
	free(owner->calls.all);
	row_done(&owner->rest.sum);
	free(owner);
}

int metrics_add_owner(struct metrics *metrics, const char *label, struct metrics_owner **ret)
{
	size_t series = SERIES_PER_OWNER + series_of_call(metrics);
	/* `other` and `unattributed` take no place. */
	bool has_place = !metrics->unattributed || metrics->owners.count - 2 < metrics->options.top;
	struct metrics_owner *owner;

	if (!has_place || metrics->series + series > metrics->options.max_series)
		return -ENOSPC;
	owner = labels_add(&metrics->owners, label, sizeof(*owner));
	if (!owner)
		return -ENOMEM;
	metrics->series += series;
	owner->series = series;
	strcpy(owner->rest.label, METRICS_OTHER);
	*ret = owner;
	return 0;
}

void metrics_retire_owner(struct metrics *metrics, struct metrics_owner *owner)
{
	struct labels *owners = &metrics->owners;
	const struct metrics_call *call;
	size_t kept = 0;

	for (size_t i = 0; i < owners->count; i++) {
		if (owners->all[i] != owner)
			owners->all[kept++] = owners->all[i];
	}
	owners->count = kept;
	metrics->series -= owner->series;
	for (size_t i = 0; (call = metrics_call_at(owner, i)); i++)
		metrics->retired_calls += call->sum.calls;
	owner_free(owner);
}

/* --- calls -------------------------------------------------------------------------------------- */

static struct errno_count *errno_series(const struct metrics_call *call, int err)
{
	for (size_t i = 0; i < call->sum.nr_errnos; i++) {
		if (call->sum.errnos[i].err == err)
			return &call->sum.errnos[i];
	}
	return NULL;
}

int metrics_take_row(struct metrics *metrics, struct metrics_owner *owner, const struct row *row,
		     struct metrics_call **ret)
{
	char label[ROW_LABEL_MAX] = METRICS_UNKNOWN_CALL;

	*ret = NULL;
	/* Anybody can make up numbers without a name. */
	if (syscall_find_name(row->abi, (int)row->nr))
		row_label(row, label, sizeof(label));
	if (row->nr != ROW_NR_OTHER)
		*ret = labels_find(&owner->calls, label);
	if (!*ret && row->nr != ROW_NR_OTHER &&
	    series_take(metrics, owner, series_of_call(metrics))) {
		*ret = labels_add(&owner->calls, label, sizeof(**ret));
		if (!*ret)
			return -ENOMEM;
	}
	*ret = *ret ?: &owner->rest;
	for (size_t i = 0; i < row->nr_errnos; i++) {
		int err = row->errnos[i].err;

		/* A filter of seccomp can make up errors without a name. */
		if (!errno_name(err) || errno_series(*ret, err))
			continue;
		if (series_take(metrics, owner, 1) && row_add_errno(&(*ret)->sum, err, 0))
			return -ENOMEM;
	}
	return 0;
}

void metrics_call_add(struct metrics_call *call, const struct row *row)
{
	uint64_t unnamed = row->errors;
	unsigned int first, end;
	size_t at = 0;

	call->sum.calls += row->calls;
	call->sum.interrupted += row->interrupted;
	call->sum.wall_ns += row->wall_ns;
	call->sum.in_flight += row->in_flight;
	call->was_in_flight |= row->in_flight > 0;
	hist_range(&row->hist, &first, &end);
	for (unsigned int i = first; i < end; i++) {
		while (at < NR_METRICS_BOUND &&
		       hist_bucket_low(i) >= 1ULL << metrics_bounds[at].shift)
			at++;
		call->buckets[at] += hist_count(&row->hist, i);
	}
	for (size_t i = 0; i < row->nr_errnos; i++) {
		struct errno_count *found = errno_series(call, row->errnos[i].err);

		if (!found)
			continue;
		found->count += row->errnos[i].count;
		unnamed = above(unnamed, row->errnos[i].count);
	}
	call->sum.errors += unnamed;
}

/* --- all ---------------------------------------------------------------------------------------- */

int metrics_new(const struct metrics_options *options, struct metrics **ret)
{
	struct metrics *metrics __cleanup(metrics_freep) = calloc(1, sizeof(*metrics));

	if (!metrics)
		return -ENOMEM;
	metrics->options = *options;
	metrics->options.top = options->top ?: DEFAULT_METRICS_TOP;
	metrics->options.max_series = (unsigned int)max_u64(
		options->max_series ?: DEFAULT_METRICS_MAX_SERIES, METRICS_MIN_SERIES);
	if (metrics_add_owner(metrics, METRICS_OTHER, &metrics->other) ||
	    metrics_add_owner(metrics, METRICS_UNATTRIBUTED, &metrics->unattributed))
		return -ENOMEM;
	*ret = steal_ptr(&metrics);
	return 0;
}

void metrics_free(struct metrics *metrics)
{
	if (!metrics)
		return;
	for (size_t i = 0; i < metrics->owners.count; i++)
		owner_free(metrics->owners.all[i]);
	free(metrics->owners.all);
	free(metrics);
}
