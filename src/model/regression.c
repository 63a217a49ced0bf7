/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the rule by which a change is a regression. */
#include "model/regression.h"

#include <math.h>

#include "hist/hist_compare.h"

/* Share of the calls and of their time below which, on both sides, a group is negligible. */
#define SHARE_LEAST 0.001

const char *const regression_names[NR_REGRESSION_KIND] = {
	[REGRESSION_CALLS] = "calls",
	[REGRESSION_ERRORS] = "errors",
	[REGRESSION_TIME] = "time",
	[REGRESSION_P99] = "p99",
};

static bool side_is_negligible(const struct compare_side *side, const struct compare_side *total)
{
	const struct row *row = &side->group.sum, *all = &total->group.sum;

	return (double)row->calls <= SHARE_LEAST * (double)all->calls &&
	       (double)row->wall_ns <= SHARE_LEAST * (double)all->wall_ns;
}

static bool is_negligible(const struct comparison_list *list, const struct comparison *item)
{
	return (!item->a.present || side_is_negligible(&item->a, &list->total.a)) &&
	       (!item->b.present || side_is_negligible(&item->b, &list->total.b));
}

/* By what part b is above a, if that is more than the limit; else 0. */
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

/* By more than chance; whether by enough to matter is for the limit to say. */
static bool latency_differs(const struct comparison *item)
{
	return item->probability < HIST_CHANCE;
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
	if (more_calls || latency_differs(item))
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

	if (!is_negligible(list, item))
		find_rises(list, item, rule, &found);
	for (int i = 0; i < NR_REGRESSION_KIND; i++)
		any |= found.rise[i] > 0;
	*ret = found;
	return any;
}
