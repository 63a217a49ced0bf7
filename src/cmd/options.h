/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of the truss face, read from the command line once and passed down as const. */
#ifndef BPFTRUSS_OPTIONS_H
#define BPFTRUSS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "cmd/targets.h"
#include "collect/collector.h"
#include "report/report.h"
#include "syscalls/syscall_set.h"

/* Files that are written besides the report. */
enum stack_file {
	STACK_FILE_FOLDED,
	STACK_FILE_PPROF,
	STACK_FILE_FLAME,
	NR_STACK_FILE,
};

struct options {
	bool help, version;
	bool count;
	bool follow;
	enum report_format format;
	struct table_options table; /* borrows columns and waiting from below */
	struct column_list columns;
	struct syscall_set *waiting;            /* owned */
	const char *chart;                      /* path of an SVG, or NULL */
	bool show_stacks;                       /* below the table */
	struct stack_options stacks;            /* with collector.stacks */
	const char *stack_files[NR_STACK_FILE]; /* paths, or NULL */
	const char *output;                     /* path, NULL: stdout or stderr */
	uint64_t duration_ns;                   /* 0: until a signal or the end of the targets */
	uint64_t interval_ns;                   /* 0: one report at the end */
	uint64_t count_limit;                   /* intervals; 0: no limit */
	struct targets targets;                 /* collector.selectors points into it */
	bool wait;                              /* for processes that do not exist yet */
	struct syscall_set *only;               /* owned; NULL: all */
	struct collector_options collector;
	char **command; /* borrowed from argv; NULL when attaching */
};

/* Returns 0, or fills d and returns a negative errno; options_done() is due in both cases. */
int options_parse(int argc, char **argv, struct options *ret, struct diag *d);

/* Whether any option is there that only tables obey. */
bool options_shape_table(const struct options *options);

/* Returns 0, or fills d with why these options make no sense together. */
int options_check(const struct options *options, struct diag *d);

/* What options of reports ask of each other, and whether that makes sense: for every verb. */
void options_derive_report(struct options *options);
int options_check_report(const struct options *options, struct diag *d);

/* Whether any report or file is asked for that shows call stacks. */
bool options_want_stacks(const struct options *options);

void options_done(struct options *options);

/* The text of --help. */
void options_print_help(void);

#endif
