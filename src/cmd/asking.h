/* SPDX-License-Identifier: BSD-2-Clause */
/* Serves the verbs that report what somebody else has counted: a daemon, or who saved a file. */
#pragma once

#include "cmd/options.h"
#include "ipc/client.h"
#include "model/kind_list.h"

/* Adds the targets as parameters. */
void ask_add_targets(struct ipc_url *url, const struct options *options);

/*
 * Adds which calls are asked for and, if it is one, what a table of them is to be like: as the user
 * gave the options.
 */
/* Returns what to split rows by, if the daemon keeps that. */
void ask_add_split(struct ipc_url *url, const struct options *options);
void ask_add_report(struct ipc_url *url, const struct options *options, bool is_table, int width);

/* A parameter that is a time of day in ns. */
void ask_add_number(struct ipc_url *url, const char *name, int64_t value);

/*
 * Reads --from and --to as of a moment; what is absent stays as it was, and 0 is no begin. A usage
 * error if the end is not behind the begin.
 */
int ask_read_span(const struct options *options, int64_t now_ns, int64_t *from_ns, int64_t *to_ns,
		  struct diag *d);

/*
 * Asks the history to fold fields of kinds, a mask of enum kind_field: it adds up kinds that differ in
 * nothing else.
 */
void ask_add_sum(struct ipc_url *url, unsigned int folded);

/* Returns the fields of kinds that a table of the report does not show. */
unsigned int ask_folded(const struct report_options *report);

/* Adds a span but for what is 0; an end that is missing or to come is when the daemon answers. */
void ask_add_span(struct ipc_url *url, int64_t from_ns, int64_t to_ns, int64_t now_ns);

/*
 * Asks one question; a daemon that knows no sums is asked again without, and the URL has none then.
 * Returns 0 or -errno with d filled.
 */
int ask(const struct options *options, const char *method, struct ipc_url *url,
	struct ipc_reply *ret, struct diag *d);

/* Asks for what is at a path and prints it: with --json as it came, else as a function writes it. */
int ask_and_print(const struct options *options, const char *path,
		  int (*write_text)(const char *body, size_t size, FILE *out, struct diag *d),
		  struct diag *d);

/* A snapshot with its stacks. */
struct asked_snapshot {
	struct snapshot *snapshot;
	struct stack_table *stacks;
};

void asked_snapshot_done(struct asked_snapshot *asked);

/* Loads a file that somebody saved; - is stdin. */
int asked_snapshot_load(const char *path, struct asked_snapshot *ret, struct diag *d);

/* The part of a snapshot that is of the targets; all of it without any. Returns 0 or -ENOMEM. */
int targets_filter(const struct targets *targets, const struct snapshot *snapshot,
		   struct snapshot **ret);

/* Refuses keys that a sum of several hosts does not have. */
int keys_fit_sum(unsigned int keys, const struct snapshot *snapshot, struct diag *d);

/* Refuses what a snapshot that somebody else made does not have. */
int options_fit_snapshot(const struct options *o, const struct snapshot *snapshot, struct diag *d);
