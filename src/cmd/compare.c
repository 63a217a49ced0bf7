/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns `bpftruss compare`: where its two sides come from, and its exit status. */
#include "report/compare.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/moment.h"
#include "cmd/arguments.h"
#include "cmd/ask.h"
#include "cmd/cmd.h"
#include "cmd/output.h"
#include "daemon/baselines.h"
#include "model/filter.h"
#include "model/query.h"

/* What "now" is: long enough to have some calls in it. */
#define NOW_NS (60 * NS_PER_SEC)

static int set_fail_over(void *options, const char *arg, struct diag *d)
{
	struct ask_options *o = options;

	return parse_percent("--fail-over", arg, &o->fail_over, d);
}

static const struct option_def compare_defs[] = {
	{ "fail-over", "PERCENT", "exit with 3 if calls, errors, time or p99 rose by more",
	  set_fail_over, 0 },
};

static const struct option_part compare_part = { compare_defs, ARRAY_SIZE(compare_defs) };

static const struct option_table option_table = {
	.parts = { &compare_part, &target_options, &comparison_options, &ask_part },
	.help_command = "bpftruss compare --help",
};

static void print_help(void)
{
	puts("usage: bpftruss compare A B [options]\n"
	     "\n"
	     "What changed from A to B, each of which is a baseline, a snapshot that was saved "
	     "with\n"
	     "--json, a span (10m: the last ten minutes; FROM..TO), or now: the last minute. What\n"
	     "changed most in time comes first, with a word on whether that is more than "
	     "chance.\n");
	option_table_print(&option_table);
	puts("\n"
	     "  bpftruss compare monday now                    is this a normal Monday?\n"
	     "  bpftruss compare before.json after.json        did the new release help?\n"
	     "  bpftruss compare \"yesterday 14:00..yesterday 15:00\" 14:00..15:00 --by unit\n"
	     "  bpftruss compare monday 10m --fail-over 20%    for cron: exit status 3 if not\n"
	     "\n"
	     "Exit status: 0 ok, 1 failure, 2 usage, 3 --fail-over found a regression.\n"
	     "bpftruss(8) has the details.");
}

/* A span of the daemon's history. */
static int url_span(const char *text, struct ipc_url *url, struct diag *d)
{
	int64_t now = clock_real_ns(), from, to;
	int err = span_parse("compare", text, now, &from, &to, d);

	if (err)
		return err;
	ipc_url_init(url, "/v1/snapshot");
	ask_add_number(url, "from", from);
	/* Without an end, it is when the daemon answers. */
	if (to < now)
		ask_add_number(url, "to", to);
	return 0;
}

static int url_baseline(const char *name, struct ipc_url *url, struct diag *d)
{
	char path[256];

	if (!baseline_name_is_valid(name))
		return diag_set(d, DIAG_USAGE, EINVAL,
				"compare: \"%.200s\" is neither a file that is there, nor a span, "
				"nor the name of a baseline",
				name);
	snprintf(path, sizeof(path), "/v1/baselines/%.200s", name);
	ipc_url_init(url, path);
	return 0;
}

static bool is_baseline(const char *text)
{
	uint64_t ago_ns;

	return !span_is(text) && strcmp(text, "now") != 0 &&
	       duration_parse("compare", text, &ago_ns, NULL) != 0;
}

/* Whom to ask for one side. */
static int url_of(const char *text, struct ipc_url *url, struct diag *d)
{
	uint64_t ago_ns = NOW_NS;

	if (span_is(text))
		return url_span(text, url, d);
	if (is_baseline(text))
		return url_baseline(text, url, d);
	if (strcmp(text, "now"))
		duration_parse("compare", text, &ago_ns, NULL);
	ipc_url_init(url, "/v1/snapshot");
	ask_add_number(url, "since", (int64_t)ago_ns);
	return 0;
}

static int side_ask(const char *text, const struct ask_options *o, struct asked_snapshot *ret,
		    struct diag *d)
{
	struct ipc_url url __cleanup(ipc_url_done) = { 0 };
	struct ipc_reply reply __cleanup(ipc_reply_done) = { 0 };
	struct diag why;
	int err = url_of(text, &url, d);

