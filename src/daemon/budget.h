/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Measures what the daemon itself costs: its own CPU time and that of its programs in the kernel,
 * as an average over the last spans. Past a budget it gives up what costs most: first the recording of
 * single calls, then call stacks, then errnos. It takes them up again when counting costs half of the budget at most, and so for
 * longer each time. The cost of answers is in no budget: to count less would make them no cheaper.
 */
#pragma once

#include "collect/collector.h"
#include "daemon/events.h"

struct budget {
	double limit_percent;   /* of one CPU; 0: none */
	double used_percent;    /* over the last span; below 0: not known yet */
	double own_percent;     /* of that, the daemon's own */
	double answers_percent; /* of that, for clients */
	enum collector_step step;
	bool has_calls;           /* which can be given up */
	bool has_stacks;          /* so can these */
	unsigned int spans_over;  /* in a row */
	unsigned int spans_calm;  /* the same, at half of the limit or below */
	unsigned int calm_wanted; /* before the next step up */
	uint64_t at_ns, own_ns, programs_ns;
	struct events *events; /* told of steps; borrowed; budget_set() leaves none */
	uint64_t answers_ns;   /* CPU time for clients since at_ns: whoever serves them adds it */
};

/* So many calm spans at first, twice as many each time, and at most so many: an hour of them. */
#define BUDGET_CALM_SPANS     6
#define BUDGET_MAX_CALM_SPANS 360

/* CPU time of the daemon and its children so far. */
uint64_t budget_own_ns(void);

/* Begins anew: everything is counted. */
void budget_set(struct budget *budget, double limit_percent, bool has_calls, bool has_stacks,
		struct collector *collector);

/* Ends a span, of which what answers cost is not judged. */
void budget_check(struct budget *budget, struct collector *collector);

/* The same for a span in which counting cost so much of a CPU; says when it takes a step. */
void budget_judge(struct budget *budget, double percent, struct collector *collector);
