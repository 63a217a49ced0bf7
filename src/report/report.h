/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The reports. Each writes one snapshot to a stream and does not know where it came from. All
 * return 0 or a negative errno: -ENOMEM, or what the stream failed with.
 */
#ifndef BPFTRUSS_REPORT_H
#define BPFTRUSS_REPORT_H

#include <stdio.h>

#include "base/diag.h"
#include "model/snapshot.h"
#include "report/table.h"

/* The table of truss -c, column for column, and the trust lines. */
int report_truss(const struct snapshot *snapshot, FILE *out);

/* One JSON object on one line: the contract in bpftruss(8), JSON. */
int report_json(const struct snapshot *snapshot, FILE *out);

/*
 * A snapshot from what report_json() wrote, with all that any report shows; from another version's
 * too, whose keys it lacks are unknown then. Untrusted: -EINVAL with d filled for anything that is
 * no such report, or whose numbers contradict each other. Its stacks are owned by *ret_stacks
 * (NULL: none), which must live as long as the snapshot. Returns 0 or a negative errno.
 */
int report_json_read(const char *text, size_t size, struct snapshot **ret,
		     struct stack_table **ret_stacks, struct diag *d);

/*
 * A table as wide as the screen, of what was counted and of times in all their kinds; calls that
 * wait for work stand apart. Ends with the trust lines.
 */
int report_wide(const struct snapshot *snapshot, const struct table_options *options, FILE *out);

/*
 * Errors by errno, most frequent first, by default of each program. Of the options it obeys keys,
 * top and min_calls. Ends with the trust lines.
 */
int report_errors(const struct snapshot *snapshot, const struct table_options *options, FILE *out);

/*
 * Comma-separated values for spreadsheets and scripts: a line a group, times in ns, unknown values
 * empty, start and end of the interval in front. One without any group has a line all the same,
 * unless it took no time. Many intervals go into one file if only the first has the header line.
 * All options but width, hist and waiting.
 */
int report_csv(const struct snapshot *snapshot, const struct table_options *options, bool header,
	       FILE *out);

/* The table of strace -c, byte for byte; seconds are CPU time, as there. No trust lines. */
int report_strace(const struct snapshot *snapshot, FILE *out);

/*
 * A picture, as one static SVG file: calls as bars and min, average, p99 and max on a log axis, of
 * the 20 groups with the longest total. Of the options it obeys keys, top (up to 20),
 * min_calls, errors_only and waiting.
 */
int report_chart(const struct snapshot *snapshot, const struct table_options *options, FILE *out);

/*
 * A histogram of latencies as bars: a line a bucket, from the first to the last that is not empty;
 * longer gaps become "...".
 */
void bars_print(const struct hist *hist, FILE *out);

/* One line: "exact", or what is missing and why. */
void print_exactness(const struct snapshot *snapshot, FILE *out);

/*
 * Which processes changed, while they were counted, what a report groups by (enum group_key): their
 * calls all stand under the last.
 */
void print_process_changes(const struct snapshot *snapshot, unsigned int keys, FILE *out);

/* That line, then the calls in flight. Part of every text report. */
int report_trust(const struct snapshot *snapshot, FILE *out);

#endif
