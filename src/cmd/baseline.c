/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns `bpftruss baseline`: spans of the history that are kept under a name. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cmd/ask.h"
#include "cmd/cmd.h"
#include "daemon/baselines.h"
#include "report/status.h"

static int set_json(void *options, const char *arg, struct diag *d)
{
	(void)arg, (void)d;
	((struct ask_options *)options)->report.format = FORMAT_JSON;
	return 0;
}

static int set_replace(void *options, const char *arg, struct diag *d)
{
	(void)arg, (void)d;
	((struct ask_options *)options)->replace = true;
	return 0;
}

static const struct option_def baseline_defs[] = {
	{ "replace", NULL, "save: even if there is one of that name", set_replace, 0 },
	{ "json", NULL, "list: one JSON object", set_json, 0 },
};

static const struct option_part baseline_part = { baseline_defs, ARRAY_SIZE(baseline_defs) };

static const struct option_table option_table = {
	.parts = { &span_part, &baseline_part, &ask_part },
	.help_command = "bpftruss baseline --help",
};

static void print_help(void)
{
	puts("usage: bpftruss baseline save NAME [options]\n"
	     "       bpftruss baseline list [options]\n"
	     "       bpftruss baseline rm NAME [options]\n"
	     "\n"
	     "Keeps what was counted in a span of the history for good, to compare with. Without\n"
	     "--from, the span is all that the history has.\n");
	option_table_print(&option_table);
	puts("\n"
	     "  bpftruss baseline save monday --from \"2026-11-16 09:00\" --to \"2026-11-16 "
	     "17:00\"\n"
	     "  bpftruss compare monday now\n"
	     "\n"
	     "Exit status: 0 ok, 1 failure, 2 usage. bpftruss(8) has the details.");
}

static int call(const struct ask_options *o, enum ipc_method method, struct ipc_url *url,
		struct diag *d)
{
	struct ipc_reply reply __cleanup(ipc_reply_done) = { 0 };

	return ask(o, method, url, &reply, d);
}

static void url_of(struct ipc_url *url, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "/v1/baselines/%s", name);
	ipc_url_init(url, path);
}

static int run_save(const struct ask_options *o, const char *name, struct diag *d)
{
	struct ipc_url url __cleanup(ipc_url_done);
	int err;

	url_of(&url, name);
	err = ask_add_span(&url, o, d);
	if (o->replace)
		ipc_url_add(&url, "replace", "1");
	return err ?: call(o, IPC_PUT, &url, d);
}

static int run_remove(const struct ask_options *o, const char *name, struct diag *d)
{
	struct ipc_url url __cleanup(ipc_url_done);

	url_of(&url, name);
	return call(o, IPC_DELETE, &url, d);
}

static int run_list(const struct ask_options *o, const char *name, struct diag *d)
{
	struct ipc_url url __cleanup(ipc_url_done);
	struct ipc_reply reply __cleanup(ipc_reply_done) = { 0 };
	int err;

	(void)name;
	ipc_url_init(&url, "/v1/baselines");
	err = ask(o, IPC_GET, &url, &reply, d);
	if (err)
		return err;
	if (o->report.format != FORMAT_JSON)
		return report_baselines_text(reply.body, reply.size, stdout, d);
	fwrite(reply.body, 1, reply.size, stdout);
	return 0;
}

static const struct action {
	const char *name;
	bool named; /* one more word follows: a baseline */
	int (*run)(const struct ask_options *o, const char *name, struct diag *d);
} actions[] = {
	{ "save", true, run_save },
	{ "list", false, run_list },
	{ "rm", true, run_remove },
};

static int run(const struct ask_options *o, int argc, char **argv, struct diag *d)
{
	for (size_t i = 0; argc && i < ARRAY_SIZE(actions); i++) {
		const struct action *action = &actions[i];

		if (strcmp(argv[0], action->name))
			continue;
		if (argc != 1 + action->named)
			return diag_set(d, DIAG_USAGE, EINVAL, "baseline %s: %s", action->name,
					action->named ? "give one name" : "takes no name");
		if (action->named && baseline_check_name(argv[1], d))
			return -EINVAL;
		return action->run(o, argv[1], d);
	}
	return diag_set(d, DIAG_USAGE, EINVAL,
			"baseline: save NAME, list, or rm NAME; 'bpftruss baseline --help' tells "
			"more");
}

int baseline_main(int argc, char **argv)
{
	static const struct ask_verb verb = { &option_table, print_help, run };

	return ask_main(&verb, argc, argv);
}
