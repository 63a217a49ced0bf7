/* SPDX-License-Identifier: BSD-2-Clause */
/* Uses ncurses: translates keys and styles, and gives the terminal back as it was. */
#include "tui/screen.h"

#include <errno.h>
#include <ncurses.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

/* Behind all others, as its macros are words of every day. */
#include <term.h>

struct terminal {
	SCREEN *screen;
	attr_t styles[NR_CELL_STYLE];
};

static bool refuse(const char *why, struct diag *d)
{
	diag_set(d, DIAG_FAILED, ENOTTY,
		 "top draws on a terminal, and %s; --once prints one frame as text", why);
	return false;
}

static void term_set_styles(struct terminal *term)
{
	/* https://no-color.org: any value but an empty one. */
	const char *no_color = getenv("NO_COLOR");
	attr_t bad = A_BOLD;

	if (!(no_color && *no_color) && has_colors() && start_color() == OK) {
		use_default_colors();
		init_pair(1, COLOR_RED, -1);
		bad = COLOR_PAIR(1);
	}
	term->styles[STYLE_PLAIN] = A_NORMAL;
	term->styles[STYLE_DIM] = A_DIM;
	term->styles[STYLE_STRONG] = A_BOLD;
	term->styles[STYLE_HEAD] = A_UNDERLINE;
	term->styles[STYLE_SORTED] = A_UNDERLINE | A_BOLD;
	term->styles[STYLE_CURSOR] = A_REVERSE;
	term->styles[STYLE_BAD] = bad;
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

int term_open(struct terminal **ret, struct diag *d)
{
	struct terminal *term __cleanup(term_closep) = NULL;

	if (!term_can_be_used(d))
		return -ENOTTY;
	term = calloc(1, sizeof(*term));
	if (!term)
		return diag_oom(d);
	term->screen = newterm(NULL, stdout, stdin);
	if (!term->screen) {
		refuse("ncurses refuses this one", d);
		return -ENOTTY;
	}
	term_set_styles(term);
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(50);
	curs_set(0);
	*ret = steal_ptr(&term);
	return 0;
}

void term_close(struct terminal *term)
{
	if (!term)
		return;
	if (term->screen) {
		endwin();
		delscreen(term->screen);
	}
	free(term);
}

void term_size(const struct terminal *term, int *width, int *height)
{
	(void)term;
	*width = COLS > 0 ? COLS : 1;
	*height = LINES > 0 ? LINES : 1;
}

int term_key(struct terminal *term)
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

	(void)term;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (keys[i].theirs == key)
			return keys[i].ours;
	}
	/* Any other key is one that does nothing. */
	return key > 0 && key < 0x7f ? key : '\t';
}

void term_show(struct terminal *term, const struct screen *screen)
{
	erase();
	for (int y = 0; y < screen->height; y++) {
		for (int x = 0; x < screen->width; x++) {
			const struct cell *cell = &screen->cells[y * screen->width + x];

			if (cell->c != ' ' || cell->style)
				mvaddch(y, x,
					(chtype)(unsigned char)cell->c | term->styles[cell->style]);
		}
	}
	curs_set(screen->cursor_x >= 0);
	if (screen->cursor_x >= 0)
		move(screen->cursor_y, screen->cursor_x);
	refresh();
}
