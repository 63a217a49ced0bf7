/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes the table of a comparison. A measure has a column for each side and one for its change; a
 * measure of times has one unit for both sides. Invariant: the keys, the changes and the word are always
 * shown.
 */
#include "report/compare.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "report/report.h"

/* --- halves ----------------------------------------------------------------------------------- */

static void part_count(struct compare_view *view, struct compare_part *part)
{
	struct regressions found;

	view->groups += part->list.count;
	view->left_out += part->list.count - part->shown;
	for (size_t i = 0; i < part->list.count; i++) {
		const struct comparison *item = &part->list.items[i];

		view->words[item->word]++;
		if (part->rule.limit > 0)
			view->failed +=
				comparison_regressions(&part->list, item, &part->rule, &found);
	}
}

int compare_view_make(const struct compare_input *input, const struct table_options *options,
		      struct compare_view *ret)
{
	unsigned int keys = options->keys ?: (unsigned int)GROUP_SYSCALL;
	struct compare_view view = { .groups = 0 };
	int err = 0;

	for (int i = 0; i < NR_TABLE_HALF && !err; i++) {
		const struct row_test test = half_test((enum table_half)i, options);
		struct compare_part *part = &view.parts[i];

		err = snapshot_compare(input->a.snapshot, input->b.snapshot, keys, &test,
				       &part->list);
		part->rule = (struct regression_rule){ input->fail_over, i == TABLE_WAITING };
		part->shown = part->list.count;
		if (options->top && options->top < part->shown)
			part->shown = options->top;
		if (!err)
			part_count(&view, part);
	}
	if (err)
		compare_view_done(&view);
	else
		*ret = view;
	return err;
}

void compare_view_done(struct compare_view *view)
{
	for (int i = 0; i < NR_TABLE_HALF; i++)
		comparison_list_done(&view->parts[i].list);
}

const struct group *comparison_group(const struct comparison *item,
				     const struct compare_input *input, unsigned int keys,
				     struct column_scope *ret)
{
	*ret = (struct column_scope){
		.snapshot = item->b.present ? input->b.snapshot : input->a.snapshot,
		.keys = keys,
	};
	return item->b.present ? &item->b.group : &item->a.group;
}

/* --- what is compared ------------------------------------------------------------------------- */

enum { HEAD_SIDE, HEAD_LABEL, HEAD_HOST, HEAD_FROM, HEAD_TO, HEAD_COUNTED, HEAD_EXACT, NR_HEAD };

static void heading_set_text(struct grid *grid, size_t column, const char *text, size_t width)
{
	char cell[COLUMN_TEXT_MAX];

	text_escape_visible(text ?: "", (COLUMN_TEXT_MAX - 1) / 4, cell);
	text_cut(cell, width);
	grid_set(grid, column, cell);
}

static void heading_set_time(struct grid *grid, size_t column, int64_t ns)
{
	char cell[CLOCK_LOCAL_SIZE];

	clock_local(ns, cell, sizeof(cell));
	grid_set(grid, column, cell);
}

static void heading_add(struct grid *grid, const char *side, const struct compare_source *source,
			size_t text_max)
{
	const struct snapshot *snapshot = source->snapshot;

	grid_add_row(grid);
	grid_set(grid, HEAD_SIDE, side);
	heading_set_text(grid, HEAD_LABEL, source->label, text_max);
	heading_set_text(grid, HEAD_HOST, snapshot->host, text_max);
	heading_set_time(grid, HEAD_FROM, snapshot->start_ns);
	heading_set_time(grid, HEAD_TO, snapshot->end_ns);
	if (snapshot->elapsed_ns)
		grid_set_format(grid, HEAD_COUNTED, "%.1f s",
				(double)snapshot->elapsed_ns / (double)NS_PER_SEC);
	else
		grid_set(grid, HEAD_COUNTED, "unknown");
	grid_set(grid, HEAD_EXACT, snapshot_is_exact(snapshot) ? "yes" : "no");
}

