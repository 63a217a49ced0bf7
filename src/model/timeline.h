/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What was counted over a span of time, in steps, and where nothing is known. Times of day are
 * CLOCK_REALTIME in ns; durations are monotonic, so the two may differ where the clock was set.
 */
#ifndef BPFTRUSS_TIMELINE_H
#define BPFTRUSS_TIMELINE_H

#include <stdint.h>

#include "model/snapshot.h"

#define TIMELINE_MAX_STEPS 10000

struct timeline_step {
	int64_t start_ns, end_ns; /* as counted; as asked for when nothing was */
	uint64_t covered_ns;      /* monotonic: how long was counted in it */
	struct snapshot *sum;     /* owned; elapsed_ns = covered_ns. NULL: nothing was counted */
};

enum gap_reason {
	GAP_NOT_RUNNING = 0, /* the daemon was stopped or killed, or the host was down */
	GAP_NOT_WRITTEN = 1, /* counted, but the history could not be written */
	GAP_DAMAGED = 2,     /* written, but unreadable now */
	GAP_RETIRED = 3,     /* older than what is kept */
	NR_GAP_REASON,
};

/* not_running, …: part of the JSON contract. */
extern const char *const gap_reason_names[NR_GAP_REASON];

struct timeline_gap {
	int64_t start_ns, end_ns;
	enum gap_reason reason;
};

struct timeline {
	struct timeline_step *steps; /* owned, as the gaps; in order of time */
	size_t nr_steps;
	struct timeline_gap *gaps;
	size_t nr_gaps;
};

void timeline_done(struct timeline *timeline);

/* A span kept for good under a name: letters, digits, dot, dash, underscore, at most 64. */
struct baseline {
	char name[65];
	int64_t saved_ns;
	int64_t start_ns, end_ns;
	uint64_t covered_ns;
};

#endif
