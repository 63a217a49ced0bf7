/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns `bpftruss status`. */
#include "report/status.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cmd/ask.h"
#include "cmd/cmd.h"

static int set_json(void *options, const char *arg, struct diag *d)
{
	(void)arg, (void)d;
	((struct ask_options *)options)->report.format = FORMAT_JSON;
	return 0;
}

static const struct option_def status_defs[] = {
	{ "json", NULL, "one JSON object", set_json, 0 },
};

static const struct option_part status_part = { status_defs, ARRAY_SIZE(status_defs) };

static const struct option_table option_table = {
	.parts = { &status_part, &ask_part },
	.help_command = "bpftruss status --help",
};

static void print_help(void)
{
	puts("usage: bpftruss status [options]\n"
	     "\n"
	     "How the daemon is doing: what it counts, how full its tables are, whether it is "
	     "exact,\n"
	     "what it costs, what of the past it knows.\n");
	option_table_print(&option_table);
	puts("\nExit status: 0 ok, 1 failure, 2 usage. bpftruss(8) has the details.");
}

static int run(const struct ask_options *o, int nr_words, char **words, struct diag *d)
{
	struct ipc_url url __cleanup(ipc_url_done);
	struct ipc_reply reply __cleanup(ipc_reply_done) = { 0 };
	int err = ask_refuse_words("status", nr_words, words, d);

	ipc_url_init(&url, "/v1/status");
	err = err ?: ask(o, IPC_GET, &url, &reply, d);
	if (err)
		return err;
	if (o->report.format != FORMAT_JSON)
		return report_status_text(reply.body, reply.size, stdout, d);
	fwrite(reply.body, 1, reply.size, stdout);
	return 0;
}

int status_main(int argc, char **argv)
{
	static const struct ask_verb verb = { &option_table, print_help, run };

	return ask_main(&verb, argc, argv);
}
