/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the table of the options of `bpftruss top`. */
#include "cmd/top_options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cmd/arguments.h"

static int set_help(struct top_options *o, const char *arg, struct diag *d)
{
	(void)arg, (void)d;
	o->help = true;
	return 0;
}

static int set_once(struct top_options *o, const char *arg, struct diag *d)
{
	(void)arg, (void)d;
	o->once = true;
	return 0;
}

static int set_json(struct top_options *o, const char *arg, struct diag *d)
{
	(void)arg, (void)d;
	o->json = true;
	return 0;
}

static int set_follow(struct top_options *o, const char *arg, struct diag *d)
{
	(void)arg, (void)d;
	o->follow = true;
	return 0;
}

static int set_wait(struct top_options *o, const char *arg, struct diag *d)
{
	(void)arg, (void)d;
	o->wait = true;
	return 0;
}

static int set_verbose(struct top_options *o, const char *arg, struct diag *d)
{
	(void)arg, (void)d;
	o->collector.verbose = true;
	return 0;
}

static int set_interval(struct top_options *o, const char *arg, struct diag *d)
{
	int err = parse_seconds("-i", arg, &o->delay_ns, d);

	if (err)
		return err;
	if (o->delay_ns < NS_PER_SEC / 10 || o->delay_ns > 3600 * NS_PER_SEC)
		return diag_set(d, DIAG_USAGE, EINVAL,
				"-i: an interval of top has from 0.1 to 3600 seconds");
	return 0;
}

static int set_by(struct top_options *o, const char *arg, struct diag *d)
{
	return rate_by_parse(arg, &o->by, d);
}

static int set_sort(struct top_options *o, const char *arg, struct diag *d)
{
	return rate_key_parse(arg, &o->sort, d);
}

static int set_top(struct top_options *o, const char *arg, struct diag *d)
{
	return parse_limit("--top", arg, 1000000, &o->limit, d);
}

static int add_pids(struct top_options *o, const char *arg, struct diag *d)
{
	return targets_add_pids(&o->targets, arg, d);
}

static int add_name(struct top_options *o, const char *arg, struct diag *d)
{
	return targets_add_selector(&o->targets, SELECT_COMM, arg, d);
}

static int add_unit(struct top_options *o, const char *arg, struct diag *d)
{
	return targets_add_selector(&o->targets, SELECT_UNIT, arg, d);
}

static int add_cgroup(struct top_options *o, const char *arg, struct diag *d)
{
	return targets_add_selector(&o->targets, SELECT_CGROUP, arg, d);
}

static int add_user(struct top_options *o, const char *arg, struct diag *d)
{
	return targets_add_selector(&o->targets, SELECT_USER, arg, d);
}

static int add_all(struct top_options *o, const char *arg, struct diag *d)
{
	return targets_add_selector(&o->targets, SELECT_ALL, arg, d);
}

static int set_max_tasks(struct top_options *o, const char *arg, struct diag *d)
{
	return parse_limit("--max-tasks", arg, 1000000, &o->collector.max_tasks, d);
}

static int set_max_rows(struct top_options *o, const char *arg, struct diag *d)
{
	return parse_limit("--max-rows", arg, 3000000, &o->collector.max_rows, d);
}

#define FIRST_LONG_ONLY 256

static const struct option_def {
	const char *name;
	const char *arg; /* NULL: takes none */
	const char *help;
	int (*set)(struct top_options *o, const char *arg, struct diag *d);
	char letter; /* 0: long form only */
} option_defs[] = {
	{ "interval", "SECONDS", "time between two frames (default 1)", set_interval, 'i' },
	{ "by", "KEY", "a line a pid, comm or unit (default pid)", set_by, 0 },
	{ "sort", "COLUMN", "pid, comm, user, unit, threads, calls (default), errors,", set_sort,
	  0 },
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
	{ "max-tasks", "N", "threads counted at the same time (default 1536)", set_max_tasks, 0 },
	{ "max-rows", "N", "pairs of thread and system call (default 40000)", set_max_rows, 0 },
	{ "verbose", NULL, "show libbpf's and the kernel's own messages", set_verbose, 'v' },
	{ "help", NULL, "print this text", set_help, 'h' },
};

#define NR_OPTIONS ARRAY_SIZE(option_defs)

static void options_for_getopt(char *letters, struct option *longs)
{
	letters += sprintf(letters, ":");
	for (size_t i = 0; i < NR_OPTIONS; i++) {
		const struct option_def *def = &option_defs[i];

		longs[i] = (struct option){ def->name, def->arg ? required_argument : no_argument,
					    NULL, def->letter ?: FIRST_LONG_ONLY + (int)i };
		if (def->letter)
			letters += sprintf(letters, "%c%s", def->letter, def->arg ? ":" : "");
	}
	longs[NR_OPTIONS] = (struct option){ 0 };
}

static const struct option_def *option_find(int key)
{
	for (size_t i = 0; i < NR_OPTIONS; i++) {
		if (key == (option_defs[i].letter ?: FIRST_LONG_ONLY + (int)i))
			return &option_defs[i];
	}
	return NULL;
}

/* Nobody was named: everybody is meant. */
static int options_complete(struct top_options *o, struct diag *d)
{
	int err = 0;

	if (!o->targets.nr_pids && !o->targets.nr_selectors)
		err = add_all(o, NULL, d);
	o->collector.selectors = o->targets.selectors;
	o->collector.nr_selectors = o->targets.nr_selectors;
	o->collector.intervals = true;
	return err;
}

int top_options_parse(int argc, char **argv, struct top_options *o, struct diag *d)
{
	char letters[1 + 2 * NR_OPTIONS + 1];
	struct option longs[NR_OPTIONS + 1];
	int key, err;

	*o = (struct top_options){ .delay_ns = NS_PER_SEC, .sort = RATE_CALLS };
	options_for_getopt(letters, longs);
	opterr = 0;
	while ((key = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		const struct option_def *def = option_find(key);

		if (key == ':')
			return diag_set(d, DIAG_USAGE, EINVAL, "%s needs an argument",
					argv[optind - 1]);
		if (!def)
			return diag_set(d, DIAG_USAGE, EINVAL,
					"top: unknown option %s; 'bpftruss top --help' lists them",
					argv[optind - 1]);
		err = def->set(o, optarg, d);
		if (err)
			return err;
	}
	if (optind < argc)
		return diag_set(d, DIAG_USAGE, EINVAL,
				"top: \"%.100s\" is no option; -n %.100s takes processes of that "
				"name",
				argv[optind], argv[optind]);
	return options_complete(o, d);
}

void top_options_done(struct top_options *options)
{
	targets_done(&options->targets);
}

void top_options_print_help(void)
{
	char left[64];

	puts("usage: bpftruss top [options]\n"
	     "\n"
	     "Shows, interval by interval, which processes make system calls and where their time\n"
	     "goes: on a CPU outside calls (%usr) or in them (%sys), waiting for one (%runq), or\n"
	     "asleep (%sleep). h shows the keys.\n");
	for (size_t i = 0; i < NR_OPTIONS; i++) {
		const struct option_def *def = &option_defs[i];

		snprintf(left, sizeof(left), "%c%c%c --%s%s%s", def->letter ? '-' : ' ',
			 def->letter ?: ' ', def->letter ? ',' : ' ', def->name,
			 def->arg ? " " : "", def->arg ?: "");
		printf("  %-27s %s\n", left, def->help);
		if (def->set == set_sort)
			printf("  %-27s usr, sys, runq, sleep, max, oldest\n", "");
	}
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
