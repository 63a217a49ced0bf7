/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stores histograms, adds and subtracts them, and compares two by statistics. Invariant: neither the
 * first nor the last of the counts kept is 0, so equal histograms look alike.
 */
#include "hist/hist.h"

#include <math.h>

#include "base/text.h"

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

uint64_t hist_quantile_ns(const struct hist *hist, double q, uint64_t min_ns, uint64_t max_ns)
{
	uint64_t total = hist_total(hist), below = 0, rank;
	uint64_t low, high;
	double share;

	if (total == 0)
		return 0;
	rank = max_u64(1, min_u64((uint64_t)ceil(q * (double)total), total));
	for (unsigned int i = hist->first; i < hist_end(hist); i++) {
		uint64_t count = hist_count(hist, i);

		if (below + count < rank) {
			below += count;
			continue;
		}
		/* The extremes may lie inside the bucket: interpolate between what is possible. */
		low = max_u64(min_ns, min_u64(hist_bucket_low(i), max_ns));
		high = max_u64(min_ns, min_u64(hist_bucket_low(i + 1), max_ns));
		share = (double)(rank - below) / (double)count;
		/* A double may round up past the end. */
		return low + min_u64((uint64_t)((double)(high - low) * share), high - low);
	}
	return max_ns;
}

/* --- comparing -------------------------------------------------------------------------------- */

/* Side b deviates both ways unless the smaller deviation is below this part of the larger. */
#define OPPOSITE_LEAST 0.2

/* Neighbouring medians may be hair's breadths apart: then the means decide. */
#define MEAN_CHANGE_LEAST 0.1

/* Both sides as cumulative shares: below[i] is the share of latencies in buckets up to i. */
struct shares {
	double a[HIST_BUCKETS], b[HIST_BUCKETS];
	uint64_t count_a, count_b;
};

/* How far b lies above a (it is faster) and below; the same with one bucket forgiven. */
struct deviation {
	double faster, slower;
	double faster_clear, slower_clear;
};

static void shares_fill(const struct hist *hist, uint64_t total, double *ret)
{
	uint64_t below = 0;

	for (unsigned int i = 0; i < HIST_BUCKETS; i++) {
		below += hist_count(hist, i);
		ret[i] = (double)below / (double)total;
	}
}

static void deviation_find(const struct shares *shares, struct deviation *ret)
{
	struct deviation found = { 0 };

	for (unsigned int i = 0; i < HIST_BUCKETS; i++) {
		unsigned int next = i + 1 < HIST_BUCKETS ? i + 1 : i;

		found.faster = fmax(found.faster, shares->b[i] - shares->a[i]);
		found.slower = fmax(found.slower, shares->a[i] - shares->b[i]);
		found.faster_clear = fmax(found.faster_clear, shares->b[i] - shares->a[next]);
		found.slower_clear = fmax(found.slower_clear, shares->a[i] - shares->b[next]);
	}
	*ret = found;
}

/* Smirnov's limit: 2 * sum over k >= 1 of (-1)^(k-1) * exp(-2 * k^2 * x^2). */
static double smirnov_probability(double distance, uint64_t count_a, uint64_t count_b)
{
	double n = (double)count_a, m = (double)count_b;
	double x = distance * sqrt(n * m / (n + m));
	double sum = 0, sign = 1;

	/* The sum converges slowly there, to what is 1 in six digits. */
	if (x < 0.4)
		return 1;
	for (int k = 1; k <= 20; k++, sign = -sign)
		sum += sign * exp(-2.0 * k * k * x * x);
	return fmin(1, fmax(0, 2 * sum));
}

static unsigned int quantile_bucket(const double *below, double q)
{
	unsigned int i = 0;

	while (i + 1 < HIST_BUCKETS && below[i] < q)
		i++;
	return i;
}

double chance_of_count(uint64_t count, uint64_t events, double share)
{
	double part, exponent = 0;

	if (!events || !(share > 0 && share < 1))
		return 1;
	part = (double)count / (double)events;
	if (part > 0)
		exponent += part * log(part / share);
	if (part < 1)
		exponent += (1 - part) * log((1 - part) / (1 - share));
	return exp(-(double)events * exponent);
}

