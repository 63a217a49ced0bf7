/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records calls for --last, and prints the newest at the end, when somebody asks, and of its own accord when
 * what --save-on waits for happens. What it does with a call that comes is to copy it and to look whether it
 * is such a one.
 */
#pragma once

#include "cmd/reporting.h"

struct recording;

/* Borrows everything; the output is open. 0, or -errno with d filled. */
int recording_new(const struct options *options, struct collector *collector, struct output *output,
		  struct recording **ret, struct diag *d);
void recording_free(struct recording *recording);
CLEANUP_OF(recording, recording_free)

/* Counting has begun. */
void recording_begin(struct recording *recording);

/* Takes a record; a call_taker. */
int recording_add(void *recording, const struct call_record *record);

/* All that ended by then (CLOCK_MONOTONIC) has been added. */
void recording_mark(struct recording *recording, uint64_t horizon_ns);

/* Somebody wants to see what there is. */
void recording_ask(struct recording *recording);

/* Whether that, or what --save-on waits for, is to be answered now. */
bool recording_is_due(const struct recording *recording, uint64_t now_ns);

/* Answers. 0, or -errno with d filled; that something cannot be saved is said, and is no error. */
int recording_answer(struct recording *recording, struct diag *d);

/*
 * Ends: prints what is there, or with --save-on saves what is still to be, and says what became of all calls
 * of a last reading. Returns 0, or -errno with d filled.
 */
int recording_conclude(struct recording *recording, const struct snapshot *snapshot,
		       struct diag *d);
