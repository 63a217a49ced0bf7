/* SPDX-License-Identifier: BSD-2-Clause */
/* Uses ncurses: translates keys and styles, and gives the terminal back as it was. */
#include "tui/screen.h"

#include <ncurses.h>

/* Behind all others, as its macros are words of every day. */
#include <term.h>

static const attr_t styles[NR_CELL_STYLE] = {
	[STYLE_DIM] = A_DIM,        [STYLE_STRONG] = A_BOLD,
	[STYLE_HEAD] = A_UNDERLINE, [STYLE_SORTED] = A_UNDERLINE | A_BOLD,
	[STYLE_CURSOR] = A_REVERSE, [STYLE_BAD] = A_BOLD, /* or a colour */
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

int term_open(struct diag *d)
{
	/* https://no-color.org: any value but an empty one. */
	const char *no_color = getenv("NO_COLOR");

	if (!newterm(NULL, stdout, stdin)) {
		refuse("ncurses refuses this one", d);
		return -ENOTTY;
	}
	/* Bad values are red then: COLORS says so. */
	if (!(no_color && *no_color) && has_colors() && start_color() == OK) {
		use_default_colors();
		init_pair(1, COLOR_RED, -1);
	}
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

int term_key(void)
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
	};
	int key = getch();

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (keys[i].theirs == key)
			return keys[i].ours;
	}
	/* Any other key is one that does nothing. */
	return key > 0 && key < 0x7f ? key : '\t';
}

void term_show(const struct screen *screen)
{
	erase();
	for (int y = 0; y < screen->height; y++) {
		for (int x = 0; x < screen->width; x++) {
			const struct cell *cell = &screen->cells[y * screen->width + x];

			attr_t style = cell->style == STYLE_BAD && COLORS ? (attr_t)COLOR_PAIR(1)
									  : styles[cell->style];

			if (cell->c != ' ' || cell->style)
				mvaddch(y, x, (chtype)(unsigned char)cell->c | style);
		}
	}
	curs_set(screen->cursor_x >= 0);
	if (screen->cursor_x >= 0)
		move(screen->cursor_y, screen->cursor_x);
	refresh();
}
