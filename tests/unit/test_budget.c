/* SPDX-License-Identifier: BSD-2-Clause */
/* What the daemon gives up when it costs too much, and when it takes that up again. */
#include "fixture.h"

#include "base/clock.h"
#include "collect/collector.h"
#include "daemon/budget.h"

/* The collector of these tests: it costs nothing, and knows which step it was told to take. */
static enum collector_step told;

void collector_step_down(struct collector *collector, enum collector_step step)
{
	(void)collector;
	told = step;
}

int collector_cost(const struct collector *collector, struct collector_cost *ret)
{
	(void)collector;
	*ret = (struct collector_cost){ 0 };
	return 0;
}

/* So many spans of the same cost; the step after them. */
static enum collector_step spans(struct budget *budget, unsigned int count, double percent)
{
	while (count--)
		budget_judge(budget, percent, NULL);
	assert_int_equal(told, budget->step);
	return budget->step;
}

static struct budget budget_of(double limit_percent, bool has_stacks)
{
	struct budget budget;

	budget_set(&budget, limit_percent, has_stacks, NULL);
	return budget;
}

TEST(test_gives_up_after_three_spans)
{
	struct budget budget = budget_of(10, true);

	assert_int_equal(spans(&budget, 2, 11), STEP_NORMAL);
	/* What does not last is no reason. */
	assert_int_equal(spans(&budget, 1, 9), STEP_NORMAL);
	assert_int_equal(spans(&budget, 2, 11), STEP_NORMAL);
	assert_int_equal(spans(&budget, 1, 11), STEP_NO_STACKS);
	assert_int_equal(spans(&budget, 3, 11), STEP_NO_ERRNOS);
	assert_int_equal(spans(&budget, 100, 11), STEP_NO_ERRNOS);
}

TEST(test_without_stacks_it_begins_with_errnos)
{
	struct budget budget = budget_of(10, false);
	struct budget unlimited = budget_of(0, true);

	assert_int_equal(spans(&budget, 3, 11), STEP_NO_ERRNOS);
	assert_int_equal(spans(&budget, BUDGET_CALM_SPANS, 1), STEP_NORMAL);
	assert_int_equal(spans(&unlimited, 100, 1000), STEP_NORMAL);
}

TEST(test_takes_up_again_a_step_at_a_time)
{
	struct budget budget = budget_of(10, true);

	spans(&budget, 6, 11);
	assert_int_equal(spans(&budget, BUDGET_CALM_SPANS - 1, 4), STEP_NO_ERRNOS);
	/* Below the limit, but not by far: what was given up would not fit. */
	assert_int_equal(spans(&budget, 1000, 6), STEP_NO_ERRNOS);
	assert_int_equal(spans(&budget, BUDGET_CALM_SPANS - 1, 4), STEP_NO_ERRNOS);
	assert_int_equal(spans(&budget, 1, 4), STEP_NO_STACKS);
	assert_int_equal(spans(&budget, BUDGET_CALM_SPANS - 1, 4), STEP_NO_STACKS);
	assert_int_equal(spans(&budget, 1, 4), STEP_NORMAL);
	assert_int_equal(spans(&budget, 1000, 0), STEP_NORMAL);
}

/* How many calm spans it takes until stacks are taken again. */
static unsigned int wait_for_stacks(struct budget *budget)
{
	unsigned int waited = 0;

	spans(budget, 3, 11);
	while (budget->step != STEP_NORMAL) {
		assert_true(waited < 10 * BUDGET_MAX_CALM_SPANS);
		budget_judge(budget, 4, NULL);
		waited++;
	}
	return waited;
}

/* What costs too much as soon as it is taken up is not tried all day long. */
TEST(test_waits_longer_each_time)
{
	struct budget budget = budget_of(10, true);
	unsigned int before = wait_for_stacks(&budget), waited;

	assert_int_equal(before, BUDGET_CALM_SPANS);
	for (int i = 0; i < 20; i++) {
		waited = wait_for_stacks(&budget);
		assert_true(waited == 2 * before || waited == BUDGET_MAX_CALM_SPANS);
		before = waited;
	}
	assert_int_equal(before, BUDGET_MAX_CALM_SPANS);
	/* A reload begins anew. */
	budget = budget_of(10, true);
	assert_int_equal(wait_for_stacks(&budget), BUDGET_CALM_SPANS);
}

/* Whoever asks all the time takes CPU time, but giving up errnos would make it no less. */
TEST(test_answers_are_not_in_the_budget)
{
	struct budget budget = budget_of(10, true);
	uint64_t begun = clock_mono_ns();

	while (clock_mono_ns() - begun < 20 * NS_PER_MS)
		continue;
	budget.answers_ns += UINT64_MAX / 2;
	for (int i = 0; i < 10; i++) {
		budget_check(&budget, NULL);
		budget.answers_ns += NS_PER_SEC;
		assert_all(budget.used_percent >= 0, budget.answers_percent >= 0,
			   budget.answers_percent <= budget.own_percent);
	}
	assert_int_equal(budget.step, STEP_NORMAL);
}
