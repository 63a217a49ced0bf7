/* SPDX-License-Identifier: BSD-2-Clause */
/* Tells whether snapshots fit each other. */
#include "model/merge_fit.h"

#include "base/clock.h"

/* What rows are split by. */
static enum call_split split_of(const struct snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->nr_rows; i++) {
		if (snapshot->rows[i]->split != SPLIT_NONE)
			return snapshot->rows[i]->split;
	}
	return SPLIT_NONE;
}

int merge_check_pair(const struct merge_input *a, const struct merge_input *b, struct diag *d)
{
	const enum call_split split_a = split_of(a->snapshot), split_b = split_of(b->snapshot);
	const enum call_split split = split_a != SPLIT_NONE ? split_a : split_b;

	if (a->snapshot->slower_than_ns != b->snapshot->slower_than_ns)
		return diag_set(d, DIAG_FAILED, EINVAL,
				"%.100s and %.100s do not have the same calls: --slower-than was "
				"%.6g ms and %.6g ms",
				a->name, b->name,
				(double)a->snapshot->slower_than_ns / (double)NS_PER_MS,
				(double)b->snapshot->slower_than_ns / (double)NS_PER_MS);
	if (split_a != split_b && a->snapshot->nr_rows && b->snapshot->nr_rows)
		return diag_set(d, DIAG_FAILED, EINVAL,
				"only one of %.100s and %.100s is split by %s: take both with "
				"--by %s, or neither",
				a->name, b->name, row_split_names[split], row_split_names[split]);
	return 0;
}

void merge_totals_add(struct merge_totals *into, const struct snapshot *snapshot)
{
	double *totals = into->sums;

	for (size_t i = 0; i < snapshot->nr_rows; i++) {
		for (size_t j = 0; j < NR_ROW_COUNTERS; j++)
			totals[j] += row_counters[j].grows || row_counters[j].now
					     ? (double)row_count(snapshot->rows[i], j)
					     : 0;
		totals[NR_ROW_COUNTERS] += (double)hist_total(&snapshot->rows[i]->hist);
	}
	for (size_t i = 0; i < snapshot->nr_processes; i++) {
		for (size_t j = 0; j < NR_PROCESS_COUNTS; j++)
			totals[NR_ROW_COUNTERS + 1 + j] +=
				(double)process_count(&snapshot->processes[i], j);
	}
}

int merge_totals_check(const struct merge_totals *totals, struct diag *d)
{
	for (size_t i = 0; i < NR_MERGE_TOTALS; i++) {
		if (totals->sums[i] >= (double)INT64_MAX)
			return diag_set(d, DIAG_FAILED, ERANGE,
					"these add up to more than 2^63 ns, which is 292 years of "
					"threads: merge fewer hosts, or shorter times");
	}
	return 0;
}
