/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parameters of a request ask for. All return 0, or -EINVAL with d filled. */
#ifndef BPFTRUSS_QUESTION_H
#define BPFTRUSS_QUESTION_H

#include <stdint.h>

#include "base/diag.h"
#include "ipc/server.h"
#include "model/filter.h"
#include "report/report.h"
#include "store/history.h"
#include "syscalls/syscall_set.h"

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

/* The calls that a question is about; *ret is NULL, which is all, or owned by the caller. */
int question_calls(const struct ipc_request *request, struct syscall_set **ret, struct diag *d);

/* What a report is to be like; options point into the rest. */
struct asked_report {
	struct report_options options;
	struct column_list columns;
	struct syscall_set *waiting; /* owned */
};

void asked_report_done(struct asked_report *asked);

/*
 * The options of reports by their long names, without --format=json; width is that of the screen.
 * asked_report_done() is due in all cases.
 */
int question_report(const struct ipc_request *request, struct asked_report *ret, struct diag *d);

/* A number up to high. */
int question_number(const char *name, const char *text, uint64_t high, uint64_t *ret,
		    struct diag *d);

#endif
