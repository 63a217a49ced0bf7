/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Saves recorded calls in files, STATE_DIR/recorder/TIME.txt. A child writes each of them: a client of the
 * daemon as any other, since it takes seconds to make text of so many calls. Invariants: there is one child at
 * most; files together never take more than they may, nor one that is being written.
 */
#pragma once

#include "base/child.h"

/* However small they are. */
#define MAX_SAVES 100

struct saves {
	const char *state_dir, *socket; /* borrowed */
	struct child child;
	char name[48];     /* of the file that it writes */
	char reason[64];   /* why */
	uint64_t pause_ns; /* CLOCK_MONOTONIC before which no other begins */
	/* Files since the start: written, not written, and removed for newer ones. */
	uint64_t written, failed, removed;
};

/* Begins with nothing. */
void saves_init(struct saves *saves, const char *state_dir, const char *socket);

/* Stops the child, if there is one. */
void saves_done(struct saves *saves);

/* Whether one could begin now. */
bool saves_are_idle(const struct saves *saves, uint64_t now_ns);

/* Begins to save the calls of the last so many ns. A failure is logged and counted. */
void saves_begin(struct saves *saves, uint64_t span_ns, uint64_t max_bytes, const char *reason);

/* Looks after the child; once it has ended, removes the oldest files that are too many. */
void saves_follow(struct saves *saves, uint64_t max_bytes);
