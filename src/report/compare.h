/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The reports of `bpftruss compare`. Calls that wait for work stand apart, as in the wide table. Of
 * the table's options they obey keys, top (of each half), width and waiting. All return 0 or a
 * negative errno: -ENOMEM, or what the stream failed with.
 */
#ifndef BPFTRUSS_REPORT_COMPARE_H
#define BPFTRUSS_REPORT_COMPARE_H

#include <stdio.h>

#include "model/compare.h"
#include "report/table.h"

/* A snapshot, and what the user called it: a baseline, a file, a span, now. Untrusted, borrowed. */
struct compare_source {
	const char *label;
	const struct snapshot *snapshot;
};

struct compare_input {
	struct compare_source a, b;
	double fail_over; /* --fail-over: 0.2 for 20%; 0: nothing fails */
};

/* What became worse of a group; nothing without --fail-over. */
struct compare_verdict {
	bool failed;
	struct regressions found;
};

struct compare_part {
	struct comparison_list list;
	struct compare_verdict *verdicts; /* owned; one an item */
	size_t shown;                     /* the first of them; --top leaves the others out */
};

/* What both reports show, and what an exit status depends on. */
struct compare_view {
	struct compare_part parts[NR_TABLE_HALF];
	size_t groups, left_out;
	size_t words[NR_COMPARE_WORD]; /* groups with it, also those left out */
	size_t failed;                 /* groups with a regression, also those left out */
};

/* The view points into the snapshots. Returns 0 or -ENOMEM. */
int compare_view_make(const struct compare_input *input, const struct table_options *options,
		      struct compare_view *ret);
void compare_view_done(struct compare_view *view);

/* A table with both sides of each group, and sentences on what changed and what failed. */
int report_comparison(const struct compare_input *input, const struct compare_view *view,
		      const struct table_options *options, FILE *out);

/* The same as one JSON object on one line. */
int report_comparison_json(const struct compare_input *input, const struct compare_view *view,
			   FILE *out);

#endif
