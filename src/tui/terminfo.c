/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns <term.h>. Invariant: no terminal is left over from a question. */
#include "tui/terminfo.h"

#include <curses.h>
#include <stdlib.h>
#include <term.h>
#include <unistd.h>

void terminfo_forget(void)
{
	if (cur_term)
		del_curterm(cur_term);
}

const char *terminfo_lack(void)
{
	const char *name = getenv("TERM"), *lack = NULL;
	int err;

	if (!name || !*name)
		return "TERM does not name it";
	if (setupterm(NULL, STDOUT_FILENO, &err) == ERR)
		return "TERM names none that is known";
	if (!cursor_address || !clear_screen)
		lack = "this one (TERM) cannot move its cursor";
	terminfo_forget();
	return lack;
}
