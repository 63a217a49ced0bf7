/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state of `bpftruss top`: the figures of the last interval and what the user chose to see of
 * them. Knows no terminal: keys come in as numbers, screen.h draws.
 */
#pragma once

#include "model/rates.h"

/* A key: an ASCII character or one of these. */
enum top_key {
	TOP_KEY_NONE = 0,
	TOP_KEY_BACKSPACE = 8,
	TOP_KEY_ENTER = 10,
	TOP_KEY_ESC = 27,
	TOP_KEY_UP = 256,
	TOP_KEY_DOWN,
	TOP_KEY_LEFT,
	TOP_KEY_RIGHT,
	TOP_KEY_PAGE_UP,
	TOP_KEY_PAGE_DOWN,
	TOP_KEY_HOME,
	TOP_KEY_END,
	TOP_KEY_RESIZE, /* the terminal has another size: top_resize() is due */
};

enum top_prompt {
	PROMPT_NONE,
	PROMPT_FILTER,
	PROMPT_DELAY,
};

#define TOP_TEXT_MAX 64

/* Where a table stands: the chosen line, the first one on the screen, and its order. */
struct top_place {
	size_t cursor, first;
	enum rate_key sort;
};

struct top {
	struct rates *rates; /* owned; NULL: the first interval has not ended */
	size_t *shown;       /* owned: the lines that pass the filter */
	size_t nr_shown;

	enum rate_by by;
	char filter[TOP_TEXT_MAX];
	uint64_t delay_ns;
	bool paused;
	size_t limit; /* lines at most; 0: all */
	bool help;

	struct top_place places[2]; /* of the list, and of the calls of one that is opened */
	bool follows;               /* the cursor stays on one line, wherever that goes */
	struct rate_identity followed;

	bool opened;
	struct rate_identity who; /* whose calls are shown */
	struct rate line;         /* its last figures; pointers are valid only if it is there */
	bool gone;                /* it was not in the last interval */
	char title[TOP_TEXT_MAX]; /* what it is called, safe to show */
	struct rate *calls;       /* owned: those of the last interval in which it was */
	size_t nr_calls;

	enum top_prompt prompt;
	char input[TOP_TEXT_MAX]; /* what was typed so far */
	char filter_before[TOP_TEXT_MAX];
	const char *message; /* until the next key; NULL: none */

	int width, height; /* of the screen; height 0: as many lines as there are, and no keys */
};

void top_init(struct top *top, uint64_t delay_ns);

void top_done(struct top *top);

/* Takes over the figures of the next interval. 0 or -ENOMEM; they are taken in both cases. */
int top_update(struct top *top, struct rates *rates);

void top_resize(struct top *top, int width, int height);

/* Returns 0 or -ENOMEM; sets *quit when the user has had enough. */
int top_press(struct top *top, int key, bool *quit);

/* Below this height of the screen there is no room for more than totals and table. */
#define ROOMY_HEIGHT 10
bool top_is_roomy(const struct top *top);

/* Lines of the screen above the rows of the table that is shown, and below them. */
int top_head_lines(const struct top *top);
int top_foot_lines(const struct top *top);

/* How many lines that table has room for, and how many it has. */
size_t top_room(const struct top *top);
size_t top_count(const struct top *top);

/* Returns one of its lines. */
const struct rate *top_line(const struct top *top, size_t index);

/* --- top_columns.c: the columns of both tables --------------------------------------------------- */

/* Holds any text of a cell: escapes make four characters of a byte. */
#define RATE_TEXT_MAX 1024

/* Whether the name, unit, user or pid of a line has a part, whatever its case. */
bool columns_contain(const struct rate *line, const char *part);

/* Names a line where it stands alone: process 17 (nginx). */
void columns_title(const struct rates *rates, const struct rate *line, char *text, size_t size);

struct top_column {
	const char *head;
	int width;
	bool left; /* aligned */
	int rank;  /* those of low rank are there first */
	enum rate_key key;
	unsigned int tables; /* bits of enum rate_by in which it makes sense, and that of calls */
	void (*write)(const struct top *top, const struct top_column *column,
		      const struct rate *line, char text[RATE_TEXT_MAX]);
	size_t offset; /* of its number in a line */
};

/* A column as it stands on the screen. */
struct column_place {
	const struct top_column *column;
	int x, width;
};

#define MAX_COLUMNS 24

/* The columns of the table that is shown that fit its width, from left to right. */
size_t columns_place(const struct top *top, struct column_place places[MAX_COLUMNS]);

/* The head of the column in whose order a table is. */
const char *columns_sort_head(enum rate_key key);

/* The key to sort by that is step columns from the present one among those on the screen. */
enum rate_key columns_next_key(const struct top *top, int step);

/* Orders lines of calls: numbers from high to low, equal ones by name. */
void columns_sort_calls(struct rate *calls, size_t count, enum rate_key key);
