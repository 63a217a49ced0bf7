/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prints single calls in one of three forms, in the order in which they ended, and accounts for those that
 * it does not print. Whatever it returns, output errors come from call_printer_flush().
 */
#pragma once

#include "cmd/reporting.h"

struct call_printer;

/* Borrows everything; the output is open. 0, or -errno with d filled. */
int call_printer_new(const struct options *options, struct collector *collector,
		     struct output *output, struct call_printer **ret, struct diag *d);
void call_printer_free(struct call_printer *printer);
CLEANUP_OF(call_printer, call_printer_free)

/* Counting has begun, and a command, unless its pid is 0, is about to. */
void call_printer_begin(struct call_printer *printer, uint32_t command);

/* Copies a record. 0 or -ENOMEM. */
int call_printer_add(struct call_printer *printer, const struct call_record *record);

/* Prints all that ended by then (CLOCK_MONOTONIC). */
void call_printer_show(struct call_printer *printer, uint64_t horizon_ns);

/* Prints a call that sleeps, unless it was printed already. */
void call_printer_show_sleeper(struct call_printer *printer, const struct call_record *record);

/* Whether --max-events have been printed. */
bool call_printer_is_full(const struct call_printer *printer);

/* Says on stderr what became of the calls that a reading counted. */
void call_printer_conclude(struct call_printer *printer, const struct snapshot *snapshot,
			   const struct call_totals *totals);

/* Hands on what was printed so far. 0, or -errno with d filled. */
int call_printer_flush(struct call_printer *printer, struct diag *d);
