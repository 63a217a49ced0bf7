/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Serves the verbs that report: where a report goes and in which form.
 */
#pragma once

#include "cmd/options.h"

/* Prints on stderr, as -c tells what it counts: reports do not say when. */
void span_tell(const char *what, int64_t start_ns, int64_t end_ns, uint64_t elapsed_ns,
	       const char *remark);

/* --- writing ----------------------------------------------------------------------------------- */

struct output {
	FILE *stream;   /* owned unless stdout or stderr */
	bool emptied;   /* what the file had before is gone */
	bool begun;     /* a report has been written */
	bool is_series; /* reports of several spans: tables say of which */
};

/*
 * Opened before anything is attached, since a report that cannot be written is not worth a run;
 * emptied only when there is a report, so that a run that fails leaves the old one.
 */
int output_open(struct output *output, const struct options *o, struct diag *d);

/* Before the first text: a file that had an older report is emptied. Returns 0 or -errno. */
int output_begin(struct output *output, const struct options *o);

/* The error of writing the report itself. */
int output_failed(const struct options *o, int err, struct diag *d);

/* Writes something in the form that it is given. Returns 0 or a negative errno. */
typedef int report_writer(const void *what, const struct report_options *how, FILE *out);

/* Writes a report where and how the user wants it. Returns 0, or -errno with d filled. */
int output_form(struct output *output, const struct options *o, report_writer *write,
		const void *what, struct diag *d);

/* Writes the file of --html, if it is asked for. Returns the same. */
int output_page(const struct options *o, report_writer *write, const void *what, struct diag *d);

/* Writes one report of the calls that were asked for. */
int output_report(struct output *output, const struct options *o, const struct snapshot *snapshot,
		  struct diag *d);

/* The same of a report that somebody else wrote: nothing goes into other files. */
int output_text(struct output *output, const struct options *o, const char *text, size_t size,
		struct diag *d);

/* Writes a picture into the file that an option names; draw() writes it, and returns 0 or -errno. */
int output_picture(const struct options *o, enum side_file which,
		   int (*draw)(const void *closure, FILE *out), const void *closure,
		   struct diag *d);

/* Whether a chart, or files of stacks, are asked for besides the report. */
bool output_has_side_files(const struct options *o);

void output_done(struct output *output);

/* Returns what --width says, or the width of the terminal; for other streams COLUMNS, else 0: no limit. */
#define MAX_WIDTH 10000
int output_width(const struct options *o, FILE *stream);

/* Whether it is a terminal, unless the user has set NO_COLOR. */
bool output_has_color(FILE *stream);
