/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of the truss face, read from the command line once and passed down as const. */
#ifndef BPFTRUSS_OPTIONS_H
#define BPFTRUSS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/diag.h"
#include "collect/collector.h"
#include "syscalls/syscall_set.h"

struct options {
	bool help, version;
	bool count;
	bool follow;
	bool json;
	const char *output;   /* path, NULL: stdout or stderr */
	uint64_t duration_ns; /* 0: until a signal or the end of the targets */
	pid_t *pids;          /* owned */
	size_t nr_pids;
	struct syscall_set *only; /* owned; NULL: all */
	struct collector_options collector;
	char **command; /* borrowed from argv; NULL when attaching */
};

/* Returns 0, or fills d and returns a negative errno; options_done() is due in both cases. */
int options_parse(int argc, char **argv, struct options *ret, struct diag *d);

void options_done(struct options *options);

/* The text of --help. */
void options_print_help(void);

#endif
