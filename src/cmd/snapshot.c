/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs `bpftruss snapshot`, which asks the daemon for a report of what it has counted, as -c writes
 * it, and `bpftruss status`.
 */
#include "base/clock.h"
#include "base/moment.h"
#include "cmd/asking.h"
#include "cmd/reporting.h"

/* A mark is known by the boot and the monotonic end of a snapshot. */
static void add_mark(struct ipc_url *url, const struct snapshot *snapshot)
{
	ask_add_number(url, "mark", (int64_t)snapshot->end_mono_ns);
	ipc_url_add(url, "boot_id", snapshot->boot_id);
}

/* A span, or a moment: how long ago it was. */
static int since_parse(const char *since, uint64_t *ret_ns, struct diag *d)
{
	int64_t now = clock_real_ns(), moment;

	if (!duration_parse("--since", since, ret_ns, NULL))
		return 0;
	if (moment_parse("--since", since, now, &moment, NULL))
		return diag_set(
			d, DIAG_USAGE, EINVAL,
			"--since: \"%.200s\" is neither a span such as 10m, nor a time such "
			"as 14:05, nor boot, nor a file",
			since);
	if (moment >= now)
		return diag_set(d, DIAG_USAGE, EINVAL, "--since: %.200s is in the future", since);
	*ret_ns = (uint64_t)(now - moment);
	return 0;
}

static int add_since(struct ipc_url *url, const char *since, struct diag *d)
{
	struct asked_snapshot saved __cleanup(asked_snapshot_done) = { 0 };
	bool is_boot = !strcasecmp(since, "boot"), is_file = !is_boot && !access(since, F_OK);
	uint64_t span_ns = 0;
	int err = is_file   ? asked_snapshot_load(since, &saved, d)
		  : is_boot ? 0
			    : since_parse(since, &span_ns, d);

	if (err)
		return err;
	if (is_file && saved.snapshot->origins && saved.snapshot->origins->count > 1)
		return diag_set(d, DIAG_USAGE, EINVAL,
				"--since: %.200s is merged of several snapshots: give one that "
				"this daemon has answered",
				since);
	if (is_file)
		add_mark(url, saved.snapshot);
	else if (is_boot)
		ipc_url_add(url, "since", "boot");
	else
		ask_add_number(url, "since", (int64_t)span_ns);
	return 0;
}

/* Tells which span it is, and why it is longer than the one that was asked for. */
static void tell_span(const struct options *o, int64_t start_ns, int64_t end_ns,
		      uint64_t elapsed_ns)
{
	const bool is_span = o->since && access(o->since, F_OK);
	uint64_t asked_ns = 0;
	bool is_longer = is_span && !since_parse(o->since, &asked_ns, NULL) &&
			 (uint64_t)(end_ns - start_ns) > asked_ns + NS_PER_SEC;

	span_tell("", start_ns, end_ns, elapsed_ns,
		  is_longer ? "; it begins with the last reading before --since" : "");
}

/* A report that the daemon wrote. */
static int print_text(struct output *output, const struct options *o, const struct ipc_reply *reply,
		      struct diag *d)
{
	struct report_text report;
	int err = report_text_json_read(reply->body, reply->size, &report, d);

	if (err)
		return err;
	tell_span(o, report.start_ns, report.end_ns, report.elapsed_ns);
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
	tell_span(o, asked.snapshot->start_ns, asked.snapshot->end_ns, asked.snapshot->elapsed_ns);
	return output_report(output, o, asked.snapshot, d);
}

/* Adds the part of the past that is asked for. */
static int add_past(struct ipc_url *url, const struct options *o, struct diag *d)
{
	int64_t now = clock_real_ns(), from = 0, to = 0;
	int err;

	if (o->since)
		return add_since(url, o->since, d);
	err = ask_read_span(o, now, &from, &to, d);
	/* Without a start it is that of the history. */
	if (!err && (o->from || o->to))
		ask_add_span(url, from ?: 1, to, now);
	return err;
}

/* Asks for the text of a table. What only we can make is made of a snapshot with everything in it. */
static int snapshot_once(const struct options *o, struct output *output, struct diag *d)
{
	struct ipc_url url;
	struct ipc_reply reply __cleanup(ipc_reply_done) = { 0 };
	const enum report_format format = o->report.format;
	bool is_table = format == FORMAT_TRUSS || format == FORMAT_WIDE || format == FORMAT_CSV ||
			format == FORMAT_STRACE;
	bool whole = !is_table || output_has_side_files(o) || o->from || o->to;
	int err;

	ipc_url_init(&url, whole ? "/v1/snapshot" : "/v1/report");
	ask_add_targets(&url, o);
	ask_add_report(&url, o, !whole, output_width(o, output->stream));
	if (is_table && !output_has_side_files(o) && (o->since || o->from || o->to))
		ask_add_sum(&url, ask_folded(&o->report));
	err = add_past(&url, o, d) ?: ask(o, "GET", &url, &reply, d);
	if (err)
		return err;
	if (format == FORMAT_JSON && report_is_whole(&o->report) && !output_has_side_files(o))
		return output_text(output, o, reply.body, reply.size, d);
	return whole ? print_whole(output, o, &reply, d) : print_text(output, o, &reply, d);
}

/* What has come since a mark, or all. */
static int ask_since(const struct options *o, const struct snapshot *mark,
		     struct asked_snapshot *ret, struct diag *d)
{
	struct ipc_reply reply __cleanup(ipc_reply_done) = { 0 };
	struct ipc_url url;
	int err;

	ipc_url_init(&url, "/v1/snapshot");
	ask_add_targets(&url, o);
	ask_add_split(&url, o);
	if (mark)
		add_mark(&url, mark);
	err = ask(o, "GET", &url, &reply, d);
	return err ?: report_json_read(reply.body, reply.size, &ret->snapshot, &ret->stacks, d);
}

/* A report of each interval, or with a duration alone one of that time. */
static int snapshot_intervals(const struct options *o, struct output *output, struct diag *d)
{
	const uint64_t step_ns = o->interval_ns ?: o->duration_ns, begin = clock_mono_ns();
	struct asked_snapshot last __cleanup(asked_snapshot_done) = { 0 };
	int err = ask_since(o, NULL, &last, d);

	output->is_series = o->interval_ns;
	for (uint64_t i = 1; !err && (!o->count_limit || i <= o->count_limit) &&
			     (!o->duration_ns || i * step_ns <= o->duration_ns);
	     i++) {
		struct asked_snapshot next = { 0 };

		clock_sleep_until(begin + i * step_ns);
		err = ask_since(o, last.snapshot, &next, d);
		if (!err)
			err = output_report(output, o, next.snapshot, d);
		asked_snapshot_done(&last);
		last = next;
	}
	return err;
}

static int snapshot_run(const struct options *o, struct diag *d)
{
	struct output output __cleanup(output_done) = { 0 };
	int err = output_open(&output, o, d);

	if (err)
		return err;
	return o->interval_ns || o->duration_ns ? snapshot_intervals(o, &output, d)
						: snapshot_once(o, &output, d);
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
	"  bpftruss snapshot --since before -p 1234     ... and see what happened since\n"
	"  bpftruss snapshot -i 5 -u nginx.service      a report every five seconds",
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
