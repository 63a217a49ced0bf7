/* SPDX-License-Identifier: BSD-2-Clause */
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
#ifndef BPFTRUSS_HIST_COMPARE_H
#define BPFTRUSS_HIST_COMPARE_H

#include <stdbool.h>
#include <stdint.h>

#include "hist/hist.h"

/* Latencies on each side without which nothing is said. */
#define HIST_COMPARE_LEAST 20

/* What is beyond noise happens to equal distributions less often than this. */
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

#endif
