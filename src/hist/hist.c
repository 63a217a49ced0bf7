/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stores histograms, adds and subtracts them. Invariant: neither the first nor
 * the last of the counts kept is 0, so equal histograms look alike.
 */
#include "hist/hist.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static unsigned int hist_end(const struct hist *hist)
{
	return hist->first + hist->length;
}

void hist_done(struct hist *hist)
{
	free(hist->counts);
	*hist = (struct hist){ 0 };
}

uint64_t hist_count(const struct hist *hist, unsigned int bucket)
{
	return bucket >= hist->first && bucket < hist_end(hist) ? hist->counts[bucket - hist->first]
								: 0;
}

void hist_range(const struct hist *hist, unsigned int *first, unsigned int *end)
{
	*first = hist->first;
	*end = hist_end(hist);
}

/* Makes the buckets from first to end - 1 part of what is kept; the new ones are 0. */
static int hist_reserve(struct hist *hist, unsigned int first, unsigned int end)
{
	unsigned int low = hist->length && hist->first < first ? hist->first : first;
	unsigned int high = hist->length && hist_end(hist) > end ? hist_end(hist) : end;
	unsigned int below = hist->length ? hist->first - low : 0;
	uint64_t *grown;

	if (high - low == hist->length)
		return 0;
	grown = reallocarray(hist->counts, high - low, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	memmove(&grown[below], grown, hist->length * sizeof(*grown));
	memset(grown, 0, below * sizeof(*grown));
	memset(&grown[below + hist->length], 0,
	       (high - low - below - hist->length) * sizeof(*grown));
	hist->counts = grown;
	hist->first = (uint16_t)low;
	hist->length = (uint16_t)(high - low);
	return 0;
}

/* Drops the empty buckets at both ends; the memory stays as it is unless none is left. */
static void hist_trim(struct hist *hist)
{
	unsigned int empty = 0;

	while (hist->length && !hist->counts[hist->length - 1])
		hist->length--;
	while (empty < hist->length && !hist->counts[empty])
		empty++;
	if (!hist->length) {
		hist_done(hist);
		return;
	}
	hist->first += (uint16_t)empty;
	hist->length -= (uint16_t)empty;
	if (empty)
		memmove(hist->counts, &hist->counts[empty], hist->length * sizeof(*hist->counts));
}

int hist_add(struct hist *hist, unsigned int bucket, uint64_t count)
{
	if (bucket >= HIST_BUCKETS)
		return -EINVAL;
	if (!count)
		return 0;
	if (hist_reserve(hist, bucket, bucket + 1))
		return -ENOMEM;
	hist->counts[bucket - hist->first] += count;
	return 0;
}

int hist_add_all(struct hist *hist, const uint32_t counts[HIST_BUCKETS])
{
	unsigned int first = 0, end = HIST_BUCKETS;

	while (end && !counts[end - 1])
		end--;
	while (first < end && !counts[first])
		first++;
	if (first == end)
		return 0;
	if (hist_reserve(hist, first, end))
		return -ENOMEM;
	for (unsigned int i = first; i < end; i++)
		hist->counts[i - hist->first] += counts[i];
	return 0;
}

int hist_merge(struct hist *into, const struct hist *from)
{
	if (!from->length)
		return 0;
	if (hist_reserve(into, from->first, hist_end(from)))
		return -ENOMEM;
	for (unsigned int i = 0; i < from->length; i++)
		into->counts[from->first - into->first + i] += from->counts[i];
	return 0;
}

int hist_copy(struct hist *to, const struct hist *from)
{
	struct hist copy = { 0 };

	if (hist_merge(&copy, from))
		return -ENOMEM;
	*to = copy;
	return 0;
}

void hist_subtract(struct hist *from, const struct hist *earlier)
{
	unsigned int first = earlier->first > from->first ? earlier->first : from->first;
	unsigned int end = hist_end(earlier) < hist_end(from) ? hist_end(earlier) : hist_end(from);

	for (unsigned int i = first; i < end; i++) {
		uint64_t *count = &from->counts[i - from->first];
		uint64_t less = earlier->counts[i - earlier->first];

		*count = *count > less ? *count - less : 0;
	}
	hist_trim(from);
}

uint64_t hist_total(const struct hist *hist)
{
	uint64_t total = 0;

	for (unsigned int i = 0; i < hist->length; i++)
		total += hist->counts[i];
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
	for (unsigned int i = hist->first; i < hist_end(hist); i++) {
		uint64_t count = hist_count(hist, i);

		if (below + count < rank) {
			below += count;
			continue;
		}
		/* The extremes may lie inside the bucket: interpolate between what is possible. */
		low = clamp_ns(hist_bucket_low(i), min_ns, max_ns);
		high = clamp_ns(hist_bucket_low(i + 1), min_ns, max_ns);
		share = (double)(rank - below) / (double)count;
		/* A double may round up past the end. */
		return low + clamp_ns((uint64_t)((double)(high - low) * share), 0, high - low);
	}
	return max_ns;
}
