/* SPDX-License-Identifier: BSD-2-Clause */
/* The frame of pictures over time: head, axis of time, gaps. A plot is a rectangle in pixels, in which time goes right. */
#pragma once

#include "report/picture.h"

#define OVER_TIME_WIDTH 1040
#define OVER_TIME_LEFT  76 /* of the plot: the scale stands beside it */
#define OVER_TIME_PLOT  (OVER_TIME_WIDTH - OVER_TIME_LEFT - 24)
#define OVER_TIME_TOP   112 /* of the plot: below title, notes and legend */
#define OVER_TIME_FOOT  64  /* below it: labels of time, and a line of text */

struct time_plot {
	FILE *out;
	const struct timeline *timeline;
	int64_t from_ns, to_ns; /* CLOCK_REALTIME: of all steps and gaps; equal: there are none */
	int height;
};

/* A plot of all that a timeline has. */
struct time_plot time_plot_of(const struct timeline *timeline, FILE *out);

/* The place of a moment. */
double time_plot_x(const struct time_plot *plot, int64_t ns);

/* Begins the picture, as tall as the plot's height asks for: style sheet, title, subject, span, how exact. */
void time_plot_begin(const struct time_plot *plot, const char *title,
		     const struct time_picture_options *options);

/* Draws lines and labels of times of day; below the plot. */
void time_plot_axis(const struct time_plot *plot);

/* Draws gaps as hatched areas, each with its reason. */
void time_plot_gaps(const struct time_plot *plot);

/* A rectangle that is hatched as gaps are. */
void time_plot_hatch(const struct time_plot *plot, double x, double y, double width, double height);

/* Ends it, with a line of text at the bottom. */
void time_plot_end(const struct time_plot *plot, const char *text);

/* Writes the span of a step or gap: 2026-11-27 14:00:00 to 14:05:00. */
#define TIME_SPAN_MAX 80
void time_span_write(int64_t start_ns, int64_t end_ns, char buf[TIME_SPAN_MAX]);

/* Writes a number of few digits: 3, 250, 2k, 1.5M. */
#define SHORT_NUMBER_MAX 24
void short_number(double value, char buf[SHORT_NUMBER_MAX]);

/* Writes a time of few digits: 250 us, 1.5 s. */
void short_time(double ns, char buf[SHORT_NUMBER_MAX]);
