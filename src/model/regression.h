/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What of a comparison became worse by more than a limit: the question of `compare --fail-over`.
 * p99 counts when it is beyond noise, rates when more than chance makes them differ, time when calls
 * or latencies differ by more than chance, and groups only when on one side they have more than a
 * thousandth of all calls or of their time.
 */
#ifndef BPFTRUSS_REGRESSION_H
#define BPFTRUSS_REGRESSION_H

#include "model/compare.h"

enum regression_kind {
	REGRESSION_CALLS,  /* a second */
	REGRESSION_ERRORS, /* a second */
	REGRESSION_TIME,   /* wall time of calls a second */
	REGRESSION_P99,
	NR_REGRESSION_KIND,
};

/* calls, errors, time, p99. */
extern const char *const regression_names[NR_REGRESSION_KIND];

/* Calls that wait for work take as long as there is none: their time and p99 are no regressions. */
struct regression_rule {
	double limit; /* 0.2: a rise by more than 20% */
	bool waiting; /* the list is of such calls */
};

/* The rises of one comparison, where they are regressions; 0 elsewhere; INFINITY from nothing. */
struct regressions {
	double rise[NR_REGRESSION_KIND];
};

/* Whether there are any. */
bool comparison_regressions(const struct comparison_list *list, const struct comparison *item,
			    const struct regression_rule *rule, struct regressions *ret);

#endif
