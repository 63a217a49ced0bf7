/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns `bpftruss daemon`: its configuration, and what becomes of it at a reload. */
#include "daemon/daemon.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/daemon_options.h"

/*
 * The first configuration stays: what cannot be reloaded borrows from it. So does the one before
 * the latest, with which the daemon compares.
 */
struct configuration {
	int argc;
	char **argv;
	struct daemon_options first;
	struct daemon_options *latest, *before; /* owned; NULL: the first is it */
};

static void options_forget(struct daemon_options *options)
{
	if (options)
		daemon_options_done(options);
	free(options);
}

static void configuration_done(struct configuration *configuration)
{
	options_forget(configuration->before);
	options_forget(configuration->latest);
	daemon_options_done(&configuration->first);
}

static int reload(void *closure, const struct daemon_config **ret, struct diag *d)
{
	struct configuration *configuration = closure;
	struct daemon_options *next = malloc(sizeof(*next));
	int err;

	if (!next)
		return diag_oom(d);
	err = daemon_options_parse(configuration->argc, configuration->argv, next, d);
	if (err) {
		options_forget(next);
		return err;
	}
	options_forget(configuration->before);
	configuration->before = configuration->latest;
	configuration->latest = next;
	*ret = &next->config;
	return 0;
}

int daemon_main(int argc, char **argv)
{
	struct configuration configuration __cleanup(configuration_done) = { .argc = argc,
									     .argv = argv };
	const struct daemon_reload how = { reload, &configuration };
	const struct daemon_options *o = &configuration.first;
	struct diag d;

	if (daemon_options_parse(argc, argv, &configuration.first, &d))
		return cmd_fail(&d);
	if (o->help) {
		daemon_options_print_help();
		return STATUS_OK;
	}
	if (o->check_config) {
		puts("the configuration is in order");
		return STATUS_OK;
	}
	return daemon_run(&o->config, &how, &d) ? cmd_fail(&d) : STATUS_OK;
}
