/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs `bpftruss snapshot`, which asks the daemon for a report of what it has counted, as -c writes
 * it, and `bpftruss status`.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/moment.h"
#include "cmd/ask.h"
#include "cmd/output.h"
#include "model/query.h"
#include "report/status.h"

/* A mark is known by the boot and the monotonic end of the snapshot that was saved. */
static int add_mark(struct ipc_url *url, const char *path, struct diag *d)
{
	struct asked_snapshot saved __cleanup(asked_snapshot_done) = { 0 };
	int err = asked_snapshot_load(path, &saved, d);

	if (err)
		return err;
	ask_add_number(url, "mark", (int64_t)saved.snapshot->end_mono_ns);
	ipc_url_add(url, "boot_id", saved.snapshot->boot_id);
	return 0;
}

static int add_since(struct ipc_url *url, const char *since, struct diag *d)
{
	uint64_t span_ns = 0;

	if (!strcasecmp(since, "boot")) {
		ipc_url_add(url, "since", "boot");
		return 0;
	}
	if (!access(since, F_OK))
		return add_mark(url, since, d);
	if (duration_parse("--since", since, &span_ns, d))
		return diag_set(
			d, DIAG_USAGE, EINVAL,
			"--since: \"%.200s\" is neither a span such as 10m, nor BOOT, nor a "
			"file",
			since);
	ask_add_number(url, "since", (int64_t)span_ns);
	return 0;
}

static void add_table(struct ipc_url *url, const struct table_options *table)
{
	char keys[GROUP_KEYS_MAX], columns[COLUMNS_TEXT_MAX];

	if (table->keys) {
		group_keys_format(table->keys, keys);
		ipc_url_add(url, "by", keys);
	}
	if (table->columns) {
		columns_format(table->columns, columns);
		ipc_url_add(url, "columns", columns);
	}
	if (table->sort)
		ipc_url_add(url, "sort", table->sort->name);
	if (table->top)
		ask_add_number(url, "top", (int64_t)table->top);
	if (table->min_calls)
		ask_add_number(url, "min_calls", (int64_t)table->min_calls);
	if (table->waiting)
		ipc_url_add(url, "waiting", syscall_set_text(table->waiting));
	if (table->errors_only)
		ipc_url_add(url, "errors_only", "1");
	if (table->hist)
		ipc_url_add(url, "hist", "1");
}

static void add_report(struct ipc_url *url, const struct output_options *r, FILE *stream)
{
	ipc_url_add(url, "format", report_format_names[r->format]);
	ask_add_number(url, "width", output_width(stream));
	add_table(url, &r->table);
	if (!r->show_stacks)
		return;
	ipc_url_add(url, "stacks", r->stacks.weight == STACK_WEIGHT_TIME ? "time" : "calls");
	if (r->stacks.top)
		ask_add_number(url, "top_stacks", (int64_t)r->stacks.top);
}

/* On stderr, as -c tells what it counts: reports do not say when. */
static void print_span(int64_t start_ns, int64_t end_ns, uint64_t elapsed_ns)
{
	char start[CLOCK_LOCAL_SIZE], end[CLOCK_LOCAL_SIZE];

	clock_local(start_ns, start, sizeof(start));
	clock_local(end_ns, end, sizeof(end));
	fprintf(stderr, "bpftruss: %s to %s, %.1f s counted\n", start, end,
		(double)elapsed_ns / 1e9);
}

/* A report that the daemon wrote. */
static int print_text(struct output *output, const struct options *o, const struct ipc_reply *reply,
		      struct diag *d)
{
	struct report_text report;
	int err = report_text_json_read(reply->body, reply->size, &report, d);

	if (err)
		return err;
	print_span(report.start_ns, report.end_ns, report.elapsed_ns);
	err = output_text(output, o, report.text, strlen(report.text), d);
	free(report.text);
	return err;
}

/* Leaves the calls that were asked for. */
static int asked_select(struct asked_snapshot *asked, const struct syscall_set *calls,
			struct diag *d)
{
	struct snapshot *chosen;

	if (!calls)
		return 0;
	if (snapshot_select(asked->snapshot, calls, &chosen))
		return diag_oom(d);
	snapshot_free(asked->snapshot);
	asked->snapshot = chosen;
	return 0;
}

