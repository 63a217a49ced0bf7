/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The reports of call stacks. All see the same thing: each call of the snapshot in one stack, so
 * that their sums are those of the tables; calls without a stack of their own are [other stacks].
 * All return 0 or a negative errno: -ENOMEM, or what the stream failed with.
 */
#ifndef BPFTRUSS_REPORT_STACKS_H
#define BPFTRUSS_REPORT_STACKS_H

#include <stdio.h>

#include "report/label.h"
#include "report/table.h"

/* All zero is what a user gets who asks for nothing. */
struct stack_options {
	enum stack_weight weight;
	size_t top; /* the heaviest stacks of each group; 0: all */
};

/*
 * The section below a table: for each of its groups, in its order, the stacks in the layout of
 * DTrace's ustack() and trunc(), the heaviest last. Of the options of the table it obeys keys,
 * sort, top, min_calls, errors_only and waiting. Writes nothing when no stacks were taken.
 */
int report_stacks(const struct snapshot *snapshot, const struct table_options *options,
		  const struct stack_options *stack_options, FILE *out);

/*
 * Folded stacks, which the tools around flame graphs read: sorted lines of names from the outside
 * in, comm;main;read_config;read 12, with calls or ns.
 */
int report_folded(const struct snapshot *snapshot, enum stack_weight weight, FILE *out);

/* A profile in the format of pprof, gzipped: calls, wall and CPU time, and errors by stack. */
int report_pprof(const struct snapshot *snapshot, FILE *out);

/*
 * A flame graph, as one SVG file with its own script: zoom, search, tooltips. It can be read
 * without the script, too.
 */
int report_flame(const struct snapshot *snapshot, enum stack_weight weight, FILE *out);

#endif
