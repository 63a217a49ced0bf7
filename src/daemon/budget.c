/* SPDX-License-Identifier: BSD-2-Clause */
/* Decides when to count less. */
#include "daemon/budget.h"

#include <sys/resource.h>

#include "base/clock.h"
#include "base/text.h"

/* A single busy span may be a fork storm; only this many in a row matter. */
#define SPANS_PATIENCE 3

static uint64_t timeval_ns(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * NS_PER_SEC + (uint64_t)time->tv_usec * 1000;
}

uint64_t budget_own_ns(void)
{
	static const int whose[] = { RUSAGE_SELF, RUSAGE_CHILDREN };
	struct rusage usage;
	uint64_t sum = 0;

	for (size_t i = 0; i < ARRAY_SIZE(whose); i++) {
		getrusage(whose[i], &usage);
		sum += timeval_ns(&usage.ru_utime) + timeval_ns(&usage.ru_stime);
	}
	return sum;
}

static uint64_t programs_ns(const struct collector *collector)
{
	struct collector_cost cost;

	return collector_cost(collector, &cost) ? 0 : cost.programs_ns;
}

void budget_set(struct budget *b, double limit_percent, bool has_calls, bool has_stacks,
		struct collector *collector)
{
	*b = (struct budget){
		.limit_percent = limit_percent,
		.has_calls = has_calls,
		.has_stacks = has_stacks,
		.used_percent = -1,
		.calm_wanted = BUDGET_CALM_SPANS,
		.at_ns = clock_mono_ns(),
		.own_ns = budget_own_ns(),
		.programs_ns = programs_ns(collector),
	};
	collector_step_down(collector, STEP_NORMAL);
}

static const struct {
	const char *what, *verb;
} step_gives_up[NR_STEP] = {
	[STEP_NO_CALLS] = { "single calls", "recorded" },
	[STEP_NO_STACKS] = { "call stacks", "counted" },
	[STEP_NO_ERRNOS] = { "which errors occur", "counted" },
};

/* Takes a step: down is 1, up is -1. */
static void budget_step(struct budget *b, int direction, double percent,
			struct collector *collector)
{
	const enum collector_step before = b->step;
	int step = (int)before + direction;

	/* Steps that give up what the daemon does not do are skipped. */
	while ((step == STEP_NO_CALLS && !b->has_calls) ||
	       (step == STEP_NO_STACKS && !b->has_stacks))
		step += direction;
	b->step = (enum collector_step)step;
	b->spans_over = b->spans_calm = 0;
	collector_step_down(collector, b->step);
	if (direction > 0)
		events_tell(
			b->events,
			&(struct otlp_event){ .priority = LOG_WARNING, .name = "bpftruss.budget" },
			"counting costs %.2f%% of a CPU, more than the budget of %.2f%%: %s are "
			"not %s from now on, until it costs less",
			percent, b->limit_percent, step_gives_up[b->step].what,
			step_gives_up[b->step].verb);
	else
		events_tell(
			b->events,
			&(struct otlp_event){ .priority = LOG_NOTICE, .name = "bpftruss.budget" },
			"counting costs %.2f%% of a CPU, and the budget is %.2f%%: %s are "
			"%s again",
			percent, b->limit_percent, step_gives_up[before].what,
			step_gives_up[before].verb);
	/* Stacks or errnos may cost too much again: they are tried again less and less often. */
	if (b->step == STEP_NORMAL)
		b->calm_wanted = (unsigned int)min_u64(b->calm_wanted * 2, BUDGET_MAX_CALM_SPANS);
}

void budget_judge(struct budget *b, double percent, struct collector *collector)
{
	bool over = b->limit_percent > 0 && percent > b->limit_percent;
	bool calm = percent <= b->limit_percent / 2;

	b->spans_over = over ? b->spans_over + 1 : 0;
	b->spans_calm = calm ? b->spans_calm + 1 : 0;
	if (b->spans_over >= SPANS_PATIENCE && b->step < STEP_NO_ERRNOS)
		budget_step(b, 1, percent, collector);
	else if (b->spans_calm >= b->calm_wanted && b->step > STEP_NORMAL)
		budget_step(b, -1, percent, collector);
}

void budget_check(struct budget *b, struct collector *collector)
{
	uint64_t now = clock_mono_ns(), own = budget_own_ns(), programs = programs_ns(collector);
	uint64_t own_ns = own - b->own_ns;
	/* Two clocks of the kernel's, which round in their own ways. */
	uint64_t answers_ns = min_u64(b->answers_ns, own_ns);
	double span = (double)(now - b->at_ns);

	if (now == b->at_ns)
		return;
	b->own_percent = 100 * (double)own_ns / span;
	b->answers_percent = 100 * (double)answers_ns / span;
	b->used_percent = b->own_percent + 100 * (double)(programs - b->programs_ns) / span;
	b->at_ns = now;
	b->own_ns = own;
	b->programs_ns = programs;
	b->answers_ns = 0;
	budget_judge(b, b->used_percent - b->answers_percent, collector);
}
