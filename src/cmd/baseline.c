/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs `bpftruss baseline`: spans of the history that are kept under a name. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cmd/ask.h"
#include "daemon/baselines.h"
#include "report/status.h"

static int call(const struct options *o, const char *method, struct ipc_url *url, struct diag *d)
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

static int run_save(const struct options *o, const char *name, struct diag *d)
{
	struct ipc_url url __cleanup(ipc_url_done);
	int64_t now = clock_real_ns(), from = 0, to = 0;
	int err = ask_read_span(o, now, &from, &to, d);

	url_of(&url, name);
	ask_add_span(&url, from, to, now);
	if (o->replace)
		ipc_url_add(&url, "replace", "1");
	return err ? err : call(o, "PUT", &url, d);
}

static int run_remove(const struct options *o, const char *name, struct diag *d)
{
	struct ipc_url url __cleanup(ipc_url_done);

	url_of(&url, name);
	return call(o, "DELETE", &url, d);
}

static int run_list(const struct options *o, const char *name, struct diag *d)
{
	(void)name;
	return ask_and_print(o, "/v1/baselines", report_baselines_text, d);
}

static const struct action {
	const char *name;
	bool named; /* one more word follows: a baseline */
	int (*run)(const struct options *o, const char *name, struct diag *d);
} actions[] = {
	{ "save", true, run_save },
	{ "list", false, run_list },
	{ "rm", true, run_remove },
};

static int baseline_run(const struct options *o, struct diag *d)
{
	for (size_t i = 0; o->nr_words && i < ARRAY_SIZE(actions); i++) {
		const struct action *action = &actions[i];

		if (strcmp(o->words[0], action->name))
			continue;
		if (o->nr_words != 1 + action->named)
			return diag_set(d, DIAG_USAGE, EINVAL, "baseline %s: %s", action->name,
					action->named ? "give one name" : "takes no name");
		if (action->named && baseline_check_name(o->words[1], d))
			return -EINVAL;
		return action->run(o, o->words[1], d);
	}
	return diag_set(d, DIAG_USAGE, EINVAL,
			"baseline: save NAME, list, or rm NAME; 'bpftruss baseline --help' tells "
			"more");
}

const struct verb baseline_verb = {
	"baseline",
	VERB_BASELINE,
	true,
	baseline_run,
	"keep a span of the past for good, to compare with",
	"usage: bpftruss baseline save NAME [options]\n"
	"       bpftruss baseline list [options]\n"
	"       bpftruss baseline rm NAME [options]",
	"Keeps what was counted in a span of the history for good, to compare with. Without\n"
	"--from, the span is all that the history has.",
	"  bpftruss baseline save monday --from \"2026-11-16 09:00\" --to \"2026-11-16 17:00\"\n"
	"  bpftruss compare monday now",
};