static int print_heading(const struct compare_input *input, const struct table_options *options,
			 FILE *out)
{
	static const char *const titles[NR_HEAD] = { "",   "what",    "host", "from",
						     "to", "counted", "exact" };
	struct grid *grid __cleanup(grid_freep) = NULL;
	size_t text_max = options->width ? 16 + (size_t)options->width / 20 : SIZE_MAX;

	if (grid_new(NR_HEAD, &grid))
		return -ENOMEM;
	for (size_t i = 0; i < NR_HEAD; i++)
		grid_set_title(grid, i, titles[i], i == HEAD_COUNTED, i == HEAD_TO);
	heading_add(grid, "A", &input->a, text_max);
	heading_add(grid, "B", &input->b, text_max);
	if (!strcmp(input->a.snapshot->host, input->b.snapshot->host))
		grid_hide(grid, HEAD_HOST);
	grid_fit(grid, options->width);
	grid_add_line(grid, "");
	return grid_print(grid, out);
}

/* --- measures --------------------------------------------------------------------------------- */

enum measure { MEASURE_CALLS, MEASURE_ERRORS, MEASURE_TIME, MEASURE_P50, MEASURE_P99, NR_MEASURE };

static const struct {
	const char *title, *change; /* change is NULL: no such column */
	enum grid_kind kind;
	int rank;                        /* of both sides; what ranks higher is hidden first */
	enum regression_kind regression; /* of the change */
} measures[NR_MEASURE] = {
	[MEASURE_CALLS] = { "calls/s", "calls +-", GRID_RATE, 1, REGRESSION_CALLS },
	[MEASURE_ERRORS] = { "err/s", "err +-", GRID_RATE, 4, REGRESSION_ERRORS },
	[MEASURE_TIME] = { "time/s", "time +-", GRID_SUM, 3, REGRESSION_TIME },
	[MEASURE_P50] = { "p50", NULL, GRID_LATENCY, 5, NR_REGRESSION_KIND },
	[MEASURE_P99] = { "p99", "p99 +-", GRID_LATENCY, 2, REGRESSION_P99 },
};

/* In ns if it is a time, or ns a second. NAN: unknown. */
static double side_value(const struct compare_side *side, enum measure which)
{
	bool timed = row_timed(&side->group.sum) != 0;
	const double values[NR_MEASURE] = {
		[MEASURE_CALLS] = side->calls_per_s,
		[MEASURE_ERRORS] = side->errors_per_s,
		[MEASURE_TIME] = side->seconds_per_s * (double)NS_PER_SEC,
		[MEASURE_P50] = timed ? (double)side->p50_ns : NAN,
		[MEASURE_P99] = timed ? (double)side->p99_ns : NAN,
	};

	return side->present ? values[which] : NAN;
}

#define SIDES    2
#define COLUMNS  3 /* of a measure: a, b, change */
#define CELL_MAX 48

/* Groups that the last sentence names. */
#define FAILURES_NAMED 3

struct sheet {
	const struct compare_input *input;
	const struct compare_view *view;
	struct column_list keys;
	struct grid *grid;
	size_t text_max, word_column;
};

static void sheet_done(struct sheet *sheet)
{
	grid_free(sheet->grid);
}

static void rise_format(double rise, char *buf, size_t size)
{
	if (isinf(rise))
		snprintf(buf, size, "new");
	else if (rise >= 9)
		snprintf(buf, size, "x%.0f", rise + 1);
	else if (fabs(rise) < 0.005)
		snprintf(buf, size, "0%%");
	else
		/* What is left of something is not nothing. */
		snprintf(buf, size, "%+.0f%%", fmax(rise * 100, -99));
}

static void change_format(double a, double b, char *buf, size_t size)
{
	if (isnan(a) || isnan(b) || (a <= 0 && b <= 0))
		snprintf(buf, size, "-");
	else if (b <= 0)
		snprintf(buf, size, "gone");
	else
		rise_format(a > 0 ? b / a - 1 : INFINITY, buf, size);
}

static size_t measure_column(const struct sheet *sheet, enum measure which)
{
	return sheet->keys.count + (size_t)which * COLUMNS;
}

static bool has_errors(const struct compare_view *view)
{
	bool any = false;

	for (int half = 0; half < NR_TABLE_HALF; half++) {
		const struct comparison *total = &view->parts[half].list.total;

		any |= total->a.errors_per_s > 0 || total->b.errors_per_s > 0;
	}
	return any;
}

