/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns what the options may not be together. Refuses, in one sentence each, and changes nothing. */
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "cmd/options.h"

bool options_shape_table(const struct options *o)
{
	return o->table.columns || o->table.sort || o->table.top || o->table.min_calls ||
	       o->table.errors_only || o->table.waiting;
}

bool options_want_stacks(const struct options *o)
{
	for (int i = 0; i < NR_STACK_FILE; i++) {
		if (o->stack_files[i])
			return true;
	}
	return o->show_stacks;
}

/* A format, and what it cannot obey. */
struct format_limit {
	enum report_format format;
	bool (*disobeys)(const struct options *o);
	const char *sentence;
};

static bool json_disobeys(const struct options *o)
{
	return options_shape_table(o) ||
	       o->table.keys & ~(unsigned int)(GROUP_TID | GROUP_PID | GROUP_ARG0 | GROUP_SYSCALL);
}

static bool strace_disobeys(const struct options *o)
{
	return options_shape_table(o) || o->table.keys;
}

static bool errors_disobeys(const struct options *o)
{
	return o->table.sort || o->table.columns || o->table.waiting;
}

static bool csv_disobeys(const struct options *o)
{
	return o->table.waiting && !o->chart;
}

static const struct format_limit format_limits[] = {
	{ FORMAT_JSON, json_disobeys,
	  "--json has all rows, by process and call: of --by it takes tid and arg0; --sort, --top, "
	  "--columns, --min-calls, --errors-only and --waiting are for tables" },
	{ FORMAT_STRACE, strace_disobeys,
	  "--format=strace has the rows and columns of strace -c: --by, --sort, --top, --columns, "
	  "--min-calls, --errors-only and --waiting are for the other tables" },
	{ FORMAT_ERRORS, errors_disobeys,
	  "--errors has columns and an order of its own: --sort, --columns and --waiting are for "
	  "the wide table" },
	{ FORMAT_CSV, csv_disobeys,
	  "--csv has all calls in one table: --waiting is for the wide table and --chart" },
};

/* A column by which rows are not told apart is empty in all of them. */
static const struct column *column_unknown(const struct table_options *t)
{
	unsigned int keys = t->keys ?: (unsigned int)GROUP_SYSCALL;

	if (t->sort && !column_is_known(t->sort, keys))
		return t->sort;
	for (size_t i = 0; t->columns && i < t->columns->count; i++) {
		if (!column_is_known(t->columns->columns[i], keys))
			return t->columns->columns[i];
	}
	return NULL;
}

/* The first two side files at one path, NULL if there are none. */
static const char *path_given_twice(const struct options *o)
{
	const char *paths[2 + NR_STACK_FILE] = { o->output, o->chart };

	for (int i = 0; i < NR_STACK_FILE; i++)
		paths[2 + i] = o->stack_files[i];
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		for (size_t j = 0; j < i; j++) {
			if (paths[i] && paths[j] && !strcmp(paths[i], paths[j]) &&
			    strncmp(paths[i], "/dev/", 5))
				return paths[i];
		}
	}
	return NULL;
}

/* Options that would change nothing are refused: whoever gives one expects something of it. */
int options_check_report(const struct options *o, struct diag *d)
{
	const struct column *unknown = column_unknown(&o->table);

	for (size_t i = 0; i < ARRAY_SIZE(format_limits); i++) {
		if (o->format == format_limits[i].format && format_limits[i].disobeys(o))
			return diag_set(d, DIAG_USAGE, EINVAL, "%s", format_limits[i].sentence);
	}
	if (o->show_stacks && (o->format == FORMAT_CSV || o->format == FORMAT_STRACE))
		return diag_set(d, DIAG_USAGE, EINVAL,
				"--stacks goes with tables and --json; --folded and --pprof write "
				"files for other programs");
	/* Whoever writes "--stacks time" would run the program time. */
	if (o->show_stacks && o->command &&
	    (!strcmp(o->command[0], "time") || !strcmp(o->command[0], "calls")))
		return diag_set(d, DIAG_USAGE, EINVAL,
				"--stacks=%s is written with an equals sign (a program of that "
				"name: by its path)",
				o->command[0]);
	if (o->collector.kernel_stacks && !o->collector.stacks)
		return diag_set(
			d, DIAG_USAGE, EINVAL,
			"--kernel-stacks adds to stacks: give --stacks, --folded, --pprof or "
			"--flame too");
	if (o->table.hist && o->format != FORMAT_WIDE)
		return diag_set(d, DIAG_USAGE, EINVAL,
				"--hist draws into the wide table; --json has the histograms as "
				"numbers");
	if (path_given_twice(o))
		return diag_set(d, DIAG_USAGE, EINVAL, "%s: one file cannot hold two reports",
				path_given_twice(o));
	if (unknown)
		return diag_set(d, DIAG_USAGE, EINVAL,
				"--sort, --columns: a row has no single %s; give --by %s too",
				unknown->name, unknown->name);
	return 0;
}

/* What debug files are for, and where they are to come from. */
static int options_check_debug(const struct options *o, struct diag *d)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	if ((o->collector.inlines || o->collector.debuginfod) && !o->collector.stacks)
		return diag_set(d, DIAG_USAGE, EINVAL,
				"--%s is for call stacks: give --stacks, --folded, --pprof or "
				"--flame too",
				o->collector.inlines ? "inline" : "debuginfod");
	if (o->collector.debuginfod && (!urls || !*urls))
		return diag_set(
			d, DIAG_USAGE, EINVAL,
			"--debuginfod asks the servers that DEBUGINFOD_URLS names: set it, and "
			"see that it passes sudo");
	return 0;
}

int options_check(const struct options *o, struct diag *d)
{
	bool attaches = o->targets.nr_pids || o->collector.nr_selectors;
	int err;

	if (o->help || o->version)
		return 0;
	if (!o->count)
		return diag_set(
			d, DIAG_USAGE, EINVAL,
			"nothing to do: -c counts system calls; 'bpftruss --help' tells more");
	err = options_check_report(o, d);
	if (!err)
		err = options_check_debug(o, d);
	if (err)
		return err;
	if (o->count_limit && !o->interval_ns)
		return diag_set(d, DIAG_USAGE, EINVAL, "-N counts intervals: give -i SECONDS too");
	if (o->wait && !o->collector.nr_selectors)
		return diag_set(d, DIAG_USAGE, EINVAL,
				"--wait is for processes chosen by -n, -u, -g, -U or -a");
	if (o->follow && o->collector.nr_selectors && !o->targets.nr_pids)
		return diag_set(
			d, DIAG_USAGE, EINVAL,
			"-f goes with -p or a command: the other targets choose each process "
			"by itself");
	if (attaches && o->command)
		return diag_set(
			d, DIAG_USAGE, EINVAL,
			"give either processes (-p, -n, -u, -g, -U, -a) or a command, not both "
			"(command: \"%s\")",
			o->command[0]);
	if (!attaches && !o->command)
		return diag_set(
			d, DIAG_USAGE, EINVAL,
			"whose calls? give -p PID for a running process, or a command to run");
	return 0;
}
