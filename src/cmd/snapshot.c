/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns `bpftruss snapshot`: asks the daemon what it has counted, and reports it as -c does. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/moment.h"
#include "cmd/arguments.h"
#include "cmd/ask.h"
#include "cmd/cmd.h"
#include "cmd/output.h"

static int set_since(void *options, const char *arg, struct diag *d)
{
	(void)d;
	((struct ask_options *)options)->since = arg;
	return 0;
}

static const struct option_def snapshot_defs[] = {
	{ "since", "10m|BOOT|FILE", "what came since: a span, the boot, a saved --json snapshot",
	  set_since, 0 },
};

static const struct option_part snapshot_part = { snapshot_defs, ARRAY_SIZE(snapshot_defs) };

static const struct option_table option_table = {
	.parts = { &snapshot_part, &target_options, &report_options, &ask_part },
	.help_command = "bpftruss snapshot --help",
};

static void print_help(void)
{
	puts("usage: bpftruss snapshot [options]\n"
	     "\n"
	     "What the daemon has counted since it started, or --since. Nothing is cleared: "
	     "anybody\n"
	     "may ask for any span, and the answers add up.\n");
	option_table_print(&option_table);
	puts("\n"
	     "  bpftruss snapshot                            all processes, since the daemon "
	     "started\n"
	     "  bpftruss snapshot --since 10m -w --by unit   the last ten minutes, by service\n"
	     "  bpftruss snapshot --json > before            keep one ...\n"
	     "  bpftruss snapshot --since before -p 1234     ... and see what came since\n"
	     "\n"
	     "Exit status: 0 ok, 1 failure, 2 usage. bpftruss(8) has the details.");
}

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
	int err;

	if (!strcasecmp(since, "boot")) {
		ipc_url_add(url, "since", "boot");
		return 0;
	}
	if (!access(since, F_OK))
		return add_mark(url, since, d);
	err = duration_parse("--since", since, &span_ns, d);
	if (err)
		return diag_set(
			d, DIAG_USAGE, EINVAL,
			"--since: \"%.200s\" is neither a span such as 10m, nor BOOT, nor a "
			"file",
			since);
	ask_add_number(url, "since", (int64_t)span_ns);
	return 0;
}

static int check(const struct ask_options *o, struct diag *d)
{
	if (o->report.table.keys & (GROUP_TID | GROUP_ARG0))
		return diag_set(d, DIAG_USAGE, EINVAL,
				"--by: the daemon keeps processes, neither threads nor first "
				"arguments: bpftruss -c does");
	return options_check_report(&o->report, d);
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
static bool is_verbatim(const struct options *o)
{
	if (o->format != FORMAT_JSON || o->only || o->chart || o->output)
		return false;
	for (int i = 0; i < NR_STACK_FILE; i++) {
		if (o->stack_files[i])
			return false;
	}
	return true;
}

static int report(const struct options *o, const struct ipc_reply *reply, struct diag *d)
{
	struct asked_snapshot asked __cleanup(asked_snapshot_done) = { 0 };
	struct output output __cleanup(output_done) = { 0 };
	int err;

	if (is_verbatim(o))
		return fwrite(reply->body, 1, reply->size, stdout) == reply->size
			       ? 0
			       : diag_set(d, DIAG_FAILED, errno, "cannot write to stdout: %s",
					  strerror(errno));
	err = asked_snapshot_parse(reply->body, reply->size, &asked, d);
	if (!err && options_want_stacks(o) && !asked.snapshot->stacks)
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

static int run(const struct ask_options *o, int nr_words, char **words, struct diag *d)
{
	struct ipc_url url __cleanup(ipc_url_done);
	struct ipc_reply reply __cleanup(ipc_reply_done) = { 0 };
	int err = ask_refuse_words("snapshot", nr_words, words, d);

	ipc_url_init(&url, "/v1/snapshot");
	ask_add_targets(&url, o);
	if (!err)
		err = check(o, d);
	if (!err && o->since)
		err = add_since(&url, o->since, d);
	if (!err)
		err = ask(o, IPC_GET, &url, &reply, d);
	return err ?: report(&o->report, &reply, d);
}

int snapshot_main(int argc, char **argv)
{
	static const struct ask_verb verb = { &option_table, print_help, run };

	return ask_main(&verb, argc, argv);
}
