/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps owners and their calls, and the budget of series. Invariant: the series that could be
 * written never exceed max_series, as each is paid for when its room is made; what finds no room is
 * counted in `other`, which was paid for before.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "metrics/state.h"
#include "syscalls/names.h"

/* Buckets, the last without a bound, sum and count. */
#define SERIES_PER_HISTOGRAM (NR_EXPOSITION_BOUND + 3)

/* Calls, interrupted ones, those in flight, and errors of errno `other`. */
#define SERIES_PER_CALL 4

/* Its info and its oldest call; the rest of its calls comes on top. */
#define SERIES_PER_OWNER 2

/* No owner may use more than this part of the limit, lest one starve the others. */
#define SHARE_OF_OWNER 4

static size_t series_of_call(const struct metrics *metrics)
{
	return SERIES_PER_CALL + (metrics->options.histograms ? SERIES_PER_HISTOGRAM : 0);
}

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

/* Where the element of a label is, or belongs. */
static size_t labels_place(const struct labels *labels, const char *label, bool *found)
{
	size_t low = 0, high = labels->count;

	*found = false;
	while (low < high) {
		size_t middle = (low + high) / 2;
		int order = strcmp(labels->all[middle], label);

		if (!order) {
			*found = true;
			return middle;
		}
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void *labels_find(const struct labels *labels, const char *label)
{
	bool found;
	size_t place = labels_place(labels, label, &found);

	return found ? labels->all[place] : NULL;
}

/* A new element, all zero but for its label; NULL: no memory. */
static void *labels_add(struct labels *labels, const char *label, size_t size)
{
	bool found;
	size_t place = labels_place(labels, label, &found);
	void **grown = reallocarray(labels->all, labels->count + 1, sizeof(*grown));
	void *element = calloc(1, size);

	if (grown)
		labels->all = grown;
	if (!grown || !element) {
		free(element);
		return NULL;
	}
	memmove(&grown[place + 1], &grown[place], (labels->count - place) * sizeof(*grown));
	grown[place] = element;
	labels->count++;
	return strcpy(element, label);
}

static void owner_free(struct metrics_owner *owner)
{
	for (size_t i = 0; i < owner->calls.count; i++) {
		struct metrics_call *call = owner->calls.all[i];

		free(call->errnos);
		free(call);
	}
	for (size_t i = 0; i < METRICS_MAX_INFOS; i++)
		free(owner->infos[i]);
	free(owner->calls.all);
	free(owner->rest.errnos);
	free(owner);
}

/* `other` and `unattributed` take no place. */
static bool metrics_has_place(const struct metrics *metrics)
{
	return !metrics->unattributed || metrics->owners.count - 2 < metrics->options.top;
}

int metrics_add_owner(struct metrics *metrics, const char *label, struct metrics_owner **ret)
{
	size_t series = SERIES_PER_OWNER + series_of_call(metrics);
	struct metrics_owner *owner;

	if (!metrics_has_place(metrics) || metrics->series + series > metrics->options.max_series)
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
	bool found;
	size_t at = labels_place(owners, owner->label, &found);

	owners->count--;
	memmove(&owners->all[at], &owners->all[at + 1],
		(owners->count - at) * sizeof(*owners->all));
	metrics->series -= owner->series;
	metrics->retired_calls += owner->rest.calls;
	for (size_t i = 0; i < owner->calls.count; i++)
		metrics->retired_calls += ((struct metrics_call *)owner->calls.all[i])->calls;
	owner_free(owner);
}

/* False for calls that have no label of their own. Anybody can make up numbers without a name. */
static bool call_label(const struct row *row, char label[ROW_LABEL_MAX])
{
	if (row->nr == ROW_NR_OTHER)
		return false;
	if (syscall_find_name(row->abi, (int)row->nr))
		row_label(row, label, ROW_LABEL_MAX);
	else
		strcpy(label, METRICS_UNKNOWN_CALL);
	return true;
}

static int take_call(struct metrics *metrics, struct metrics_owner *owner, const struct row *row,
		     struct metrics_call **ret)
{
	char label[ROW_LABEL_MAX];

	*ret = &owner->rest;
	if (!call_label(row, label))
		return 0;
	*ret = labels_find(&owner->calls, label);
	if (*ret)
		return 0;
	*ret = &owner->rest;
	if (!series_take(metrics, owner, series_of_call(metrics)))
		return 0;
	*ret = labels_add(&owner->calls, label, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

static struct errno_count *errno_series(const struct metrics_call *call, int err)
{
	for (size_t i = 0; i < call->nr_errnos; i++) {
		if (call->errnos[i].err == err)
			return &call->errnos[i];
	}
	return NULL;
}

static int errno_insert(struct metrics_call *call, int err)
{
	struct errno_count *grown = reallocarray(call->errnos, call->nr_errnos + 1, sizeof(*grown));
	size_t at = call->nr_errnos;

	if (!grown)
		return -ENOMEM;
	for (; at > 0 && grown[at - 1].err > err; at--)
		grown[at] = grown[at - 1];
	grown[at] = (struct errno_count){ .err = err };
	call->errnos = grown;
	call->nr_errnos++;
	return 0;
}

int metrics_take_row(struct metrics *metrics, struct metrics_owner *owner, const struct row *row,
		     struct metrics_call **ret)
{
	if (take_call(metrics, owner, row, ret))
		return -ENOMEM;
	for (size_t i = 0; i < row->nr_errnos; i++) {
		int err = row->errnos[i].err;

		/* A filter of seccomp can make up errors without a name. */
		if (!errno_name(err) || errno_series(*ret, err))
			continue;
		if (series_take(metrics, owner, 1) && errno_insert(*ret, err))
			return -ENOMEM;
	}
	return 0;
}

static void call_add_errors(struct metrics_call *call, const struct row *row)
{
	uint64_t left = row->errors;

	for (size_t i = 0; i < row->nr_errnos; i++) {
		struct errno_count *found = errno_series(call, row->errnos[i].err);
		uint64_t count = row->errnos[i].count;

		if (!found)
			continue;
		found->count += count;
		left -= count < left ? count : left;
	}
	call->other_errors += left;
}

void metrics_call_add(struct metrics_call *call, const struct row *row)
{
	unsigned int first, end;
	size_t at = 0;

	call->calls += row->calls;
	call->interrupted += row->interrupted;
	call->wall_ns += row->wall_ns;
	call->in_flight += row->in_flight;
	call->was_in_flight |= row->in_flight > 0;
	hist_range(&row->hist, &first, &end);
	for (unsigned int i = first; i < end; i++) {
		while (at < NR_EXPOSITION_BOUND &&
		       hist_bucket_low(i) >= 1ULL << exposition_bounds[at].shift)
			at++;
		call->buckets[at] += hist_count(&row->hist, i);
	}
	call_add_errors(call, row);
}

static void options_fill(struct metrics_options *options)
{
	options->top = options->top ?: DEFAULT_METRICS_TOP;
	options->max_series = options->max_series ?: DEFAULT_METRICS_MAX_SERIES;
	if (options->max_series < METRICS_MIN_SERIES)
		options->max_series = METRICS_MIN_SERIES;
}

int metrics_new(const struct metrics_options *options, struct metrics **ret)
{
	struct metrics *metrics __cleanup(metrics_freep) = calloc(1, sizeof(*metrics));

	if (!metrics)
		return -ENOMEM;
	metrics->options = *options;
	options_fill(&metrics->options);
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
