/* SPDX-License-Identifier: BSD-2-Clause */
/* Tells whether snapshots can be merged: what they hold, and how large their sum is. */
#pragma once

#include "base/diag.h"
#include "model/snapshot.h"

/* A snapshot with what its owner calls it; both borrowed. */
struct merge_input {
	const char *name;
	const struct snapshot *snapshot;
};

/* Whether two have the same calls, and rows of the same kind. Returns 0, or -EINVAL with d filled. */
int merge_check_pair(const struct merge_input *a, const struct merge_input *b, struct diag *d);

/* Sums of all rows and processes, in numbers that do not wrap. */
struct merge_totals {
	double rows[NR_ROW_COUNTERS], histograms, errnos;
	double stack_calls, stack_errors,
		stack_wall_ns; /* the other times of a stack are parts of that */
	double processes[NR_PROCESS_COUNTS], threads, folded;
};

void merge_totals_add(struct merge_totals *into, const struct snapshot *snapshot);

/*
 * Whether no sum is more than a reader of JSON can hold: nanoseconds of threads are the largest numbers. Returns 0,
 * or -ERANGE with d filled.
 */
int merge_totals_check(const struct merge_totals *totals, struct diag *d);
