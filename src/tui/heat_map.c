/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Draws how long the calls of the last intervals took. A cell of the screen has two halves, one above the other, with a
 * level each. Invariant: all calls of the intervals that are shown are in it.
 */
#include "tui/screen.h"

#define HEAT_LABEL 8 /* columns of the scale beside it */

struct heat_map {
	const struct top *top;
	struct rate_identity who;
	size_t nr_columns; /* intervals that are shown, also those of which nothing is known */
	size_t first, end, step; /* the latencies that are shown; so many are one half of a line */
	uint64_t most;           /* calls in a half */
	int x, y, lines;
};

static bool heat_column(const struct heat_map *map, size_t ago, uint64_t ret[RATE_LATENCIES])
{
	return heat_read(&map->top->heat, map->top->heat_of_all ? NULL : &map->who, ago, ret);
}

/* The calls of one half of a line; halves are counted from the bottom. */
static uint64_t heat_half(const struct heat_map *map, const uint64_t counts[RATE_LATENCIES],
			  size_t half)
{
	uint64_t sum = 0;

	for (size_t i = map->first + half * map->step; i < map->first + (half + 1) * map->step; i++)
		sum += i < RATE_LATENCIES ? counts[i] : 0;
	return sum;
}

/* Chooses what is shown, so that all calls are in it. */
static void heat_measure(struct heat_map *map)
{
	const size_t halves = 2 * (size_t)map->lines;
	size_t first = RATE_LATENCIES, end = 0;
	uint64_t counts[RATE_LATENCIES];

	for (size_t ago = 0; ago < map->nr_columns; ago++) {
		heat_column(map, ago, counts);
		for (size_t i = 0; i < RATE_LATENCIES; i++) {
			first = counts[i] && i < first ? i : first;
			end = counts[i] && i >= end ? i + 1 : end;
		}
	}
	map->first = end ? first : 0;
	map->end = end;
	map->step = 1;
	while (end > map->first + halves * map->step)
		map->step++;
	/* A few lines more look calmer than a picture that jumps with each interval. */
	if (end && map->step == 1 && end - map->first < halves)
		map->first -= min_u64(map->first, (halves - (end - map->first)) / 2);
	if (map->step == 1)
		map->end = map->first + halves;
	for (size_t ago = 0; ago < map->nr_columns; ago++) {
		heat_column(map, ago, counts);
		for (size_t half = 0; half < halves; half++)
			map->most = max_u64(map->most, heat_half(map, counts, half));
	}
}

static void put_heat(struct screen *screen, int x, int y, unsigned int high, unsigned int low)
{
	if (x < 0 || y < 0 || x >= screen->width || y >= screen->height || !(high | low))
		return;
	screen->cells[y * screen->width + x] = (struct cell){
		/* Where there are no colours. */
		.c = SPARK_ASCII[max_u64(high, low)],
		.style = STYLE_HEAT,
		.high = (unsigned char)high,
		.low = (unsigned char)low,
	};
}

/* The scale of time, and what the colours mean. */
static void draw_heat_foot(struct screen *screen, const struct heat_map *map)
{
	const struct top *top = map->top;
	const double seconds =
		(double)heat_ago_ns(&top->heat, map->nr_columns, top->delay_ns) / 1e9;
	const int y = map->y + map->lines;
	char most[32];
	int x = screen_put_format(screen, map->x, y, STYLE_DIM, "%.0f s ago", seconds);

	snprintf(most, sizeof(most), " %" PRIu64 " calls", map->most);
	if (!map->most || screen->width - x < HEAT_LEVELS + (int)strlen(most) + 16)
		return;
	x = screen->width - (int)strlen(most) - HEAT_LEVELS - 10;
	x = screen_put(screen, x, y, STYLE_DIM, "1 ");
	for (unsigned int level = 1; level <= HEAT_LEVELS; level++)
		put_heat(screen, x++, y, level, level);
	x = screen_put(screen, x, y, STYLE_DIM, most);
	screen_put(screen, screen->width - 4, y, STYLE_DIM, "now");
}

/* The least latency of a line of the screen, unless it is beyond all that is shown. */
static void draw_heat_label(struct screen *screen, const struct heat_map *map, int y,
			    size_t latency)
{
	char text[RATE_TEXT_MAX];

	if (latency >= map->end || latency >= RATE_LATENCIES)
		return;
	columns_time(rate_latency_ns(latency), text);
	screen_put_format(screen, map->x - HEAT_LABEL, y, STYLE_DIM, "%7s", text);
}

void screen_draw_heat(struct screen *screen, const struct top *top, int y, int lines)
{
	struct heat_map map = { .top = top, .x = HEAT_LABEL, .y = y, .lines = lines - 1 };
	uint64_t counts[RATE_LATENCIES];

	if (lines < 3 || screen->width < HEAT_LABEL + 8)
		return;
	map.who = top->who;
	if (!top->opened)
		rate_identify(top->rates, top_subject(top), &map.who);
	map.nr_columns = min_u64((uint64_t)(screen->width - HEAT_LABEL), HEAT_INTERVALS);
	map.x = screen->width - (int)map.nr_columns;
	heat_measure(&map);
	if (!map.most)
		screen_put(screen, map.x, y, STYLE_DIM, "no call ended");
	for (int line = 0; line < map.lines; line++) {
		const size_t half = 2 * (size_t)(map.lines - 1 - line);

		draw_heat_label(screen, &map, y + line, map.first + half * map.step);
		for (size_t ago = 0; ago < map.nr_columns; ago++) {
			heat_column(&map, ago, counts);
			put_heat(screen, screen->width - 1 - (int)ago, y + line,
				 heat_level(heat_half(&map, counts, half + 1), map.most),
				 heat_level(heat_half(&map, counts, half), map.most));
		}
	}
	draw_heat_foot(screen, &map);
}
