/* SPDX-License-Identifier: BSD-2-Clause */
/* The figures of `bpftruss top` for scripts. */
#ifndef BPFTRUSS_REPORT_RATES_H
#define BPFTRUSS_REPORT_RATES_H

#include <stdio.h>

#include "model/rates.h"

/* The first limit lines (0: all) as one JSON object on one line. Returns 0 or a negative errno. */
int report_rates_json(const struct rates *rates, size_t limit, FILE *out);

#endif
