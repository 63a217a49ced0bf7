/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Draws a chart of series. Invariant: a line is broken where something was not counted or has no value, and where it is
 * drawn, the pointer of a mouse finds its numbers.
 */
#include "report/series.h"

#include <math.h>

#define LABEL_CHARS 22 /* longer names are cut in the legend */
#define CHAR_WIDTH  6.6
#define KEY_Y       76
#define KEY_LINE    17
#define KEY_LINES   2
#define HITS_MAX    1000 /* more steps have no numbers for the pointer of a mouse */

/* --- the scale ---------------------------------------------------------------------------------- */

/* Whether a line is drawn: a total of one group would hide it. */
static bool has_line(const struct series_chart *chart, size_t line)
{
	return series_values(chart, line) && (line != SERIES_TOTAL || chart->nr_series > 1);
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

static void choose_scale(struct series_chart *chart)
{
	double low = INFINITY, high = 0;

	for (size_t line = 0; line < NR_SERIES_LINE; line++) {
		const double *values = series_values(chart, line);

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

static double value_y(const struct series_chart *chart, double value)
{
	const double place = chart->is_log ? log10(fmax(value, 1)) : value;

	return OVER_TIME_TOP +
	       SERIES_HEIGHT *
		       (1 - fmin(fmax((place - chart->low) / (chart->high - chart->low), 0), 1));
}

/* Writes a value with its unit, of few digits for the scale. */
static void value_write(const struct series_chart *chart, double value, bool is_short,
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
			 kind == COLUMN_PERCENT                ? "%"
			 : series_is_per_second(chart->column) ? "/s"
							       : "");
	}
}

/* --- drawing ------------------------------------------------------------------------------------ */

static void line_class(size_t line, char buf[24])
{
	if (line >= SERIES_OTHERS)
		snprintf(buf, 24, "line %s", line == SERIES_OTHERS ? "others" : "total");
	else
		snprintf(buf, 24, "line s%zu", line);
}

static void line_title(const struct series_chart *chart, size_t line, char buf[COLUMN_TEXT_MAX])
{
	snprintf(buf, COLUMN_TEXT_MAX, "%s",
		 line == SERIES_OTHERS  ? "others"
		 : line == SERIES_TOTAL ? "total"
					: chart->lines[line]->title);
}

static double step_x(const struct series_chart *chart, size_t at)
{
	const struct timeline_step *step = &chart->plot.timeline->steps[at];

	return (time_plot_x(&chart->plot, step->start_ns) +
		time_plot_x(&chart->plot, step->end_ns)) /
	       2;
}

/* Whether nothing was left uncounted between two steps. */
static bool steps_touch(const struct series_chart *chart, size_t at)
{
	const struct timeline_step *steps = chart->plot.timeline->steps;

	return at && steps[at - 1].sum && steps[at].sum &&
	       time_plot_x(&chart->plot, steps[at].start_ns) -
			       time_plot_x(&chart->plot, steps[at - 1].end_ns) <
		       1;
}

static void draw_line(const struct series_chart *chart, size_t line)
{
	const double *values = series_values(chart, line);
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
static void draw_step(const struct series_chart *chart, size_t at, bool is_hit)
{
	const struct timeline_step *step = &chart->plot.timeline->steps[at];
	const double x = time_plot_x(&chart->plot, step->start_ns);
	char span[TIME_SPAN_MAX], title[COLUMN_TEXT_MAX], value[AGE_MAX + 8];

	if (!step->sum)
		return;
	fprintf(chart->plot.out,
		"<rect class=\"%s\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"%s",
		is_hit ? "hit" : "panel", x, OVER_TIME_TOP,
		fmax(time_plot_x(&chart->plot, step->end_ns) - x, 1), SERIES_HEIGHT,
		is_hit ? ">" : "/>");
	if (!is_hit)
		return;
	time_span_write(step->start_ns, step->end_ns, span);
	fprintf(chart->plot.out, "<title>%s", span);
	for (size_t line = 0; line < NR_SERIES_LINE; line++) {
		if (!has_line(chart, line) || isnan(series_values(chart, line)[at]))
			continue;
		line_title(chart, line, title);
		value_write(chart, series_values(chart, line)[at], false, value);
		fputc('\n', chart->plot.out);
		svg_escape(title, chart->plot.out);
		fprintf(chart->plot.out, ": %s", value);
	}
	fputs("</title></rect>\n", chart->plot.out);
}

static void draw_scale(const struct series_chart *chart)
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

static void draw_legend(const struct series_chart *chart)
{
	double x = OVER_TIME_LEFT;
	int y = KEY_Y;
	char title[COLUMN_TEXT_MAX], class[24];

	for (size_t line = 0; line < NR_SERIES_LINE; line++) {
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

/* Names the column and the keys. */
static void chart_title(const struct series_chart *chart, char *buf, size_t size)
{
	struct column_list keys;
	size_t used = (size_t)snprintf(buf, size, "System calls, %s%s by", chart->column->name,
				       series_is_per_second(chart->column) ? " per second" : "");

	columns_of_keys(chart->table.keys, &keys);
	for (size_t i = 0; i < keys.count && used < size; i++)
		used += (size_t)snprintf(buf + used, size - used, "%s %s", i ? "," : "",
					 keys.columns[i]->name);
}

void series_draw(struct series_chart *chart)
{
	const size_t nr_steps = chart->plot.timeline->nr_steps;
	char text[128] = "";

	choose_scale(chart);
	chart_title(chart, text, sizeof(text));
	time_plot_begin(&chart->plot, text, chart->picture);
	draw_legend(chart);
	for (size_t i = 0; i < nr_steps; i++)
		draw_step(chart, i, false);
	time_plot_gaps(&chart->plot);
	draw_scale(chart);
	time_plot_axis(&chart->plot);
	for (size_t line = 0; line < NR_SERIES_LINE; line++) {
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
