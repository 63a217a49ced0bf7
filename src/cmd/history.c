/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs `bpftruss history`: from the daemon, or from its file when none runs. */
#include "base/clock.h"
#include "base/moment.h"
#include "cmd/asking.h"
#include "cmd/reporting.h"

/* About so many lines unless --step says how long each is. */
#define LINES_WANTED 24

/* Pictures have more steps, and shorter ones. */
#define POINTS_WANTED 120

/* The least of the steps people think in, of so many seconds at least, so that few enough come out. */
static uint64_t step_to_fit(uint64_t span_ns, uint64_t count, uint64_t least)
{
	static const uint64_t seconds[] = {
		1,   2,    5,    10,   15,   30,    60,    120,   300,
		600, 1200, 1800, 3600, 7200, 10800, 21600, 43200, 86400
	};

	for (size_t i = 0; i < ARRAY_SIZE(seconds); i++) {
		if (seconds[i] >= least && span_ns / (seconds[i] * NS_PER_SEC) <= count)
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
		.folded = is_report ? ask_folded(&o->report) : KIND_FIELDS,
		.from_ns = now - 86400 * (int64_t)NS_PER_SEC,
		.to_ns = now,
		.filter = { targets->pids, targets->nr_pids, targets->selectors,
			    targets->nr_selectors },
	};
	/* JSON has all kinds. */
	if (o->report.format == FORMAT_JSON)
		ret->folded = 0;
	err = ask_read_span(o, now, &ret->from_ns, &ret->to_ns, d);
	if (err)
		return err;
	ret->step_ns = step_to_fit((uint64_t)(ret->to_ns - ret->from_ns), LINES_WANTED, 60);
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

/* Where the past is asked for. */
struct past {
	const struct options *options;
	bool is_told; /* that it comes from a file */
};

static int history_from_daemon(const struct options *o, const struct history_question *question,
			       struct timeline *ret, struct diag *d)
{
	struct ipc_url url;
	struct ipc_reply reply __cleanup(ipc_reply_done) = { 0 };
	int err;

	ipc_url_init(&url, "/v1/history");
	ask_add_targets(&url, o);
	ask_add_span(&url, question->from_ns, question->to_ns, INT64_MAX);
	ask_add_sum(&url, question->folded);
	ask_add_number(&url, "step", (int64_t)question->step_ns);
	err = ask(o, "GET", &url, &reply, d);
	return err ?: report_timeline_json_read(reply.body, reply.size, ret, d);
}

/* The file tells as well, to whom it belongs. */
static int history_get(struct past *past, const struct history_question *question,
		       struct timeline *ret, struct diag *d)
{
	const struct options *o = past->options;
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
	if (!err && !past->is_told)
		fputs("bpftruss: no daemon is running: reading the file of its history\n", stderr);
	past->is_told |= !err;
	/* Where none ever ran, or is not ours to read, that there is none says more. */
	if (err && !o->state_dir && (err == -ENOENT || err == -EACCES))
		*d = nobody;
	return err;
}

/* Whether a report is asked for, and not a line for each step. */
static bool history_is_report(const struct options *o)
{
	const struct report_options *r = &o->report;
	const struct table_options *t = &r->table;

	return r->format == FORMAT_WIDE || r->format == FORMAT_STRACE || r->errors || t->keys ||
	       t->sort.count || t->top || t->min_calls || t->errors_only || t->successes_only ||
	       t->columns;
}

/* --- pictures over time --------------------------------------------------------------------------- */

/* Adds the steps and gaps of a timeline that goes on where the other ends, and empties it. 0 or -ENOMEM. */
static int timeline_append(struct timeline *into, struct timeline *from)
{
	struct timeline_step *steps =
		reallocarray(into->steps, into->nr_steps + from->nr_steps + 1, sizeof(*steps));
	struct timeline_gap *gaps;

	if (!steps)
		return -ENOMEM;
	into->steps = steps;
	gaps = reallocarray(into->gaps, into->nr_gaps + from->nr_gaps + 1, sizeof(*gaps));
	if (!gaps)
		return -ENOMEM;
	into->gaps = gaps;
	/* An interval longer than a step covers those before, which are not empty. */
	while (into->nr_steps && from->nr_steps && from->steps[0].sum &&
	       !steps[into->nr_steps - 1].sum &&
	       steps[into->nr_steps - 1].start_ns >= from->steps[0].start_ns)
		into->nr_steps--;
	memcpy(steps + into->nr_steps, from->steps, from->nr_steps * sizeof(*steps));
	memcpy(gaps + into->nr_gaps, from->gaps, from->nr_gaps * sizeof(*gaps));
	into->nr_steps += from->nr_steps;
	into->nr_gaps += from->nr_gaps;
	from->nr_steps = from->nr_gaps = 0;
	return 0;
}

/* Rows of all parts together, of a few hundred bytes each. */
#define ROWS_MAX 500000

static bool timeline_is_too_large(const struct timeline *timeline)
{
	size_t nr_rows = 0;

	for (size_t i = 0; i < timeline->nr_steps; i++)
		nr_rows += timeline->steps[i].sum ? timeline->steps[i].sum->nr_rows : 0;
	return nr_rows > ROWS_MAX;
}

/* Asks in two parts for a timeline that is too large for one answer. */
static int history_get_in_parts(struct past *past, const struct history_question *question,
				struct timeline *ret, struct diag *d)
{
	struct timeline second __cleanup(timeline_done) = { 0 };
	struct history_question half = *question;
	const uint64_t span_ns =
		(uint64_t)((question->to_ns ?: clock_real_ns()) - question->from_ns);
	const uint64_t nr_steps = (span_ns - 1) / max_u64(question->step_ns, 1) + 1;
	int err = nr_steps > TIMELINE_MAX_STEPS ? -E2BIG : history_get(past, question, ret, d);

	if (nr_steps > TIMELINE_MAX_STEPS)
		diag_set(d, DIAG_USAGE, E2BIG,
			 "more than %d steps: take longer steps or a shorter span",
			 TIMELINE_MAX_STEPS);
	if (err != -E2BIG || nr_steps < 2 || nr_steps > TIMELINE_MAX_STEPS)
		return err;
	half.to_ns = question->from_ns + (int64_t)(nr_steps / 2 * question->step_ns);
	err = history_get_in_parts(past, &half, ret, d);
	/* Nothing of what the rest would add can make it smaller. */
	if (!err && timeline_is_too_large(ret))
		return diag_set(d, DIAG_USAGE, E2BIG,
				"too much for one chart: take longer steps, a shorter span, or "
				"fewer processes with -n, -u, -U or -g");
	half.from_ns = half.to_ns;
	half.to_ns = question->to_ns;
	if (!err)
		err = history_get_in_parts(past, &half, &second, d);
	if (!err && timeline_append(ret, &second))
		err = diag_oom(d);
	return err;
}

/* Leaves only the calls of -t. */
static int timeline_select(struct timeline *timeline, const struct options *o, struct diag *d)
{
	for (size_t i = 0; i < timeline->nr_steps; i++) {
		struct snapshot **sum = &timeline->steps[i].sum;
		struct snapshot *all __cleanup(snapshot_freep) = steal_ptr(sum);

		if (all && snapshot_select(all, o->output.only, sum))
			return diag_oom(d);
	}
	return 0;
}

/* Returns the argument of -t; NULL: it was not given. */
static const char *calls_given(const struct options *o)
{
	return o->given[option_find(VERB_HISTORY, "trace") - option_defs];
}

#define SUBJECT_MAX 256

/* Which calls, and whose, as the user named them. */
static void subject_write(const struct options *o, char buf[SUBJECT_MAX])
{
	const struct targets *targets = &o->targets;
	size_t used = 0;

	buf[0] = 0;
	if (calls_given(o))
		used = (size_t)snprintf(buf, SUBJECT_MAX, "%s", calls_given(o));
	for (size_t i = 0; i < targets->nr_selectors && used < SUBJECT_MAX; i++)
		used += (size_t)snprintf(buf + used, SUBJECT_MAX - used, "%s%s", used ? ", " : "",
					 targets->selectors[i].text ?: "");
}

/* Holds a timeline and the options of its picture. */
struct over_time {
	const struct options *options;
	struct timeline timeline;
	struct time_picture_options picture;
	char subject[SUBJECT_MAX];
	bool is_heatmap;
};

static int over_time_draw(const void *closure, FILE *out)
{
	const struct over_time *it = closure;

	if (it->is_heatmap)
		return report_heatmap(&it->timeline, &it->picture, out);
	return report_series(&it->timeline, &it->picture, &it->options->report.table, out);
}

static void over_time_done(struct over_time *it)
{
	timeline_done(&it->timeline);
}

static int over_time_get(struct over_time *it, struct past *past, struct diag *d)
{
	const struct options *o = past->options;
	struct history_question question;
	int err = question_make(o, false, &question, d);

	if (err)
		return err;
	question.folded = it->is_heatmap ? KIND_FIELDS : kind_fields_unused(o->report.table.keys);
	if (!o->step)
		question.step_ns = step_to_fit(
			(uint64_t)((question.to_ns ?: clock_real_ns()) - question.from_ns),
			it->is_heatmap ? HEATMAP_COLUMNS : POINTS_WANTED, 1);
	it->options = o;
	subject_write(o, it->subject);
	it->picture = (struct time_picture_options){
		.subject = it->subject,
		.waiting = o->output.waiting,
		.with_waiting = calls_given(o) && *calls_given(o) != '!' && !o->output.waiting,
	};
	return history_get_in_parts(past, &question, &it->timeline, d)
		       ?: timeline_select(&it->timeline, o, d);
}

/* Writes the files that --heatmap and --chart name. */
static int write_pictures(struct past *past, struct diag *d)
{
	const struct options *o = past->options;
	static const enum side_file files[] = { SIDE_FILE_HEATMAP, SIDE_FILE_CHART };
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(files) && !err; i++) {
		struct over_time it __cleanup(over_time_done) = {
			.is_heatmap = files[i] == SIDE_FILE_HEATMAP,
		};

		if (!o->output.side_files[files[i]])
			continue;
		err = over_time_get(&it, past, d)
			      ?: output_picture(o, files[i], over_time_draw, &it, d);
	}
	return err;
}

