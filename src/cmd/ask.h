/* SPDX-License-Identifier: BSD-2-Clause */
/* What the verbs that ask a daemon have in common: which one, and questions about processes. */
#ifndef BPFTRUSS_ASK_H
#define BPFTRUSS_ASK_H

#include "base/diag.h"
#include "cmd/options.h"
#include "cmd/options_parts.h"
#include "ipc/client.h"
#include "model/snapshot.h"

/* The options of such a verb: a struct that begins with this one. */
struct ask_options {
	struct options report; /* first, as all shared parts want it */
	const char *socket;    /* NULL: the default */
	const char *state_dir; /* the same */
	const char *since;
	const char *from, *to, *step; /* as the user wrote them */
	bool replace;
	double fail_over; /* 0.2: 20%; 0: nothing fails */
};

/* --socket, --state-dir, --help. */
extern const struct option_part ask_part;

/* --from, --to. */
extern const struct option_part span_part;

/* A verb that asks. */
struct ask_verb {
	const struct option_table *options;
	void (*print_help)(void);
	/*
	 * Gets the words that are no options. Returns 0, an exit status above 0, or -errno with d
	 * filled.
	 */
	int (*run)(const struct ask_options *options, int nr_words, char **words, struct diag *d);
};

/* The main function of such a verb: its exit status. */
int ask_main(const struct ask_verb *verb, int argc, char **argv);

/* For verbs without words: a usage error that names the verb, unless there are none. */
int ask_refuse_words(const char *verb, int nr_words, char **words, struct diag *d);

const char *ask_socket(const struct ask_options *options);

/* Adds the targets as parameters. */
void ask_add_targets(struct ipc_url *url, const struct ask_options *options);

/* A parameter that is a time of day in ns. */
void ask_add_number(struct ipc_url *url, const char *name, int64_t value);

/* Adds what --from and --to say; those that are absent stay so. A usage error if they make none. */
int ask_add_span(struct ipc_url *url, const struct ask_options *options, struct diag *d);

/* One question. Returns 0 or -errno with d filled. */
int ask(const struct ask_options *options, enum ipc_method method, struct ipc_url *url,
	struct ipc_reply *ret, struct diag *d);

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
