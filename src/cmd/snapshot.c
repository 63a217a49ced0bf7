/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs `bpftruss snapshot`, which asks the daemon for a report of what it has counted, as -c writes
 * it, and `bpftruss status`.
 */
#include "base/clock.h"
#include "base/moment.h"
#include "cmd/reporting.h"

static int add_since(struct ipc_url *url, const char *since, struct diag *d)
{
	struct asked_snapshot saved __cleanup(asked_snapshot_done) = { 0 };
	bool is_file = strcasecmp(since, "boot") != 0 && !access(since, F_OK);
	uint64_t span_ns = 0;
	int err = is_file ? asked_snapshot_load(since, &saved, d) : 0;

	if (err)
		return err;
	if (is_file) {
		/* A mark is known by the boot and the monotonic end of the snapshot. */
		ask_add_number(url, "mark", (int64_t)saved.snapshot->end_mono_ns);
		ipc_url_add(url, "boot_id", saved.snapshot->boot_id);
	} else if (!strcasecmp(since, "boot")) {
		ipc_url_add(url, "since", "boot");
	} else if (duration_parse("--since", since, &span_ns, d)) {
		return diag_set(
			d, DIAG_USAGE, EINVAL,
			"--since: \"%.200s\" is neither a span such as 10m, nor BOOT, nor a "
			"file",
			since);
	} else {
		ask_add_number(url, "since", (int64_t)span_ns);
	}
	return 0;
}

/* Prints on stderr, as -c tells what it counts: reports do not say when. */
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

/* Report and files of a snapshot with everything in it. */
static int print_whole(struct output *output, const struct options *o,
		       const struct ipc_reply *reply, struct diag *d)
{
	struct asked_snapshot asked __cleanup(asked_snapshot_done) = { 0 };
	int err = report_json_read(reply->body, reply->size, &asked.snapshot, &asked.stacks, d);

	if (!err && o->collector.stacks && !asked.snapshot->stacks)
		err = diag_set(d, DIAG_FAILED, ENODATA,
			       "the daemon takes no call stacks: set 'stacks = yes' in [tables] of "
			       "its configuration");
	if (err)
		return err;
	print_span(asked.snapshot->start_ns, asked.snapshot->end_ns, asked.snapshot->elapsed_ns);
	return output_report(output, o, asked.snapshot, d);
}

/* Fetches the snapshot if files are wanted besides the report, and makes both of it. */
static int snapshot_run(const struct options *o, struct diag *d)
{
	struct output output __cleanup(output_done) = { 0 };
	struct ipc_url url;
	struct ipc_reply reply __cleanup(ipc_reply_done) = { 0 };
	bool is_json = o->report.format == FORMAT_JSON, whole = output_has_side_files(o);
	int err = output_open(&output, o, d);

	if (err)
		return err;
	ipc_url_init(&url, is_json || whole ? "/v1/snapshot" : "/v1/report");
	ask_add_targets(&url, o);
	ask_add_report(&url, o, !is_json && !whole, output_width(output.stream));
	err = (o->since ? add_since(&url, o->since, d) : 0) ?: ask(o, "GET", &url, &reply, d);
	if (err)
		return err;
	if (whole)
		return print_whole(&output, o, &reply, d);
	return is_json ? output_text(&output, o, reply.body, reply.size, d)
		       : print_text(&output, o, &reply, d);
}

const struct verb snapshot_verb = {
	"snapshot",
	VERB_SNAPSHOT,
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
	status_run,
	"how the daemon is doing",
	"usage: bpftruss status [options]",
	"Prints how the daemon is doing: what it counts, how full its tables are, whether it is\n"
	"exact, what it costs, and how far back it knows single processes.",
	"  bpftruss status --json | jq .exact",
};
