/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state of `bpftruss top`: the figures of the last interval and what the user chose to see of
 * them. Knows no terminal: keys come in as numbers, screen.h draws.
 */
#pragma once

#include "model/rates.h"
#include "tui/heat.h"
#include "tui/host.h"
#include "tui/sparks.h"

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
	TOP_KEY_BACKTAB,
	TOP_KEY_RESIZE, /* the terminal has another size: top_resize() is due */
	TOP_KEY_CLICK,  /* of the mouse: top_click() is due */
	TOP_KEY_OTHER,  /* does nothing */
};

enum top_prompt {
	PROMPT_NONE,
	PROMPT_FILTER,
	PROMPT_DELAY,
};

#define TOP_TEXT_MAX 64

/* The parent of a process, as /proc says. */
struct lineage {
	uint32_t pid, parent; /* parent 0: unknown */
};

/* The position in a table: the chosen line, the first one on the screen, and the order. */
struct top_place {
	size_t cursor, first;
	enum rate_key sort;
	bool reversed;
};

/* What is shown below the list for the chosen line, or for an opened one. */
enum top_pane {
	PANE_CALLS,
	PANE_ERRORS,
	PANE_DURATIONS,
	PANE_HEAT,      /* durations of the last intervals */
	PANE_ARGUMENTS, /* paths or files, where these are told apart */
	PANE_STACKS,    /* only where stacks are taken */
	PANE_NONE,
	NR_TOP_PANE,
};

struct top {
	struct rates *rates; /* owned; NULL: the first interval has not ended */
	size_t *shown;       /* owned: the lines that pass the filter */
	size_t nr_shown;
	unsigned char
		*depths; /* owned: of each line of the rates, in the tree; NULL: there is none */
	struct lineage
		*parents; /* owned: of the processes, by pid; NULL: not read since they came */
	size_t nr_parents;
	struct sparks sparks; /* calls per second of the last intervals */
	struct heat heat;     /* how long they took */
	struct host host;

	enum rate_by by;
	char filter[TOP_TEXT_MAX];
	uint64_t delay_ns;
	bool paused;
	size_t limit; /* lines at most; 0: all */
	bool help;
	bool tree;             /* processes stand below their parents */
	bool one_cpu;          /* one head line for all CPUs */
	bool has_stacks;       /* stacks are taken */
	enum call_split split; /* what readings are split by: paths, files or nothing */
	enum top_pane pane;
	bool heat_of_all; /* that pane is of all lines */

	struct top_place places[2]; /* of the list, and of the calls of one that is opened */
	bool follows;               /* the cursor stays on one line, wherever that goes */
	struct rate_identity followed;

