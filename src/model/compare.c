/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the matching of groups of two snapshots and the figures of each pair. Invariant: a group is
 * in one comparison, and one of its sides is present.
 */
#include "model/compare.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "hist/hist_compare.h"
#include "model/unit.h"

const char *const compare_words[NR_COMPARE_WORD] = {
	[COMPARE_TOO_FEW] = "too few", [COMPARE_NO_CHANGE] = "alike", [COMPARE_FASTER] = "faster",
	[COMPARE_SLOWER] = "slower",   [COMPARE_DIFFERS] = "differs", [COMPARE_NEW] = "new",
	[COMPARE_GONE] = "gone",
};

static const enum compare_word words[NR_HIST_WORD] = {
	[HIST_TOO_FEW] = COMPARE_TOO_FEW, [HIST_NO_CHANGE] = COMPARE_NO_CHANGE,
	[HIST_FASTER] = COMPARE_FASTER,   [HIST_SLOWER] = COMPARE_SLOWER,
	[HIST_DIFFERS] = COMPARE_DIFFERS,
};

/* A group of either side, with what its keys say. */
struct entry {
	struct group *group; /* in the list of its side */
	bool in_b;
	size_t place;     /* of its comparison */
	const char *comm; /* as PROCESS_COMM_SIZE bytes; NULL: of nobody */
	const char *unit; /* not NUL-terminated */
	size_t unit_length;
	const char *user; /* NULL: without a name */
	uint32_t uid;     /* then */
};

static int compare_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_comm(const struct entry *a, const struct entry *b)
{
	if (!a->comm || !b->comm)
		return (a->comm != NULL) - (b->comm != NULL);
	return strncmp(a->comm, b->comm, PROCESS_COMM_SIZE);
}

static int compare_unit(const struct entry *a, const struct entry *b)
{
	size_t shorter = a->unit_length < b->unit_length ? a->unit_length : b->unit_length;
	int order = memcmp(a->unit, b->unit, shorter);

	return order ?: compare_u64(a->unit_length, b->unit_length);
}

static int compare_user(const struct entry *a, const struct entry *b)
{
	if (!a->user || !b->user) {
		int order = (a->user != NULL) - (b->user != NULL);

		return order ?: compare_u64(a->uid, b->uid);
	}
	return strcmp(a->user, b->user);
}

static int compare_pid(const struct entry *a, const struct entry *b)
{
	int order = compare_comm(a, b);

	return order ?: compare_u64(a->group->sum.pid, b->group->sum.pid);
}

static int compare_tid(const struct entry *a, const struct entry *b)
{
	return compare_u64(a->group->sum.tid, b->group->sum.tid);
}

static int compare_abi(const struct entry *a, const struct entry *b)
{
	return (int)a->group->sum.abi - (int)b->group->sum.abi;
}

static int compare_syscall(const struct entry *a, const struct entry *b)
{
	const struct row *x = &a->group->sum, *y = &b->group->sum;
	int order = compare_abi(a, b);

	return order ?: (x->nr > y->nr) - (x->nr < y->nr);
}

static int compare_arg0(const struct entry *a, const struct entry *b)
{
	const struct row *x = &a->group->sum, *y = &b->group->sum;
	int order = (int)x->has_arg0 - (int)y->has_arg0;

	return order ?: compare_u64(x->arg0, y->arg0);
}

static int compare_entries(const void *x, const void *y, void *closure)
{
	static const struct {
		unsigned int key;
		int (*compare)(const struct entry *a, const struct entry *b);
	} keys[] = {
		{ GROUP_UNIT, compare_unit },       { GROUP_USER, compare_user },
		{ GROUP_COMM, compare_comm },       { GROUP_PID, compare_pid },
		{ GROUP_TID, compare_tid },         { GROUP_ABI, compare_abi },
		{ GROUP_SYSCALL, compare_syscall }, { GROUP_ARG0, compare_arg0 },
	};
	unsigned int asked = *(const unsigned int *)closure;
	int order = 0;

	for (size_t i = 0; i < ARRAY_SIZE(keys) && !order; i++) {
		if (asked & keys[i].key)
			order = keys[i].compare(x, y);
	}
	return order;
}

