/* SPDX-License-Identifier: BSD-2-Clause */
/* A histogram of latencies as bars of text. */
#ifndef BPFTRUSS_BARS_H
#define BPFTRUSS_BARS_H

#include <stdio.h>

#include "hist/hist.h"

/* A line a bucket, from the first to the last that is not empty; longer gaps become "...". */
void bars_print(const struct hist *hist, FILE *out);

#endif
