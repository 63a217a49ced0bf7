/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes what is shown of one line besides its calls: errors, durations and call stacks. */
#include "model/label.h"
#include "syscalls/names.h"
#include "tui/top.h"

const char *pane_name(const struct top *top, enum top_pane pane)
{
	static const char *const names[NR_TOP_PANE] = {
		[PANE_CALLS] = "calls",
		[PANE_ERRORS] = "errors",
		[PANE_DURATIONS] = "durations",
		[PANE_HEAT] = "heat map",
		[PANE_ARGUMENTS] = "paths",
		[PANE_STACKS] = "stacks",
		[PANE_NONE] = "",
	};

	return pane == PANE_ARGUMENTS && top->split == SPLIT_FILE ? "files" : names[pane];
}

__attribute__((format(printf, 2, 3))) static void pane_add(struct pane_text *pane,
							   const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(pane->lines[pane->count++], PANE_LINE_MAX, format, args);
	va_end(args);
}

/* --- errors ----------------------------------------------------------------------------------- */

struct failure {
	const struct row *row;
	int err;
	uint64_t count;
};

static int compare_failures(const void *a, const void *b)
{
	return compare_u64(((const struct failure *)b)->count, ((const struct failure *)a)->count);
}

static int write_errors(const struct top *top, const struct group_list *calls, size_t most,
			struct pane_text *pane)
{
	size_t count = 0, all = 0;
	struct failure *failures __cleanup(freep) = NULL;
	char call[ROW_LABEL_MAX], label[ERRNO_LABEL_MAX];

	for (size_t i = 0; i < calls->nr_groups; i++)
		all += calls->groups[i].sum.nr_errnos;
	failures = calloc(all + 1, sizeof(*failures));
	if (!failures)
		return -ENOMEM;
	for (size_t i = 0; i < calls->nr_groups; i++) {
		const struct row *row = &calls->groups[i].sum;

		for (size_t j = 0; j < row->nr_errnos; j++) {
			if (row->errnos[j].count)
				failures[count++] = (struct failure){ row, row->errnos[j].err,
								      row->errnos[j].count };
		}
	}
	qsort(failures, count, sizeof(*failures), compare_failures);
	pane_add(pane, "%-16s %-20s %9s %6s", "ERROR", "SYSCALL", "ERR/s", "%CALLS");
	for (size_t i = 0; i < count && pane->count < most; i++) {
		const struct failure *failure = &failures[i];

		row_label(failure->row, call, sizeof(call));
		errno_label(failure->err, label, sizeof(label));
		pane_add(pane, "%-16s %-20s %9.1f %6.1f  %s", label, call,
			 rates_per_second(top->rates, failure->count),
			 (double)failure->count * 100 / (double)failure->row->calls,
			 strerror(failure->err));
	}
	if (!count)
		pane_add(pane, "no call failed");
	return 0;
}

/* --- durations -------------------------------------------------------------------------------- */

/* The width of the longest bar. */
#define BAR_WIDTH 40

static void write_durations(const struct group_list *calls, size_t most, struct pane_text *pane)
{
	uint64_t counts[HIST_BUCKETS] = { 0 }, whole = 0, highest = 0;
	unsigned int first = HIST_BUCKETS, end = 0, step = 1, from, to;
	char low[RATE_TEXT_MAX], high[RATE_TEXT_MAX];

	for (size_t i = 0; i < calls->nr_groups; i++) {
		hist_range(&calls->groups[i].sum.hist, &from, &to);
		for (; from < to; from++)
			counts[from] += hist_count(&calls->groups[i].sum.hist, from);
	}
	for (unsigned int i = 0; i < HIST_BUCKETS; i++) {
		if (!counts[i])
			continue;
		first = first < i ? first : i;
		end = i + 1;
		whole += counts[i];
	}
	while (end > first && (end - first + step - 1) / step + 1 >= most && step < HIST_BUCKETS)
		step *= 2;
	/* Each step in its first bucket. */
	first -= first % step;
	for (unsigned int i = first; i < end; i++) {
		if (i % step)
			counts[i - i % step] += counts[i];
		highest = max_u64(highest, counts[i - i % step]);
	}
	for (unsigned int i = first; i < end && pane->count < most; i += step) {
		columns_time(hist_bucket_low(i), low);
		columns_time(i + step < HIST_BUCKETS ? hist_bucket_low(i + step) : UINT64_MAX,
			     high);
		pane_add(pane, "%7s - %-7s %9" PRIu64 " %5.1f%% %.*s", low, high, counts[i],
			 (double)counts[i] * 100 / (double)whole,
			 (int)(counts[i] * BAR_WIDTH / highest),
			 "||||||||||||||||||||||||||||||||||||||||");
	}
	if (!whole)
		pane_add(pane, "no call ended");
}

/* --- paths and files ---------------------------------------------------------------------------- */

/* Those with the most calls first, and of as many calls those with the most errors. */
static int compare_groups(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	return compare_u64(y->sum.calls, x->sum.calls)
		       ?: compare_u64(y->sum.errors, x->sum.errors)
		       ?: compare_u64(x->place, y->place);
}

