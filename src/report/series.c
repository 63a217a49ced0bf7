/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Draws a column of tables by time, a line a group. Groups of different steps are the same if a table would call them
 * the same. Invariant: in each step the lines of groups and others have all calls of the total, each once.
 */
#include <math.h>

#include "base/clock.h"
#include "report/over_time.h"

#define HEIGHT      320
#define LABEL_CHARS 22 /* longer names are cut in the legend */
#define CHAR_WIDTH  6.6
#define KEY_Y       76
#define KEY_LINE    17
#define KEY_LINES   2
#define HITS_MAX    1000 /* more steps have no numbers for the pointer of a mouse */

/* A group, in all steps. */
struct series {
	char *title;    /* owned */
	double *values; /* owned: of each step; NAN: none */
	double rank;    /* those of the highest have a line of their own */
	size_t index;   /* of the lines that are drawn; SERIES_MAX: one of the others */
};

/* What is drawn: groups, then others, then the total. */
enum { LINE_OTHERS = SERIES_MAX, LINE_TOTAL, NR_LINE };

struct chart {
	struct time_plot plot;
	const struct time_picture_options *picture;
	struct table_options table;
	const struct column *column;
	void *tree; /* owned: struct series, by title */
	struct series *lines[SERIES_MAX];
	size_t nr_lines, nr_series;
	bool has_cut;           /* some groups are in no series: the options left them out */
	double *others, *total; /* owned; of each step */
	double low, high;       /* of all values; the ends of the scale */
	bool is_log;
	uint64_t waiting;
};

/* --- series ------------------------------------------------------------------------------------- */

static void series_free(void *closure)
{
	struct series *series = closure;

	free(series->title);
	free(series->values);
	free(series);
}

static void chart_done(struct chart *chart)
{
	tdestroy(chart->tree, series_free);
	free(chart->others);
	free(chart->total);
}

static int compare_titles(const void *a, const void *b)
{
	return strcmp(((const struct series *)a)->title, ((const struct series *)b)->title);
}

static double *values_new(const struct chart *chart)
{
	const size_t count = chart->plot.timeline->nr_steps;
	double *values = calloc(count + 1, sizeof(*values));

	for (size_t i = 0; values && i < count; i++)
		values[i] = NAN;
	return values;
}

/* The series of a title, a new one if there is none; NULL: no memory. */
static struct series *series_take(struct chart *chart, char *title)
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

static bool is_per_second(const struct column *column)
{
	return column->kind == COLUMN_COUNT || column->kind == COLUMN_SUM ||
	       column->kind == COLUMN_BYTES;
}

/* The value of a group in a step; NAN: not known. */
static double value_of(const struct chart *chart, const struct timeline_step *step,
		       const struct column_scope *scope, const struct group *group)
{
	uint64_t number;

	if (!group->sum.calls || !column_number(chart->column, scope, group, &number))
		return NAN;
	if (is_per_second(chart->column))
		return step->covered_ns
			       ? (double)number * (double)NS_PER_SEC / (double)step->covered_ns
			       : NAN;
	return (double)number / (chart->column->kind == COLUMN_PERCENT ? 100 : 1);
}

/* What ranks a group: amounts by what they add up to, and all else by the number of calls. */
static double rank_of(const struct chart *chart, const struct column_scope *scope,
		      const struct group *group)
{
	uint64_t number = 0;

	if (is_per_second(chart->column))
		column_number(chart->column, scope, group, &number);
	else
		number = group->sum.calls;
	return (double)number;
}

typedef int step_task(struct chart *chart, size_t at, const struct table_part *part);

/* Does something with the groups of each step. */
static int each_step(struct chart *chart, step_task *task)
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

