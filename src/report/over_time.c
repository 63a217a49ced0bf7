/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Draws what heat maps and charts over time have in common. Invariant: what was not counted is hatched, what was
 * counted has a background, so that neither looks like a time without calls.
 */
#include "report/over_time.h"

#include <math.h>
#include <time.h>

#include "base/clock.h"

static const char style[] =
#include "over_time.css.inc"
	;

struct time_plot time_plot_of(const struct timeline *timeline, FILE *out)
{
	struct time_plot plot = { out, timeline, INT64_MAX, INT64_MIN, 0 };

	for (size_t i = 0; i < timeline->nr_steps; i++) {
		const struct timeline_step *step = &timeline->steps[i];

		plot.from_ns = step->start_ns < plot.from_ns ? step->start_ns : plot.from_ns;
		plot.to_ns = step->end_ns > plot.to_ns ? step->end_ns : plot.to_ns;
	}
	for (size_t i = 0; i < timeline->nr_gaps; i++) {
		const struct timeline_gap *gap = &timeline->gaps[i];

		plot.from_ns = gap->start_ns < plot.from_ns ? gap->start_ns : plot.from_ns;
		plot.to_ns = gap->end_ns > plot.to_ns ? gap->end_ns : plot.to_ns;
	}
	if (plot.from_ns >= plot.to_ns)
		plot.from_ns = plot.to_ns = 0;
	return plot;
}

double time_plot_x(const struct time_plot *plot, int64_t ns)
{
	const double span = (double)plot->to_ns - (double)plot->from_ns;
	const double part = span > 0 ? ((double)ns - (double)plot->from_ns) / span : 0;

	return OVER_TIME_LEFT + fmin(fmax(part, 0), 1) * OVER_TIME_PLOT;
}

void time_span_write(int64_t start_ns, int64_t end_ns, char buf[TIME_SPAN_MAX])
{
	char start[CLOCK_LOCAL_SIZE], end[CLOCK_LOCAL_SIZE];
	const size_t date = sizeof("2026-01-31 ") - 1;

	clock_local(start_ns, start, sizeof(start));
	clock_local(end_ns, end, sizeof(end));
	snprintf(buf, TIME_SPAN_MAX, "%s to %s", start,
		 strncmp(start, end, date) ? end : end + date);
}

void short_number(double value, char buf[SHORT_NUMBER_MAX])
{
	const char *prefix = "\0kMGTPE";

	for (; value >= 999.5 && prefix[1]; value /= 1000)
		prefix++;
	snprintf(buf, SHORT_NUMBER_MAX, "%.3g%.1s", value, prefix);
}

void short_time(double ns, char buf[SHORT_NUMBER_MAX])
{
	static const char *const units[] = { "ns", "us", "ms", "s" };
	size_t unit = 0;

	for (; ns >= 999.5 && unit + 1 < ARRAY_SIZE(units); ns /= 1000)
		unit++;
	snprintf(buf, SHORT_NUMBER_MAX, "%.4g %s", ns, units[unit]);
}

/* Says how exact a timeline is, in which maybe nothing was counted. */
static const char *trust_text(const struct timeline *timeline)
{
	const char *text = "nothing was counted";

	for (size_t i = 0; i < timeline->nr_steps; i++) {
		if (!timeline->steps[i].sum)
			continue;
		if (!snapshot_is_exact(timeline->steps[i].sum))
			return "not exact: the text report says why";
		text = "exact: no call is missing";
	}
	return text;
}

/* Writes host, span, time zone, and how exact. */
static void write_origin(const struct time_plot *plot)
{
	char text[512], span[TIME_SPAN_MAX], host[256] = "", zone[16] = "";
	const struct timeline *timeline = plot->timeline;
	time_t seconds = (time_t)(plot->from_ns / (int64_t)NS_PER_SEC);
	struct tm local;

	for (size_t i = 0; i < timeline->nr_steps && !*host; i++) {
		if (timeline->steps[i].sum && timeline->steps[i].sum->host)
			text_escape_visible(timeline->steps[i].sum->host, (sizeof(host) - 1) / 4,
					    host);
	}
	if (localtime_r(&seconds, &local))
		strftime(zone, sizeof(zone), " %Z", &local);
	time_span_write(plot->from_ns, plot->to_ns, span);
	snprintf(text, sizeof(text), "%s%s%s%s; %s", host, *host ? ", " : "", span, zone,
		 trust_text(timeline));
	svg_text(plot->out, 24, 54, "note",
		 plot->from_ns < plot->to_ns ? text : "Nothing was counted.");
}

void time_plot_begin(const struct time_plot *plot, const char *title,
		     const struct time_picture_options *options)
{
	const int height = OVER_TIME_TOP + plot->height + OVER_TIME_FOOT;
	char shown[TEXT_ESCAPED_MAX(80)], text[512];

	fprintf(plot->out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"over-time\" width=\"%d\" "
		"height=\"%d\" viewBox=\"0 0 %d %d\">\n<title>%s</title>\n",
		OVER_TIME_WIDTH, height, OVER_TIME_WIDTH, height, title);
	if (!options->in_page)
		fprintf(plot->out, "<style>\n%s</style>\n", style);
	fprintf(plot->out, "<rect class=\"paper\" width=\"%d\" height=\"%d\"/>\n", OVER_TIME_WIDTH,
		height);
	text_escape_visible(options->subject ?: "", (sizeof(shown) - 1) / 4, shown);
	snprintf(text, sizeof(text), "%s%s%s", title, *shown ? ": " : "", shown);
	svg_text(plot->out, 24, 34, "title", text);
	write_origin(plot);
}

