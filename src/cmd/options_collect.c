/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the options of the kernel's tables and of what is known of stacks. */
#include "cmd/options.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "cmd/arguments.h"
#include "cmd/options_parts.h"

static int set_kernel_stacks(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	(void)d;
	o->collector.kernel_stacks = !arg;
	return 0;
}

static int set_inline(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	(void)d;
	o->collector.inlines = !arg;
	return 0;
}

static int set_debuginfod(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	(void)d;
	o->collector.debuginfod = !arg;
	return 0;
}

static int set_keep_exited(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	return parse_limit("--keep-exited", arg, 1000000, &o->collector.keep_exited, d);
}

/* Upper limits: 2 GiB a table, so that a typing error cannot take the host's memory. */
static int set_max_tasks(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	return parse_limit("--max-tasks", arg, 1000000, &o->collector.max_tasks, d);
}

static int set_max_rows(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	return parse_limit("--max-rows", arg, 3000000, &o->collector.max_rows, d);
}

static int set_max_errnos(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	return parse_limit("--max-errnos", arg, 30000000, &o->collector.max_errnos, d);
}

static int set_max_stacks(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	return parse_limit("--max-stacks", arg, 10000000, &o->collector.max_stacks, d);
}

static const struct option_def defs[] = {
	{ "kernel-stacks", NULL, "and where in the kernel calls slept", set_kernel_stacks, 0 },
	{ "inline", NULL, "stacks with the functions that were inlined, by DWARF", set_inline, 0 },
	{ "debuginfod", NULL, "fetch missing debug files from DEBUGINFOD_URLS", set_debuginfod, 0 },
	{ "keep-exited", "N", "ended processes with rows of their own (default 1000)",
	  set_keep_exited, 0 },
	{ "max-tasks", "N", "threads counted at the same time (default: as memory allows)",
	  set_max_tasks, 0 },
	{ "max-rows", "N", "pairs of thread and system call (default: as memory allows)",
	  set_max_rows, 0 },
	{ "max-errnos", "N", "kinds of error of such a pair (default: as memory allows)",
	  set_max_errnos, 0 },
	{ "max-stacks", "N", "stacks of such a pair (default 65536)", set_max_stacks, 0 },
};

const struct option_part collect_options = { defs, ARRAY_SIZE(defs) };
