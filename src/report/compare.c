/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the table of a comparison. A measure has a column for each side and one for its change; a
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
#include "report/grid.h"
#include "report/label.h"
#include "report/report.h"
#include "base/text.h"

static double calls_value(const struct compare_side *side)
{
	return side->present ? side->calls_per_s : NAN;
}

static double errors_value(const struct compare_side *side)
{
	return side->present ? side->errors_per_s : NAN;
}

/* In ns a second, as all times are until they are formatted. */
static double time_value(const struct compare_side *side)
{
	return side->present ? side->seconds_per_s * (double)NS_PER_SEC : NAN;
}

static double latency_value(const struct compare_side *side, uint64_t ns)
{
	return side->present && row_timed(&side->group.sum) ? (double)ns : NAN;
}

static double p50_value(const struct compare_side *side)
{
	return latency_value(side, side->p50_ns);
}

static double p99_value(const struct compare_side *side)
{
	return latency_value(side, side->p99_ns);
}

enum measure { MEASURE_CALLS, MEASURE_ERRORS, MEASURE_TIME, MEASURE_P50, MEASURE_P99, NR_MEASURE };

static const struct {
	const char *title, *change; /* change is NULL: no such column */
	double (*value)(const struct compare_side *side);
	const struct time_scale *(*scale)(uint64_t largest_ns); /* NULL: a rate */
	int rank;                        /* of both sides; what ranks higher is hidden first */
	enum regression_kind regression; /* of the change */
} measures[NR_MEASURE] = {
	[MEASURE_CALLS] = { "calls/s", "calls +-", calls_value, NULL, 1, REGRESSION_CALLS },
	[MEASURE_ERRORS] = { "err/s", "err +-", errors_value, NULL, 4, REGRESSION_ERRORS },
	[MEASURE_TIME] = { "time/s", "time +-", time_value, scale_for_sums, 3, REGRESSION_TIME },
	[MEASURE_P50] = { "p50", NULL, p50_value, scale_for_latencies, 5, NR_REGRESSION_KIND },
	[MEASURE_P99] = { "p99", "p99 +-", p99_value, scale_for_latencies, 2, REGRESSION_P99 },
};

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
	const struct time_scale *scales[NR_MEASURE];
	int decimals[NR_MEASURE];
	size_t text_max, word_column;
};

static void sheet_done(struct sheet *sheet)
{
	grid_free(sheet->grid);
}

static double larger(double a, double b)
{
	return isnan(b) || a > b ? a : b;
}

static double measure_largest(const struct compare_view *view, enum measure which)
{
	double most = 0;

	for (int half = 0; half < NR_COMPARE_HALF; half++) {
		const struct compare_part *part = &view->parts[half];

		most = larger(most, measures[which].value(&part->list.total.a));
		most = larger(most, measures[which].value(&part->list.total.b));
		for (size_t i = 0; i < part->shown; i++) {
			most = larger(most, measures[which].value(&part->list.items[i].a));
			most = larger(most, measures[which].value(&part->list.items[i].b));
		}
	}
	return most;
}

/* Decimals that suit the largest rate of a column. */
static int rate_decimals(double largest)
{
	return largest >= 100000 ? 0 : largest >= 100 ? 1 : 2;
}

static void rate_format(int decimals, double rate, char *buf, size_t size)
{
	double least = pow(10, -decimals);

	if (rate > 0 && rate < least / 2)
		snprintf(buf, size, "<%.*f", decimals, least);
	else
		snprintf(buf, size, "%.*f", decimals, rate);
}