/* --- the axis ----------------------------------------------------------------------------------- */

#define TICKS_MAX 8

/* The least of the spans people think in that divides the plot into few enough parts, in seconds. */
static int64_t tick_seconds(const struct time_plot *plot)
{
	static const int64_t spans[] = { 1,      2,      5,       10,     15,    30,
					 60,     120,    300,     600,    900,   1800,
					 3600,   7200,   10800,   21600,  43200, 86400,
					 172800, 604800, 1209600, 2592000 };
	const double span = ((double)plot->to_ns - (double)plot->from_ns) / (double)NS_PER_SEC;
	int64_t longest = spans[ARRAY_SIZE(spans) - 1];

	for (size_t i = 0; i < ARRAY_SIZE(spans); i++) {
		if (span / (double)spans[i] <= TICKS_MAX)
			return spans[i];
	}
	while (span / (double)longest > TICKS_MAX)
		longest *= 2;
	return longest;
}

/* A line, and its time; below the first and where the day changes its date. */
static void write_tick(const struct time_plot *plot, int64_t ns, int64_t step, char *date)
{
	const double x = time_plot_x(plot, ns);
	const int y = OVER_TIME_TOP + plot->height;
	char text[CLOCK_LOCAL_SIZE];
	const bool is_day = step >= 86400;

	clock_local(ns, text, sizeof(text));
	fprintf(plot->out, "<path class=\"grid\" d=\"M%.1f %dV%d\"/>\n", x, OVER_TIME_TOP, y + 4);
	if (!is_day)
		fprintf(plot->out, "<text class=\"axis\" x=\"%.1f\" y=\"%d\">%.*s</text>\n", x,
			y + 17, step < 60 ? 8 : 5, text + 11);
	if (is_day || strncmp(date, text, 10) != 0)
		fprintf(plot->out, "<text class=\"axis\" x=\"%.1f\" y=\"%d\">%.10s</text>\n", x,
			y + (is_day ? 17 : 31), text);
	snprintf(date, CLOCK_LOCAL_SIZE, "%s", text);
}

void time_plot_axis(const struct time_plot *plot)
{
	const int64_t step = tick_seconds(plot);
	time_t seconds = (time_t)(plot->from_ns / (int64_t)NS_PER_SEC);
	char date[CLOCK_LOCAL_SIZE] = "";
	struct tm local = { 0 };
	int64_t offset_ns, tick_ns, step_ns;

	if (plot->from_ns >= plot->to_ns)
		return;
	/* Round times of the clock on the wall. */
	localtime_r(&seconds, &local);
	offset_ns = local.tm_gmtoff * (int64_t)NS_PER_SEC;
	if (__builtin_mul_overflow(step, (int64_t)NS_PER_SEC, &step_ns) ||
	    __builtin_add_overflow(plot->from_ns, offset_ns, &tick_ns) ||
	    __builtin_sub_overflow(tick_ns, (tick_ns % step_ns + step_ns) % step_ns + offset_ns,
				   &tick_ns))
		return;
	for (int i = 0; i <= TICKS_MAX + 1; i++) {
		if (tick_ns >= plot->from_ns && tick_ns <= plot->to_ns)
			write_tick(plot, tick_ns, step, date);
		if (__builtin_add_overflow(tick_ns, step_ns, &tick_ns))
			break;
	}
	fprintf(plot->out, "<path class=\"base\" d=\"M%d %dH%d\"/>\n", OVER_TIME_LEFT,
		OVER_TIME_TOP + plot->height, OVER_TIME_LEFT + OVER_TIME_PLOT);
}

/* --- gaps --------------------------------------------------------------------------------------- */

#define HATCH 8 /* from one line to the next */

/* A shorter gap would not be seen. */
#define GAP_WIDTH_MIN 2

void time_plot_hatch(const struct time_plot *plot, double x, double y, double width, double height)
{
	fprintf(plot->out,
		"<rect class=\"gap\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>"
		"<path class=\"hatch\" d=\"",
		x, y, width, height);
	/* Each line is cut to the rectangle: a pattern would need an id. */
	for (double at = HATCH; at < width + height; at += HATCH) {
		const double left = fmax(at - height, 0), right = fmin(at, width);

		fprintf(plot->out, "M%.1f %.1fL%.1f %.1f", x + left, y + at - left, x + right,
			y + at - right);
	}
	fputs("\"/>", plot->out);
}

void time_plot_gaps(const struct time_plot *plot)
{
	char span[TIME_SPAN_MAX];

	for (size_t i = 0; i < plot->timeline->nr_gaps; i++) {
		const struct timeline_gap *gap = &plot->timeline->gaps[i];
		const double x = time_plot_x(plot, gap->start_ns);
		const double width = fmax(time_plot_x(plot, gap->end_ns) - x, GAP_WIDTH_MIN);

		time_span_write(gap->start_ns, gap->end_ns, span);
		fprintf(plot->out, "<g><title>%s\nnot counted: %s</title>", span,
			gap_texts[gap->reason]);
		time_plot_hatch(plot, fmin(x, OVER_TIME_LEFT + OVER_TIME_PLOT - GAP_WIDTH_MIN),
				OVER_TIME_TOP, width, plot->height);
		fputs("</g>\n", plot->out);
	}
}

void time_plot_end(const struct time_plot *plot, const char *text)
{
	svg_text(plot->out, 24, OVER_TIME_TOP + plot->height + 52, "note", text);
	fputs("</svg>\n", plot->out);
}
