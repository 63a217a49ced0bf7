/* SPDX-License-Identifier: BSD-2-Clause */
/* Histograms of latencies: adding, subtracting, quantiles. Bounds are those of hist_bucket.h. */
#ifndef BPFTRUSS_HIST_H
#define BPFTRUSS_HIST_H

#include <stdint.h>

#include "bpftruss/hist_bucket.h"

struct hist {
	uint64_t buckets[HIST_BUCKETS];
};

/* Latencies in one bucket, 0 … HIST_BUCKETS - 1. */
uint64_t hist_count(const struct hist *hist, unsigned int bucket);

/* Adds latencies to one bucket. Returns 0 or -ENOMEM. */
int hist_add(struct hist *hist, unsigned int bucket, uint64_t count);

void hist_merge(struct hist *into, const struct hist *from);

/* Subtracts an earlier state of the same histogram; buckets only grow, so none goes below 0. */
void hist_subtract(struct hist *from, const struct hist *earlier);

/* Number of latencies in it. */
uint64_t hist_total(const struct hist *hist);

/*
 * Latency in ns below which a share q (0 to 1) of the calls lies: the ceil(q * total)-th smallest,
 * placed evenly inside its bucket, and clamped to the extremes seen. Wrong by at most the width of
 * a bucket: 25%. 0 when the histogram is empty.
 */
uint64_t hist_quantile_ns(const struct hist *hist, double q, uint64_t min_ns, uint64_t max_ns);

#endif
