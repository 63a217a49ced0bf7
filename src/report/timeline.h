/* SPDX-License-Identifier: BSD-2-Clause */
/* The reports of `bpftruss history`. Writers return 0 or -ENOMEM, or what the stream failed with. */
#ifndef BPFTRUSS_REPORT_TIMELINE_H
#define BPFTRUSS_REPORT_TIMELINE_H

#include <stdio.h>

#include "base/diag.h"
#include "model/snapshot.h"
#include "report/table.h"

/*
 * A line a step and a sum, of the calls that do not wait for work; a gap is a line in its place.
 * Steps without anything counted are lines of their own unless a gap says why. Times of day are
 * local. Of the options it obeys width and waiting. Ends with the trust lines.
 */
int report_timeline(const struct timeline *timeline, const struct table_options *options,
		    FILE *out);

/* One JSON object on one line, with the object of report_json() in each step: bpftruss(8). */
int report_timeline_json(const struct timeline *timeline, FILE *out);

/* As report_csv(), of all steps below one header; what was not counted has no lines. */
int report_timeline_csv(const struct timeline *timeline, const struct table_options *options,
			FILE *out);

/*
 * A timeline from what report_timeline_json() wrote; call stacks are left out. Untrusted: -EINVAL
 * with d filled for anything else. Returns 0 or a negative errno; timeline_done() the result.
 */
int report_timeline_json_read(const char *text, size_t size, struct timeline *ret, struct diag *d);

#endif
