/* SPDX-License-Identifier: BSD-2-Clause */
/* What the verbs that ask a daemon have in common: which one, and questions about processes. */
#ifndef BPFTRUSS_ASK_H
#define BPFTRUSS_ASK_H

#include <stdio.h>

#include "cmd/options.h"
#include "ipc/client.h"
#include "model/snapshot.h"

/* Adds the targets as parameters. */
void ask_add_targets(struct ipc_url *url, const struct options *options);

/* A parameter that is a time of day in ns. */
void ask_add_number(struct ipc_url *url, const char *name, int64_t value);

/*
 * Reads --from and --to as of a moment; what is absent stays as it was, and 0 is no begin. A usage
 * error if the end is not behind the begin.
 */
int ask_read_span(const struct options *options, int64_t now_ns, int64_t *from_ns, int64_t *to_ns,
		  struct diag *d);

/* Adds a span but for what is 0; an end that is missing or to come is when the daemon answers. */
void ask_add_span(struct ipc_url *url, int64_t from_ns, int64_t to_ns, int64_t now_ns);

/* One question. Returns 0 or -errno with d filled. */
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

int asked_snapshot_parse(const char *text, size_t size, struct asked_snapshot *ret, struct diag *d);

/* From a file that somebody saved. */
int asked_snapshot_load(const char *path, struct asked_snapshot *ret, struct diag *d);

#endif