static struct entry entry_of(const struct snapshot *snapshot, struct group *group, bool in_b)
{
	const struct process *process = group->process;
	const char *path = process ? snapshot_cgroup(snapshot, process->cgroup_id) : NULL;
	struct entry entry = {
		.group = group,
		.in_b = in_b,
		.comm = process ? process->comm : NULL,
		.user = process ? snapshot_user(snapshot, process->uid) : NULL,
		.uid = process ? process->uid : UID_NONE,
	};

	entry.unit_length = cgroup_unit(path ? path : "", &entry.unit);
	return entry;
}

static void entries_add(const struct snapshot *snapshot, struct group_list *list, bool in_b,
			struct entry *entries, size_t *count)
{
	for (size_t i = 0; i < list->nr_groups; i++) {
		if (list->groups[i].sum.calls)
			entries[(*count)++] = entry_of(snapshot, &list->groups[i], in_b);
	}
}

static void comparison_init(struct comparison *item)
{
	memset(item, 0, sizeof(*item));
	row_init(&item->a.group.sum);
	row_init(&item->b.group.sum);
}

static void comparison_done(struct comparison *item)
{
	row_done(&item->a.group.sum);
	row_done(&item->b.group.sum);
}

/* Moves a group to its side, or adds it to one of the same name that is there. */
static int side_take(struct compare_side *side, struct group *group)
{
	if (side->present)
		return group_merge(&side->group, group);
	row_done(&side->group.sum);
	side->group = *group;
	side->present = true;
	*group = (struct group){ 0 };
	row_init(&group->sum);
	return 0;
}

static void side_finish(struct compare_side *side, const struct snapshot *snapshot)
{
	double seconds = (double)snapshot->elapsed_ns / (double)NS_PER_SEC;
	const struct row *row = &side->group.sum;
	uint64_t timed = row_timed(row);

	side->calls_per_s = seconds > 0 ? (double)row->calls / seconds : NAN;
	side->errors_per_s = seconds > 0 ? (double)row->errors / seconds : NAN;
	side->seconds_per_s =
		seconds > 0 ? (double)row->wall_ns / (double)NS_PER_SEC / seconds : NAN;
	if (!timed)
		return;
	side->mean_ns = row->wall_ns / timed;
	side->p50_ns = hist_quantile_ns(&row->hist, 0.50, row->min_ns, row->max_ns);
	side->p99_ns = hist_quantile_ns(&row->hist, 0.99, row->min_ns, row->max_ns);
}

static void comparison_finish(struct comparison *item, const struct snapshot *a,
			      const struct snapshot *b)
{
	const struct hist_side x = { &item->a.group.sum.hist, item->a.group.sum.wall_ns };
	const struct hist_side y = { &item->b.group.sum.hist, item->b.group.sum.wall_ns };
	struct hist_difference difference;

	side_finish(&item->a, a);
	side_finish(&item->b, b);
	hist_compare(&x, &y, &difference);
	item->word = words[difference.word];
	if (!item->a.present)
		item->word = COMPARE_NEW;
	else if (!item->b.present)
		item->word = COMPARE_GONE;
	item->distance = difference.distance;
	item->probability = difference.probability;
	item->tail = difference.tail;
}

/* Gives equal ones of sorted entries one place; returns how many places there are. */
static size_t entries_place(struct entry *entries, size_t count, unsigned int keys)
{
	size_t places = 0;

	for (size_t i = 0; i < count; i++) {
		places += !i || compare_entries(&entries[i - 1], &entries[i], &keys);
		entries[i].place = places - 1;
	}
	return places;
}

static int list_fill(struct comparison_list *list, struct entry *entries, size_t count)
{
	list->count = entries_place(entries, count, list->keys);
	for (size_t i = 0; i < list->count; i++)
		comparison_init(&list->items[i]);
	for (size_t i = 0; i < count; i++) {
		struct comparison *item = &list->items[entries[i].place];

		if (side_take(entries[i].in_b ? &item->b : &item->a, entries[i].group))
			return -ENOMEM;
	}
	return 0;
}

