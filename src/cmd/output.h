/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the reports of one run go, and in which form. */
#ifndef BPFTRUSS_OUTPUT_H
#define BPFTRUSS_OUTPUT_H

#include <stdio.h>

#include "cmd/options.h"

struct output {
	FILE *stream; /* owned unless stdout or stderr */
	bool begun;   /* a report has been written */
};

/*
 * Opened before anything is attached, since a report that cannot be written is not worth a run;
 * emptied only when there is a report, so that a run that fails leaves the old one.
 */
int output_open(struct output *output, const struct options *o, struct diag *d);

/* Writes one report of the calls that were asked for. */
int output_report(struct output *output, const struct options *o, const struct snapshot *snapshot,
		  struct diag *d);

/* The same of a report that somebody else wrote: nothing goes into other files. */
int output_text(struct output *output, const struct options *o, const char *text, size_t size,
		struct diag *d);

/* Whether a chart, or files of stacks, are asked for besides the report. */
bool output_has_side_files(const struct options *o);

void output_done(struct output *output);

/* Returns the width of the terminal; for other streams what COLUMNS says, else 80. */
int output_width(FILE *stream);

#endif