static void write_argument(const struct top *top, const struct group *group, struct pane_text *pane)
{
	const struct row *row = &group->sum;
	char label[ARGUMENT_LABEL_MAX], name[TEXT_ESCAPED_MAX(ARGUMENT_LABEL_MAX)];
	char longest[RATE_TEXT_MAX];
	enum argument_key why;
	const char *text = snapshot_argument(top->rates->diff, row, top->split, &why);

	if (!row->calls || (!text && why == ARGUMENT_ABSENT))
		return;
	if (text)
		argument_label(text, strlen(text), label);
	else
		snprintf(label, sizeof(label), "%s", argument_unknown(top->split, why));
	text_escape_ascii(label, sizeof(label), name, sizeof(name));
	text_fit_end(name, top->width > 40 ? (size_t)top->width - 28 : 12);
	columns_time(row_timed(row) ? row->max_ns : 0, longest);
	pane_add(pane, "%9.1f %9.1f %7s %s", rates_per_second(top->rates, row->calls),
		 rates_per_second(top->rates, row->errors), row_timed(row) ? longest : "-", name);
}

static int write_arguments(const struct top *top, const struct row_test *test, size_t most,
			   struct pane_text *pane)
{
	struct group_list groups __cleanup(group_list_done) = { 0 };
	const bool are_files = top->split == SPLIT_FILE;

	if (snapshot_group(top->rates->diff, are_files ? GROUP_FILE : GROUP_PATH, test, &groups))
		return -ENOMEM;
	if (groups.nr_groups)
		qsort(groups.groups, groups.nr_groups, sizeof(*groups.groups), compare_groups);
	pane_add(pane, "%9s %9s %7s %s", "CALLS/s", "ERR/s", "MAX", are_files ? "FILE" : "PATH");
	for (size_t i = 0; i < groups.nr_groups && pane->count < most; i++)
		write_argument(top, &groups.groups[i], pane);
	if (pane->count == 1)
		pane_add(pane,
			 are_files ? "no call with a file ended" : "no call with a path ended");
	return 0;
}

/* --- stacks ------------------------------------------------------------------------------------- */

static int write_stack(const struct stack_sample *sample, uint64_t whole, struct pane_text *pane)
{
	char *line = pane->lines[pane->count], call[ROW_LABEL_MAX];
	size_t used;

	row_label(sample->row, call, sizeof(call));
	used = (size_t)snprintf(line, PANE_LINE_MAX, "%5.1f%% %s",
				whole ? (double)sample->count.calls * 100 / (double)whole : 0,
				call);
	for (size_t i = 0; i < sample->view.nr_frames && used + 4 < PANE_LINE_MAX; i++) {
		char *label __cleanup(freep) = frame_label(&sample->view.frames[i], FRAME_NAME);

		if (!label)
			return -ENOMEM;
		used += (size_t)snprintf(line + used, PANE_LINE_MAX - used, " < ");
		text_escape_ascii(label, SIZE_MAX, line + used, PANE_LINE_MAX - used);
		used += strlen(line + used);
	}
	pane->count++;
	return 0;
}

static int write_stacks(const struct top *top, const struct row_test *test, size_t most,
			struct pane_text *pane)
{
	const struct snapshot *diff = top->rates->diff;
	struct row **rows __cleanup(freep) = calloc(diff->nr_rows + 1, sizeof(*rows));
	struct sample_list list = { 0 };
	size_t nr_rows = 0;
	uint64_t whole = 0;
	int err;

	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < diff->nr_rows; i++) {
		if (test->has(diff->rows[i], test->closure))
			rows[nr_rows++] = diff->rows[i];
	}
	err = samples_list(diff, rows, nr_rows, STACK_WEIGHT_CALLS, &list);
	if (!err)
		samples_merge(&list);
	for (size_t i = 0; i < list.count && !err; i++)
		whole += list.samples[i].count.calls;
	for (size_t i = 0; i < list.count && pane->count < most && !err; i++)
		err = write_stack(&list.samples[i], whole, pane);
	samples_done(&list);
	if (!err && !pane->count)
		pane_add(pane, "no call ended");
	return err;
}

int pane_write(const struct top *top, size_t most, struct pane_text *ret)
{
	struct group_list calls __cleanup(group_list_done) = { 0 };
	const struct rate *line = top_subject(top);
	const struct rate_rows rows = { top->rates, line };
	const struct row_test test = rate_rows_test(&rows);
	const enum top_pane shown = top_pane_shown(top);
	int err = 0;

	ret->count = 0;
	most = most < PANE_MAX ? most : PANE_MAX;
	if (!line || !most)
		return 0;
	if (top->opened && top->gone) {
		pane_add(ret, "only its last calls are known (Tab)");
		return 0;
	}
	if (shown == PANE_ARGUMENTS)
		return write_arguments(top, &test, most, ret);
	if (shown == PANE_STACKS)
		return write_stacks(top, &test, most, ret);
	if (snapshot_group(top->rates->diff, GROUP_SYSCALL, &test, &calls))
		return -ENOMEM;
	if (shown == PANE_ERRORS)
		err = write_errors(top, &calls, most, ret);
	else
		write_durations(&calls, most, ret);
	return err;
}
