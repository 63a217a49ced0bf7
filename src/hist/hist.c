/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the arithmetic on whole histograms. Pure: no I/O, no allocation. */
#include "hist/hist.h"

#include <math.h>

uint64_t hist_count(const struct hist *hist, unsigned int bucket)
{
	return hist->buckets[bucket];
}

int hist_add(struct hist *hist, unsigned int bucket, uint64_t count)
{
	hist->buckets[bucket] += count;
	return 0;
}

void hist_merge(struct hist *into, const struct hist *from)
{
	for (unsigned int i = 0; i < HIST_BUCKETS; i++)
		into->buckets[i] += from->buckets[i];
}

void hist_subtract(struct hist *from, const struct hist *earlier)
{
	for (unsigned int i = 0; i < HIST_BUCKETS; i++)
		from->buckets[i] -= earlier->buckets[i];
}

uint64_t hist_total(const struct hist *hist)
{
	uint64_t total = 0;

	for (unsigned int i = 0; i < HIST_BUCKETS; i++)
		total += hist->buckets[i];
	return total;
}

static uint64_t clamp_ns(uint64_t value, uint64_t low, uint64_t high)
{
	return value < low ? low : value > high ? high : value;
}

uint64_t hist_quantile_ns(const struct hist *hist, double q, uint64_t min_ns, uint64_t max_ns)
{
	uint64_t total = hist_total(hist), below = 0, rank;
	uint64_t low, high;
	double share;

	if (total == 0)
		return 0;
	rank = (uint64_t)ceil(q * (double)total);
	rank = clamp_ns(rank, 1, total);
	for (unsigned int i = 0; i < HIST_BUCKETS; i++) {
		if (below + hist->buckets[i] < rank) {
			below += hist->buckets[i];
			continue;
		}
		/* The extremes may lie inside the bucket: interpolate between what is possible. */
		low = clamp_ns(hist_bucket_low(i), min_ns, max_ns);
		high = clamp_ns(hist_bucket_low(i + 1), min_ns, max_ns);
		share = (double)(rank - below) / (double)hist->buckets[i];
		/* A double may round up past the end. */
		return low + clamp_ns((uint64_t)((double)(high - low) * share), 0, high - low);
	}
	return max_ns;
}
