/* SPDX-License-Identifier: BSD-2-Clause */
/* Asks <term.h> about a kind of terminal. No terminal is left over from a question. */
#include "tui/term.h"

#include <curses.h>
#include <stdlib.h>
#include <term.h>
#include <unistd.h>

const char *terminfo_lack(void)
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
