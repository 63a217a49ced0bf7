/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs `bpftruss compare`: where its two sides come from, and its exit status. */
#include "base/clock.h"
#include "base/moment.h"
#include "cmd/asking.h"
#include "cmd/reporting.h"
#include "daemon/baselines.h"

/* Rows of each half that a table has unless the user says how many. */
#define DEFAULT_TOP 20

/* "now" is the last minute: long enough to have some calls in it. */
#define NOW_NS (60 * NS_PER_SEC)

/* Chooses what to ask the daemon for: a span of the history, the latest counts, or a baseline. */
static int url_of(const char *text, struct ipc_url *url, bool *is_baseline, struct diag *d)
{
	int64_t now = clock_real_ns(), from = 0, to = 0;
	uint64_t ago_ns = NOW_NS;
	int err = span_is(text) ? span_parse("compare", text, now, &from, &to, d) : 0;
	char path[256] = "/v1/snapshot";

	if (err)
		return err;
	*is_baseline = !span_is(text) && strcmp(text, "now") != 0 &&
		       duration_parse("compare", text, &ago_ns, NULL) != 0;
	if (*is_baseline && !baseline_name_is_valid(text))
		return diag_set(d, DIAG_USAGE, EINVAL,
				"compare: \"%.200s\" is neither an existing file, nor a span, "
				"nor the name of a baseline",
				text);
	if (*is_baseline)
		snprintf(path, sizeof(path), "/v1/baselines/%.200s", text);
	ipc_url_init(url, path);
	if (span_is(text))
		ask_add_span(url, from, to, now);
	else if (!*is_baseline)
		ask_add_number(url, "since", (int64_t)ago_ns);
	return 0;
}

static int side_ask(const char *text, const struct options *o, struct asked_snapshot *ret,
		    struct diag *d)
{
	struct ipc_url url;
	struct ipc_reply reply __cleanup(ipc_reply_done) = { 0 };
	bool is_baseline;
	struct diag why;
	int err = url_of(text, &url, &is_baseline, d);

	if (err)
		return err;
	if ((is_baseline || span_is(text)) && o->report.table.keys & GROUP_PID)
		return diag_set(d, DIAG_USAGE, EINVAL, HISTORY_LACKS_PIDS);
	ask_add_targets(&url, o);
	/* A page has more than the groups of a table. */
	if (!is_baseline && !o->output.side_files[SIDE_FILE_HTML])
		ask_add_sum(&url, kind_fields_unused(o->report.table.keys));
	err = ask(o, "GET", &url, &reply, &why);
	/* A text that is none of these may be a baseline, or a mistyped file. */
	if (err == -ENODATA && is_baseline)
		return diag_set(d, DIAG_FAILED, ENODATA,
				"\"%.100s\" is neither a file nor a span, and %.300s", text,
				why.text);
	if (err)
		return diag_set(d, why.kind, -err, "%.500s", why.text);
	return report_json_read(reply.body, reply.size, &ret->snapshot, &ret->stacks, d);
}

/* Whether it was saved from the history, which has no pids. */
static bool is_of_history(const struct snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->nr_processes; i++) {
		if (snapshot->processes[i].pid)
			return false;
	}
	return snapshot->nr_processes != 0;
}

/* A side as far as it was asked for: a saved snapshot has everybody in it. */
static int side_get(const char *text, const struct options *o, struct asked_snapshot *ret,
		    struct diag *d)
{
	struct snapshot *all __cleanup(snapshot_freep) = NULL;
	struct snapshot *chosen __cleanup(snapshot_freep) = NULL;
	bool is_file = !access(text, F_OK);
	int err = is_file ? asked_snapshot_load(text, ret, d) : side_ask(text, o, ret, d);

	if (err)
		return err;
	err = is_file ? keys_fit_sum(o->report.table.keys, ret->snapshot, d) : 0;
	if (err)
		return err;
	if (is_file && o->report.table.keys & GROUP_PID && is_of_history(ret->snapshot))
		return diag_set(d, DIAG_USAGE, EINVAL, HISTORY_LACKS_PIDS);
	all = steal_ptr(&ret->snapshot);
	if (is_file && targets_filter(&o->targets, all, &chosen))
		return diag_oom(d);
	return snapshot_select(chosen ?: all, o->output.only, &ret->snapshot) ? diag_oom(d) : 0;
}

/* The two sides of a difference, and the options of its picture. */
struct drawing {
	const struct options *options;
	const struct compare_input *input;
};

static int draw_difference(const void *closure, FILE *out)
{
	const struct drawing *drawing = closure;
	const struct options *o = drawing->options;

	return report_flame_difference(drawing->input, &o->report.stacks,
				       o->output.flame_is_normalized, out);
}