/*
 * Tells which p99 is higher beyond noise, by more than a bucket; chance is that of the counts
 * anywhere.
 */
static int tail_compare(const struct hist *a, const struct hist *b, const struct shares *shares,
			double *chance)
{
	unsigned int p99_a = quantile_bucket(shares->a, 0.99);
	unsigned int p99_b = quantile_bucket(shares->b, 0.99);
	unsigned int low = p99_a < p99_b ? p99_a : p99_b, high = p99_a < p99_b ? p99_b : p99_a;
	uint64_t beyond_a = 0, beyond_b = 0;
	double share_b =
		(double)shares->count_b / ((double)shares->count_a + (double)shares->count_b);
	double between = 1;

	*chance = 1;
	for (unsigned int i = HIST_BUCKETS; i-- > 0;) {
		double here;

		beyond_a += hist_count(a, i);
		beyond_b += hist_count(b, i);
		/* Chance of the counts from here on, however that bucket was chosen. */
		here = 2.0 * HIST_BUCKETS * chance_of_count(beyond_b, beyond_a + beyond_b, share_b);
		*chance = fmin(*chance, here);
		if (i >= low + 2 && i <= high)
			between = fmin(between, here);
	}
	if (2 * between >= HIST_CHANCE)
		return 0;
	return p99_b > p99_a ? 1 : -1;
}

/* Whether the middle moved, if only from one bucket to the next. */
static bool middle_moved(const struct hist_side *a, const struct hist_side *b,
			 const struct shares *shares)
{
	double mean_a = (double)a->sum_ns / (double)shares->count_a;
	double mean_b = (double)b->sum_ns / (double)shares->count_b;
	unsigned int median_a = quantile_bucket(shares->a, 0.5);
	unsigned int median_b = quantile_bucket(shares->b, 0.5);

	if (median_b > median_a)
		return mean_b >= mean_a * (1 + MEAN_CHANGE_LEAST);
	return median_b < median_a && mean_a >= mean_b * (1 + MEAN_CHANGE_LEAST);
}

/* A deviation that stands for a direction of its own beside the other one. */
static bool counts_beside(double one, double other)
{
	return one >= HIST_DISTANCE_LEAST && one >= OPPOSITE_LEAST * other;
}

static enum hist_word word_of(bool faster, bool slower)
{
	if (faster && slower)
		return HIST_DIFFERS;
	return faster ? HIST_FASTER : slower ? HIST_SLOWER : HIST_NO_CHANGE;
}

void hist_compare(const struct hist_side *a, const struct hist_side *b, struct hist_difference *ret)
{
	struct hist_difference found = { .word = HIST_TOO_FEW, .probability = 1 };
	struct deviation by;
	struct shares shares;
	double tail_chance, whole_chance;
	bool whole;

	shares.count_a = hist_total(a->hist);
	shares.count_b = hist_total(b->hist);
	*ret = found;
	if (shares.count_a < HIST_COMPARE_LEAST || shares.count_b < HIST_COMPARE_LEAST)
		return;
	shares_fill(a->hist, shares.count_a, shares.a);
	shares_fill(b->hist, shares.count_b, shares.b);
	deviation_find(&shares, &by);
	found.distance = fmax(by.faster, by.slower);
	whole_chance = smirnov_probability(found.distance, shares.count_a, shares.count_b);
	found.tail = tail_compare(a->hist, b->hist, &shares, &tail_chance);
	found.probability = fmin(1, 2 * fmin(whole_chance, tail_chance));
	whole = 2 * whole_chance < HIST_CHANCE &&
		(fmax(by.faster_clear, by.slower_clear) >= HIST_DISTANCE_LEAST ||
		 middle_moved(a, b, &shares));
	found.word = word_of((whole && counts_beside(by.faster, by.slower)) || found.tail < 0,
			     (whole && counts_beside(by.slower, by.faster)) || found.tail > 0);
	*ret = found;
}
