/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the daemon itself costs: its own CPU time and that of its programs in the kernel, as an
 * average over the last spans. Past a budget it gives up what costs most: call stacks first, then
 * errnos; only a reload takes that back.
 */
#ifndef BPFTRUSS_BUDGET_H
#define BPFTRUSS_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/collector.h"

struct budget {
	double limit_percent; /* of one CPU; 0: none */
	double used_percent;  /* over the last span; below 0: not known yet */
	double own_percent;   /* of that, the daemon's own */
	enum collector_step step;
	bool has_stacks;         /* which can be given up */
	unsigned int spans_over; /* in a row */
	uint64_t at_ns, own_ns, programs_ns;
};

/* CPU time of the daemon and its children so far. */
uint64_t budget_own_ns(void);

/* Begins anew: everything is counted. */
void budget_set(struct budget *budget, double limit_percent, bool has_stacks,
		struct collector *collector);

/* Ends a span; says so on stderr when it steps down. */
void budget_check(struct budget *budget, struct collector *collector);

#endif
