/* SPDX-License-Identifier: BSD-2-Clause */
/* How `doctor` shows its findings. */
#ifndef BPFTRUSS_REPORT_DOCTOR_H
#define BPFTRUSS_REPORT_DOCTOR_H

#include <stddef.h>
#include <stdio.h>

enum finding_state {
	FINDING_OK,
	FINDING_NOTE,    /* something is shown as unknown */
	FINDING_PROBLEM, /* nothing works without it */
};

struct finding {
	const char *name;
	enum finding_state state;
	const char *detail;
	const char *remedy; /* "" when there is nothing to do */
};

/* A line a finding, its remedy below it. */
void report_findings(const struct finding *findings, size_t count, FILE *out);

/* The same as one JSON object. Returns 0 or a negative errno. */
int report_findings_json(const struct finding *findings, size_t count, FILE *out);

#endif
