/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the table of the options of `bpftruss top`. */
#include "cmd/top_options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cmd/arguments.h"
#include "cmd/option_table.h"

static int set_help(void *options, const char *arg, struct diag *d)
{
	struct top_options *o = options;

	(void)arg, (void)d;
	o->help = true;
	return 0;
}

static int set_once(void *options, const char *arg, struct diag *d)
{
	struct top_options *o = options;

	(void)arg, (void)d;
	o->once = true;
	return 0;
}

static int set_json(void *options, const char *arg, struct diag *d)
{
	struct top_options *o = options;

	(void)arg, (void)d;
	o->json = true;
	return 0;
}

static int set_follow(void *options, const char *arg, struct diag *d)
{
	struct top_options *o = options;

	(void)arg, (void)d;
	o->follow = true;
	return 0;
}

static int set_wait(void *options, const char *arg, struct diag *d)
{
	struct top_options *o = options;

	(void)arg, (void)d;
	o->wait = true;
	return 0;
}

static int set_verbose(void *options, const char *arg, struct diag *d)
{
	struct top_options *o = options;

	(void)arg, (void)d;
	o->collector.verbose = true;
	return 0;
}

static int set_interval(void *options, const char *arg, struct diag *d)
{
	struct top_options *o = options;
	int err = parse_seconds("-i", arg, &o->delay_ns, d);

	if (err)
		return err;
	if (o->delay_ns < NS_PER_SEC / 10 || o->delay_ns > 3600 * NS_PER_SEC)
		return diag_set(d, DIAG_USAGE, EINVAL,
				"-i: an interval of top has from 0.1 to 3600 seconds");
	return 0;
}

static int set_by(void *options, const char *arg, struct diag *d)
{
	struct top_options *o = options;

	return rate_by_parse(arg, &o->by, d);
}

static int set_sort(void *options, const char *arg, struct diag *d)
{
	struct top_options *o = options;

	return rate_key_parse(arg, &o->sort, d);
}

static int set_top(void *options, const char *arg, struct diag *d)
{
	struct top_options *o = options;

	return parse_limit("--top", arg, 1000000, &o->limit, d);
}

static int add_pids(void *options, const char *arg, struct diag *d)
{
	struct top_options *o = options;

	return targets_add_pids(&o->targets, arg, d);
}

static int add_name(void *options, const char *arg, struct diag *d)
{
	struct top_options *o = options;

	return targets_add_selector(&o->targets, SELECT_COMM, arg, d);
}

static int add_unit(void *options, const char *arg, struct diag *d)
{
	struct top_options *o = options;

	return targets_add_selector(&o->targets, SELECT_UNIT, arg, d);
}

static int add_cgroup(void *options, const char *arg, struct diag *d)
{
	struct top_options *o = options;

	return targets_add_selector(&o->targets, SELECT_CGROUP, arg, d);
}

static int add_user(void *options, const char *arg, struct diag *d)
{
	struct top_options *o = options;

	return targets_add_selector(&o->targets, SELECT_USER, arg, d);
}

static int add_all(void *options, const char *arg, struct diag *d)
{
	struct top_options *o = options;

	return targets_add_selector(&o->targets, SELECT_ALL, arg, d);
}

static int set_max_tasks(void *options, const char *arg, struct diag *d)
{
	struct top_options *o = options;

	return parse_limit("--max-tasks", arg, 1000000, &o->collector.max_tasks, d);
}

static int set_max_rows(void *options, const char *arg, struct diag *d)
{
	struct top_options *o = options;

	return parse_limit("--max-rows", arg, 3000000, &o->collector.max_rows, d);
}

static const struct option_def option_defs[] = {
	{ "interval", "SECONDS", "time between two frames (default 1)", set_interval, 'i' },
	{ "by", "KEY", "a line a pid, comm or unit (default pid)", set_by, 0 },
	{ "sort", "COLUMN",
	  "pid, comm, user, unit, threads, calls (default), errors,\n"
	  "cpu, usr, sys, runq, lock, sleep, max, oldest",
	  set_sort, 0 },
	{ "top", "N", "only the first N lines, of --once and --json", set_top, 0 },
	{ "once", NULL, "print one frame as text after one interval", set_once, 0 },
	{ "json", NULL, "one JSON object an interval, a line each", set_json, 0 },
	{ "pid", "PID[,PID...]", "only these processes (may be repeated)", add_pids, 'p' },
	{ "name", "COMM", "only processes of this name, or glob", add_name, 'n' },
	{ "unit", "UNIT", "only the processes of a systemd unit", add_unit, 'u' },
	{ "cgroup", "PATH", "only those in a cgroup and below it", add_cgroup, 'g' },
	{ "user", "USER", "only the processes of a user", add_user, 'U' },
	{ "all", NULL, "all processes (default)", add_all, 'a' },
	{ "wait", NULL, "begin even if none is there yet", set_wait, 0 },
	{ "follow", NULL, "with -p: child processes too", set_follow, 'f' },
	{ "max-tasks", "N", "threads counted at the same time (default: as memory allows)",
	  set_max_tasks, 0 },
	{ "max-rows", "N", "pairs of thread and system call (default: as memory allows)",
	  set_max_rows, 0 },
	{ "verbose", NULL, "show libbpf's and the kernel's own messages", set_verbose, 'v' },
	{ "help", NULL, "print this text", set_help, 'h' },
};

static const struct option_part top_part = { option_defs, ARRAY_SIZE(option_defs) };

static const struct option_table option_table = {
	.parts = { &top_part },
	.help_command = "bpftruss top --help",
};

/* Nobody was named: everybody is meant. */
static int options_complete(struct top_options *o, struct diag *d)
{
	int err = 0;

	if (!o->targets.nr_pids && !o->targets.nr_selectors)
		err = add_all(o, NULL, d);
	o->collector.selectors = o->targets.selectors;
	o->collector.nr_selectors = o->targets.nr_selectors;
	o->collector.pids = o->targets.pids;
	o->collector.nr_pids = o->targets.nr_pids;
	return err;
}

int top_options_parse(int argc, char **argv, struct top_options *o, struct diag *d)
{
	int words;

	*o = (struct top_options){ .delay_ns = NS_PER_SEC, .sort = RATE_CALLS };
	words = option_table_parse(&option_table, argc, argv, o, d);
	if (words < 0)
		return words;
	if (words < argc)
		return diag_set(d, DIAG_USAGE, EINVAL,
				"top: \"%.100s\" is no option; -n %.100s takes processes of that "
				"name",
				argv[words], argv[words]);
	return options_complete(o, d);
}

void top_options_done(struct top_options *options)
{
	targets_done(&options->targets);
}

void top_options_print_help(void)
{
	puts("usage: bpftruss top [options]\n"
	     "\n"
	     "Shows, interval by interval, which processes make system calls and where their time\n"
	     "goes: user, system, waiting for a CPU, for a lock, or asleep. h shows the keys.\n");
	option_table_print(&option_table);
	puts("\n"
	     "  bpftruss top                        all processes of this host\n"
	     "  bpftruss top -u nginx.service       those of a service, now and later\n"
	     "  bpftruss top --by unit --sort sys   which service burns CPU in the kernel\n"
	     "  bpftruss top --once --sort max      one frame: who had the longest call\n"
	     "  bpftruss top --json -i 10 --top 20  for scripts, an object every ten seconds\n"
	     "\n"
	     "Exit status: 0 ok, 1 failure, 2 usage, 4 kernel or privileges cannot do it.\n"
	     "bpftruss(8) has the details.");
}
