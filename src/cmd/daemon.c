/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns `bpftruss daemon`: its configuration, and what becomes of it at a reload. */
#include "daemon/daemon.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/daemon_options.h"

/* The first configuration stays: what cannot be reloaded borrows from it. */
struct configuration {
	int argc;
	char **argv;
	struct daemon_options first;
	struct daemon_options *now; /* owned; NULL: still the first */
};

static void configuration_forget(struct configuration *configuration)
{
	if (configuration->now)
		daemon_options_done(configuration->now);
	free(steal_ptr(&configuration->now));
}

static void configuration_done(struct configuration *configuration)
{
	configuration_forget(configuration);
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
		daemon_options_done(next);
		free(next);
		return err;
	}
	configuration_forget(configuration);
	configuration->now = next;
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
