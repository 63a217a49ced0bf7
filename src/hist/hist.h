/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Histograms of latencies: adding, subtracting, quantiles. Bounds are those of hist_bucket.h. Only
 * the range of buckets that is in use takes memory: most rows have a dozen of them.
 */
#ifndef BPFTRUSS_HIST_H
#define BPFTRUSS_HIST_H

#include <stdint.h>

#include "bpftruss/hist_bucket.h"

/* All zero is an empty one. The members are for hist.c alone. */
struct hist {
	uint64_t *counts; /* owned, of the buckets from first on; NULL when length is 0 */
	uint16_t first;
	uint16_t length;
};

/* Frees what it owns; it is empty then. */
void hist_done(struct hist *hist);

/* Latencies in one bucket, 0 … HIST_BUCKETS - 1. */
uint64_t hist_count(const struct hist *hist, unsigned int bucket);

/* The buckets from *first to *end - 1 hold all latencies; both are 0 when there are none. */
void hist_range(const struct hist *hist, unsigned int *first, unsigned int *end);

/* Adds latencies to one bucket. Returns 0, or -ENOMEM or, of no bucket, -EINVAL: it is as it was. */
int hist_add(struct hist *hist, unsigned int bucket, uint64_t count);

/* Adds latencies to all buckets, as the kernel counts them. Returns 0, or -ENOMEM as hist_add(). */
int hist_add_all(struct hist *hist, const uint32_t counts[HIST_BUCKETS]);

/* Returns 0, or -ENOMEM: into is then as it was. */
int hist_merge(struct hist *into, const struct hist *from);

/* Makes a copy of its own; what to had is not freed. Returns 0, or -ENOMEM: to is as it was. */
int hist_copy(struct hist *to, const struct hist *from);

/*
 * Subtracts an earlier state of the same histogram. Buckets only grow, so none goes below 0; where
 * one would all the same, it is 0.
 */
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
