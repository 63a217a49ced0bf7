/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Holds one frame of `bpftruss top` as a grid of cells, each with a style; and the terminal that shows
 * it. A cell has printable ASCII, or a level of a sparkline from 1 to SPARK_LEVELS.
 */
#pragma once

#include "tui/top.h"

struct cell {
	char c;
	unsigned char style;     /* enum cell_style */
	unsigned char high, low; /* of STYLE_HEAT: heat_level() of its upper and lower half */
};

struct screen {
	int width, height;
	int cursor_x, cursor_y; /* where input goes on; -1: nowhere */
	struct cell *cells;     /* owned; row by row */
};

void screen_done(struct screen *screen);

/* Draws what top shows, as large as it says. 0 or -ENOMEM. */
int screen_draw(const struct top *top, struct screen *ret);

/* The text of all lines, without blanks at their ends. Returns 0 or a negative errno. */
int screen_print(const struct screen *screen, FILE *out);

/* --- cells.c: text in the grid ------------------------------------------------------------------- */

/* Whether a letter is a level of a sparkline. */
bool cell_is_spark(char c);

/* Put text at a place. Return where it ends; what is beyond the screen is left out. */
int screen_put(struct screen *screen, int x, int y, enum cell_style style, const char *text);
__attribute__((format(printf, 5, 6))) int screen_put_format(struct screen *screen, int x, int y,
							    enum cell_style style,
							    const char *format, ...);

/* --- heat_map.c ---------------------------------------------------------------------------------- */

/*
 * Draws latencies upward and intervals from left to right, the latest at the right, of the line that is shown or of
 * all, into so many lines. Too small a place stays empty.
 */
void screen_draw_heat(struct screen *screen, const struct top *top, int y, int lines);

/* --- term.c: the terminal ------------------------------------------------------------------------ */

/* Whether stdin and stdout are a terminal that can move its cursor; fills d when not. */
bool term_can_be_used(struct diag *d);

/* Takes over the terminal of stdin and stdout. Returns 0, or -ENOTTY with d filled. */
int term_open(struct diag *d);

/* Gives the terminal back as it was; only after term_open(), as all below. */
void term_close(void);

void term_size(int *width, int *height);

/* The next key that was pressed, at once: enum top_key, or TOP_KEY_NONE. Of a click, where it was. */
int term_key(int *x, int *y);

void term_show(const struct screen *screen);
