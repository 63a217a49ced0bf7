/* SPDX-License-Identifier: BSD-2-Clause */
/* Uses ncurses: translates keys and styles, and gives the terminal back as it was. */
#include "tui/screen.h"

#include <langinfo.h>
#include <locale.h>

#define NCURSES_WIDECHAR 1
#include <ncurses.h>

/* This header comes last, as its macros are everyday words. */
#include <term.h>

/* How styles look, and in which colour where there are colours; 0: that of the terminal. */
static const struct {
	attr_t attributes, coloured;
	short colour;
} styles[NR_CELL_STYLE] = {
	[STYLE_DIM] = { A_DIM, A_DIM, 0 },
	[STYLE_STRONG] = { A_BOLD, A_BOLD, 0 },
	[STYLE_HEAD] = { A_UNDERLINE, A_REVERSE, COLOR_GREEN },
	[STYLE_SORTED] = { A_UNDERLINE | A_BOLD, A_REVERSE | A_BOLD, COLOR_CYAN },
	[STYLE_CURSOR] = { A_REVERSE, A_REVERSE, COLOR_CYAN },
	[STYLE_BAD] = { A_BOLD, A_NORMAL, COLOR_RED },
	[STYLE_USER] = { A_NORMAL, A_NORMAL, COLOR_GREEN },
	[STYLE_SYSTEM] = { A_NORMAL, A_BOLD, COLOR_BLUE },
	[STYLE_RUNQ] = { A_BOLD, A_NORMAL, COLOR_YELLOW },
	[STYLE_LOCK] = { A_BOLD, A_NORMAL, COLOR_MAGENTA },
	[STYLE_SLEEP] = { A_DIM, A_DIM, 0 },
};

static bool refuse(const char *why, struct diag *d)
{
	diag_set(d, DIAG_FAILED, ENOTTY,
		 "top draws on a terminal, and %s; --once prints one frame as text", why);
	return false;
}

/*
 * NULL if the kind of terminal that TERM names can draw, or why not: part of a sentence. Before any
 * screen; no terminal is left over.
 */
static const char *terminfo_lack(void)
{
	const char *name = getenv("TERM");
	bool can_draw;
	int found;

	if (!name || !*name)
		return "TERM does not name it";
	/* Also where it fails it may have read one: that of a printer, say. */
	can_draw = setupterm(NULL, STDOUT_FILENO, &found) == OK && cursor_address && clear_screen;
	if (cur_term)
		del_curterm(cur_term);
	if (can_draw)
		return NULL;
	return found == 1 ? "this one (TERM) cannot move its cursor"
			  : "TERM names none that is known";
}

bool term_can_be_used(struct diag *d)
{
	const char *lack;

	/* ncurses believes these, even when the window has had another size since. */
	unsetenv("LINES");
	unsetenv("COLUMNS");
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return refuse("this is none", d);
	lack = terminfo_lack();
	return lack ? refuse(lack, d) : true;
}

/* --- heat maps ------------------------------------------------------------------------------------ */

/*
 * Colours of 256 for levels from 1: lighter step by step for everybody, also for those who do not tell red from green. A
 * pair for each level in front of each, and of none.
 */
static const short heat_colours[HEAT_LEVELS] = { 55, 61, 67, 73, 79, 150, 192, 230 };

#define HEAT_PAIRS             (16)
#define HEAT_PAIR(front, back) ((short)(HEAT_PAIRS + ((front) - 1) * (HEAT_LEVELS + 1) + (back)))

static bool has_heat_colours(void)
{
	return COLORS >= 256 && COLOR_PAIRS > HEAT_PAIR(HEAT_LEVELS, HEAT_LEVELS);
}

static void heat_init(void)
{
	for (short front = 1; front <= HEAT_LEVELS && has_heat_colours(); front++) {
		for (short back = 0; back <= HEAT_LEVELS; back++)
			init_pair(HEAT_PAIR(front, back), heat_colours[front - 1],
				  back ? heat_colours[back - 1] : -1);
	}
}

/* Two halves of a cell where there are blocks, else one colour for both. */
static void show_heat(int x, int y, const struct cell *cell, bool has_blocks)
{
	const unsigned char both = cell->high > cell->low ? cell->high : cell->low;
	/* Upper half, lower half. */
	const wchar_t block[] = { cell->high ? 0x2580 : 0x2584, 0 };
	cchar_t wide;

	if (!has_blocks || (cell->high && cell->high == cell->low)) {
		mvaddch(y, x, (chtype)' ' | (attr_t)COLOR_PAIR(HEAT_PAIR(1, both)));
		return;
	}
	setcchar(&wide, block, A_NORMAL,
		 cell->high ? HEAT_PAIR(cell->high, cell->low) : HEAT_PAIR(cell->low, 0), NULL);
	mvadd_wch(y, x, &wide);
}

