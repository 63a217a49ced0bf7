/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the table of options, from which getopt's arguments and --help are made. Each option has
 * one short function that reads its argument.
 */
#include "cmd/options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"

static int set_count(struct options *o, const char *arg, struct diag *d)
{
	(void)arg, (void)d;
	o->count = true;
	return 0;
}

static int set_follow(struct options *o, const char *arg, struct diag *d)
{
	(void)arg, (void)d;
	o->follow = true;
	return 0;
}

static int set_json(struct options *o, const char *arg, struct diag *d)
{
	(void)arg, (void)d;
	o->json = true;
	return 0;
}

static int set_verbose(struct options *o, const char *arg, struct diag *d)
{
	(void)arg, (void)d;
	o->collector.verbose = true;
	return 0;
}

static int set_help(struct options *o, const char *arg, struct diag *d)
{
	(void)arg, (void)d;
	o->help = true;
	return 0;
}

static int set_version(struct options *o, const char *arg, struct diag *d)
{
	(void)arg, (void)d;
	o->version = true;
	return 0;
}

static int set_output(struct options *o, const char *arg, struct diag *d)
{
	if (!*arg)
		return diag_set(d, DIAG_USAGE, EINVAL, "-o: give the name of a file");
	o->output = arg;
	return 0;
}

static int set_only(struct options *o, const char *arg, struct diag *d)
{
	syscall_set_free(o->only);
	o->only = NULL;
	return syscall_set_parse(arg, &o->only, d);
}

static int set_duration(struct options *o, const char *arg, struct diag *d)
{
	char *end;
	double seconds = strtod(arg, &end);

	/* strtod() takes blanks, signs, "inf" and hexadecimal too. */
	if (!isdigit((unsigned char)*arg) || *end || strpbrk(arg, "xX") || !(seconds > 0) ||
	    seconds > 1e9)
		return diag_set(d, DIAG_USAGE, EINVAL,
				"-d: \"%s\" is not a number of seconds, such as 10 or 0.5", arg);
	o->duration_ns = (uint64_t)llround(seconds * 1e9);
	return 0;
}

static int add_pid(struct options *o, pid_t pid, struct diag *d)
{
	pid_t *grown = reallocarray(o->pids, o->nr_pids + 1, sizeof(*grown));

	if (!grown)
		return diag_oom(d);
	o->pids = grown;
	o->pids[o->nr_pids++] = pid;
	return 0;
}

static int add_pids(struct options *o, const char *arg, struct diag *d)
{
	const char *at = arg + strspn(arg, ", ");
	char *end;
	long pid;
	int err;

	if (!*at)
		return diag_set(d, DIAG_USAGE, EINVAL, "-p: give at least one pid");
	while (*at) {
		errno = 0;
		pid = strtol(at, &end, 10);
		if (!isdigit((unsigned char)*at) || errno || pid < 1 || pid > INT_MAX ||
		    (*end && !strchr(", ", *end)))
			return diag_set(d, DIAG_USAGE, EINVAL,
					"-p: \"%s\" is not a pid or a list such as 17,18", arg);
		err = add_pid(o, (pid_t)pid, d);
		if (err)
			return err;
		at = end + strspn(end, ", ");
	}
	return 0;
}

static int parse_limit(const char *name, const char *arg, uint32_t high, uint32_t *ret,
		       struct diag *d)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(arg, &end, 10);
	if (!isdigit((unsigned char)*arg) || *end || errno || value < 1 || value > high)
		return diag_set(d, DIAG_USAGE, EINVAL, "--%s: \"%s\" is not a number from 1 to %u",
				name, arg, high);
	*ret = (uint32_t)value;
	return 0;
}

/* Upper limits: 2 GiB a table, so that a typing error cannot take the host's memory. */
static int set_max_tasks(struct options *o, const char *arg, struct diag *d)
{
	return parse_limit("max-tasks", arg, 1000000, &o->collector.max_tasks, d);
}

static int set_max_rows(struct options *o, const char *arg, struct diag *d)
{
	return parse_limit("max-rows", arg, 3000000, &o->collector.max_rows, d);
}

static int set_max_errnos(struct options *o, const char *arg, struct diag *d)
{
	return parse_limit("max-errnos", arg, 100000000, &o->collector.max_errnos, d);
}

#define FIRST_LONG_ONLY 256

