/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Matches groups of two snapshots, and works out the figures of each pair. Invariant: a group is
 * in one comparison, and one of its sides is present.
 */
#include "model/compare.h"

#include <math.h>

#include "base/clock.h"
#include "base/text.h"

const char *const compare_words[NR_COMPARE_WORD] = {
	[COMPARE_TOO_FEW] = "too few", [COMPARE_NO_CHANGE] = "alike", [COMPARE_FASTER] = "faster",
	[COMPARE_SLOWER] = "slower",   [COMPARE_DIFFERS] = "differs", [COMPARE_NEW] = "new",
	[COMPARE_GONE] = "gone",
};

static void comparison_init(struct comparison *item)
{
	memset(item, 0, sizeof(*item));
	group_init(&item->a.group, NULL);
	group_init(&item->b.group, NULL);
}

static void comparison_done(struct comparison *item)
{
	row_done(&item->a.group.sum);
	row_done(&item->b.group.sum);
}

static int comparison_add(struct comparison *item, const struct group_member *member)
{
	struct compare_side *side = member->in_b ? &item->b : &item->a;

	if (!side->present)
		group_init(&side->group, member);
	side->present = true;
	return group_add_member(&side->group, member);
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

/* Whether no figure of both sides is a microsecond from the other's: too little to matter to anybody. */
#define DIFFERENCE_LEAST_NS 1000

static bool sides_are_close(const struct compare_side *a, const struct compare_side *b)
{
	const uint64_t pairs[][2] = { { a->mean_ns, b->mean_ns },
				      { a->p50_ns, b->p50_ns },
				      { a->p99_ns, b->p99_ns } };

	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		if (above(pairs[i][0], pairs[i][1]) >= DIFFERENCE_LEAST_NS ||
		    above(pairs[i][1], pairs[i][0]) >= DIFFERENCE_LEAST_NS)
			return false;
	}
	return true;
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
	item->word = (enum compare_word)difference.word;
	if (item->word != COMPARE_TOO_FEW && sides_are_close(&item->a, &item->b)) {
		item->word = COMPARE_NO_CHANGE;
		difference.tail = 0;
	}
	if (!item->a.present)
		item->word = COMPARE_NEW;
	else if (!item->b.present)
		item->word = COMPARE_GONE;
	item->distance = difference.distance;
	item->probability = difference.probability;
	item->tail = difference.tail;
}

/* Makes a comparison of each run of equal members. */
static int list_fill(struct comparison_list *list, const struct group_members *members)
{
	for (size_t i = 0; i < members->count; i++) {
		if (group_member_is_first(members, i)) {
			if (!array_grow(&list->items, list->count, sizeof(*list->items)))
				return -ENOMEM;
			comparison_init(&list->items[list->count]);
			list->items[list->count].place = list->count;
			list->count++;
		}
		if (comparison_add(&list->items[list->count - 1], &members->items[i]) ||
		    comparison_add(&list->total, &members->items[i]))
			return -ENOMEM;
	}
	return 0;
}

/* Returns by how much a figure changed, whichever way; 0 if that is not known. */
static double change_between(double a, double b)
{
	double change = fabs(b - a);

	return isnan(change) ? 0 : change;
}

static int compare_changes(const void *x, const void *y)
{
	const struct comparison *u = x, *v = y;
	double a = change_between(u->a.seconds_per_s, u->b.seconds_per_s);
	double b = change_between(v->a.seconds_per_s, v->b.seconds_per_s);
	double calls_a = change_between(u->a.calls_per_s, u->b.calls_per_s);
	double calls_b = change_between(v->a.calls_per_s, v->b.calls_per_s);
	int order = (b > a) - (b < a) ?: (calls_b > calls_a) - (calls_b < calls_a);

	return order ?: compare_u64(u->place, v->place);
}

