/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the options of the truss face: each has one short function that reads its argument. */
#include "cmd/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cmd/arguments.h"
#include "cmd/option_table.h"

static int parse_list(const char *option, const char *arg, struct syscall_set **ret, struct diag *d)
{
	struct diag why;
	int err = syscall_set_parse(arg, ret, &why);

	return err ? diag_set(d, why.kind, -err, "%s: %.400s", option, why.text) : 0;
}

static int set_count(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	(void)arg, (void)d;
	o->count = true;
	return 0;
}

static int set_follow(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	(void)arg, (void)d;
	o->follow = true;
	return 0;
}

static int set_json(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	(void)arg, (void)d;
	o->format = FORMAT_JSON;
	return 0;
}

static int set_wide(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	(void)arg, (void)d;
	o->format = FORMAT_WIDE;
	return 0;
}

static int set_csv(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	(void)arg, (void)d;
	o->format = FORMAT_CSV;
	return 0;
}

static int set_errors(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	(void)arg, (void)d;
	o->format = FORMAT_ERRORS;
	return 0;
}

static int set_hist(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	(void)d;
	o->table.hist = true;
	return set_wide(o, arg, d);
}

static int set_errors_only(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	(void)arg, (void)d;
	o->table.errors_only = true;
	return 0;
}

static int set_format(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;
	static const char *const names[NR_REPORT_FORMAT] = {
		[FORMAT_TRUSS] = "truss", [FORMAT_WIDE] = "wide",     [FORMAT_JSON] = "json",
		[FORMAT_CSV] = "csv",     [FORMAT_STRACE] = "strace", [FORMAT_ERRORS] = "errors",
	};

	for (int i = 0; i < NR_REPORT_FORMAT; i++) {
		if (!strcmp(arg, names[i])) {
			o->format = (enum report_format)i;
			return 0;
		}
	}
	return diag_set(
		d, DIAG_USAGE, EINVAL,
		"--format: no format \"%s\"; there are truss, wide, json, csv, strace, errors",
		arg);
}

static int set_by(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	return group_keys_parse(arg, &o->table.keys, d);
}

static int set_sort(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	return column_find("--sort", arg, &o->table.sort, d);
}

static int set_columns(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	o->table.columns = &o->columns;
	return columns_parse(arg, &o->columns, d);
}

static int set_waiting(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	syscall_set_free(o->waiting);
	o->waiting = NULL;
	o->table.waiting = NULL;
	if (parse_list("--waiting", arg, &o->waiting, d))
		return -EINVAL;
	o->table.waiting = o->waiting;
	return 0;
}

static int set_chart(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	if (!*arg)
		return diag_set(d, DIAG_USAGE, EINVAL, "--chart: give the name of a file");
	o->chart = arg;
	return 0;
}

static int set_stacks(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	o->collector.stacks = o->show_stacks = true;
	o->stacks.weight = arg && !strcmp(arg, "time") ? STACK_WEIGHT_TIME : STACK_WEIGHT_CALLS;
	if (!arg || !strcmp(arg, "calls") || !strcmp(arg, "time"))
		return 0;
	return diag_set(d, DIAG_USAGE, EINVAL,
			"--stacks: by calls or by time (--stacks=time), not by \"%.64s\"", arg);
}

static int set_kernel_stacks(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	(void)arg, (void)d;
	o->collector.kernel_stacks = true;
	return 0;
}

static int set_stack_file(struct options *o, enum stack_file which, const char *option,
			  const char *arg, struct diag *d)
{
	if (!*arg)
		return diag_set(d, DIAG_USAGE, EINVAL, "%s: give the name of a file", option);
	o->collector.stacks = true;
	o->stack_files[which] = arg;
	return 0;
}

static int set_folded(void *options, const char *arg, struct diag *d)
{
	return set_stack_file(options, STACK_FILE_FOLDED, "--folded", arg, d);
}

static int set_pprof(void *options, const char *arg, struct diag *d)
{
	return set_stack_file(options, STACK_FILE_PPROF, "--pprof", arg, d);
}

static int set_flame(void *options, const char *arg, struct diag *d)
{
	return set_stack_file(options, STACK_FILE_FLAME, "--flame", arg, d);
}

static int set_slower_than(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	return parse_time("--slower-than", arg, &o->collector.slower_than_ns, d);
}

static int set_max_stacks(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	return parse_limit("--max-stacks", arg, 10000000, &o->collector.max_stacks, d);
}

static int set_inline(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	(void)arg, (void)d;
	o->collector.inlines = true;
	return 0;
}

static int set_debuginfod(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	(void)arg, (void)d;
	o->collector.debuginfod = true;
	return 0;
}

static int set_verbose(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	(void)arg, (void)d;
	o->collector.verbose = true;
	return 0;
}

