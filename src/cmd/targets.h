/* SPDX-License-Identifier: BSD-2-Clause */
/* Whose calls are counted: -p, -n, -u, -g, -U and -a, as every verb that counts takes them. */
#ifndef BPFTRUSS_TARGETS_H
#define BPFTRUSS_TARGETS_H

#include <stddef.h>
#include <sys/types.h>

#include "base/diag.h"
#include "collect/collector.h"

struct targets {
	pid_t *pids; /* owned */
	size_t nr_pids;
	struct target_selector selectors[MAX_SELECTORS]; /* texts are borrowed */
	size_t nr_selectors;
};

/* A list of pids, such as 17,18. */
int targets_add_pids(struct targets *targets, const char *arg, struct diag *d);

int targets_add_selector(struct targets *targets, enum selector_kind kind, const char *text,
			 struct diag *d);

/* Those of a kind, if any. */
void targets_remove_selectors(struct targets *targets, enum selector_kind kind);

void targets_done(struct targets *targets);

#endif
