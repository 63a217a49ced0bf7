/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The reports. Each writes one snapshot to a stream and does not know where it came from. All
 * return 0 or a negative errno: -ENOMEM, or what the stream failed with.
 */
#ifndef BPFTRUSS_REPORT_H
#define BPFTRUSS_REPORT_H

#include <stdio.h>

#include "base/diag.h"
#include "model/rates.h"
#include "model/snapshot.h"
#include "report/stacks.h"
#include "report/table.h"

enum report_format {
	FORMAT_TRUSS,
	FORMAT_WIDE,
	FORMAT_JSON,
	FORMAT_CSV,
	FORMAT_STRACE,
	FORMAT_ERRORS,
	NR_REPORT_FORMAT,
};

/* The words of --format. Returns 0, or -EINVAL with d filled: a usage error. */
extern const char *const report_format_names[NR_REPORT_FORMAT];
int report_format_parse(const char *word, enum report_format *ret, struct diag *d);

/* The options of a whole report. Nothing is owned. */
struct report_options {
	enum report_format format;
	struct table_options table;
	bool no_header;   /* of CSV */
	bool show_stacks; /* below the table */
	struct stack_options stacks;
};

/* Whether options ask for more of a table than that of truss -c has. */
bool report_needs_wide(const struct table_options *table);

/*
 * Refuses options that contradict each other or would change nothing, in the words of the command
 * line. Returns 0, or -EINVAL with d filled: a usage error.
 */
int report_options_check(const struct report_options *options, struct diag *d);

/* Fills d with what to ask for instead of a report that is too long. Returns -E2BIG. */
int report_too_long(struct diag *d);

/*
 * Refuses a report whose tables would have more groups than max. Returns 0, or -E2BIG or -ENOMEM with d
 * filled.
 */
int report_check_lines(const struct snapshot *snapshot, const struct report_options *options,
		       size_t max, struct diag *d);

/* Writes a report in one of the forms below. */
int report_write(const struct snapshot *snapshot, const struct report_options *options, FILE *out);

/*
 * A report as one JSON object on one line: the text, and when it was counted. Who reads it gets a text
 * without control characters but line ends; -EINVAL with d filled for anything else.
 */
struct report_text {
	int64_t start_ns, end_ns; /* CLOCK_REALTIME */
	uint64_t elapsed_ns;
	char *text; /* owned */
};

int report_text_json(const struct snapshot *snapshot, const char *text, FILE *out);
int report_text_json_read(const char *json, size_t size, struct report_text *ret, struct diag *d);

/* The table of truss -c, column for column, and the trust lines. */
int report_truss(const struct snapshot *snapshot, FILE *out);

/* One JSON object on one line: bpftruss-json(5) is the contract. */
int report_json(const struct snapshot *snapshot, FILE *out);

/*
 * A snapshot from what report_json() wrote, with all that any report shows. Untrusted: -EINVAL with d
 * filled for anything that is no such report. Its stacks are owned by *ret_stacks (NULL: none), which
 * must live as long as the snapshot. Returns 0 or a negative errno.
 */
int report_json_read(const char *text, size_t size, struct snapshot **ret,
		     struct stack_table **ret_stacks, struct diag *d);

/* The first limit lines (0: all) of `bpftruss top` as one JSON object on one line. */
int report_rates_json(const struct rates *rates, size_t limit, FILE *out);

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
