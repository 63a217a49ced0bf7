/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Snapshots, timelines and intervals of top as JSON. Each is one object on one line; writers return 0 or
 * what the stream failed with. bpftruss-json(5) is the contract.
 */
#pragma once

#include "model/in_flight.h"
#include "model/rates.h"

int report_json(const struct snapshot *snapshot, FILE *out);

/*
 * A snapshot from what report_json() wrote, with all that any report shows. Untrusted: -EINVAL with d
 * filled for anything that is no such report. Its stacks are owned by *ret_stacks (NULL: none), which
 * must live as long as the snapshot. Returns 0 or a negative errno.
 */
int report_json_read(const char *text, size_t size, struct snapshot **ret,
		     struct stack_table **ret_stacks, struct diag *d);

/* The first limit lines (0: all) of `bpftruss top`. */
int report_rates_json(const struct rates *rates, size_t limit, FILE *out);

/* Writes the first items of --in-flight. */
int report_in_flight_json(const struct in_flight *list, FILE *out);

/* The object of report_json() is in each step: bpftruss-history(8). */
int report_timeline_json(const struct timeline *timeline, FILE *out);

/*
 * A timeline from what report_timeline_json() wrote; call stacks are left out. Untrusted: -EINVAL
 * with d filled for anything else. Returns 0 or a negative errno; timeline_done() the result.
 */
int report_timeline_json_read(const char *text, size_t size, struct timeline *ret, struct diag *d);
