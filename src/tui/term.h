/* SPDX-License-Identifier: BSD-2-Clause */
/* The terminal: the only user of ncurses. */
#ifndef BPFTRUSS_TERM_H
#define BPFTRUSS_TERM_H

#include "base/diag.h"
#include "tui/screen.h"

struct terminal;

/* Whether stdin and stdout are a terminal that can move its cursor; fills d when not. */
bool term_can_be_used(struct diag *d);

/* Takes over the terminal of stdin and stdout. Fails when it cannot be used. */
int term_open(struct terminal **ret, struct diag *d);

/* Gives the terminal back as it was; NULL is fine. */
void term_close(struct terminal *term);

static inline void term_closep(struct terminal **term)
{
	term_close(*term);
}

void term_size(const struct terminal *term, int *width, int *height);

/* The next key that was pressed, at once: enum top_key, or TOP_KEY_NONE. */
int term_key(struct terminal *term);

void term_show(struct terminal *term, const struct screen *screen);

#endif
