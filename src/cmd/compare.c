/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs `bpftruss compare`: where its two sides come from, and its exit status. */
#include "report/compare.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cmd/ask.h"
#include "cmd/output.h"
#include "daemon/baselines.h"
#include "model/query.h"

/* What "now" is: long enough to have some calls in it. */
#define NOW_NS (60 * NS_PER_SEC)

/* A span of the daemon's history. */
static int url_span(const char *text, struct ipc_url *url, struct diag *d)
{
	int64_t now = clock_real_ns(), from, to;
	int err = span_parse("compare", text, now, &from, &to, d);

	if (err)
		return err;
	ipc_url_init(url, "/v1/snapshot");
	ask_add_span(url, from, to, now);
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

static int side_ask(const char *text, const struct options *o, struct asked_snapshot *ret,
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
static int side_load(const char *path, const struct options *o, struct asked_snapshot *ret,
		     struct diag *d)
{
	const struct targets *targets = &o->targets;
	const struct process_filter filter = { targets->pids, targets->nr_pids, targets->selectors,
					       targets->nr_selectors };
	struct snapshot *all __cleanup(snapshot_freep) = NULL;
	int err = asked_snapshot_load(path, ret, d);

	if (err)
		return err;
	all = steal_ptr(&ret->snapshot);
	return snapshot_filter(all, &filter, &ret->snapshot) ? diag_oom(d) : 0;
}

static int side_get(const char *text, const struct options *o, struct asked_snapshot *ret,
		    struct diag *d)
{
	struct snapshot *all __cleanup(snapshot_freep) = NULL;
	int err = access(text, F_OK) ? side_ask(text, o, ret, d) : side_load(text, o, ret, d);

	if (err)
		return err;
	all = steal_ptr(&ret->snapshot);
	return snapshot_select(all, o->report.only, &ret->snapshot) ? diag_oom(d) : 0;
}

static int compare(const struct options *o, const struct compare_input *input, struct diag *d)
{
	struct compare_view view __cleanup(compare_view_done) = { 0 };
	struct table_options table = o->report.table;
	int err;

	table.width = output_width(stdout);
	if (compare_view_make(input, &table, &view))
		return diag_oom(d);
	err = o->report.format == FORMAT_JSON ? report_comparison_json(input, &view, stdout)
					      : report_comparison(input, &view, &table, stdout);
	if (err)
		return diag_set(d, DIAG_FAILED, -err, "cannot write to stdout: %s", strerror(-err));
	return view.failed ? STATUS_REGRESSION : STATUS_OK;
}

static int compare_run(const struct options *o, struct diag *d)
{
	struct asked_snapshot a __cleanup(asked_snapshot_done) = { 0 };
	struct asked_snapshot b __cleanup(asked_snapshot_done) = { 0 };
	struct compare_input input = { .fail_over = o->fail_over_percent / 100 };
	int err;

	if (o->nr_words != 2)
		return diag_set(d, DIAG_USAGE, EINVAL,
				"compare: give two of baseline, saved snapshot, span and now; "
				"'bpftruss compare --help' tells more");
	err = side_get(o->words[0], o, &a, d);
	if (!err)
		err = side_get(o->words[1], o, &b, d);
	if (err)
		return err;
	input.a = (struct compare_source){ o->words[0], a.snapshot };
	input.b = (struct compare_source){ o->words[1], b.snapshot };
	return compare(o, &input, d);
}

const struct verb compare_verb = {
	"compare",
	VERB_COMPARE,
	true,
	compare_run,
	"what has changed between two spans, baselines or saved snapshots",
	"usage: bpftruss compare A B [options]",
	"Reports what changed from A to B, each of which is a baseline, a snapshot that was saved\n"
	"with --json, a span (10m: the last ten minutes; FROM..TO), or now: the last minute. What\n"
	"changed most in time comes first, with a word on whether that is more than chance.",
	"  bpftruss compare monday now                    is this a normal Monday?\n"
	"  bpftruss compare before.json after.json        did the new release help?\n"
	"  bpftruss compare \"yesterday 14:00..yesterday 15:00\" 14:00..15:00 --by unit\n"
	"  bpftruss compare monday 10m --fail-over 20%    for cron: exit status 3 if not",
};