/* --- the screen ----------------------------------------------------------------------------------- */

int term_open(struct diag *d)
{
	/* https://no-color.org: any value but an empty one. */
	const char *no_color = getenv("NO_COLOR");

	/* Only for the characters of sparklines: numbers stay as they are. */
	setlocale(LC_CTYPE, "");
	if (!newterm(NULL, stdout, stdin)) {
		refuse("ncurses refuses this one", d);
		return -ENOTTY;
	}
	/* COLORS says then whether there are any. */
	if (!(no_color && *no_color) && has_colors() && start_color() == OK) {
		use_default_colors();
		for (short colour = COLOR_BLACK; colour <= COLOR_WHITE; colour++)
			init_pair((short)(colour + 1), colour, -1);
		heat_init();
	}
	mousemask(BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
	mouseinterval(0);
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(50);
	curs_set(0);
	return 0;
}

void term_close(void)
{
	endwin();
	delscreen(set_term(NULL));
}

void term_size(int *width, int *height)
{
	*width = COLS > 0 ? COLS : 1;
	*height = LINES > 0 ? LINES : 1;
}

/* The wheel moves the cursor; a click is one. */
static int mouse_key(int *x, int *y)
{
	MEVENT event;

	if (getmouse(&event) != OK)
		return TOP_KEY_OTHER;
	*x = event.x;
	*y = event.y;
	if (event.bstate & BUTTON4_PRESSED)
		return TOP_KEY_UP;
	return event.bstate & BUTTON5_PRESSED ? TOP_KEY_DOWN : TOP_KEY_CLICK;
}

int term_key(int *x, int *y)
{
	static const struct {
		int theirs, ours;
	} keys[] = {
		{ ERR, TOP_KEY_NONE },
		{ KEY_UP, TOP_KEY_UP },
		{ KEY_DOWN, TOP_KEY_DOWN },
		{ KEY_LEFT, TOP_KEY_LEFT },
		{ KEY_RIGHT, TOP_KEY_RIGHT },
		{ KEY_PPAGE, TOP_KEY_PAGE_UP },
		{ KEY_NPAGE, TOP_KEY_PAGE_DOWN },
		{ KEY_HOME, TOP_KEY_HOME },
		{ KEY_END, TOP_KEY_END },
		{ KEY_ENTER, TOP_KEY_ENTER },
		{ '\r', TOP_KEY_ENTER },
		{ KEY_BACKSPACE, TOP_KEY_BACKSPACE },
		{ 0x7f, TOP_KEY_BACKSPACE },
		{ KEY_RESIZE, TOP_KEY_RESIZE },
		{ KEY_BTAB, TOP_KEY_BACKTAB },
		{ KEY_F(1), '?' },
		{ KEY_F(3), '/' },
		{ KEY_F(4), '/' },
		{ KEY_F(5), 't' },
		{ KEY_F(6), '>' },
		{ KEY_F(10), 'q' },
	};
	int key = getch();

	if (key == KEY_MOUSE)
		return mouse_key(x, y);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (keys[i].theirs == key)
			return keys[i].ours;
	}
	return key > 0 && key < 0x7f ? key : TOP_KEY_OTHER;
}

static attr_t look_of(enum cell_style style)
{
	short colour = styles[style].colour;

	if (!COLORS)
		return styles[style].attributes;
	return styles[style].coloured | (colour ? COLOR_PAIR(colour + 1) : 0);
}

static void show_cell(int x, int y, const struct cell *cell, bool has_blocks)
{
	attr_t look = look_of(cell->style);
	bool is_spark = cell->c <= SPARK_LEVELS;
	/* From one eighth of a block to a full one. */
	const wchar_t block[] = { (wchar_t)(0x2580 + cell->c), 0 };
	cchar_t wide;

	if (!is_spark || !has_blocks) {
		mvaddch(y, x, (chtype)(is_spark ? SPARK_ASCII[(int)cell->c] : cell->c) | look);
	} else {
		setcchar(&wide, block, look & ~A_COLOR, PAIR_NUMBER(look), NULL);
		mvadd_wch(y, x, &wide);
	}
}

void term_show(const struct screen *screen)
{
	bool has_blocks = !strcmp(nl_langinfo(CODESET), "UTF-8");

	erase();
	for (int y = 0; y < screen->height; y++) {
		for (int x = 0; x < screen->width; x++) {
			const struct cell *cell = &screen->cells[y * screen->width + x];

			if (cell->style == STYLE_HEAT && has_heat_colours())
				show_heat(x, y, cell, has_blocks);
			else if (cell->c != ' ' || cell->style)
				show_cell(x, y, cell, has_blocks);
		}
	}
	curs_set(screen->cursor_x >= 0);
	if (screen->cursor_x >= 0)
		move(screen->cursor_y, screen->cursor_x);
	refresh();
}