/* The chart is the report itself. */
static int write_chart(struct past *past, struct output *output, struct diag *d)
{
	const struct options *o = past->options;
	struct over_time it __cleanup(over_time_done) = { 0 };
	int err = over_time_get(&it, past, d);

	if (err)
		return err;
	err = output_begin(output, o) ?: over_time_draw(&it, output->stream);
	if (!err && fflush(output->stream))
		err = -errno;
	return err ? output_failed(o, err, d) : 0;
}

/* --- pages ----------------------------------------------------------------------------------------- */

/* The steps, for what changed over time, and all of them as one, for everything else. */
struct history_page {
	struct over_time steps;
	struct timeline whole;
};

static void history_page_done(struct history_page *page)
{
	over_time_done(&page->steps);
	timeline_done(&page->whole);
}

static int write_page(const void *what, const struct report_options *how, FILE *out)
{
	const struct history_page *page = what;
	const struct snapshot *sum = page->whole.nr_steps ? page->whole.steps[0].sum : NULL;

	return report_timeline_page(&page->steps.timeline, &page->steps.picture, sum, how, out);
}

static int history_write_page(struct past *past, struct output *output, struct diag *d)
{
	struct history_page page __cleanup(history_page_done) = { .steps.is_heatmap = true };
	const struct options *o = past->options;
	struct history_question question;
	int err;

	if (o->report.format != FORMAT_HTML && !o->output.side_files[SIDE_FILE_HTML])
		return 0;
	err = over_time_get(&page.steps, past, d) ?: question_make(o, false, &question, d);
	if (err)
		return err;
	question.step_ns = 0;
	question.folded = 0;
	err = history_get(past, &question, &page.whole, d) ?: timeline_select(&page.whole, o, d);
	if (!err)
		err = output_page(o, write_page, &page, d);
	if (!err && o->report.format == FORMAT_HTML)
		err = output_form(output, o, write_page, &page, d);
	return err;
}

/* --- the report ----------------------------------------------------------------------------------- */

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
	struct past past = { .options = o };
	struct output output __cleanup(output_done) = { 0 };
	struct report_options how = o->report;
	const bool is_report = history_is_report(o);
	struct history_question question;
	int err = output_open(&output, o, d) ?: question_make(o, is_report, &question, d);

	if (!err)
		err = write_pictures(&past, d) ?: history_write_page(&past, &output, d);
	if (err || o->report.format == FORMAT_HTML)
		return err;
	if (!err && o->report.format == FORMAT_CHART)
		return write_chart(&past, &output, d);
	if (!err)
		err = history_get(&past, &question, &timeline, d);
	if (err)
		return err;
	if (is_report)
		return write_reports(o, &timeline, &output, d);
	if (timeline_select(&timeline, o, d))
		return -ENOMEM;
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