int snapshot_compare(const struct snapshot *a, const struct snapshot *b, unsigned int keys,
		     const struct row_test *test, struct comparison_list *ret)
{
	struct group_members members __cleanup(group_members_done) = { 0 };
	struct comparison_list list __cleanup(comparison_list_done) = {
		.keys = keys,
		.seconds_a = (double)a->elapsed_ns / (double)NS_PER_SEC,
		.seconds_b = (double)b->elapsed_ns / (double)NS_PER_SEC,
	};

	comparison_init(&list.total);
	if (group_members_make(a, b, keys, test, &members) || list_fill(&list, &members))
		return -ENOMEM;
	list.total.a.present = list.total.b.present = true;
	comparison_finish(&list.total, a, b);
	for (size_t i = 0; i < list.count; i++)
		comparison_finish(&list.items[i], a, b);
	if (list.count)
		qsort(list.items, list.count, sizeof(*list.items), compare_changes);
	*ret = list;
	list = (struct comparison_list){ 0 };
	return 0;
}

void comparison_list_done(struct comparison_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		comparison_done(&list->items[i]);
	free(list->items);
	comparison_done(&list->total);
	*list = (struct comparison_list){ 0 };
}

/* --- what became worse ------------------------------------------------------------------------ */

/* Share of the calls and of their time below which, on both sides, a group is negligible. */
#define SHARE_LEAST 0.001

const char *const regression_names[NR_REGRESSION_KIND] = {
	[REGRESSION_CALLS] = "calls",
	[REGRESSION_ERRORS] = "errors",
	[REGRESSION_TIME] = "time",
	[REGRESSION_P99] = "p99",
};

/* An absent side is negligible. */
static bool side_is_negligible(const struct compare_side *side, const struct compare_side *total)
{
	const struct row *row = &side->group.sum, *all = &total->group.sum;

	return (double)row->calls <= SHARE_LEAST * (double)all->calls &&
	       (double)row->wall_ns <= SHARE_LEAST * (double)all->wall_ns;
}

/* Returns by what part b is above a, if that is more than the limit; else 0. */
static double rise_between(double a, double b, double limit)
{
	double rise = a > 0 ? b / a - 1 : INFINITY;

	/* False for what is not known, too. */
	return b > a && rise > limit ? rise : 0;
}

/* Whether events came more often than chance makes them, if each came by itself. */
static bool counts_differ(const struct comparison_list *list, uint64_t a, uint64_t b)
{
	double share = list->seconds_b / (list->seconds_a + list->seconds_b);

	return chance_of_count(b, a + b, share) < HIST_CHANCE;
}

static void find_rises(const struct comparison_list *list, const struct comparison *item,
		       const struct regression_rule *rule, struct regressions *ret)
{
	const struct compare_side *a = &item->a, *b = &item->b;
	bool more_calls = counts_differ(list, a->group.sum.calls, b->group.sum.calls);

	if (more_calls)
		ret->rise[REGRESSION_CALLS] =
			rise_between(a->calls_per_s, b->calls_per_s, rule->limit);
	if (counts_differ(list, a->group.sum.errors, b->group.sum.errors))
		ret->rise[REGRESSION_ERRORS] =
			rise_between(a->errors_per_s, b->errors_per_s, rule->limit);
	if (rule->waiting)
		return;
	if (more_calls || item->probability < HIST_CHANCE)
		ret->rise[REGRESSION_TIME] =
			rise_between(a->seconds_per_s, b->seconds_per_s, rule->limit);
	/* The p99 of a distribution that is slower throughout, or one that is higher by itself. */
	if (item->tail > 0 || item->word == COMPARE_SLOWER)
		ret->rise[REGRESSION_P99] =
			rise_between((double)a->p99_ns, (double)b->p99_ns, rule->limit);
}

bool comparison_regressions(const struct comparison_list *list, const struct comparison *item,
			    const struct regression_rule *rule, struct regressions *ret)
{
	struct regressions found = { { 0 } };
	bool any = false;

	if (!side_is_negligible(&item->a, &list->total.a) ||
	    !side_is_negligible(&item->b, &list->total.b))
		find_rises(list, item, rule, &found);
	for (int i = 0; i < NR_REGRESSION_KIND; i++)
		any |= found.rise[i] > 0;
	*ret = found;
	return any;
}
