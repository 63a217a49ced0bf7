/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the decision to count less. */
#include "daemon/budget.h"

#include <sys/resource.h>
#include <syslog.h>

#include "base/clock.h"
#include "base/mem.h"
#include "daemon/log.h"

/* One busy span may be a fork storm; what lasts is to end. */
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

void budget_set(struct budget *b, double limit_percent, bool has_stacks,
		struct collector *collector)
{
	*b = (struct budget){
		.limit_percent = limit_percent,
		.has_stacks = has_stacks,
		.used_percent = -1,
		.at_ns = clock_mono_ns(),
		.own_ns = budget_own_ns(),
		.programs_ns = programs_ns(collector),
	};
	collector_step_down(collector, STEP_NORMAL);
}

static void budget_step_down(struct budget *b, struct collector *collector)
{
	static const char *const given_up[] = {
		[STEP_NO_STACKS] = "call stacks", [STEP_NO_ERRNOS] = "which errors occur"
	};

	b->step++;
	if (b->step == STEP_NO_STACKS && !b->has_stacks)
		b->step++;
	b->spans_over = 0;
	collector_step_down(collector, b->step);
	log_line(LOG_WARNING,
		 "costs %.2f%% of a CPU, more than the budget of %.2f%%: %s are not counted from "
		 "now "
		 "on; a reload begins anew",
		 b->used_percent, b->limit_percent, given_up[b->step]);
}

void budget_check(struct budget *b, struct collector *collector)
{
	uint64_t now = clock_mono_ns(), own = budget_own_ns(), programs = programs_ns(collector);
	double span = (double)(now - b->at_ns);

	if (now == b->at_ns)
		return;
	b->own_percent = 100 * (double)(own - b->own_ns) / span;
	b->used_percent = b->own_percent + 100 * (double)(programs - b->programs_ns) / span;
	b->at_ns = now;
	b->own_ns = own;
	b->programs_ns = programs;
	if (b->limit_percent <= 0 || b->used_percent <= b->limit_percent)
		b->spans_over = 0;
	else if (++b->spans_over >= SPANS_PATIENCE && b->step < STEP_NO_ERRNOS)
		budget_step_down(b, collector);
}
