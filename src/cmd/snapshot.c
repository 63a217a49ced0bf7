/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs `bpftruss snapshot`: asks the daemon for a report of what it has counted, as -c writes it. */
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
	int err;

	if (!strcasecmp(since, "boot")) {
		ipc_target_add(target, "since", "boot");
		return 0;
	}
	if (!access(since, F_OK))
		return add_mark(target, since, d);
	err = duration_parse("--since", since, &span_ns, d);
	if (err)
		return diag_set(
			d, DIAG_USAGE, EINVAL,
			"--since: \"%.200s\" is neither a span such as 10m, nor BOOT, nor a "
			"file",
			since);
	ask_add_number(target, "since", (int64_t)span_ns);
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

static void add_table(struct ipc_target *target, const struct table_options *table)
{
	char keys[GROUP_KEYS_MAX], columns[COLUMNS_TEXT_MAX];

	if (table->keys) {
		group_keys_format(table->keys, keys);
		ipc_target_add(target, "by", keys);
	}
	if (table->columns) {
		columns_format(table->columns, columns);
		ipc_target_add(target, "columns", columns);
	}
	if (table->sort)
		ipc_target_add(target, "sort", table->sort->name);
	if (table->top)
		ask_add_number(target, "top", (int64_t)table->top);
	if (table->min_calls)
		ask_add_number(target, "min_calls", (int64_t)table->min_calls);
	if (table->waiting)
		ipc_target_add(target, "waiting", syscall_set_text(table->waiting));
	if (table->errors_only)
		ipc_target_add(target, "errors_only", "1");
	if (table->hist)
		ipc_target_add(target, "hist", "1");
}

static void add_report(struct ipc_target *target, const struct options *o, FILE *stream)
{
	ipc_target_add(target, "format", report_format_names[o->format]);
	ask_add_number(target, "width", output_width(stream));
	add_table(target, &o->table);
	if (!o->show_stacks)
		return;
	ipc_target_add(target, "stacks", o->stacks.weight == STACK_WEIGHT_TIME ? "time" : "calls");
	if (o->stacks.top)
		ask_add_number(target, "top_stacks", (int64_t)o->stacks.top);
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

/* Report and files of a snapshot with everything in it. */
static int print_whole(struct output *output, const struct options *o,
		       const struct ipc_reply *reply, struct diag *d)
{
	struct asked_snapshot asked __cleanup(asked_snapshot_done) = { 0 };
	int err = asked_snapshot_parse(reply->body, reply->size, &asked, d);

	if (!err && options_want_stacks(o) && !asked.snapshot->stacks)
		err = diag_set(d, DIAG_FAILED, ENODATA,
			       "the daemon takes no call stacks: set 'stacks = yes' in [tables] of "
			       "its configuration");
	if (err)
		return err;
	print_span(asked.snapshot->start_ns, asked.snapshot->end_ns, asked.snapshot->elapsed_ns);
	return output_report(output, o, asked.snapshot, d);
}

/* Who wants files besides the report asks for all that is counted, and makes both of it. */
static bool needs_whole(const struct options *o)
{
	/* The rest is for the other parameters. */
	size_t most = IPC_MAX_PARAMETERS - 20;

	return output_has_side_files(o) || o->targets.nr_pids + o->targets.nr_selectors > most;
}

static int ask_and_print(const struct ask_options *o, struct diag *d)
{
	const struct options *report = &o->report;
	struct ipc_target target __cleanup(ipc_target_done) = { 0 };
	struct ipc_reply reply __cleanup(ipc_reply_done) = { 0 };
	struct output output __cleanup(output_done) = { 0 };
	bool whole = needs_whole(report), json = report->format == FORMAT_JSON;
	int err = output_open(&output, report, d);

	if (err)
		return err;
	ipc_target_init(&target, whole || json ? "/v1/snapshot" : "/v1/report");
	ask_add_targets(&target, o);
	if (report->only)
		ipc_target_add(&target, "trace", syscall_set_text(report->only));
	if (!whole && !json)
		add_report(&target, report, output.stream);
	if (o->since)
		err = add_since(&target, o->since, d);
	if (!err)
		err = ask(o, IPC_GET, &target, &reply, d);
	if (err)
		return err;
	if (whole)
		return print_whole(&output, report, &reply, d);
	return json ? output_text(&output, report, reply.body, reply.size, d)
		    : print_text(&output, report, &reply, d);
}

static int run(const struct ask_options *o, int nr_words, char **words, struct diag *d)
{
	int err = ask_refuse_words("snapshot", nr_words, words, d);

	if (!err)
		err = check(o, d);
	return err ?: ask_and_print(o, d);
}

int snapshot_main(int argc, char **argv)
{
	static const struct ask_verb verb = { &option_table, print_help, run };

	return ask_main(&verb, argc, argv);
}
