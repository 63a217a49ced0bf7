/* SPDX-License-Identifier: BSD-2-Clause */
/* Tells whether snapshots fit each other. */
#include "model/merge_fit.h"

#include "base/clock.h"

/* Returns how the rows are split. */
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

static void add_row(struct merge_totals *into, const struct row *row)
{
	for (size_t i = 0; i < NR_ROW_COUNTERS; i++)
		into->rows[i] += row_counters[i].grows || row_counters[i].now
					 ? (double)row_count(row, i)
					 : 0;
	into->histograms += (double)hist_total(&row->hist);
	for (size_t i = 0; i < row->nr_errnos; i++)
		into->errnos += (double)row->errnos[i].count;
	for (size_t i = 0; i < row->nr_stacks; i++) {
		into->stack_calls += (double)row->stacks[i].calls;
		into->stack_errors += (double)row->stacks[i].errors;
		into->stack_wall_ns += (double)row->stacks[i].wall_ns;
	}
}

void merge_totals_add(struct merge_totals *into, const struct snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->nr_rows; i++)
		add_row(into, snapshot->rows[i]);
	for (size_t i = 0; i < snapshot->nr_processes; i++) {
		const struct process *process = &snapshot->processes[i];

		for (size_t j = 0; j < NR_PROCESS_COUNTS; j++)
			into->processes[j] += (double)process_count(process, j);
		into->threads += (double)process->threads;
		into->folded += (double)process->nr_folded;
	}
}

int merge_totals_check(const struct merge_totals *totals, struct diag *d)
{
	/* It has nothing but sums. */
	const double *sums = (const double *)totals;

	for (size_t i = 0; i < sizeof(*totals) / sizeof(*sums); i++) {
		if (sums[i] >= (double)INT64_MAX)
			return diag_set(d, DIAG_FAILED, ERANGE,
					"these add up to more than 2^63 ns, which is 292 years of "
					"threads: merge fewer hosts, or shorter times");
	}
	return 0;
}
