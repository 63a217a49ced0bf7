/* SPDX-License-Identifier: BSD-2-Clause */
/* What is known of kinds of terminals; apart from screens, as its macros are words of every day. */
#ifndef BPFTRUSS_TERMINFO_H
#define BPFTRUSS_TERMINFO_H

/* NULL if the kind that TERM names can draw, or why not: part of a sentence. */
const char *terminfo_lack(void);

/* Frees what ncurses knows of the current kind and leaves to its callers; after the last screen. */
void terminfo_forget(void);

#endif
