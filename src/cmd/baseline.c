/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs `bpftruss baseline`: spans of the history that are kept under a name. */
#include "base/clock.h"
#include "cmd/asking.h"
#include "cmd/reporting.h"
#include "daemon/baselines.h"

static const struct action {
	const char *name;
	const char
		*method; /* that is asked of the baseline that one more word names; NULL: none is */
} actions[] = { { "save", "PUT" }, { "list", NULL },   { "ls", NULL },
		{ "show", "GET" }, { "rm", "DELETE" }, { "delete", "DELETE" } };

/* Changes a baseline. Options other than those of save change nothing. */
static int change(const struct options *o, const struct action *action, const char *name,
		  struct diag *d)
{
	struct ipc_url url;
	struct ipc_reply reply __cleanup(ipc_reply_done) = { 0 };
	int64_t now = clock_real_ns(), from = 0, to = 0;
	bool saves = action == &actions[0];
	int err = saves ? ask_read_span(o, now, &from, &to, d) : 0;
	char path[128];

	snprintf(path, sizeof(path), "/v1/baselines/%s", name);
	ipc_url_init(&url, path);
	ask_add_span(&url, from, to, now);
	if (saves && o->replace)
		ipc_url_add(&url, "replace", "1");
	return err ? err : ask(o, action->method, &url, &reply, d);
}

/* Prints what was counted in its span. */
static int show(const struct options *o, const char *name, struct diag *d)
{
	struct asked_snapshot asked __cleanup(asked_snapshot_done) = { 0 };
	struct report_options how = { .format = FORMAT_WIDE,
				      .table.width = output_width(o, stdout),
				      .table.color = output_has_color(stdout) };
	struct ipc_url url;
	struct ipc_reply reply __cleanup(ipc_reply_done) = { 0 };
	char path[128];
	int err;

	snprintf(path, sizeof(path), "/v1/baselines/%s", name);
	ipc_url_init(&url, path);
	if (o->report.format == FORMAT_JSON)
		how.format = FORMAT_JSON;
	err = ask(o, "GET", &url, &reply, d);
	if (!err)
		err = report_json_read(reply.body, reply.size, &asked.snapshot, &asked.stacks, d);
	if (err)
		return err;
	snprintf(path, sizeof(path), "baseline %s, ", name);
	span_tell(path, asked.snapshot->start_ns, asked.snapshot->end_ns,
		  asked.snapshot->elapsed_ns, "");
	err = report_write(asked.snapshot, &how, stdout);
	return err ? output_failed(o, err, d) : 0;
}

static int baseline_run(const struct options *o, struct diag *d)
{
	for (size_t i = 0; o->nr_words && i < ARRAY_SIZE(actions); i++) {
		const struct action *action = &actions[i];

		if (strcmp(o->words[0], action->name))
			continue;
		if (o->nr_words != (action->method ? 2 : 1))
			return diag_set(d, DIAG_USAGE, EINVAL, "baseline %s: %s", action->name,
					action->method ? "give one name" : "takes no name");
		if (!action->method)
			return ask_and_print(o, "/v1/baselines", report_baselines_text, d);
		if (baseline_check_name(o->words[1], d))
			return -EINVAL;
		return strcmp(action->method, "GET") ? change(o, action, o->words[1], d)
						     : show(o, o->words[1], d);
	}
	return diag_set(
		d, DIAG_USAGE, EINVAL,
		"baseline: save NAME, list, show NAME, or rm NAME; see 'bpftruss baseline --help'");
}

const struct verb baseline_verb = {
	"baseline",
	VERB_BASELINE,
	baseline_run,
	"keep a span of the history under a name, to compare with",
	"usage: bpftruss baseline save NAME [options]\n"
	"       bpftruss baseline list [options]\n"
	"       bpftruss baseline show NAME [options]\n"
	"       bpftruss baseline rm NAME [options]",
	"Saves what was counted in a span of the history permanently, to compare with. Without\n"
	"--from, saves the whole history.",
	"  bpftruss baseline save monday --from \"2026-11-16 09:00\" --to \"2026-11-16 17:00\"\n"
	"  bpftruss compare monday now",
};