static int count_step(struct chart *chart, size_t at, const struct table_part *part)
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
static int fill_step(struct chart *chart, size_t at, const struct table_part *part)
{
	const struct timeline_step *step = &chart->plot.timeline->steps[at];
	const double none = is_per_second(chart->column) ? 0 : NAN;
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
	struct chart *chart = closure;
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

static int choose_lines(struct chart *chart)
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

/* --- the scale ---------------------------------------------------------------------------------- */

static const double *line_values(const struct chart *chart, size_t line)
{
	if (line == LINE_TOTAL)
		return chart->total;
	if (line == LINE_OTHERS)
		return chart->nr_series > chart->nr_lines || chart->has_cut ? chart->others : NULL;
	return line < chart->nr_lines ? chart->lines[line]->values : NULL;
}

/* Whether a line is drawn: a total of one group would hide it. */
static bool has_line(const struct chart *chart, size_t line)
{
	return line_values(chart, line) && (line != LINE_TOTAL || chart->nr_series > 1);
}

/* The least of 1, 2, 5, 10 ... that divides so much into at most five. */
static double nice_step(double most)
{
	const double power = most > 0 ? pow(10, floor(log10(most / 5))) : 1;
	static const double factors[] = { 1, 2, 5 };

	for (size_t i = 0; i < ARRAY_SIZE(factors); i++) {
		if (most <= 5 * power * factors[i] * (1 + 1e-9))
			return power * factors[i];
	}
	return 10 * power;
}

static void choose_scale(struct chart *chart)
{
	double low = INFINITY, high = 0;

	for (size_t line = 0; line < NR_LINE; line++) {
		const double *values = line_values(chart, line);

		for (size_t i = 0; values && i < chart->plot.timeline->nr_steps; i++) {
			if (isnan(values[i]))
				continue;
			low = fmin(low, values[i]);
			high = fmax(high, values[i]);
		}
	}
	chart->is_log = chart->column->kind == COLUMN_LATENCY;
	if (chart->is_log) {
		low = fmax(isfinite(low) ? low : 1000, 1);
		chart->low = floor(log10(low));
		chart->high = fmax(ceil(log10(fmax(high, low))), chart->low + 1);
	} else {
		const double step = nice_step(high);

		chart->high = fmax(ceil(high / step - 1e-9), 1) * step;
	}
}

static double value_y(const struct chart *chart, double value)
{
	const double place = chart->is_log ? log10(fmax(value, 1)) : value;

	return OVER_TIME_TOP +
	       HEIGHT * (1 - fmin(fmax((place - chart->low) / (chart->high - chart->low), 0), 1));
}

/* Writes a value with its unit, of few digits for the scale. */
static void value_write(const struct chart *chart, double value, bool is_short,
			char buf[AGE_MAX + 8])
{
	const enum column_kind kind = chart->column->kind;
	char number[AGE_MAX];

	if (kind == COLUMN_LATENCY || kind == COLUMN_SUM) {
		format_age((uint64_t)(value + 0.5), number, sizeof(number));
		if (is_short)
			short_time(value, number);
		snprintf(buf, AGE_MAX + 8, "%s%s", number, kind == COLUMN_SUM ? "/s" : "");
	} else {
		snprintf(number, sizeof(number), "%.2f", value);
		if (is_short)
			short_number(value, number);
		snprintf(buf, AGE_MAX + 8, "%s%s", number,
			 kind == COLUMN_PERCENT         ? "%"
			 : is_per_second(chart->column) ? "/s"
							: "");
	}
}

/* --- drawing ------------------------------------------------------------------------------------ */

static void line_class(size_t line, char buf[24])
{
	if (line >= LINE_OTHERS)
		snprintf(buf, 24, "line %s", line == LINE_OTHERS ? "others" : "total");
	else
		snprintf(buf, 24, "line s%zu", line);
}

static void line_title(const struct chart *chart, size_t line, char buf[COLUMN_TEXT_MAX])
{
	snprintf(buf, COLUMN_TEXT_MAX, "%s",
		 line == LINE_OTHERS  ? "others"
		 : line == LINE_TOTAL ? "total"
				      : chart->lines[line]->title);
}

static double step_x(const struct chart *chart, size_t at)
{
	const struct timeline_step *step = &chart->plot.timeline->steps[at];

	return (time_plot_x(&chart->plot, step->start_ns) +
		time_plot_x(&chart->plot, step->end_ns)) /
	       2;
}

/* Whether nothing was left uncounted between two steps. */
static bool steps_touch(const struct chart *chart, size_t at)
{
	const struct timeline_step *steps = chart->plot.timeline->steps;

	return at && steps[at - 1].sum && steps[at].sum &&
	       time_plot_x(&chart->plot, steps[at].start_ns) -
			       time_plot_x(&chart->plot, steps[at - 1].end_ns) <
		       1;
}

static void draw_line(const struct chart *chart, size_t line)
{
	const double *values = line_values(chart, line);
	char class[24];
	bool is_open = false;

	line_class(line, class);
	fprintf(chart->plot.out, "<path class=\"%s\" d=\"", class);
	for (size_t i = 0; i < chart->plot.timeline->nr_steps; i++) {
		const double x = step_x(chart, i);

		is_open = is_open && steps_touch(chart, i);
		if (isnan(values[i])) {
			is_open = false;
			continue;
		}
		/* A value without neighbours is a short line. */
		fprintf(chart->plot.out, is_open ? "L%.1f %.1f" : "M%.1f %.1fh1.5", x,
			value_y(chart, values[i]));
		is_open = true;
	}
	fputs("\"/>\n", chart->plot.out);
}

/* Backgrounds of what was counted, and the numbers of each step. */
static void draw_step(const struct chart *chart, size_t at, bool is_hit)
{
	const struct timeline_step *step = &chart->plot.timeline->steps[at];
	const double x = time_plot_x(&chart->plot, step->start_ns);
	char span[TIME_SPAN_MAX], title[COLUMN_TEXT_MAX], value[AGE_MAX + 8];

	if (!step->sum)
		return;
	fprintf(chart->plot.out,
		"<rect class=\"%s\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"%s",
		is_hit ? "hit" : "panel", x, OVER_TIME_TOP,
		fmax(time_plot_x(&chart->plot, step->end_ns) - x, 1), HEIGHT, is_hit ? ">" : "/>");
	if (!is_hit)
		return;
	time_span_write(step->start_ns, step->end_ns, span);
	fprintf(chart->plot.out, "<title>%s", span);
	for (size_t line = 0; line < NR_LINE; line++) {
		if (!has_line(chart, line) || isnan(line_values(chart, line)[at]))
			continue;
		line_title(chart, line, title);
		value_write(chart, line_values(chart, line)[at], false, value);
		fputc('\n', chart->plot.out);
		svg_escape(title, chart->plot.out);
		fprintf(chart->plot.out, ": %s", value);
	}
	fputs("</title></rect>\n", chart->plot.out);
}

static void draw_scale(const struct chart *chart)
{
	const double step = chart->is_log ? 1 : nice_step(chart->high);
	char text[AGE_MAX + 8];

	for (double at = chart->low; at <= chart->high * (1 + 1e-9); at += step) {
		const double value = chart->is_log ? pow(10, at) : at;
		const double y = value_y(chart, value);

		value_write(chart, value, true, text);
		fprintf(chart->plot.out,
			"<path class=\"grid\" d=\"M%d %.1fH%d\"/>"
			"<text class=\"scale\" x=\"%d\" y=\"%.1f\">%s</text>\n",
			OVER_TIME_LEFT - 4, y, OVER_TIME_LEFT + OVER_TIME_PLOT, OVER_TIME_LEFT - 8,
			y + 4, text);
	}
}

static void draw_legend(const struct chart *chart)
{
	double x = OVER_TIME_LEFT;
	int y = KEY_Y;
	char title[COLUMN_TEXT_MAX], class[24];

	for (size_t line = 0; line < NR_LINE; line++) {
		double width;

		if (!has_line(chart, line))
			continue;
		line_class(line, class);
		line_title(chart, line, title);
		text_cut(title, LABEL_CHARS);
		width = 34 + (double)text_width(title) * CHAR_WIDTH;
		if (x + width > OVER_TIME_LEFT + OVER_TIME_PLOT &&
		    y < KEY_Y + (KEY_LINES - 1) * KEY_LINE) {
			x = OVER_TIME_LEFT;
			y += KEY_LINE;
		}
		fprintf(chart->plot.out, "<path class=\"%s\" d=\"M%.1f %dh18\"/>", class, x, y);
		svg_text(chart->plot.out, (int)x + 23, y + 4, "key", title);
		x += width;
	}
}

/* What is drawn, by what. */
static void chart_title(const struct chart *chart, char *buf, size_t size)
{
	struct column_list keys;
	size_t used = (size_t)snprintf(buf, size, "System calls, %s%s by", chart->column->name,
				       is_per_second(chart->column) ? " per second" : "");

	columns_of_keys(chart->table.keys, &keys);
	for (size_t i = 0; i < keys.count && used < size; i++)
		used += (size_t)snprintf(buf + used, size - used, "%s %s", i ? "," : "",
					 keys.columns[i]->name);
}

static void chart_draw(struct chart *chart)
{
	const size_t nr_steps = chart->plot.timeline->nr_steps;
	char text[128] = "";

	chart_title(chart, text, sizeof(text));
	time_plot_begin(&chart->plot, text, chart->picture->subject);
	draw_legend(chart);
	for (size_t i = 0; i < nr_steps; i++)
		draw_step(chart, i, false);
	time_plot_gaps(&chart->plot);
	draw_scale(chart);
	time_plot_axis(&chart->plot);
	for (size_t line = 0; line < NR_LINE; line++) {
		if (has_line(chart, line))
			draw_line(chart, line);
	}
	for (size_t i = 0; i < nr_steps && nr_steps <= HITS_MAX; i++)
		draw_step(chart, i, true);
	time_plot_end(&chart->plot, !chart->nr_series ? "No system call was counted."
				    : chart->picture->with_waiting
					    ? ""
					    : "Without calls that wait for work.");
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
	struct chart chart __cleanup(chart_done) = {
		.plot = time_plot_of(timeline, out),
		.picture = picture,
		.table = *options,
		.column = choose_column(options),
	};

	chart.plot.height = HEIGHT;
	chart.table.keys = options->keys ?: (unsigned int)GROUP_SYSCALL;
	chart.table.waiting = picture->waiting;
	chart.table.sort.count = 0;
	chart.table.columns = NULL;
	chart.total = values_new(&chart);
	chart.others = values_new(&chart);
	if (!chart.total || !chart.others || choose_lines(&chart))
		return -ENOMEM;
	choose_scale(&chart);
	chart_draw(&chart);
	return ferror(out) ? -EIO : 0;
}
