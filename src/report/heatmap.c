/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Draws heat maps of latencies. A column is one or more steps, a row one or more buckets. Invariant: the numbers of
 * the cells of a column add up to its calls that were timed.
 */
#include <math.h>

#include "base/clock.h"
#include "report/over_time.h"

#define LEVELS       9 /* classes c0 to c8 of the style sheet */
#define HEIGHT       360
#define ROW_MIN      6
#define ROW_MAX      22
#define SWATCH       34
#define KEY_Y        72
#define EMPTY_HEIGHT 60

struct heat_column {
	int64_t start_ns, end_ns;
	uint64_t calls; /* timed or not */
	struct hist hist;
	size_t slot; /* of HEATMAP_COLUMNS */
};

struct heatmap {
	struct time_plot plot;
	struct heat_column *columns; /* owned */
	size_t nr_columns;
	uint64_t waiting, untimed;
	uint64_t least, most;          /* calls in a cell that has any */
	unsigned int step, first, end; /* buckets of a row; the rows that are drawn */
	int row_height;
	uint64_t bounds[LEVELS]; /* the fewest calls of each level */
	size_t nr_levels;
};

static void heatmap_done(struct heatmap *map)
{
	for (size_t i = 0; map->columns && i < map->nr_columns; i++)
		hist_done(&map->columns[i].hist);
	free(map->columns);
}

/* --- rows: bucket 0 has one of its own, then so many buckets each -------------------------------- */

static unsigned int row_of(unsigned int bucket, unsigned int step)
{
	return (bucket + step - 1) / step;
}

static unsigned int row_first_bucket(unsigned int row, unsigned int step)
{
	return row ? row * step - step + 1 : 0;
}

static uint64_t cell_count(const struct heatmap *map, const struct heat_column *column,
			   unsigned int row)
{
	const unsigned int end = row_first_bucket(row + 1, map->step);
	uint64_t count = 0;

	for (unsigned int i = row_first_bucket(row, map->step); i < end && i < HIST_BUCKETS; i++)
		count += hist_count(&column->hist, i);
	return count;
}

static void choose_rows(struct heatmap *map)
{
	unsigned int first = HIST_BUCKETS, end = 0, from, to;

	for (size_t i = 0; i < map->nr_columns; i++) {
		hist_range(&map->columns[i].hist, &from, &to);
		if (from == to)
			continue;
		first = from < first ? from : first;
		end = to > end ? to : end;
	}
	map->step = 1;
	map->least = UINT64_MAX;
	if (!end)
		return;
	while (row_of(end - 1, map->step) - row_of(first, map->step) >= HEATMAP_ROWS)
		map->step *= 2;
	map->first = row_of(first, map->step);
	map->end = row_of(end - 1, map->step) + 1;
	for (size_t i = 0; i < map->nr_columns; i++) {
		for (unsigned int row = map->first; row < map->end; row++) {
			const uint64_t count = cell_count(map, &map->columns[i], row);

			map->most = max_u64(map->most, count);
			map->least = count && count < map->least ? count : map->least;
		}
	}
}

/* --- columns ------------------------------------------------------------------------------------ */

static int column_add(struct heatmap *map, struct heat_column *column,
		      const struct snapshot *snapshot, const struct time_picture_options *options)
{
	const struct table_options table = { .waiting = options->waiting };

	for (size_t i = 0; i < snapshot->nr_rows; i++) {
		const struct row *row = snapshot->rows[i];

		if (!options->with_waiting && row_is_waiting(row, &table)) {
			map->waiting += row->calls;
			continue;
		}
		column->calls += row->calls;
		map->untimed += row->calls - row_timed(row);
		if (hist_merge(&column->hist, &row->hist))
			return -ENOMEM;
	}
	return 0;
}

/* Returns the part of the picture in which a step begins. */
static size_t slot_of(const struct heatmap *map, const struct timeline_step *step)
{
	const double part =
		(time_plot_x(&map->plot, step->start_ns) - OVER_TIME_LEFT) / OVER_TIME_PLOT;
	const size_t slot = (size_t)(part * HEATMAP_COLUMNS + 1e-6);

	return slot < HEATMAP_COLUMNS ? slot : HEATMAP_COLUMNS - 1;
}

/* Steps are in order of time: those of one slot are neighbours. */
static int add_columns(struct heatmap *map, const struct time_picture_options *options)
{
	const struct timeline *timeline = map->plot.timeline;
	const bool merges = timeline->nr_steps > HEATMAP_COLUMNS;

	map->columns = calloc(timeline->nr_steps + 1, sizeof(*map->columns));
	if (!map->columns)
		return -ENOMEM;
	for (size_t i = 0; i < timeline->nr_steps; i++) {
		const struct timeline_step *step = &timeline->steps[i];
		const size_t slot = slot_of(map, step);
		struct heat_column *last = &map->columns[map->nr_columns];

		if (!step->sum)
			continue;
		if (merges && map->nr_columns && last[-1].slot == slot)
			last--;
		else
			map->nr_columns++;
		if (last->start_ns == last->end_ns)
			last->start_ns = step->start_ns;
		last->end_ns = step->end_ns;
		last->slot = slot;
		if (column_add(map, last, step->sum, options))
			return -ENOMEM;
	}
	return 0;
}

