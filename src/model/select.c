/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the choice of groups. Invariant: the groups shown and the last one add up to the whole. */
#include "model/select.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"

/* What compare_places() needs: places are indices into the list. */
struct order {
	const struct group *groups;
	const struct group_filter *filter;
};

static int compare_places(const void *x, const void *y, void *closure)
{
	const struct order *order = closure;
	size_t a = *(const size_t *)x, b = *(const size_t *)y;
	int result = order->filter->compare(&order->groups[a], &order->groups[b],
					    order->filter->closure);

	return result ?: (a > b) - (a < b);
}

static bool group_is_empty(const struct group *group)
{
	return !group->sum.calls && !group->sum.in_flight;
}

static bool filter_has(const struct group_filter *filter, const struct group *group)
{
	return group->sum.calls >= filter->min_calls && (!filter->errors_only || group->sum.errors);
}

/* Adds up the groups that were not chosen. */
static int others_sum(const struct group_list *list, const bool *chosen, struct group *ret)
{
	struct group others = { 0 };

	row_init(&others.sum);
	for (size_t i = 0; i < list->nr_groups; i++) {
		if (chosen[i] || group_is_empty(&list->groups[i]))
			continue;
		if (group_merge(&others, &list->groups[i])) {
			row_done(&others.sum);
			return -ENOMEM;
		}
		others.nr_merged++;
	}
	*ret = others;
	return 0;
}

/* Fills places with the groups to show, in order; returns how many. */
static size_t places_choose(const struct group_list *list, const struct group_filter *filter,
			    size_t *places, bool *chosen)
{
	struct order order = { list->groups, filter };
	size_t count = 0;

	for (size_t i = 0; i < list->nr_groups; i++) {
		if (!group_is_empty(&list->groups[i]) && filter_has(filter, &list->groups[i]))
			places[count++] = i;
	}
	if (filter->compare)
		qsort_r(places, count, sizeof(*places), compare_places, &order);
	if (filter->top && count > filter->top)
		count = filter->top;
	for (size_t i = 0; i < count; i++)
		chosen[places[i]] = true;
	return count;
}

int group_list_select(struct group_list *list, const struct group_filter *filter)
{
	size_t *places __cleanup(freep) = calloc(list->nr_groups + 1, sizeof(*places));
	bool *chosen __cleanup(freep) = calloc(list->nr_groups + 1, sizeof(*chosen));
	struct group *groups __cleanup(freep) = NULL;
	struct group others;
	size_t count;

	if (!places || !chosen)
		return -ENOMEM;
	count = places_choose(list, filter, places, chosen);
	groups = calloc(count + 1, sizeof(*groups));
	if (!groups || others_sum(list, chosen, &others))
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		groups[i] = list->groups[places[i]];
	for (size_t i = 0; i < list->nr_groups; i++) {
		if (!chosen[i])
			row_done(&list->groups[i].sum);
	}
	if (others.nr_merged)
		groups[count++] = others;
	free(list->groups);
	list->groups = steal_ptr(&groups);
	list->nr_groups = count;
	return 0;
}
