/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prints single calls in one of three formats, in the order in which they ended, and accounts for
 * those that it does not print. Only call_printer_flush() returns errors of the output.
 */
#pragma once

#include "calls/recorder.h"
#include "cmd/reporting.h"

struct call_printer;

/*
 * Borrows everything; the output is open. Without a collector, calls come from a recording that somebody else
 * made, and whatever the options exclude is still in it. 0, or -errno with d filled.
 */
int call_printer_new(const struct options *options, struct collector *collector,
		     struct output *output, struct call_printer **ret, struct diag *d);
void call_printer_free(struct call_printer *printer);
CLEANUP_OF(call_printer, call_printer_free)

/* Begins to print; counting has begun at start_ns (CLOCK_MONOTONIC). A command, unless its pid is 0, waits. */
void call_printer_begin(struct call_printer *printer, uint64_t start_ns, uint32_t command);

/* Copies a record. 0 or -ENOMEM. */
int call_printer_add(struct call_printer *printer, const struct call_record *record);

/* Prints all that ended by then (CLOCK_MONOTONIC). */
void call_printer_show(struct call_printer *printer, uint64_t horizon_ns);

/* The part of a recording that is wanted. */
struct recorded_part {
	uint64_t from_ns; /* calls that ended then or later */
	uint64_t count;   /* but only so many of those that ended by a moment */
	uint64_t moment_ns;
	bool is_partial; /* some calls were not to be recorded */
};

/* Prints such a part, and nothing else from then on. 0 or -ENOMEM. */
int call_printer_replay(struct call_printer *printer, const struct recorder *recorder,
			const struct recorded_part *part);

/*
 * Shows calls that have slept since a moment (CLOCK_MONOTONIC), each of them once; see
 * collector_take_early_sleepers() for only_new. call_printer_conclude() says how many threads were not examined.
 */
void call_printer_show_sleepers(struct call_printer *printer, uint64_t started_ns, bool only_new);

/* Whether --max-events have been printed. */
bool call_printer_is_full(const struct call_printer *printer);

/* Adds up the calls of a snapshot that the programs should have sent for this set (NULL: all). */
uint64_t calls_counted(const struct snapshot *snapshot, const struct syscall_set *only);

/*
 * Prints to stderr what became of the calls that a reading counted; NULL: counting goes on. The
 * name, or "", distinguishes several such lines.
 */
void call_printer_conclude(struct call_printer *printer, const char *name,
			   const struct snapshot *snapshot, const struct call_totals *totals);

/* Flushes what was printed so far. Returns 0, or -errno with d filled. */
int call_printer_flush(struct call_printer *printer, struct diag *d);
