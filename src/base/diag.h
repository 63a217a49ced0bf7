/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Errors that a user must act on: what went wrong and the remedy, in one sentence.
 * Functions below the command layer fill a diag and return a negative errno; only the command
 * layer prints it and turns its kind into an exit status.
 */
#pragma once

#include <stdarg.h>

#include "base/mem.h"

/* The values are the documented exit statuses. */
enum diag_kind {
	DIAG_FAILED = 1,      /* it could have worked: no such process, disk full */
	DIAG_USAGE = 2,       /* the command line is wrong */
	DIAG_UNSUPPORTED = 4, /* this kernel, or these privileges, cannot do it */
};

struct diag {
	enum diag_kind kind;
	char text[512];
};

/*
 * Fills d (which may be NULL) with a sentence without a final newline.
 * Returns -err, so that callers can write: return diag_set(d, DIAG_USAGE, EINVAL, "…").
 */
__attribute__((format(printf, 4, 5))) int diag_set(struct diag *d, enum diag_kind kind, int err,
						   const char *format, ...);

/* diag_set() for running out of memory; returns -ENOMEM. */
int diag_oom(struct diag *d);

enum finding_state {
	FINDING_OK,
	FINDING_NOTE,    /* optional: something is shown as unknown */
	FINDING_PROBLEM, /* required: nothing works without it */
};

/* Something that was found out about a host. */
struct finding {
	const char *name;
	enum finding_state state;
	char detail[160];
	char remedy[240]; /* "" when there is nothing to do */
};