static void sheet_add_measure(struct sheet *sheet, enum measure which)
{
	size_t column = measure_column(sheet, which);
	char title[CELL_MAX];

	for (size_t side = 0; side < SIDES; side++) {
		snprintf(title, sizeof(title), "%c %s", side ? 'B' : 'A', measures[which].title);
		grid_set_title(sheet->grid, column + side, title, true, measures[which].rank);
		grid_set_scale(sheet->grid, column + side, measures[which].kind, which + 1, "");
	}
	grid_set_title(sheet->grid, column + SIDES, measures[which].change ?: "", true, 0);
	if (!measures[which].change)
		grid_hide(sheet->grid, column + SIDES);
	/* Columns of errors where there are none say nothing. */
	for (size_t i = 0; i < COLUMNS && which == MEASURE_ERRORS && !has_errors(sheet->view); i++)
		grid_hide(sheet->grid, column + i);
}

static int sheet_begin(struct sheet *sheet, unsigned int keys)
{
	columns_of_keys(keys, &sheet->keys);
	sheet->word_column = measure_column(sheet, NR_MEASURE);
	if (grid_new(sheet->word_column + 1, &sheet->grid))
		return -ENOMEM;
	table_set_titles(sheet->grid, &sheet->keys);
	for (enum measure which = 0; which < NR_MEASURE; which++)
		sheet_add_measure(sheet, which);
	grid_set_title(sheet->grid, sheet->word_column, "latency", false, 0);
	return 0;
}

/* Of a group that is absent, rates are 0 and latencies unknown. What fails ends with a mark. */
static void sheet_set_measure(struct sheet *sheet, const struct comparison *item,
			      enum measure which, bool fails)
{
	const char *mark = fails ? "!" : sheet->view->failed ? " " : "";
	double absent = measures[which].kind == GRID_LATENCY ? NAN : 0;
	const struct compare_side *sides[SIDES] = { &item->a, &item->b };
	size_t column = measure_column(sheet, which);
	double values[SIDES];
	char cell[CELL_MAX];

	for (size_t i = 0; i < SIDES; i++) {
		values[i] = side_value(sides[i], which);
		grid_set_number(sheet->grid, column + i, values[i]);
		values[i] = sides[i]->present ? values[i] : absent;
	}
	change_format(values[0], values[1], cell, sizeof(cell));
	grid_set_format(sheet->grid, column + SIDES, "%s%s", cell, mark);
}

/* A sum has a label in place of its keys, and no failures. */
static void sheet_add_row(struct sheet *sheet, const struct compare_part *part,
			  const struct comparison *item, const char *label)
{
	struct regressions found = { { 0 } };
	struct column_scope scope;
	const struct group *group = comparison_group(item, sheet->input, part->list.keys, &scope);

	if (part->rule.limit > 0 && !label)
		comparison_regressions(&part->list, item, &part->rule, &found);
	grid_add_row(sheet->grid);
	table_set_keys(sheet->grid, &sheet->keys, &scope, group, label, sheet->text_max);
	for (enum measure which = 0; which < NR_MEASURE; which++)
		sheet_set_measure(sheet, item, which,
				  measures[which].change &&
					  found.rise[measures[which].regression] > 0);
	grid_set(sheet->grid, sheet->word_column, compare_words[item->word]);
}

static void sheet_add_part(struct sheet *sheet, enum table_half half)
{
	const struct compare_part *part = &sheet->view->parts[half];

	if (half == TABLE_WAITING) {
		if (!part->list.count)
			return;
		grid_add_line(sheet->grid, "");
		grid_add_line(sheet->grid, "waiting for work:");
	}
	for (size_t i = 0; i < part->shown; i++)
		sheet_add_row(sheet, part, &part->list.items[i], NULL);
	grid_add_rule(sheet->grid);
	sheet_add_row(sheet, part, &part->list.total, table_half_names[half]);
}

/* --- sentences -------------------------------------------------------------------------------- */

/* The losses of a side that is not exact. */
static void print_trust(const char *side, const struct snapshot *snapshot, FILE *out)
{
	if (snapshot_is_exact(snapshot))
		return;
	fprintf(out, "%s: ", side);
	print_exactness(snapshot, out);
}

