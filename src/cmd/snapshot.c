/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs `bpftruss snapshot`, which asks the daemon what it has counted and reports it as -c does,
 * and `bpftruss status`.
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
#include "report/status.h"

/* A mark is known by the boot and the monotonic end of the snapshot that was saved. */
static int add_mark(struct ipc_target *target, const char *path, struct diag *d)
{
	struct asked_snapshot saved __cleanup(asked_snapshot_done) = { 0 };
	int err = asked_snapshot_load(path, &saved, d);

	if (err)
		return err;
	ask_add_number(target, "mark", (int64_t)saved.snapshot->end_mono_ns);
	ipc_target_add(target, "boot_id", saved.snapshot->boot_id);
	return 0;
}

static int add_since(struct ipc_target *target, const char *since, struct diag *d)
{
	uint64_t span_ns = 0;

	if (!strcasecmp(since, "boot")) {
		ipc_target_add(target, "since", "boot");
		return 0;
	}
	if (!access(since, F_OK))
		return add_mark(target, since, d);
	if (duration_parse("--since", since, &span_ns, d))
		return diag_set(
			d, DIAG_USAGE, EINVAL,
			"--since: \"%.200s\" is neither a span such as 10m, nor BOOT, nor a "
			"file",
			since);
	ask_add_number(target, "since", (int64_t)span_ns);
	return 0;
}

/* On stderr, as -c tells what it counts: reports do not say when. */
static void print_span(const struct snapshot *snapshot)
{
	char start[CLOCK_LOCAL_SIZE], end[CLOCK_LOCAL_SIZE];

	clock_local(snapshot->start_ns, start, sizeof(start));
	clock_local(snapshot->end_ns, end, sizeof(end));
	fprintf(stderr, "bpftruss: %s to %s, %.1f s counted\n", start, end,
		(double)snapshot->elapsed_ns / 1e9);
}

/* The daemon wrote the very bytes that would be written again. */
static bool is_verbatim(const struct report_options *r)
{
	if (r->format != FORMAT_JSON || r->only || r->output)
		return false;
	for (int i = 0; i < NR_SIDE_FILE; i++) {
		if (r->side_files[i])
			return false;
	}
	return true;
}

static int report(const struct options *o, const struct ipc_reply *reply, struct diag *d)
{
	struct asked_snapshot asked __cleanup(asked_snapshot_done) = { 0 };
	struct output output __cleanup(output_done) = { 0 };
	int err;

	if (is_verbatim(&o->report)) {
		fwrite(reply->body, 1, reply->size, stdout);
		return STATUS_OK;
	}
	err = asked_snapshot_parse(reply->body, reply->size, &asked, d);
	if (!err && o->collector.stacks && !asked.snapshot->stacks)
		err = diag_set(d, DIAG_FAILED, ENODATA,
			       "the daemon takes no call stacks: set 'stacks = yes' in [tables] of "
			       "its configuration");
	if (!err)
		err = output_open(&output, o, d);
	if (err)
		return err;
	print_span(asked.snapshot);
	return output_report(&output, o, asked.snapshot, d);
}

static int snapshot_run(const struct options *o, struct diag *d)
{
	struct ipc_target target __cleanup(ipc_target_done);
	struct ipc_reply reply __cleanup(ipc_reply_done) = { 0 };
	int err = 0;

	ipc_target_init(&target, "/v1/snapshot");
	ask_add_targets(&target, o);
	if (o->since)
		err = add_since(&target, o->since, d);
	if (!err)
		err = ask(o, IPC_GET, &target, &reply, d);
	return err ? err : report(o, &reply, d);
}

const struct verb snapshot_verb = {
	"snapshot",
	VERB_SNAPSHOT,
	false,
	snapshot_run,
	"what the daemon has counted since it started, or lately",
	"usage: bpftruss snapshot [options]",
	"Reports what the daemon has counted since it started, or --since. It never resets a\n"
	"counter, so several clients can ask independently.",
	"  bpftruss snapshot                            all processes, since the daemon started\n"
	"  bpftruss snapshot --since 10m -w --by unit   the last ten minutes, by service\n"
	"  bpftruss snapshot --json > before            keep one ...\n"
	"  bpftruss snapshot --since before -p 1234     ... and see what came since",
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
	"Tells how the daemon is doing: what it counts, how full its tables are, whether it is\n"
	"exact, what it costs, what of the past it knows.",
	"  bpftruss status --json | jq .exact",
};