struct place {
	double seconds, calls; /* change of them, whichever way */
	size_t index;          /* in order of keys */
};

static double change_between(double a, double b)
{
	double change = fabs(b - a);

	return isnan(change) ? 0 : change;
}

static int compare_places(const void *x, const void *y)
{
	const struct place *a = x, *b = y;
	int order = (b->seconds > a->seconds) - (b->seconds < a->seconds);

	order = order ?: (b->calls > a->calls) - (b->calls < a->calls);
	return order ?: (a->index > b->index) - (a->index < b->index);
}

static int list_sort(struct comparison_list *list)
{
	struct place *places __cleanup(freep) = calloc(list->count + 1, sizeof(*places));
	struct comparison *sorted = calloc(list->count + 1, sizeof(*sorted));

	if (!places || !sorted) {
		free(sorted);
		return -ENOMEM;
	}
	for (size_t i = 0; i < list->count; i++) {
		const struct compare_side *a = &list->items[i].a, *b = &list->items[i].b;

		places[i].seconds = change_between(a->seconds_per_s, b->seconds_per_s);
		places[i].calls = change_between(a->calls_per_s, b->calls_per_s);
		places[i].index = i;
	}
	qsort(places, list->count, sizeof(*places), compare_places);
	for (size_t i = 0; i < list->count; i++)
		sorted[i] = list->items[places[i].index];
	free(list->items);
	list->items = sorted;
	return 0;
}

/* groups are those of a and of b; what is taken of them is left empty. */
static int list_make(const struct snapshot *a, const struct snapshot *b,
		     struct group_list groups[2], struct comparison_list *list)
{
	size_t most = groups[0].nr_groups + groups[1].nr_groups, count = 0;
	struct entry *entries __cleanup(freep) = calloc(most + 1, sizeof(*entries));
	struct group sums[2] = { 0 };

	list->items = calloc(most + 1, sizeof(*list->items));
	if (!entries || !list->items || group_list_sum(&groups[0], &sums[0]))
		return -ENOMEM;
	side_take(&list->total.a, &sums[0]);
	if (group_list_sum(&groups[1], &sums[1]))
		return -ENOMEM;
	side_take(&list->total.b, &sums[1]);
	comparison_finish(&list->total, a, b);
	entries_add(a, &groups[0], false, entries, &count);
	entries_add(b, &groups[1], true, entries, &count);
	qsort_r(entries, count, sizeof(*entries), compare_entries, &list->keys);
	if (list_fill(list, entries, count))
		return -ENOMEM;
	for (size_t i = 0; i < list->count; i++)
		comparison_finish(&list->items[i], a, b);
	return list_sort(list);
}

int snapshot_compare(const struct snapshot *a, const struct snapshot *b, unsigned int keys,
		     const struct row_test *test, struct comparison_list *ret)
{
	struct comparison_list list __cleanup(comparison_list_done) = {
		.keys = keys,
		.seconds_a = (double)a->elapsed_ns / (double)NS_PER_SEC,
		.seconds_b = (double)b->elapsed_ns / (double)NS_PER_SEC,
	};
	struct group_list groups[2] = { { 0 }, { 0 } };
	int err;

	comparison_init(&list.total);
	err = snapshot_group_some(a, keys, test, &groups[0]);
	err = err ?: snapshot_group_some(b, keys, test, &groups[1]);
	err = err ?: list_make(a, b, groups, &list);
	group_list_done(&groups[0]);
	group_list_done(&groups[1]);
	if (err)
		return err;
	*ret = list;
	list.items = NULL;
	list.count = 0;
	comparison_init(&list.total);
	return 0;
}

void comparison_list_done(struct comparison_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		comparison_done(&list->items[i]);
	free(list->items);
	list->items = NULL;
	list->count = 0;
	comparison_done(&list->total);
}