static int set_help(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	(void)arg, (void)d;
	o->help = true;
	return 0;
}

static int set_version(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	(void)arg, (void)d;
	o->version = true;
	return 0;
}

static int set_output(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	if (!*arg)
		return diag_set(d, DIAG_USAGE, EINVAL, "-o: give the name of a file");
	o->output = arg;
	return 0;
}

static int set_only(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	syscall_set_free(o->only);
	o->only = NULL;
	return parse_list("-t", arg, &o->only, d);
}

static int set_duration(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	return parse_seconds("-d", arg, &o->duration_ns, d);
}

static int set_interval(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	return parse_seconds("-i", arg, &o->interval_ns, d);
}

static int set_count_limit(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;
	uint32_t count = 0;
	int err = parse_limit("-N", arg, 1000000000, &count, d);

	o->count_limit = count;
	return err;
}

static int add_pids(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	return targets_add_pids(&o->targets, arg, d);
}

static int add_selector(struct options *o, enum selector_kind kind, const char *text,
			struct diag *d)
{
	int err = targets_add_selector(&o->targets, kind, text, d);

	o->collector.selectors = o->targets.selectors;
	o->collector.nr_selectors = o->targets.nr_selectors;
	return err;
}

static int add_name(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	return add_selector(o, SELECT_COMM, arg, d);
}

static int add_unit(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	return add_selector(o, SELECT_UNIT, arg, d);
}

static int add_cgroup(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	return add_selector(o, SELECT_CGROUP, arg, d);
}

static int add_user(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	return add_selector(o, SELECT_USER, arg, d);
}

static int add_all(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	return add_selector(o, SELECT_ALL, arg, d);
}

static int set_wait(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	(void)arg, (void)d;
	o->wait = true;
	return 0;
}

/* Upper limits: 2 GiB a table, so that a typing error cannot take the host's memory. */
static int set_max_tasks(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	return parse_limit("--max-tasks", arg, 1000000, &o->collector.max_tasks, d);
}

static int set_top(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;
	uint32_t count = 0;
	int err = parse_limit("--top", arg, 1000000, &count, d);

	o->table.top = count;
	return err;
}

static int set_min_calls(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;
	uint32_t count = 0;
	int err = parse_limit("--min-calls", arg, UINT32_MAX, &count, d);

	o->table.min_calls = count;
	return err;
}

static int set_keep_exited(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	return parse_limit("--keep-exited", arg, 1000000, &o->collector.keep_exited, d);
}

static int set_max_rows(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	return parse_limit("--max-rows", arg, 3000000, &o->collector.max_rows, d);
}

static int set_max_errnos(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	return parse_limit("--max-errnos", arg, 100000000, &o->collector.max_errnos, d);
}

