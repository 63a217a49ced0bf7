/* SPDX-License-Identifier: BSD-2-Clause */
/* Holes between intervals, and why they are there: what the data itself says. */
#ifndef BPFTRUSS_STORE_GAPS_H
#define BPFTRUSS_STORE_GAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/timeline.h"
#include "store/interval.h"

/* The end of an interval. */
struct history_end {
	int64_t run; /* 0: there is none */
	int64_t mono_ns, real_ns;
};

struct gaps {
	struct timeline_gap *items; /* owned */
	size_t count;
	int64_t from_ns, to_ns; /* gaps are cut to this */
};

void gaps_done(struct gaps *gaps);

/* Adds one, unless nothing of it is inside. Returns 0 or -ENOMEM. */
int gaps_add(struct gaps *gaps, int64_t start_ns, int64_t end_ns, enum gap_reason reason);

/* Whether one has something of a time. */
bool gaps_meet(const struct gaps *gaps, int64_t start_ns, int64_t end_ns);

/* Adds what lies between an end and the next interval. Returns 0 or -ENOMEM. */
int gaps_between(struct gaps *gaps, const struct history_end *end, const struct interval *next);

/* Orders by time and joins those of one reason that touch or overlap. */
void gaps_sort(struct gaps *gaps);

#endif