	if (err)
		return err;
	ask_add_targets(&url, o);
	err = ask(o, IPC_GET, &url, &reply, &why);
	/* What is neither of all may be a baseline, or a mistyped file. */
	if (err == -ENODATA && is_baseline(text))
		return diag_set(d, DIAG_FAILED, ENODATA,
				"\"%.100s\" is neither a file nor a span, and %.300s", text,
				why.text);
	if (err)
		return diag_set(d, why.kind, -err, "%.500s", why.text);
	return asked_snapshot_parse(reply.body, reply.size, ret, d);
}

/* A saved snapshot has everybody in it. */
static int side_load(const char *path, const struct ask_options *o, struct asked_snapshot *ret,
		     struct diag *d)
{
	const struct targets *targets = &o->report.targets;
	const struct process_filter filter = { targets->pids, targets->nr_pids, targets->selectors,
					       targets->nr_selectors };
	struct snapshot *all __cleanup(snapshot_freep) = NULL;
	int err = asked_snapshot_load(path, ret, d);

	if (err)
		return err;
	all = steal_ptr(&ret->snapshot);
	return snapshot_filter(all, &filter, &ret->snapshot) ? diag_oom(d) : 0;
}

static int side_get(const char *text, const struct ask_options *o, struct asked_snapshot *ret,
		    struct diag *d)
{
	struct snapshot *all __cleanup(snapshot_freep) = NULL;
	int err = access(text, F_OK) ? side_ask(text, o, ret, d) : side_load(text, o, ret, d);

	if (err)
		return err;
	all = steal_ptr(&ret->snapshot);
	return snapshot_select(all, o->report.only, &ret->snapshot) ? diag_oom(d) : 0;
}

static int write_report(const struct ask_options *o, const struct compare_input *input,
			const struct compare_view *view, struct diag *d)
{
	struct table_options table = o->report.table;
	int err;

	table.width = output_width(stdout);
	err = o->report.format == FORMAT_JSON ? report_comparison_json(input, view, stdout)
					      : report_comparison(input, view, &table, stdout);
	return err ? diag_set(d, DIAG_FAILED, -err, "cannot write to stdout: %s", strerror(-err))
		   : 0;
}

static int check(const struct ask_options *o, int nr_words, struct diag *d)
{
	if (nr_words != 2)
		return diag_set(d, DIAG_USAGE, EINVAL,
				"compare: give two of baseline, saved snapshot, span and now; "
				"'bpftruss compare --help' tells more");
	if (o->report.table.keys & (GROUP_TID | GROUP_ARG0))
		return diag_set(d, DIAG_USAGE, EINVAL,
				"--by: threads and first arguments are not compared");
	return 0;
}

static int compare(const struct ask_options *o, const struct compare_input *input, struct diag *d)
{
	struct compare_view view __cleanup(compare_view_done) = { 0 };
	int err;

	if (compare_view_make(input, &o->report.table, &view))
		return diag_oom(d);
	err = write_report(o, input, &view, d);
	return err ?: view.failed ? STATUS_REGRESSION : STATUS_OK;
}

static int run(const struct ask_options *o, int nr_words, char **words, struct diag *d)
{
	struct asked_snapshot a __cleanup(asked_snapshot_done) = { 0 };
	struct asked_snapshot b __cleanup(asked_snapshot_done) = { 0 };
	struct compare_input input = { .fail_over = o->fail_over };
	int err = check(o, nr_words, d);

	if (!err)
		err = side_get(words[0], o, &a, d);
	if (!err)
		err = side_get(words[1], o, &b, d);
	if (err)
		return err;
	input.a = (struct compare_source){ words[0], a.snapshot };
	input.b = (struct compare_source){ words[1], b.snapshot };
	return compare(o, &input, d);
}

int compare_main(int argc, char **argv)
{
	static const struct ask_verb verb = { &option_table, print_help, run };

	return ask_main(&verb, argc, argv);
}
