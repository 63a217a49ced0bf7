/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parameters of a request ask for. All return 0, or -EINVAL with d filled. */
#ifndef BPFTRUSS_QUESTION_H
#define BPFTRUSS_QUESTION_H

#include <stdint.h>

#include "base/diag.h"
#include "ipc/server.h"
#include "model/filter.h"
#include "store/history.h"

#define QUESTION_MAX_PIDS 64

/* The targets of a question; texts belong to the request. The filter points into the rest. */
struct asked_targets {
	pid_t pids[QUESTION_MAX_PIDS];
	struct target_selector selectors[MAX_SELECTORS];
	struct process_filter filter;
};

/* pid, name, unit, cgroup and user, each any number of times. */
int question_targets(const struct ipc_request *request, struct asked_targets *ret, struct diag *d);

/* from, to and step, in ns; those that are absent become 0. sum=call is by_call. */
int question_span(const struct ipc_request *request, struct history_question *ret, struct diag *d);

/* A number up to high. */
int question_number(const char *name, const char *text, uint64_t high, uint64_t *ret,
		    struct diag *d);

#endif
