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

void output_done(struct output *output);

/* Returns the width of the terminal; for other streams what COLUMNS says, else 80. */
int output_width(FILE *stream);

#endif
