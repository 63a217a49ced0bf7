/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs `bpftruss history`: from the daemon, or from its file when none runs. */
#include "base/clock.h"
#include "base/moment.h"
#include "cmd/asking.h"
#include "cmd/reporting.h"

/* About so many lines unless --step says how long each is. */
#define LINES_WANTED 24

/* The least of the steps people think in, so that few enough lines come out. */
static uint64_t step_to_fit(uint64_t span_ns)
{
	static const uint64_t seconds[] = { 60,   120,  300,   600,   1200,  1800,
					    3600, 7200, 10800, 21600, 43200, 86400 };

	for (size_t i = 0; i < ARRAY_SIZE(seconds); i++) {
		if (span_ns / (seconds[i] * NS_PER_SEC) <= LINES_WANTED)
			return seconds[i] * NS_PER_SEC;
	}
	return 7 * 86400 * NS_PER_SEC;
}

static int question_make(const struct options *o, bool is_report, struct history_question *ret,
			 struct diag *d)
{
	const struct targets *targets = &o->targets;
	int64_t now = clock_real_ns();
	int err;

	*ret = (struct history_question){
		/* Only JSON and reports have the kinds. */
		.by_call = !is_report && o->report.format != FORMAT_JSON,
		.from_ns = now - 86400 * (int64_t)NS_PER_SEC,
		.to_ns = now,
		.filter = { targets->pids, targets->nr_pids, targets->selectors,
			    targets->nr_selectors },
	};
	err = ask_read_span(o, now, &ret->from_ns, &ret->to_ns, d);
	if (err)
		return err;
	ret->step_ns = step_to_fit((uint64_t)(ret->to_ns - ret->from_ns));
	/* Without an end, it is when the daemon answers. */
	if (ret->to_ns >= now)
		ret->to_ns = 0;
	if (!o->step && !is_report)
		return 0;
	ret->step_ns = 0;
	return o->step && strcmp(o->step, "all")
		       ? duration_parse("--step", o->step, &ret->step_ns, d)
		       : 0;
}

static int history_from_daemon(const struct options *o, const struct history_question *question,
			       struct timeline *ret, struct diag *d)
{
	struct ipc_url url;
	struct ipc_reply reply __cleanup(ipc_reply_done) = { 0 };
	int err;

	ipc_url_init(&url, "/v1/history");
	ask_add_targets(&url, o);
	ask_add_span(&url, question->from_ns, question->to_ns, INT64_MAX);
	if (question->by_call)
		ipc_url_add(&url, "sum", "call");
	ask_add_number(&url, "step", (int64_t)question->step_ns);
	err = ask(o, "GET", &url, &reply, d);
	return err ?: report_timeline_json_read(reply.body, reply.size, ret, d);
}

/* The file tells as well, to whom it belongs. */
static int history_get(const struct options *o, const struct history_question *question,
		       struct timeline *ret, struct diag *d)
{
	const struct history_options options = { .read_only = true };
	struct history *history __cleanup(history_closep) = NULL;
	struct diag nobody;
	int err = history_from_daemon(o, question, ret, d);

	if (o->remote.url || (err != -ECONNREFUSED && err != -ENOENT))
		return err;
	nobody = *d;
	err = history_open(o->state_dir ?: DEFAULT_STATE_DIR, &options, &history, d);
	if (!err)
		err = history_ask(history, question, ret, d);
	if (!err)
		fputs("bpftruss: no daemon is running: reading the file of its history\n", stderr);
	/* Where none ever ran, or is not ours to read, that there is none says more. */
	else if (!o->state_dir && (err == -ENOENT || err == -EACCES))
		*d = nobody;
	return err;
}

/* Whether a report is asked for, and not a line for each step. */
static bool history_is_report(const struct options *o)
{
	const struct report_options *r = &o->report;
	const struct table_options *t = &r->table;

	return r->format == FORMAT_WIDE || r->format == FORMAT_STRACE ||
	       r->format == FORMAT_CHART || r->errors || t->keys || t->sort.count || t->top ||
	       t->min_calls || t->errors_only || t->successes_only || t->columns ||
	       output_has_side_files(o);
}

/* A table does not tell of the time in which nothing was counted. */
static void tell_gaps(const struct timeline *timeline, bool is_empty)
{
	int64_t gaps_ns = 0;

	for (size_t i = 0; i < timeline->nr_gaps; i++)
		gaps_ns += timeline->gaps[i].end_ns - timeline->gaps[i].start_ns;
	if (is_empty)
		fputs("bpftruss: nothing was counted in this time; 'bpftruss history' shows when "
		      "something was\n",
		      stderr);
	else if (gaps_ns >= (int64_t)NS_PER_SEC)
		fprintf(stderr,
			"bpftruss: nothing was counted in %.0f s of this time; 'bpftruss history' "
			"shows when\n",
			(double)gaps_ns / 1e9);
}

/* A report of each step in which anything was counted. */
static int write_reports(const struct options *o, const struct timeline *timeline,
			 struct output *output, struct diag *d)
{
	int err = 0;

	bool is_empty = true;

	output->is_series = true;
	for (size_t i = 0; i < timeline->nr_steps && !err; i++) {
		if (!timeline->steps[i].sum)
			continue;
		is_empty = false;
		err = output_report(output, o, timeline->steps[i].sum, d);
	}
	if (!err)
		tell_gaps(timeline, is_empty);
	return err;
}

static int history_run(const struct options *o, struct diag *d)
{
	struct timeline timeline __cleanup(timeline_done) = { 0 };
	struct output output __cleanup(output_done) = { 0 };
	struct report_options how = o->report;
	const bool is_report = history_is_report(o);
	struct history_question question;
	int err = output_open(&output, o, d) ?: question_make(o, is_report, &question, d);

	if (!err)
		err = history_get(o, &question, &timeline, d);
	if (err)
		return err;
	if (is_report)
		return write_reports(o, &timeline, &output, d);
	for (size_t i = 0; i < timeline.nr_steps; i++) {
		struct snapshot **sum = &timeline.steps[i].sum;
		struct snapshot *all __cleanup(snapshot_freep) = steal_ptr(sum);

		if (all && snapshot_select(all, o->output.only, sum))
			return diag_oom(d);
	}
	how.table.width = output_width(o, output.stream);
	how.table.color = output_has_color(output.stream);
	err = output_begin(&output, o);
	if (!err && o->report.format == FORMAT_JSON)
		err = report_timeline_json(&timeline, output.stream);
	else if (!err && o->report.format == FORMAT_CSV)
		err = report_timeline_csv(&timeline, &how, output.stream);
	else if (!err)
		err = report_timeline(&timeline, &how.table, output.stream);
	if (!err && fflush(output.stream))
		err = -errno;
	return err ? output_failed(o, err, d) : 0;
}

const struct verb history_verb = {
	"history",
	VERB_HISTORY,
	history_run,
	"what was counted in the past, step by step",
	"usage: bpftruss history [options]",
	"Prints what was counted in the past, step by step, and when nothing was counted. Without\n"
	"--from, prints the last day. Options that ask for a table (-w, --by, --sort, --errors,\n"
	"...) print one of the whole span, or with --step one of each step.",
	"  bpftruss history                              the last day\n"
	"  bpftruss history --from 09:00 --to 09:30 --step 1m -u nginx.service\n"
	"  bpftruss history --from yesterday --by unit --sort errors --top 10\n"
	"  bpftruss history --from -7d --step 1h -t fsync --csv > fsync.csv",
};
