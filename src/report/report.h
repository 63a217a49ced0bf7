/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The reports. Each writes one snapshot to a stream and does not know where it came from. All
 * return 0 or a negative errno: -ENOMEM, or what the stream failed with.
 */
#ifndef BPFTRUSS_REPORT_H
#define BPFTRUSS_REPORT_H

#include <stdio.h>

#include "model/snapshot.h"

/* The table of truss -c, column for column, and the trust lines. */
int report_truss(const struct snapshot *snapshot, FILE *out);

/* One JSON object on one line: the contract in bpftruss(8), JSON. */
int report_json(const struct snapshot *snapshot, FILE *out);

/* "exact", or what is missing and why; then the calls in flight. Part of every text report. */
int report_trust(const struct snapshot *snapshot, FILE *out);

#endif
