/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the options of the truss face: each has one short function that reads its argument. */
#include "cmd/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cmd/arguments.h"
#include "cmd/options_parts.h"

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

static int set_slower_than(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	return parse_time("--slower-than", arg, &o->collector.slower_than_ns, d);
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

static int set_wait(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	(void)arg, (void)d;
	o->wait = true;
	return 0;
}

static const struct option_def count_first_defs[] = {
	{ "count", NULL, "count system calls; print one table at the end", set_count, 'c' },
};

static const struct option_def count_defs[] = {
	{ "wait", NULL, "with -n, -u, -U: wait for processes to come", set_wait, 0 },
	{ "follow", NULL, "count child processes too, from their first call", set_follow, 'f' },
	{ "duration", "SECONDS", "stop after this time", set_duration, 'd' },
	{ "interval", "SECONDS", "report each interval by itself", set_interval, 'i' },
	{ "number", "COUNT", "with -i: stop after this many", set_count_limit, 'N' },
	{ "slower-than", "TIME", "only calls that take at least so long, such as 10ms",
	  set_slower_than, 0 },
};

static const struct option_def last_defs[] = {
	{ "verbose", NULL, "show libbpf's and the kernel's own messages", set_verbose, 'v' },
	{ "version", NULL, "print the version", set_version, 'V' },
	{ "help", NULL, "print this text", set_help, 'h' },
};

static const struct option_part count_first = { count_first_defs, ARRAY_SIZE(count_first_defs) };
static const struct option_part count_part = { count_defs, ARRAY_SIZE(count_defs) };
static const struct option_part last_part = { last_defs, ARRAY_SIZE(last_defs) };

static const struct option_table option_table = {
	.parts = { &count_first, &target_options, &count_part, &report_options, &collect_options,
		   &last_part },
	.help_command = "bpftruss --help",
	.command_follows = true,
};

void options_derive_report(struct options *o)
{
	/* With stacks it is these that are many. */
	if (o->show_stacks) {
		o->stacks.top = o->table.top;
		o->table.top = 0;
	}
	if (o->format == FORMAT_TRUSS && (o->table.keys || options_shape_table(o)))
		o->format = FORMAT_WIDE;
}

/* What some options ask of others. */
static void options_derive(struct options *o)
{
	options_derive_report(o);
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
	     "       bpftruss doctor [options]\n"
	     "       bpftruss daemon [options]\n"
	     "       bpftruss snapshot | status | history [options]\n"
	     "       bpftruss baseline save | list | rm [NAME] [options]\n"
	     "       bpftruss compare A B [options]\n"
	     "\n"
	     "Each of these words tells more with --help. Without one of them:\n");
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
