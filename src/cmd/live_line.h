/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The line that `bpftruss -c` rewrites on a terminal while it counts: how long, how much and what. Nothing
 * is shown where stderr is no terminal.
 */
#pragma once

#include "cmd/options.h"

struct live_line {
	bool is_on;
	uint64_t start_ns, duration_ns; /* CLOCK_MONOTONIC; 0: until somebody ends it */
	uint64_t last_ns, last_calls;   /* when and what it showed before */
	struct syscall_set *only;       /* borrowed: the calls that are counted; NULL: all */
};

void live_line_begin(struct live_line *line, const struct options *options);

/* Shows what a reading has. Returns after how many ns the next one is due. */
uint64_t live_line_show(struct live_line *line, const struct snapshot *snapshot, uint64_t taken_ns);

/* Shows how many frames have no name yet. */
void live_line_show_names(const struct live_line *line, uint64_t waiting);

/* Clears the line; call it before anything else is written to the terminal. */
void live_line_erase(const struct live_line *line);
