/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the options that say whose calls are meant: -p, -n, -u, -g, -U. */
#include "cmd/options.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "cmd/arguments.h"
#include "cmd/options_parts.h"

static void pass_on(struct options *o)
{
	o->collector.selectors = o->targets.selectors;
	o->collector.nr_selectors = o->targets.nr_selectors;
	o->collector.pids = o->targets.pids;
	o->collector.nr_pids = o->targets.nr_pids;
}

static int add_pids(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;
	int err = targets_add_pids(&o->targets, arg, d);

	pass_on(o);
	return err;
}

static int add_selector(struct options *o, enum selector_kind kind, const char *text,
			struct diag *d)
{
	int err = targets_add_selector(&o->targets, kind, text, d);

	pass_on(o);
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

static int set_all(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	if (!arg)
		return add_selector(o, SELECT_ALL, NULL, d);
	targets_remove_selectors(&o->targets, SELECT_ALL);
	pass_on(o);
	return 0;
}

static const struct option_def defs[] = {
	{ "pid", "PID[,PID...]", "processes by number (may be repeated)", add_pids, 'p' },
	{ "name", "COMM", "processes of this name, or glob, now and later", add_name, 'n' },
	{ "unit", "UNIT", "the processes of a systemd unit", add_unit, 'u' },
	{ "cgroup", "PATH", "the processes in a cgroup and below it", add_cgroup, 'g' },
	{ "user", "USER", "the processes of a user", add_user, 'U' },
	{ "all", NULL, "all processes", set_all, 'a' },
};

const struct option_part target_options = { defs, ARRAY_SIZE(defs) };