/* --- colours: by the logarithm of the number ------------------------------------------------------ */

/* Rounds to one digit, so that the legend can be read at a glance. */
static uint64_t round_number(double value)
{
	const double power = value < 10 ? 1 : pow(10, floor(log10(value)));

	return (uint64_t)(floor(value / power + 0.5) * power);
}

static void choose_levels(struct heatmap *map)
{
	/* A decade at least: small differences are not to look large. */
	const uint64_t least = min_u64(map->least, map->most / 10 ?: 1);
	const double range = (double)map->most / (double)least;

	for (int i = 0; i < LEVELS && map->most; i++) {
		const double place = (double)least * pow(range, (double)i / LEVELS);
		const uint64_t bound = i ? round_number(place) : least;

		if (bound <= map->most && (!i || bound > map->bounds[map->nr_levels - 1]))
			map->bounds[map->nr_levels++] = bound;
	}
}

/* Few levels are as far apart as can be. */
static int level_class(const struct heatmap *map, size_t level)
{
	return map->nr_levels > 1 ? (int)(level * (LEVELS - 1) / (map->nr_levels - 1)) : LEVELS / 2;
}

static size_t level_of(const struct heatmap *map, uint64_t count)
{
	size_t level = 0;

	while (level + 1 < map->nr_levels && map->bounds[level + 1] <= count)
		level++;
	return level;
}

/* --- drawing ------------------------------------------------------------------------------------ */

static int row_y(const struct heatmap *map, unsigned int row)
{
	return OVER_TIME_TOP + (int)(map->end - 1 - row) * map->row_height;
}

static void latency_write(uint64_t ns, char buf[AGE_MAX])
{
	if (ns == UINT64_MAX)
		snprintf(buf, AGE_MAX, "any time");
	else
		format_age(ns, buf, AGE_MAX);
}

static void write_cell(const struct heatmap *map, const struct heat_column *column,
		       unsigned int row, const char *span)
{
	const double x = time_plot_x(&map->plot, column->start_ns);
	const uint64_t count = cell_count(map, column, row);
	char low[AGE_MAX], high[AGE_MAX];

	if (!count)
		return;
	latency_write(hist_bucket_low(row_first_bucket(row, map->step)), low);
	latency_write(hist_bucket_low(row_first_bucket(row + 1, map->step)), high);
	fprintf(map->plot.out,
		"<rect class=\"c%d\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"><title>%s\n"
		"%s to %s: %" PRIu64 " call%s</title></rect>\n",
		level_class(map, level_of(map, count)), x, row_y(map, row),
		fmax(time_plot_x(&map->plot, column->end_ns) - x, 1), map->row_height, span, low,
		high, count, plural(count));
}

static void write_column(const struct heatmap *map, const struct heat_column *column)
{
	const double x = time_plot_x(&map->plot, column->start_ns);
	char span[TIME_SPAN_MAX];

	time_span_write(column->start_ns, column->end_ns, span);
	fprintf(map->plot.out,
		"<rect class=\"panel\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" "
		"height=\"%d\"><title>%s\n",
		x, OVER_TIME_TOP, fmax(time_plot_x(&map->plot, column->end_ns) - x, 1),
		map->plot.height, span);
	if (column->calls)
		fprintf(map->plot.out, "%" PRIu64 " call%s</title></rect>\n", column->calls,
			plural(column->calls));
	else
		fputs("no calls</title></rect>\n", map->plot.out);
	for (unsigned int row = map->first; row < map->end; row++)
		write_cell(map, column, row, span);
}

/* The place of a latency: rows are as tall as each other, and in a row it is linear. */
static double latency_y(const struct heatmap *map, double ns)
{
	const unsigned int row = row_of(hist_bucket((uint64_t)ns), map->step);
	const double low = (double)hist_bucket_low(row_first_bucket(row, map->step));
	const double high = (double)hist_bucket_low(row_first_bucket(row + 1, map->step));

	return row_y(map, row) + map->row_height * (1 - (ns - low) / (high - low));
}

