/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Histograms of latencies: adding, subtracting, quantiles. Bounds are those of hist_bucket.h. Only
 * the range of buckets that is in use takes memory: most rows have a dozen of them.
 */
#pragma once

#include "base/mem.h"
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

/* --- comparing -------------------------------------------------------------------------------- */

/*
 * Whether two histograms of latencies differ by more than chance, and by enough to matter. Both are
 * taken for independent draws; calls that come in bursts are not, so that "beyond noise" means
 * beyond what drawing does and no more.
 *
 * Two questions are asked, each at half of HIST_CHANCE. The whole: the two-sample test of
 * Kolmogorov and Smirnov (N. Smirnov, Annals of Mathematical Statistics 19, 1948, page 279), which
 * on binned data errs towards "chance". The tail, where a whole distribution may look the same
 * though its p99 is another: of the calls beyond a latency, are there more on one side than its
 * share of all calls lets expect? (Bound of W. Hoeffding, Journal of the American Statistical
 * Association 58, 1963, theorem 1; it holds for draws without putting back too.)
 */
/* Latencies on each side without which nothing is said. */
#define HIST_COMPARE_LEAST 20

/* Equal distributions differ beyond noise less often than this. */
#define HIST_CHANCE 0.001

/* A part of the calls below which a difference of the whole does not matter. */
#define HIST_DISTANCE_LEAST 0.05

enum hist_word {
	HIST_TOO_FEW,   /* one side has less than HIST_COMPARE_LEAST */
	HIST_NO_CHANGE, /* may be chance, or too little to matter */
	HIST_FASTER,    /* b lies below a, nearly throughout */
	HIST_SLOWER,
	HIST_DIFFERS, /* partly below and partly above */
	NR_HIST_WORD,
};

struct hist_side {
	const struct hist *hist;
	uint64_t sum_ns; /* of all latencies in it */
};

struct hist_difference {
	enum hist_word word;
	double distance;    /* largest difference of the cumulative distributions, 0 to 1 */
	double probability; /* upper bound: that chance alone makes them differ so much */
	int tail;           /* 1: the p99 of b is higher beyond noise, -1: lower, 0: neither */
};

void hist_compare(const struct hist_side *a, const struct hist_side *b,
		  struct hist_difference *ret);

/*
 * Upper bound of the probability that of so many events, each of which is of one kind with
 * probability share, at least (or, if they are fewer than expected, at most) so many are.
 */
double chance_of_count(uint64_t count, uint64_t events, double share);
