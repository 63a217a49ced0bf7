/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Gives the frames of call stacks their names, while everything else goes on: symbols, debug files,
 * inlined functions and perf maps are read by workers, and nobody waits for one. A stack is in the
 * table at once, with its frames as places in files; their names follow.
 *
 *	names_add_stack(names, event);
 *	poll(errands_fd(errands), errands_patience_ms(errands));
 *	errands_run(errands);
 *	names_run(names);
 *
 * Its memory is bounded: it keeps names of places that were seen, never the symbols of a file.
 */
#pragma once

#include "stacks/name_files.h"

struct names;

/* Fills the table, which is borrowed, by errands, whose list is borrowed, too. Returns 0 or -errno. */
int names_new(const struct code_source *source, const struct names_options *options,
	      struct errands *errands, struct stack_table *table, struct names **ret);

/* Whether servers can be asked for debug files: their client is installed. 0, -ENOENT or -ENOMEM. */
int names_require_debuginfod(void);

void names_free(struct names *names);
CLEANUP_OF(names, names_free)

/* Puts a stack of a user into the table. Returns 0 or -ENOMEM. */
int names_add_stack(struct names *names, const struct stack_event *event);

/* The table was read: where names come at once, code that had none is looked for again in perf maps. */
void names_were_read(struct names *names);

/* Names all that was added so far, and looks again for code without a name. */
void names_begin(struct names *names);

/*
 * Whether all that was added before names_begin() has its names as far as they can be had: what has
 * failed is tried again later.
 */
bool names_are_done(const struct names *names);

/* How long at most to wait before names_run() is called: milliseconds as poll() takes them, -1 for ever. */
int names_patience_ms(const struct names *names);

/*
 * Brings the table up to date after errands have run; only a part of it if there is much to do.
 * Returns 0 or -ENOMEM.
 */
int names_run(struct names *names);

void names_count(const struct names *names, struct name_counts *ret);
