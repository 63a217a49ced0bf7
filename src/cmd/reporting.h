/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Serves the verbs that report: where a report goes and in which form, and how a daemon is asked
 * for one.
 */
#pragma once

#include "cmd/options.h"
#include "ipc/client.h"

/* --- asking ------------------------------------------------------------------------------------ */

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

/* Adds a span but for what is 0; an end that is missing or to come is when the daemon answers. */
void ask_add_span(struct ipc_url *url, int64_t from_ns, int64_t to_ns, int64_t now_ns);

/* Asks one question. Returns 0 or -errno with d filled. */
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

/* Prints on stderr, as -c tells what it counts: reports do not say when. */
void span_tell(const char *what, int64_t start_ns, int64_t end_ns, uint64_t elapsed_ns,
	       const char *remark);

/* --- writing ----------------------------------------------------------------------------------- */

struct output {
	FILE *stream;   /* owned unless stdout or stderr */
	bool emptied;   /* what the file had before is gone */
	bool begun;     /* a report has been written */
	bool is_series; /* reports of several spans: tables say of which */
};

/*
 * Opened before anything is attached, since a report that cannot be written is not worth a run;
 * emptied only when there is a report, so that a run that fails leaves the old one.
 */
int output_open(struct output *output, const struct options *o, struct diag *d);

/* Before the first text: a file that had an older report is emptied. Returns 0 or -errno. */
int output_begin(struct output *output, const struct options *o);

/* The error of writing the report itself. */
int output_failed(const struct options *o, int err, struct diag *d);

/* Writes one report of the calls that were asked for. */
int output_report(struct output *output, const struct options *o, const struct snapshot *snapshot,
		  struct diag *d);

/* The same of a report that somebody else wrote: nothing goes into other files. */
int output_text(struct output *output, const struct options *o, const char *text, size_t size,
		struct diag *d);

/* Whether a chart, or files of stacks, are asked for besides the report. */
bool output_has_side_files(const struct options *o);

void output_done(struct output *output);

/* Returns what --width says, or the width of the terminal; for other streams COLUMNS, else 0: no limit. */
#define MAX_WIDTH 10000
int output_width(const struct options *o, FILE *stream);

/* Whether it is a terminal, unless the user has set NO_COLOR. */
bool output_has_color(FILE *stream);