/* Refuses to draw stacks that a side does not have. */
static int check_stacks(const struct options *o, const struct compare_input *input, struct diag *d)
{
	const struct compare_source *const sides[] = { &input->a, &input->b };

	for (size_t i = 0; i < ARRAY_SIZE(sides); i++) {
		if (o->output.side_files[SIDE_FILE_FLAME] && !sides[i]->snapshot->stacks)
			return diag_set(d, DIAG_FAILED, ENODATA,
					"compare --flame: %.200s has no call stacks: save a "
					"snapshot with --stacks --json, and compare that",
					sides[i]->label);
	}
	return 0;
}

static int write_flame(const struct options *o, const struct compare_input *input, struct diag *d)
{
	const struct drawing drawing = { o, input };

	if (!o->output.side_files[SIDE_FILE_FLAME])
		return 0;
	return output_picture(o, SIDE_FILE_FLAME, draw_difference, &drawing, d);
}

struct compare_page {
	const struct compare_input *input;
	const struct compare_view *view;
};

static int write_page(const void *what, const struct report_options *how, FILE *out)
{
	const struct compare_page *page = what;

	return report_comparison_page(page->input, page->view, how, out);
}

/* A page has all groups unless the user said how many. */
static int compare_write_page(const struct options *o, const struct compare_input *input,
			      struct diag *d)
{
	struct compare_view view __cleanup(compare_view_done) = { 0 };
	const struct compare_page page = { input, &view };

	if (!o->output.side_files[SIDE_FILE_HTML])
		return 0;
	if (compare_view_make(input, &o->report.table, &view))
		return diag_oom(d);
	return output_page(o, write_page, &page, d);
}

static int compare_run(const struct options *o, struct diag *d)
{
	struct asked_snapshot a __cleanup(asked_snapshot_done) = { 0 };
	struct asked_snapshot b __cleanup(asked_snapshot_done) = { 0 };
	struct compare_view view __cleanup(compare_view_done) = { 0 };
	struct compare_input input = { .fail_over = o->fail_over_percent / 100 };
	struct table_options table = o->report.table;
	struct output output __cleanup(output_done) = { 0 };
	int err;

	if (o->nr_words != 2)
		return diag_set(d, DIAG_USAGE, EINVAL,
				"compare: give two of baseline, saved snapshot, span and now; "
				"see 'bpftruss compare --help'");
	err = side_get(o->words[0], o, &a, d);
	if (!err)
		err = side_get(o->words[1], o, &b, d);
	if (err)
		return err;
	input.a = (struct compare_source){ o->words[0], a.snapshot };
	input.b = (struct compare_source){ o->words[1], b.snapshot };
	err = check_stacks(o, &input, d) ?: output_open(&output, o, d);
	if (err)
		return err;
	table.width = output_width(o, output.stream);
	table.color = output_has_color(output.stream);
	table.errors_only |= o->report.errors;
	if (o->report.format != FORMAT_JSON && o->report.format != FORMAT_CSV)
		table.top = table.top ?: DEFAULT_TOP;
	if (compare_view_make(&input, &table, &view))
		return diag_oom(d);
	err = output_begin(&output, o);
	if (!err && o->report.format == FORMAT_JSON)
		err = report_comparison_json(&input, &view, output.stream);
	else if (!err && o->report.format == FORMAT_CSV)
		err = report_comparison_csv(&input, &view, output.stream);
	else if (!err)
		err = report_comparison(&input, &view, &table, output.stream);
	if (!err && fflush(output.stream))
		err = -errno;
	if (err)
		return output_failed(o, err, d);
	err = write_flame(o, &input, d) ?: compare_write_page(o, &input, d);
	if (err)
		return err;
	return view.failed ? STATUS_REGRESSION : STATUS_OK;
}

const struct verb compare_verb = {
	"compare",
	VERB_COMPARE,
	compare_run,
	"what has changed between two spans, baselines or saved snapshots",
	"usage: bpftruss compare A B [options]",
	"Prints what changed from A to B, each of which is a baseline, a snapshot saved with\n"
	"--json, a span (10m: the last ten minutes; FROM..TO), or now (the last minute). The\n"
	"largest changes in time come first, with a word on whether they are more than chance.",
	"  bpftruss compare monday now                    is this a normal Monday?\n"
	"  bpftruss compare before.json after.json        did the new release help?\n"
	"  bpftruss compare \"yesterday 14:00..yesterday 15:00\" 14:00..15:00 --by unit\n"
	"  bpftruss compare monday 10m --fail-over 20%    for cron: exit status 3 if not",
};
