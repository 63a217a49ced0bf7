/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Computes a column of tables by time, a line a group. Groups of different steps are the same if a table would call them
 * the same. Invariant: in each step the lines of groups and others have all calls of the total, each once.
 */
#include "report/series.h"

#include <math.h>

#include "base/clock.h"

/* --- series ------------------------------------------------------------------------------------- */

static void series_free(void *closure)
{
	struct series *series = closure;

	free(series->title);
	free(series->values);
	free(series);
}

static void chart_done(struct series_chart *chart)
{
	tdestroy(chart->tree, series_free);
	free(chart->others);
	free(chart->total);
}

static int compare_titles(const void *a, const void *b)
{
	return strcmp(((const struct series *)a)->title, ((const struct series *)b)->title);
}

static double *values_new(const struct series_chart *chart)
{
	const size_t count = chart->plot.timeline->nr_steps;
	double *values = calloc(count + 1, sizeof(*values));

	for (size_t i = 0; values && i < count; i++)
		values[i] = NAN;
	return values;
}

/* The series of a title, a new one if there is none; NULL: no memory. */
static struct series *series_take(struct series_chart *chart, char *title)
{
	struct series key = { .title = title, .index = SERIES_MAX }, *series;
	struct series **found = tfind(&key, &chart->tree, compare_titles);

	if (found)
		return *found;
	series = tree_add(&chart->tree, &key, sizeof(key), compare_titles);
	if (!series)
		return NULL;
	series->title = strdup(title);
	series->values = values_new(chart);
	chart->nr_series++;
	/* Even without them it stays in the tree, which is freed. */
	return series->title && series->values ? series : NULL;
}

/* --- values ------------------------------------------------------------------------------------- */

/* The value of a group in a step; NAN: not known. */
static double value_of(const struct series_chart *chart, const struct timeline_step *step,
		       const struct column_scope *scope, const struct group *group)
{
	uint64_t number;

	if (!group->sum.calls || !column_number(chart->column, scope, group, &number))
		return NAN;
	if (series_is_per_second(chart->column))
		return step->covered_ns
			       ? (double)number * (double)NS_PER_SEC / (double)step->covered_ns
			       : NAN;
	return (double)number / (chart->column->kind == COLUMN_PERCENT ? 100 : 1);
}

/* Returns the rank of a group in a step: its amount in the column, or else its number of calls. */
static double rank_of(const struct series_chart *chart, const struct column_scope *scope,
		      const struct group *group)
{
	uint64_t number = 0;

	if (series_is_per_second(chart->column))
		column_number(chart->column, scope, group, &number);
	else
		number = group->sum.calls;
	return (double)number;
}

typedef int step_task(struct series_chart *chart, size_t at, const struct table_part *part);

/* Does something with the groups of each step. */
static int each_step(struct series_chart *chart, step_task *task)
{
	const struct row_test working = half_test(TABLE_WORKING, &chart->table);

	for (size_t i = 0; i < chart->plot.timeline->nr_steps; i++) {
		const struct snapshot *sum = chart->plot.timeline->steps[i].sum;
		struct table_part part __cleanup(table_part_done) = { .list = { 0 } };

		if (!sum)
			continue;
		if (table_part_make(sum, &chart->table,
				    chart->picture->with_waiting ? NULL : &working, &part) ||
		    task(chart, i, &part))
			return -ENOMEM;
	}
	return 0;
}

static int count_step(struct series_chart *chart, size_t at, const struct table_part *part)
{
	char title[COLUMN_TEXT_MAX];

	(void)at;
	for (size_t i = 0; i < part->list.nr_groups; i++) {
		const struct group *group = &part->list.groups[i];
		struct series *series;

		chart->has_cut |= group->nr_merged > 0;
		if (group->nr_merged)
			continue;
		table_group_title(part, group, title);
		series = series_take(chart, title);
		if (!series)
			return -ENOMEM;
		series->rank += rank_of(chart, &part->scope, group);
	}
	return 0;
}