/* Decades; where there are few, also twice and five times as much. */
static void write_scale(const struct heatmap *map)
{
	static const double factors[] = { 1, 2, 5 };
	const double low = (double)hist_bucket_low(row_first_bucket(map->first, map->step));
	const double high = fmin((double)hist_bucket_low(row_first_bucket(map->end, map->step)),
				 (double)(1ULL << HIST_MAX_SHIFT));
	const size_t nr_factors = high > 1000 * fmax(low, 1) ? 1 : ARRAY_SIZE(factors);

	for (int power = 0; power < 13; power++) {
		for (size_t i = 0; i < nr_factors; i++) {
			const double ns = pow(10, power) * factors[i];
			char text[SHORT_NUMBER_MAX];
			double y;

			if (ns < low || ns > high)
				continue;
			y = latency_y(map, ns);
			short_time(ns, text);
			fprintf(map->plot.out,
				"<path class=\"grid\" d=\"M%d %.1fH%d\"/>"
				"<text class=\"scale\" x=\"%d\" y=\"%.1f\">%s</text>\n",
				OVER_TIME_LEFT - 4, y, OVER_TIME_LEFT + OVER_TIME_PLOT,
				OVER_TIME_LEFT - 8, y + 4, text);
		}
	}
	svg_text(map->plot.out, 24, OVER_TIME_TOP - 10, "name", "latency");
}

static void write_legend(const struct heatmap *map)
{
	FILE *out = map->plot.out;
	int x = OVER_TIME_LEFT + 190;
	char text[SHORT_NUMBER_MAX], class[8];

	if (map->nr_levels)
		svg_text(out, OVER_TIME_LEFT, KEY_Y + 10, "key", "calls in a cell, at least:");
	x -= map->nr_levels ? 34 : 190;
	for (size_t i = 0; i < map->nr_levels; i++, x += SWATCH) {
		snprintf(class, sizeof(class), "c%d", level_class(map, i));
		svg_rect(out, x, KEY_Y, SWATCH, 12, class);
		short_number((double)map->bounds[i], text);
		svg_text(out, x + SWATCH / 2, KEY_Y + 24, "tick", text);
	}
	x += 24;
	svg_rect(out, x, KEY_Y, 20, 12, "panel");
	svg_text(out, x + 26, KEY_Y + 10, "key", "counted, but no call");
	x += 164;
	time_plot_hatch(&map->plot, x, KEY_Y, 20, 12);
	svg_text(out, x + 26, KEY_Y + 10, "key", "not counted");
}

/* Says how wide columns are, and counts the calls that are in none. */
static void write_text(const struct heatmap *map, char *text, size_t size)
{
	uint64_t widest = 0, calls = 0;
	char age[AGE_MAX], left_out[64] = "", untimed[64] = "";

	for (size_t i = 0; i < map->nr_columns; i++) {
		const struct heat_column *column = &map->columns[i];

		/* Those of a hostile timeline may be anywhere. */
		widest = max_u64(widest, (uint64_t)column->end_ns - (uint64_t)column->start_ns);
		calls += column->calls;
	}
	format_long_age(widest, age, sizeof(age));
	if (map->waiting)
		snprintf(left_out, sizeof(left_out), "; %" PRIu64 " that wait for work left out",
			 map->waiting);
	if (map->untimed)
		snprintf(untimed, sizeof(untimed), "; %" PRIu64 " without a time", map->untimed);
	snprintf(text, size,
		 "%" PRIu64 " call%s%s%s. A column is up to %s, a row has latencies that "
		 "differ by up to %u%%.",
		 calls, plural(calls), untimed, left_out, age,
		 map->step == 1   ? 25
		 : map->step == 2 ? 50
				  : (1U << map->step / 4) * 100 - 100);
}

static void heatmap_draw(struct heatmap *map, const struct time_picture_options *options)
{
	const int rows = (int)(map->end - map->first);
	char text[320] = "";

	map->row_height = rows ? HEIGHT / rows : 0;
	map->row_height = map->row_height < ROW_MIN ? ROW_MIN : map->row_height;
	map->row_height = map->row_height > ROW_MAX ? ROW_MAX : map->row_height;
	map->plot.height = rows ? rows * map->row_height : EMPTY_HEIGHT;
	time_plot_begin(&map->plot, "Latency of system calls by time", options);
	write_legend(map);
	fputs("<g class=\"cells\">\n", map->plot.out);
	for (size_t i = 0; i < map->nr_columns; i++)
		write_column(map, &map->columns[i]);
	fputs("</g>\n", map->plot.out);
	time_plot_gaps(&map->plot);
	if (rows)
		write_scale(map);
	time_plot_axis(&map->plot);
	if (map->nr_columns)
		write_text(map, text, sizeof(text));
	time_plot_end(&map->plot, text);
}

int report_heatmap(const struct timeline *timeline, const struct time_picture_options *options,
		   FILE *out)
{
	struct heatmap map __cleanup(heatmap_done) = { .plot = time_plot_of(timeline, out) };

	if (add_columns(&map, options))
		return -ENOMEM;
	choose_rows(&map);
	choose_levels(&map);
	heatmap_draw(&map, options);
	return ferror(out) ? -EIO : 0;
}
