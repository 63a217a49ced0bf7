/* SPDX-License-Identifier: BSD-2-Clause */
/* What is known of kinds of terminals; apart from screens, as its macros are words of every day. */
#ifndef BPFTRUSS_TERMINFO_H
#define BPFTRUSS_TERMINFO_H

/* NULL if the kind that TERM names can draw, or why not: part of a sentence. Before any screen. */
const char *terminfo_lack(void);

#endif