/* In a step in which nothing was called, amounts are 0 and all else is not known. */
static int fill_step(struct series_chart *chart, size_t at, const struct table_part *part)
{
	const struct timeline_step *step = &chart->plot.timeline->steps[at];
	const double none = series_is_per_second(chart->column) ? 0 : NAN;
	char title[COLUMN_TEXT_MAX];
	struct series rest = { .index = SERIES_MAX };
	struct group others;
	int err = 0;

	group_init(&others, NULL);
	for (size_t i = 0; i < chart->nr_lines; i++)
		chart->lines[i]->values[at] = none;
	for (size_t i = 0; i < part->list.nr_groups && !err; i++) {
		const struct group *group = &part->list.groups[i];
		struct series *series;

		table_group_title(part, group, title);
		series = group->nr_merged ? &rest : series_take(chart, title);
		if (!series)
			err = -ENOMEM;
		else if (series->index == SERIES_MAX)
			err = group_merge(&others, group);
		else
			series->values[at] = value_of(chart, step, &part->scope, group);
	}
	chart->others[at] = others.sum.calls ? value_of(chart, step, &part->scope, &others) : none;
	chart->total[at] =
		part->sum.sum.calls ? value_of(chart, step, &part->scope, &part->sum) : none;
	row_done(&others.sum);
	return err;
}

/* --- which groups have a line --------------------------------------------------------------------- */

static int compare_ranks(const struct series *a, const struct series *b)
{
	return a->rank > b->rank ? -1 : a->rank < b->rank ? 1 : strcmp(a->title, b->title);
}

/* Puts a series into its place among the best. */
static void choose_line(const void *node, VISIT which, void *closure)
{
	struct series *series = *(struct series *const *)node;
	struct series_chart *chart = closure;
	const size_t most =
		chart->table.top && chart->table.top < SERIES_MAX ? chart->table.top : SERIES_MAX;
	size_t at = chart->nr_lines;

	if (which != postorder && which != leaf)
		return;
	while (at && compare_ranks(series, chart->lines[at - 1]) < 0)
		at--;
	if (at == most)
		return;
	chart->nr_lines += chart->nr_lines < most;
	for (size_t i = chart->nr_lines - 1; i > at; i--)
		chart->lines[i] = chart->lines[i - 1];
	chart->lines[at] = series;
}

static int choose_lines(struct series_chart *chart)
{
	const size_t top = chart->table.top;
	int err;

	chart->table.top = 0;
	err = each_step(chart, count_step);
	chart->table.top = top;
	if (err)
		return err;
	twalk_r(chart->tree, choose_line, chart);
	for (size_t i = 0; i < chart->nr_lines; i++)
		chart->lines[i]->index = i;
	chart->table.top = 0;
	return each_step(chart, fill_step);
}

const double *series_values(const struct series_chart *chart, size_t line)
{
	if (line == SERIES_TOTAL)
		return chart->total;
	if (line == SERIES_OTHERS)
		return chart->nr_series > chart->nr_lines || chart->has_cut ? chart->others : NULL;
	return line < chart->nr_lines ? chart->lines[line]->values : NULL;
}

/* The first number of --columns, else of --sort, else calls. */
static const struct column *choose_column(const struct table_options *options)
{
	const struct column *calls = NULL;

	for (size_t i = 0; options->columns && i < options->columns->count; i++) {
		const struct column *column = options->columns->columns[i];

		if (column->kind != COLUMN_TEXT && column->kind != COLUMN_ID)
			return column;
	}
	for (size_t i = 0; i < options->sort.count; i++) {
		const struct column *column = options->sort.by[i].column;

		if (column->kind != COLUMN_TEXT && column->kind != COLUMN_ID)
			return column;
	}
	column_find("", "calls", &calls, NULL);
	return calls;
}

int report_series(const struct timeline *timeline, const struct time_picture_options *picture,
		  const struct table_options *options, FILE *out)
{
	struct series_chart chart __cleanup(chart_done) = {
		.plot = time_plot_of(timeline, out),
		.picture = picture,
		.table = *options,
		.column = choose_column(options),
	};

	chart.plot.height = SERIES_HEIGHT;
	chart.table.keys = options->keys ?: (unsigned int)GROUP_SYSCALL;
	chart.table.waiting = picture->waiting;
	chart.table.sort.count = 0;
	chart.table.columns = NULL;
	chart.total = values_new(&chart);
	chart.others = values_new(&chart);
	if (!chart.total || !chart.others || choose_lines(&chart))
		return -ENOMEM;
	series_draw(&chart);
	return ferror(out) ? -EIO : 0;
}