/* Report and files of a snapshot with everything in it. */
static int print_whole(struct output *output, const struct options *o,
		       const struct ipc_reply *reply, struct diag *d)
{
	struct asked_snapshot asked __cleanup(asked_snapshot_done) = { 0 };
	int err = asked_snapshot_parse(reply->body, reply->size, &asked, d);

	if (!err && o->collector.stacks && !asked.snapshot->stacks)
		err = diag_set(d, DIAG_FAILED, ENODATA,
			       "the daemon takes no call stacks: set 'stacks = yes' in [tables] of "
			       "its configuration");
	err = err ?: asked_select(&asked, o->report.only, d);
	if (err)
		return err;
	print_span(asked.snapshot->start_ns, asked.snapshot->end_ns, asked.snapshot->elapsed_ns);
	return output_report(output, o, asked.snapshot, d);
}

/* A user who wants files beside the report needs the whole snapshot to make both of it. */
static bool needs_whole(const struct options *o)
{
	/* The rest is for the other parameters. */
	size_t most = IPC_MAX_PARAMETERS - 20;

	return output_has_side_files(o) || o->targets.nr_pids + o->targets.nr_selectors > most;
}

/* All that the daemon has of the targets: what else was asked for is done here. */
static int ask_whole(struct output *output, const struct options *o, struct diag *d)
{
	struct ipc_url url __cleanup(ipc_url_done) = { 0 };
	struct ipc_reply reply __cleanup(ipc_reply_done) = { 0 };
	int err;

	ipc_url_init(&url, "/v1/snapshot");
	ask_add_targets(&url, o);
	err = o->since ? add_since(&url, o->since, d) : 0;
	if (!err)
		err = ask(o, IPC_GET, &url, &reply, d);
	return err ?: print_whole(output, o, &reply, d);
}

/* Prints the daemon's answer: -E2BIG if the question is too long for it, -ENODATA from an older one. */
static int ask_made(struct output *output, const struct options *o, struct diag *d)
{
	struct ipc_url url __cleanup(ipc_url_done) = { 0 };
	struct ipc_reply reply __cleanup(ipc_reply_done) = { 0 };
	bool is_json = o->report.format == FORMAT_JSON;
	int err;

	ipc_url_init(&url, is_json ? "/v1/snapshot" : "/v1/report");
	ask_add_targets(&url, o);
	if (o->report.only)
		ipc_url_add(&url, "trace", syscall_set_text(o->report.only));
	if (!is_json)
		add_report(&url, &o->report, output->stream);
	err = o->since ? add_since(&url, o->since, d) : 0;
	if (err)
		return err;
	if (!ipc_url_fits(&url))
		return -E2BIG;
	err = ask(o, IPC_GET, &url, &reply, d);
	if (err)
		return err;
	return is_json ? output_text(output, o, reply.body, reply.size, d)
		       : print_text(output, o, &reply, d);
}

static int snapshot_run(const struct options *o, struct diag *d)
{
	struct output output __cleanup(output_done) = { 0 };
	int err = output_open(&output, o, d);

	if (err)
		return err;
	err = needs_whole(o) ? -E2BIG : ask_made(&output, o, d);
	return err == -E2BIG || err == -ENODATA ? ask_whole(&output, o, d) : err;
}

const struct verb snapshot_verb = {
	"snapshot",
	VERB_SNAPSHOT,
	false,
	snapshot_run,
	"what the daemon has counted since it started, or since a point in time",
	"usage: bpftruss snapshot [options]",
	"Prints what the daemon has counted since it started, or --since. It never resets a\n"
	"counter, so several clients can ask independently.",
	"  bpftruss snapshot                            all processes, since the daemon started\n"
	"  bpftruss snapshot --since 10m -w --by unit   the last ten minutes, by service\n"
	"  bpftruss snapshot --json > before            keep one ...\n"
	"  bpftruss snapshot --since before -p 1234     ... and see what happened since",
};

static int status_run(const struct options *o, struct diag *d)
{
	return ask_and_print(o, "/v1/status", report_status_text, d);
}

const struct verb status_verb = {
	"status",
	VERB_STATUS,
	false,
	status_run,
	"how the daemon is doing",
	"usage: bpftruss status [options]",
	"Prints how the daemon is doing: what it counts, how full its tables are, whether it is\n"
	"exact, what it costs, and how far back it knows single processes.",
	"  bpftruss status --json | jq .exact",
};