/* Sides of which one has slow calls only say nothing about each other. */
static void print_unlike(const struct compare_input *input, FILE *out)
{
	const struct compare_source *sources[] = { &input->a, &input->b };
	const char *separator = "not comparable: ";
	char least[AGE_MAX];

	format_age(input->a.snapshot->slower_than_ns, least, sizeof(least));
	if (input->a.snapshot->slower_than_ns == input->b.snapshot->slower_than_ns) {
		if (input->a.snapshot->slower_than_ns)
			fprintf(out, "only calls that took at least %s\n", least);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++, separator = ", ") {
		format_age(sources[i]->snapshot->slower_than_ns, least, sizeof(least));
		if (sources[i]->snapshot->slower_than_ns)
			fprintf(out, "%s%c has only calls that took at least %s", separator,
				i ? 'B' : 'A', least);
		else
			fprintf(out, "%s%c has all calls", separator, i ? 'B' : 'A');
	}
	fputc('\n', out);
}

static void print_changes(const struct compare_view *view, FILE *out)
{
	const size_t *words = view->words;

	fprintf(out,
		"\nbeyond noise: %zu slower, %zu faster, %zu differ; %zu new, %zu gone; of %zu "
		"group%s",
		words[COMPARE_SLOWER], words[COMPARE_FASTER], words[COMPARE_DIFFERS],
		words[COMPARE_NEW], words[COMPARE_GONE], view->groups, plural(view->groups));
	if (view->left_out)
		fprintf(out, ", %zu left out by --top", view->left_out);
	fputc('\n', out);
}

/* fsync (time x26, p99 x24) */
static void print_failure(const struct compare_input *input, const struct compare_part *part,
			  const struct comparison *item, const struct regressions *found, FILE *out)
{
	char title[COLUMN_TEXT_MAX], rise[CELL_MAX];
	struct table_part scope = { .list.groups = NULL };
	const struct group *group = comparison_group(item, input, part->list.keys, &scope.scope);
	const char *separator = " (";

	table_group_title(&scope, group, title);
	fputs(title, out);
	for (int kind = 0; kind < NR_REGRESSION_KIND; kind++) {
		if (found->rise[kind] <= 0)
			continue;
		rise_format(found->rise[kind], rise, sizeof(rise));
		fprintf(out, "%s%s %s", separator, regression_names[kind], rise);
		separator = ", ";
	}
	fputc(')', out);
}

/* Names the first of them only. */
static void print_failures(const struct compare_input *input, const struct compare_view *view,
			   FILE *out)
{
	struct regressions found;
	size_t named = 0;

	for (int half = 0; half < NR_TABLE_HALF; half++) {
		const struct compare_part *part = &view->parts[half];

		for (size_t i = 0; i < part->list.count && named < FAILURES_NAMED; i++) {
			const struct comparison *item = &part->list.items[i];

			if (!comparison_regressions(&part->list, item, &part->rule, &found))
				continue;
			fputs(named++ ? ", " : " ", out);
			print_failure(input, part, item, &found, out);
		}
	}
	if (view->failed > named)
		fprintf(out, " and %zu more", view->failed - named);
}

/* Why the exit status is what it is. */
static void print_verdict(const struct compare_input *input, const struct compare_view *view,
			  FILE *out)
{
	const struct comparison_list *list = &view->parts[TABLE_WORKING].list;
	bool known = list->seconds_a > 0 && list->seconds_b > 0;

	if (input->fail_over <= 0)
		return;
	fprintf(out, "%s: %s rose by more than %g%%", view->failed ? "failed (!)" : "passed",
		view->failed ? "this" : "nothing", input->fail_over * 100);
	if (view->failed)
		fputc(':', out);
	print_failures(input, view, out);
	fprintf(out, "%s\n", known ? "" : "; rates are unknown");
}

int report_comparison(const struct compare_input *input, const struct compare_view *view,
		      const struct table_options *options, FILE *out)
{
	struct sheet sheet __cleanup(sheet_done) = { .input = input, .view = view };
	int err = print_heading(input, options, out);

	if (err)
		return err;
	sheet.text_max = table_text_max(options->width);
	err = sheet_begin(&sheet, view->parts[TABLE_WORKING].list.keys);
	if (err)
		return err;
	for (enum table_half half = 0; half < NR_TABLE_HALF; half++)
		sheet_add_part(&sheet, half);
	grid_fit(sheet.grid, options->width);
	err = grid_print(sheet.grid, out);
	if (err)
		return err;
	print_changes(view, out);
	print_unlike(input, out);
	print_trust("A", input->a.snapshot, out);
	print_trust("B", input->b.snapshot, out);
	print_verdict(input, view, out);
	return ferror(out) ? -EIO : 0;
}
