/* SPDX-License-Identifier: BSD-2-Clause */
/* The heat map of latency by time in `bpftruss top`. */
#include "screen_fixture.h"

/* All lines together have the calls of the interval, and so have the lines one by one. */
TOP_TEST(test_heat_has_all_calls, 100, 30)
{
	uint64_t counts[RATE_LATENCIES], sum = 0, own = 0;
	struct rate_identity who;

	for (size_t i = 0; i < top->rates->diff->nr_rows; i++)
		sum += hist_total(&top->rates->diff->rows[i]->hist);
	assert_true(heat_read(&top->heat, NULL, 0, counts));
	for (size_t i = 0; i < RATE_LATENCIES; i++)
		own += counts[i];
	assert_int_equal(own, sum);
	assert_false(heat_read(&top->heat, NULL, 1, counts));
	own = 0;
	for (size_t i = 0; i < top->rates->nr_lines; i++) {
		rate_identify(top->rates, &top->rates->lines[i], &who);
		assert_true(heat_read(&top->heat, &who, 0, counts));
		for (size_t j = 0; j < RATE_LATENCIES; j++)
			own += counts[j];
	}
	assert_int_equal(own, sum);
	/* Grouped in another way, the intervals before say nothing of a line. */
	press(top, "g");
	rate_identify(top->rates, &top->rates->lines[0], &who);
	assert_false(heat_read(&top->heat, &who, 0, counts));
	assert_true(heat_read(&top->heat, NULL, 0, counts));
}

/* A latency is between its bounds. */
TEST(test_heat_bounds)
{
	static const uint64_t times[] = { 0,    63,         64,         127,       128,
					  1000, 1ULL << 41, 1ULL << 42, 1ULL << 50 };

	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		struct builder *before = builder_make(), *after = builder_make();
		__cleanup(snapshot_freep) struct snapshot *earlier = NULL, *later = NULL;
		__cleanup(rates_freep) struct rates *rates = NULL;
		size_t at = 0;

		take_process(after, 1, "x", 1, 1, 0);
		take_row(after, 1, "read", 3, times[i], 0, 0);
		earlier = reading(before, 0);
		later = reading(after, 2 * SEC);
		assert_int_equal(rates_new(earlier, later, RATE_BY_PID, &rates), 0);
		while (!rates->total.latencies[at])
			at++;
		assert_int_equal(rates->total.latencies[at], 3);
		assert_true(rate_latency_ns(at) <= times[i] && times[i] < rate_latency_ns(at + 1));
	}
	assert_all(rate_latency_ns(0) == 0, rate_latency_ns(1) == 64,
		   rate_latency_ns(RATE_LATENCIES) == UINT64_MAX);
}

TEST(test_heat_levels)
{
	assert_all(heat_level(0, 100) == 0, heat_level(1, 1) == HEAT_LEVELS,
		   heat_level(1, 100) == 1, heat_level(100, 100) == HEAT_LEVELS,
		   heat_level(10, 100) == 1 + HEAT_LEVELS / 2);
}

/* It keeps 240 intervals, and fewer where they are large. */
TOP_TEST(test_heat_is_bounded, 100, 30)
{
	top_go_on(top, HEAT_INTERVALS + 10);
	assert_int_equal(top->heat.count, HEAT_INTERVALS);
	assert_true(top->heat.bytes <= HEAT_BYTES);
}

/* The delay may be changed: intervals of before stay as long as they were. Those of the tests are 2 s long. */
TOP_TEST(test_heat_knows_how_long_ago, 100, 30)
{
	top_go_on(top, 4);
	top->delay_ns = 10 * SEC;
	assert_int_equal(heat_ago_ns(&top->heat, 3, top->delay_ns), 6 * SEC);
	assert_int_equal(heat_ago_ns(&top->heat, 7, top->delay_ns), 30 * SEC);
	top_go_on(top, HEAT_INTERVALS);
	assert_int_equal(heat_ago_ns(&top->heat, HEAT_INTERVALS, SEC), 2 * HEAT_INTERVALS * SEC);
}

/* How many cells are of the heat map, and whether they have letters for terminals without colours. */
static size_t heat_cells(const struct top *top)
{
	struct screen screen;
	size_t count = 0;

	assert_int_equal(screen_draw(top, &screen), 0);
	for (int i = 0; i < screen.width * screen.height; i++) {
		const struct cell *cell = &screen.cells[i];

		if (cell->style != STYLE_HEAT)
			continue;
		assert_all(cell->high <= HEAT_LEVELS, cell->low <= HEAT_LEVELS,
			   strchr(SPARK_ASCII, cell->c), cell->c != ' ');
		count++;
	}
	screen_done(&screen);
	return count;
}

TOP_TEST(test_heat_keys, 100, 30)
{
	size_t line, all;

	top_go_on(top, 5);
	assert_int_equal(heat_cells(top), 0);
	press(top, "l");
	line = heat_cells(top);
	check(top, "top_pane_heat");
	press(top, "L");
	all = heat_cells(top);
	assert_all(line > HEAT_LEVELS, all >= line);
	/* Once more brings the calls back; opened, it has the whole screen. */
	press(top, "L");
	assert_int_equal(heat_cells(top), 0);
	press(top, "lE");
	assert_true(heat_cells(top) > HEAT_LEVELS);
}

/* Where there is no room for a pane, the key says so; no size is too small to be drawn. */
TOP_TEST(test_heat_sizes, 80, 19)
{
	pressed(top, "l", pane, PANE_CALLS);
	assert_non_null(top->message);
	top_resize(top, 200, 60);
	press(top, "l");
	for (int height = 1; height < 40; height += 3) {
		for (int width = 1; width < 300; width += 23) {
			top_resize(top, width, height);
			heat_cells(top);
		}
	}
}