static void value_format(const struct sheet *sheet, enum measure which, double value, char *buf,
			 size_t size)
{
	if (isnan(value))
		snprintf(buf, size, "-");
	else if (sheet->scales[which])
		scale_format(sheet->scales[which], (uint64_t)llround(value), buf, size);
	else
		rate_format(sheet->decimals[which], value, buf, size);
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

static void sheet_set_titles(struct sheet *sheet, enum measure which)
{
	const struct time_scale *scale = sheet->scales[which];
	size_t column = measure_column(sheet, which);
	char title[CELL_MAX];

	for (size_t side = 0; side < SIDES; side++) {
		snprintf(title, sizeof(title), "%c %s%s%s", side ? 'B' : 'A', measures[which].title,
			 scale ? " " : "", scale ? scale->unit : "");
		grid_set_title(sheet->grid, column + side, title, true);
	}
	if (measures[which].change)
		grid_set_title(sheet->grid, column + SIDES, measures[which].change, true);
	else
		grid_hide(sheet->grid, column + SIDES);
}

/* Columns of errors where there are none say nothing. */
static void sheet_hide_empty(struct sheet *sheet)
{
	if (measure_largest(sheet->view, MEASURE_ERRORS) <= 0) {
		for (size_t i = 0; i < COLUMNS; i++)
			grid_hide(sheet->grid, measure_column(sheet, MEASURE_ERRORS) + i);
	}
}

static int sheet_begin(struct sheet *sheet, unsigned int keys)
{
	columns_of_keys(keys, &sheet->keys);
	sheet->word_column = measure_column(sheet, NR_MEASURE);
	if (grid_new(sheet->word_column + 1, &sheet->grid))
		return -ENOMEM;
	for (size_t i = 0; i < sheet->keys.count; i++)
		grid_set_title(sheet->grid, i, sheet->keys.columns[i]->name,
			       sheet->keys.columns[i]->kind != COLUMN_TEXT);
	for (int which = 0; which < NR_MEASURE; which++) {
		double most = measure_largest(sheet->view, (enum measure)which);

		if (measures[which].scale)
			sheet->scales[which] = measures[which].scale((uint64_t)most);
		sheet->decimals[which] = rate_decimals(most);
		sheet_set_titles(sheet, (enum measure)which);
	}
	grid_set_title(sheet->grid, sheet->word_column, "latency", false);
	sheet_hide_empty(sheet);
	return 0;
}

static void sheet_set_keys(struct sheet *sheet, const struct comparison *item, const char *label)
{
	size_t label_column = table_label_column(&sheet->keys);
	char cell[COLUMN_TEXT_MAX];
	struct column_scope scope;
	const struct group *group = comparison_group(
		item, sheet->input, sheet->view->parts[COMPARE_WORKING].list.keys, &scope);

	for (size_t i = 0; i < sheet->keys.count; i++) {
		if (label)
			snprintf(cell, sizeof(cell), "%s", i == label_column ? label : "");
		else if (column_text(sheet->keys.columns[i], &scope, group, cell))
			text_cut(cell, sheet->text_max);
		else
			strcpy(cell, "-");
		grid_set(sheet->grid, i, cell);
	}
}

/* Of a group that is absent, rates are 0 and latencies unknown. What fails ends with a mark. */
static void sheet_set_change(struct sheet *sheet, const struct comparison *item, enum measure which,
			     bool fails)
{
	const struct compare_side *a = &item->a, *b = &item->b;
	const char *mark = fails ? "!" : sheet->view->failed ? " " : "";
	double absent = measures[which].scale == scale_for_latencies ? NAN : 0;
	char cell[CELL_MAX], marked[CELL_MAX + 1];

	change_format(a->present ? measures[which].value(a) : absent,
		      b->present ? measures[which].value(b) : absent, cell, sizeof(cell));
	snprintf(marked, sizeof(marked), "%s%s", cell, mark);
	grid_set(sheet->grid, measure_column(sheet, which) + SIDES, marked);
}

/* A sum has a label in place of its keys, and no failures. */
static void sheet_add_row(struct sheet *sheet, const struct compare_part *part,
			  const struct comparison *item, const char *label)
{
	struct regressions found = { { 0 } };
	char cell[CELL_MAX];

	if (part->rule.limit > 0 && !label)
		comparison_regressions(&part->list, item, &part->rule, &found);
	grid_add_row(sheet->grid);
	sheet_set_keys(sheet, item, label);
	for (int which = 0; which < NR_MEASURE; which++) {
		const struct compare_side *sides[SIDES] = { &item->a, &item->b };

		for (size_t i = 0; i < SIDES; i++) {
			value_format(sheet, (enum measure)which, measures[which].value(sides[i]),
				     cell, sizeof(cell));
			grid_set(sheet->grid, measure_column(sheet, (enum measure)which) + i, cell);
		}
		sheet_set_change(sheet, item, (enum measure)which,
				 measures[which].change &&
					 found.rise[measures[which].regression] > 0);
	}
	grid_set(sheet->grid, sheet->word_column, compare_words[item->word]);
}

static void sheet_add_part(struct sheet *sheet, enum compare_half half)
{
	const struct compare_part *part = &sheet->view->parts[half];

	if (half == COMPARE_WAITING) {
		if (!part->list.count)
			return;
		grid_add_line(sheet->grid, "");
		grid_add_line(sheet->grid, "waiting for work:");
	}
	for (size_t i = 0; i < part->shown; i++)
		sheet_add_row(sheet, part, &part->list.items[i], NULL);
	grid_add_rule(sheet->grid);
	sheet_add_row(sheet, part, &part->list.total,
		      half == COMPARE_WAITING ? "waiting" : "working");
}

/* Hides what matters least, the sides of a measure together, until the rest fits. */
static void sheet_fit(struct sheet *sheet, int width)
{
	for (int rank = NR_MEASURE; rank > 0; rank--) {
		if (width <= 0 || grid_width(sheet->grid) <= (size_t)width)
			return;
		for (int which = 0; which < NR_MEASURE; which++) {
			size_t column = measure_column(sheet, (enum measure)which);

			for (size_t i = 0; i < SIDES && measures[which].rank == rank; i++)
				grid_hide(sheet->grid, column + i);
		}
	}
}

static void print_changes(const struct compare_view *view, FILE *out)
{
	const size_t *words = view->words;

	fprintf(out,
		"\nbeyond noise: %zu slower, %zu faster, %zu differ; %zu new, %zu gone; of %zu "
		"group%s",
		words[COMPARE_SLOWER], words[COMPARE_FASTER], words[COMPARE_DIFFERS],
		words[COMPARE_NEW], words[COMPARE_GONE], view->groups,
		view->groups == 1 ? "" : "s");
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

	for (int half = 0; half < NR_COMPARE_HALF; half++) {
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
	const struct comparison_list *list = &view->parts[COMPARE_WORKING].list;
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
	int err = compare_heading_print(input, options, out);

	if (err)
		return err;
	sheet.text_max = options->width ? 28 + (size_t)options->width / 20 : SIZE_MAX;
	err = sheet_begin(&sheet, view->parts[COMPARE_WORKING].list.keys);
	if (err)
		return err;
	for (int half = 0; half < NR_COMPARE_HALF; half++)
		sheet_add_part(&sheet, (enum compare_half)half);
	sheet_fit(&sheet, options->width);
	err = grid_print(sheet.grid, out);
	if (err)
		return err;
	print_changes(view, out);
	err = compare_doubts_print(input, out);
	print_verdict(input, view, out);
	return err ?: ferror(out) ? -EIO : 0;
}