static const struct option_def {
	const char *name;
	const char *arg; /* NULL: takes none */
	const char *help;
	int (*set)(struct options *o, const char *arg, struct diag *d);
	char letter; /* 0: long form only */
} option_defs[] = {
	{ "count", NULL, "count system calls; print one table at the end", set_count, 'c' },
	{ "pid", "PID[,PID...]", "attach to running processes (may be repeated)", add_pids, 'p' },
	{ "follow", NULL, "count child processes too, from their first call", set_follow, 'f' },
	{ "trace", "[!]LIST", "report only (or, with !, all but) these calls and %classes",
	  set_only, 't' },
	{ "output", "FILE", "write the report to FILE", set_output, 'o' },
	{ "duration", "SECONDS", "stop after this time", set_duration, 'd' },
	{ "json", NULL, "one JSON object instead of the table", set_json, 0 },
	{ "max-tasks", "N", "threads counted at the same time (default 2048)", set_max_tasks, 0 },
	{ "max-rows", "N", "pairs of thread and system call (default 40000)", set_max_rows, 0 },
	{ "max-errnos", "N", "kinds of error of such a pair (default 16384)", set_max_errnos, 0 },
	{ "verbose", NULL, "show libbpf's and the kernel's own messages", set_verbose, 'v' },
	{ "version", NULL, "print the version", set_version, 'V' },
	{ "help", NULL, "print this text", set_help, 'h' },
};

#define NR_OPTIONS ARRAY_SIZE(option_defs)

static void options_for_getopt(char *letters, struct option *longs)
{
	/* Stop at the first word that is no option: the rest is the command's. ':' is ours. */
	letters += sprintf(letters, "+:");
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

static int options_check(const struct options *o, struct diag *d)
{
	if (o->help || o->version)
		return 0;
	if (!o->count)
		return diag_set(
			d, DIAG_USAGE, EINVAL,
			"nothing to do: -c counts system calls; 'bpftruss --help' tells more");
	if (o->nr_pids && o->command)
		return diag_set(d, DIAG_USAGE, EINVAL,
				"give either -p or a command, not both (command: \"%s\")",
				o->command[0]);
	if (!o->nr_pids && !o->command)
		return diag_set(
			d, DIAG_USAGE, EINVAL,
			"whose calls? give -p PID for a running process, or a command to run");
	return 0;
}

static int option_unknown(const char *word, struct diag *d)
{
	/* A letter may stand inside a word, as in -cz. */
	if (optopt && optopt < FIRST_LONG_ONLY)
		return diag_set(d, DIAG_USAGE, EINVAL,
				"unknown option -%c; 'bpftruss --help' lists them", optopt);
	return diag_set(d, DIAG_USAGE, EINVAL, "unknown option %s; 'bpftruss --help' lists them",
			word);
}

int options_parse(int argc, char **argv, struct options *o, struct diag *d)
{
	char letters[2 + 2 * NR_OPTIONS + 1];
	struct option longs[NR_OPTIONS + 1];
	int key, err;

	memset(o, 0, sizeof(*o));
	options_for_getopt(letters, longs);
	opterr = 0;
	while ((key = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		const struct option_def *def = option_find(key);

		if (key == ':')
			return diag_set(d, DIAG_USAGE, EINVAL, "%s needs an argument",
					argv[optind - 1]);
		if (!def)
			return option_unknown(argv[optind - 1], d);
		err = def->set(o, optarg, d);
		if (err)
			return err;
	}
	if (optind < argc)
		o->command = &argv[optind];
	return options_check(o, d);
}

void options_done(struct options *o)
{
	free(o->pids);
	syscall_set_free(o->only);
}

void options_print_help(void)
{
	char left[64];

	puts("usage: bpftruss -c [options] -p PID[,PID...]\n"
	     "       bpftruss -c [options] COMMAND [ARG...]\n"
	     "       bpftruss doctor [--json]\n");
	for (size_t i = 0; i < NR_OPTIONS; i++) {
		const struct option_def *def = &option_defs[i];

		snprintf(left, sizeof(left), "%c%c%c --%s%s%s", def->letter ? '-' : ' ',
			 def->letter ?: ' ', def->letter ? ',' : ' ', def->name,
			 def->arg ? " " : "", def->arg ?: "");
		printf("  %-27s %s\n", left, def->help);
	}
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