	bool opened;
	struct rate_identity who; /* whose calls are shown */
	struct rate line;         /* its last figures; pointers are valid only if it is there */
	bool gone; /* it was not in the last interval: what is shown is of the one before */
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

/* A click of the mouse: on a line it is chosen, and opened if it was; on a head it is sorted by it. */
int top_click(struct top *top, int x, int y);

/* Below this height of the screen there is no room for more than totals and table. */
#define ROOMY_HEIGHT 10
bool top_is_roomy(const struct top *top);

/* How many lines there are for CPUs, and how many CPUs each has; 0 where there is no room. */
int top_cpu_lines(const struct top *top, unsigned int *ret_per_line);

/* Whether there is such a pane now, and which one is shown. */
bool top_has_pane(const struct top *top, enum top_pane pane);
enum top_pane top_pane_shown(const struct top *top);

/* Lines of the pane below the list, with its title; 0: it is not shown. */
int top_pane_lines(const struct top *top);

/* Lines of the screen above the rows of the table that is shown, and below them. */
int top_head_lines(const struct top *top);
int top_foot_lines(const struct top *top);

/* How many lines that table has room for, and how many it has. */
size_t top_room(const struct top *top);
size_t top_count(const struct top *top);

/* Returns one of its lines. */
const struct rate *top_line(const struct top *top, size_t index);

/* The line whose calls, errors and durations are shown: the opened or the chosen one; NULL: none. */
const struct rate *top_subject(const struct top *top);

/* --- tree.c -------------------------------------------------------------------------------------- */

/*
 * Puts the shown lines of processes below their parents; siblings stay in order. Notes how deep each is. Returns 0 or -ENOMEM.
 */
int top_make_tree(struct top *top);

/* --- pane.c: what a line's calls came to ---------------------------------------------------------- */

#define PANE_LINE_MAX 256
#define PANE_MAX      64

struct pane_text {
	char lines[PANE_MAX][PANE_LINE_MAX]; /* printable ASCII */
	size_t count;
};

/* Writes errors, durations or stacks of the line that is shown; at most so many lines. 0 or -ENOMEM. */
int pane_write(const struct top *top, size_t most, struct pane_text *ret);

/* What it is called on the screen. */
const char *pane_name(const struct top *top, enum top_pane pane);

/* --- top_columns.c: the columns of both tables --------------------------------------------------- */

/* Holds any text of a cell: escapes make four characters of a byte. */
#define RATE_TEXT_MAX 1024

/* Whether the name, unit, user or pid of a line has a part, whatever its case. */
bool columns_contain(const struct rate *line, const char *part);

/* Writes at most six characters, for 100 days. */
void columns_time(uint64_t ns, char text[RATE_TEXT_MAX]);

/* Writes the end of a text of printable ASCII that is too wide, as of a path, behind two dots. */
void text_fit_end(char *text, size_t width);

/* Names a line where it stands alone: process 17 (nginx). */
void columns_title(const struct rates *rates, const struct rate *line, char *text, size_t size);

/* How a cell looks. */
enum cell_style {
	STYLE_PLAIN,
	STYLE_DIM,
	STYLE_STRONG,
	STYLE_HEAD,   /* heads of columns */
	STYLE_SORTED, /* that of the column in whose order the table is */
	STYLE_CURSOR,
	STYLE_BAD, /* what must not be overlooked: errors, losses, paused, ended */
	/* The microstates. */
	STYLE_USER,
	STYLE_SYSTEM,
	STYLE_RUNQ,
	STYLE_LOCK,
	STYLE_SLEEP,
	STYLE_HEAT, /* of a heat map: the terminal has its colours */
	NR_CELL_STYLE,
};

/* Writes microstates as a bar of so many letters: u, s, r, l, and dots for sleep. */
void write_states(const struct microstates *states, int width, char *text);

/* The style of a letter of that bar. */
enum cell_style state_style(char letter);

struct top_column {
	const char *head;
	int width;
	bool left; /* aligned */
	int rank;  /* those of low rank are there first */
	enum rate_key key;
	unsigned int tables; /* bits of enum rate_by in which it makes sense, and that of calls */
	void (*write)(const struct top *top, const struct top_column *column,
		      const struct rate *line, char text[RATE_TEXT_MAX]);
	size_t offset;  /* of its number in a line */
	bool keeps_end; /* of a text that is too wide its end is shown */
	int most;       /* so wide it may get where there is room; 0: it does not grow */
	enum cell_style
		style; /* of a number that is not 0; STYLE_STRONG: of a bar, letter by letter */
};

/* A column as it stands on the screen. */
struct column_place {
	const struct top_column *column;
	int x, width;
};

#define MAX_COLUMNS 32

/* The columns of the table that is shown that fit its width, from left to right. */
size_t columns_place(const struct top *top, struct column_place places[MAX_COLUMNS]);

/* Whether the table that is shown has a column to sort by that, if it is wide enough. */
bool columns_have(const struct top *top, enum rate_key key);

/* The head of the column in whose order the table is. */
const char *columns_sort_head(const struct top *top);

/* The key to sort by that is step columns from the present one among those on the screen. */
enum rate_key columns_next_key(const struct top *top, int step);

/* Orders lines of calls: numbers from high to low, or reversed, equal ones by name. */
void columns_sort_calls(struct rate *calls, size_t count, const struct top_place *place);
