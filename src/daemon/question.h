/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads what clients ask for, as parameters. Each function leaves alone what is absent and returns
 * 0, or -EINVAL or -ENOMEM with d filled. Texts are the request's.
 */
#pragma once

#include "daemon/counts.h"
#include "ipc/server.h"
#include "report/report.h"

struct question {
	const struct ipc_request *request;
	struct diag *d;
};

/* pid, name, unit, cgroup and user, each any number of times. */
struct asked_targets {
	pid_t pids[IPC_MAX_PARAMETERS];
	struct target_selector selectors[IPC_MAX_PARAMETERS];
	struct process_filter filter; /* of these */
};

int question_targets(const struct question *q, struct asked_targets *ret);

/* A list of calls and classes as -t has it; *ret is NULL when absent, else owned by the caller. */
int question_set(const struct question *q, const char *name, struct syscall_set **ret);

/* The options of a report, which point into the rest. */
struct asked_report {
	struct report_options options;
	struct column_list columns;
	struct syscall_set *waiting; /* owned */
};

/* The options of reports by their long names; asked_report_done() is due in all cases. */
int question_report(const struct question *q, struct asked_report *ret);

void asked_report_done(struct asked_report *report);

/* Returns what the keys in by split rows by: path, dir or file, among other keys. */
int question_split(const struct question *q, enum call_split *ret);

/* sum: the fields of kinds that its keys do not need. */
int question_sum(const struct question *q, unsigned int *ret);

/* from, to, step and sum. */
int question_span(const struct question *q, struct history_question *ret);

/* A number; 0 if it is absent. */
int question_number(const struct question *q, const char *name, uint64_t *ret);

/* seconds, up to so many; 0 if it is absent. */
int question_seconds(const struct question *q, uint64_t high, uint64_t *ret);

/* since or mark: none is the start of the daemon. And sum. */
int question_since(const struct question *q, struct counts_question *ret);