static const struct option_def option_defs[] = {
	{ "count", NULL, "count system calls; print one table at the end", set_count, 'c' },
	{ "pid", "PID[,PID...]", "attach to running processes (may be repeated)", add_pids, 'p' },
	{ "name", "COMM", "count processes of this name, or glob, now and later", add_name, 'n' },
	{ "unit", "UNIT", "count the processes of a systemd unit", add_unit, 'u' },
	{ "cgroup", "PATH", "count the processes in a cgroup and below it", add_cgroup, 'g' },
	{ "user", "USER", "count the processes of a user", add_user, 'U' },
	{ "all", NULL, "count all processes", add_all, 'a' },
	{ "wait", NULL, "with -n, -u, -U: wait for processes to come", set_wait, 0 },
	{ "follow", NULL, "count child processes too, from their first call", set_follow, 'f' },
	{ "trace", "[!]LIST", "report only (or, with !, all but) these calls and %classes",
	  set_only, 't' },
	{ "output", "FILE", "write the report to FILE", set_output, 'o' },
	{ "duration", "SECONDS", "stop after this time", set_duration, 'd' },
	{ "interval", "SECONDS", "report each interval by itself", set_interval, 'i' },
	{ "number", "COUNT", "with -i: stop after this many", set_count_limit, 'N' },
	{ "wide", NULL, "a wide table: times, tails, waiting calls apart", set_wide, 'w' },
	{ "hist", NULL, "the wide table, with a histogram of each row", set_hist, 0 },
	{ "errors", NULL, "a table of errors: which, how many, what share", set_errors, 0 },
	{ "csv", NULL, "comma-separated values", set_csv, 0 },
	{ "json", NULL, "one JSON object instead of the table", set_json, 0 },
	{ "format", "NAME", "truss, wide, json, csv, strace or errors", set_format, 0 },
	{ "chart", "FILE", "also draw counts and times of the calls, as SVG", set_chart, 0 },
	{ "by", "KEYS", "rows by pid,tid,comm,unit,user,syscall,abi,arg0", set_by, 0 },
	{ "sort", "COLUMN", "sort rows by this column", set_sort, 0 },
	{ "top", "N", "only the first N rows; the others are added up", set_top, 0 },
	{ "columns", "LIST", "columns of the wide table", set_columns, 0 },
	{ "min-calls", "N", "only rows of at least N calls", set_min_calls, 0 },
	{ "errors-only", NULL, "only rows with errors", set_errors_only, 0 },
	{ "waiting", "[!]LIST", "calls that wait for work, in the wide table", set_waiting, 0 },
	{ "stacks", "[=calls|time]", "also the user stacks that make the calls", set_stacks, 0 },
	{ "kernel-stacks", NULL, "and where in the kernel calls slept", set_kernel_stacks, 0 },
	{ "slower-than", "TIME", "only calls that take at least so long, such as 10ms",
	  set_slower_than, 0 },
	{ "folded", "FILE", "also stacks in lines, for flame graph tools", set_folded, 0 },
	{ "pprof", "FILE", "also a profile for pprof", set_pprof, 0 },
	{ "flame", "FILE", "also a flame graph, as SVG", set_flame, 0 },
	{ "inline", NULL, "stacks with the functions that were inlined, by DWARF", set_inline, 0 },
	{ "debuginfod", NULL, "fetch missing debug files from DEBUGINFOD_URLS", set_debuginfod, 0 },
	{ "keep-exited", "N", "ended processes with rows of their own (default 1000)",
	  set_keep_exited, 0 },
	{ "max-tasks", "N", "threads counted at the same time (default 1536)", set_max_tasks, 0 },
	{ "max-rows", "N", "pairs of thread and system call (default 40000)", set_max_rows, 0 },
	{ "max-errnos", "N", "kinds of error of such a pair (default 12288)", set_max_errnos, 0 },
	{ "max-stacks", "N", "stacks of such a pair (default 65536)", set_max_stacks, 0 },
	{ "verbose", NULL, "show libbpf's and the kernel's own messages", set_verbose, 'v' },
	{ "version", NULL, "print the version", set_version, 'V' },
	{ "help", NULL, "print this text", set_help, 'h' },
};

static const struct option_table option_table = {
	.defs = option_defs,
	.count = ARRAY_SIZE(option_defs),
	.help_command = "bpftruss --help",
	.command_follows = true,
};

/* What some options ask of others. */
static void options_derive(struct options *o)
{
	/* With stacks it is these that are many. */
	if (o->show_stacks) {
		o->stacks.top = o->table.top;
		o->table.top = 0;
	}
	if (o->format == FORMAT_TRUSS && (o->table.keys || options_shape_table(o)))
		o->format = FORMAT_WIDE;
	o->collector.wait = o->wait;
	o->collector.by_thread = o->table.keys & GROUP_TID;
	o->collector.by_arg0 = o->table.keys & GROUP_ARG0;
	o->collector.calls = o->only;
	o->collector.frame_pointers = getenv("BPFTRUSS_FRAME_POINTERS") != NULL;
}

int options_parse(int argc, char **argv, struct options *o, struct diag *d)
{
	int words;

	memset(o, 0, sizeof(*o));
	words = option_table_parse(&option_table, argc, argv, o, d);
	if (words < 0)
		return words;
	if (words < argc)
		o->command = &argv[words];
	options_derive(o);
	return options_check(o, d);
}

void options_done(struct options *o)
{
	targets_done(&o->targets);
	syscall_set_free(o->only);
	syscall_set_free(o->waiting);
}

void options_print_help(void)
{
	puts("usage: bpftruss -c [options] -p PID[,PID...]\n"
	     "       bpftruss -c [options] COMMAND [ARG...]\n"
	     "       bpftruss top [options]\n"
	     "       bpftruss doctor [--json]\n");
	option_table_print(&option_table);
	puts("\nThe report comes with Ctrl-C, or when the last process has ended: on stdout, or "
	     "on\n"
	     "stderr when a command is run.\n"
	     "\n"
	     "  bpftruss -c -p 1234                    what a running process asks of the kernel\n"
	     "  bpftruss -c -p $(pgrep -d, apache2)    the same of all workers of a server\n"
	     "  bpftruss -c -f make                    a command and all its children\n"
	     "  bpftruss -c -t open,%network curl URL  only some calls\n"
	     "  bpftruss -c --json -d 10 -p 1234       ten seconds, as JSON with tail latencies\n"
	     "\n"
	     "Exit status: 0 ok, 1 failure, 2 usage, 4 kernel or privileges cannot do it; that of\n"
	     "the command when one was run. bpftruss(8) has the details.");
}
