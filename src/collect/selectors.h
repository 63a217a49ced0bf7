/* SPDX-License-Identifier: BSD-2-Clause */
/* From what the user wrote after -n, -u, -g, -U to what the BPF side compares. */
#ifndef BPFTRUSS_SELECTORS_H
#define BPFTRUSS_SELECTORS_H

#include "base/diag.h"
#include "bpftruss/abi.h"
#include "model/filter.h"

/*
 * Looks up a unit, cgroup or user, or compiles a name pattern. Returns 0, or fills d: bad patterns
 * are usage errors, what does not exist on this host is a failure; with wait, a unit may come later.
 */
int selector_resolve(const struct target_selector *chosen, bool wait, struct selector *ret,
		     struct diag *d);

#endif
