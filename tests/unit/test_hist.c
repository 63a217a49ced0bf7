/* SPDX-License-Identifier: BSD-2-Clause */
/* Whole histograms: sums, differences, and quantiles held against sorted arrays. */
#include "fixture.h"

#include "hist/hist.h"

/* Latencies with what the histogram does not keep. */
struct sample {
	uint64_t values[2000];
	size_t count;
	struct hist hist;
	uint64_t min_ns, max_ns;
};

static void sample_add(struct sample *sample, uint64_t ns)
{
	assert_true(sample->count < ARRAY_SIZE(sample->values));
	if (!sample->count || ns < sample->min_ns)
		sample->min_ns = ns;
	if (!sample->count || ns > sample->max_ns)
		sample->max_ns = ns;
	sample->values[sample->count++] = ns;
	assert_int_equal(hist_add(&sample->hist, hist_bucket(ns), 1), 0);
}

static void sample_done(struct sample *sample)
{
	hist_done(&sample->hist);
}

static uint64_t sample_quantile(const struct sample *sample, double q)
{
	return hist_quantile_ns(&sample->hist, q, sample->min_ns, sample->max_ns);
}

/* As many buckets as may be, so that two of them meet, overlap or lie apart. */
static void hist_add_random(struct hist *hist, uint64_t *seed)
{
	unsigned int first = (unsigned int)random_below(seed, HIST_BUCKETS);
	unsigned int end = first + 1 + (unsigned int)random_below(seed, HIST_BUCKETS - first);

	for (unsigned int i = first; i < end; i++)
		assert_int_equal(hist_add(hist, i, random_below(seed, 3) * random_ns(seed, 40)), 0);
}

/* What a histogram should have: the sums of plain arrays. */
struct plain {
	uint64_t counts[HIST_BUCKETS];
};

static void plain_add(struct plain *plain, const struct hist *hist)
{
	for (unsigned int i = 0; i < HIST_BUCKETS; i++)
		plain->counts[i] += hist_count(hist, i);
}

static void assert_hist_is(const struct hist *hist, const struct plain *plain)
{
	unsigned int first, end, low = 0, high = HIST_BUCKETS;
	uint64_t total = 0;

	for (unsigned int i = 0; i < HIST_BUCKETS; i++) {
		assert_int_equal(hist_count(hist, i), plain->counts[i]);
		total += plain->counts[i];
	}
	assert_int_equal(hist_total(hist), total);
	while (high && !plain->counts[high - 1])
		high--;
	while (low < high && !plain->counts[low])
		low++;
	hist_range(hist, &first, &end);
	assert_int_equal(first, high ? low : 0);
	assert_int_equal(end, high);
	assert_int_equal(hist_count(hist, HIST_BUCKETS), 0);
	assert_int_equal(hist_count(hist, UINT_MAX), 0);
}

/* In any order: the range grows at both ends. */
TEST(test_add)
{
	uint64_t seed = 2;

	for (int round = 0; round < 200; round++) {
		__cleanup(hist_done) struct hist hist = { 0 };
		struct plain plain = { { 0 } };

		for (int i = 0; i < 20; i++) {
			unsigned int bucket = (unsigned int)random_below(&seed, HIST_BUCKETS);
			uint64_t count = random_below(&seed, 4);

			assert_int_equal(hist_add(&hist, bucket, count), 0);
			plain.counts[bucket] += count;
			assert_hist_is(&hist, &plain);
		}
	}
}

/* A bucket that is none may stand in a file. */
TEST(test_add_to_no_bucket)
{
	__cleanup(hist_done) struct hist hist = { 0 };

	assert_int_equal(hist_add(&hist, HIST_BUCKETS, 1), -EINVAL);
	assert_int_equal(hist_add(&hist, UINT_MAX, 1), -EINVAL);
	assert_int_equal(hist_total(&hist), 0);
	assert_int_equal(hist_add(&hist, HIST_BUCKETS - 1, 1), 0);
	assert_int_equal(hist_add(&hist, HIST_BUCKETS, 1), -EINVAL);
	assert_int_equal(hist_total(&hist), 1);
}

TEST(test_add_all)
{
	uint64_t seed = 15;

	for (int round = 0; round < 200; round++) {
		__cleanup(hist_done) struct hist hist = { 0 };
		uint32_t counts[HIST_BUCKETS] = { 0 };
		struct plain plain = { { 0 } };
		unsigned int some = (unsigned int)random_below(&seed, 5);

		hist_add_random(&hist, &seed);
		plain_add(&plain, &hist);
		for (unsigned int i = 0; i < some; i++)
			counts[random_below(&seed, HIST_BUCKETS)] = UINT32_MAX;
		for (unsigned int i = 0; i < HIST_BUCKETS; i++)
			plain.counts[i] += counts[i];
		assert_int_equal(hist_add_all(&hist, counts), 0);
		assert_hist_is(&hist, &plain);
	}
}

TEST(test_merge)
{
	uint64_t seed = 3;

	for (int round = 0; round < 200; round++) {
		__cleanup(hist_done) struct hist a = { 0 }, b = { 0 };
		struct plain sum = { { 0 } }, before = { { 0 } };

		hist_add_random(&a, &seed);
		hist_add_random(&b, &seed);
		plain_add(&sum, &a);
		plain_add(&sum, &b);
		plain_add(&before, &b);
		assert_int_equal(hist_merge(&a, &b), 0);
		assert_hist_is(&a, &sum);
		assert_hist_is(&b, &before);
	}
}

TEST(test_subtract_undoes_merge)
{
	uint64_t seed = 4;

	for (int round = 0; round < 200; round++) {
		__cleanup(hist_done) struct hist a = { 0 }, b = { 0 }, sum = { 0 }, nothing = { 0 };
		struct plain plain = { { 0 } }, none = { { 0 } };

		hist_add_random(&a, &seed);
		hist_add_random(&b, &seed);
		plain_add(&plain, &a);
		assert_int_equal(hist_merge(&sum, &a), 0);
		assert_int_equal(hist_merge(&sum, &b), 0);
		hist_subtract(&sum, &b);
		assert_hist_is(&sum, &plain);
		hist_subtract(&sum, &nothing);
		assert_hist_is(&sum, &plain);
		hist_subtract(&sum, &a);
		assert_hist_is(&sum, &none);
		/* Nothing is left of its memory that a sum could stumble over. */
		assert_int_equal(hist_merge(&sum, &a), 0);
		assert_hist_is(&sum, &plain);
	}
}

/* What is no earlier state takes away what is there, and nothing beside it. */
TEST(test_subtract_too_much)
{
	__cleanup(hist_done) struct hist a = { 0 }, b = { 0 };
	struct plain plain = { { 0 } };

	assert_int_equal(hist_add(&a, 10, 5), 0);
	assert_int_equal(hist_add(&a, 12, 5), 0);
	for (unsigned int i = 0; i < HIST_BUCKETS; i++)
		assert_int_equal(hist_add(&b, i, i == 10 ? 3 : 6), 0);
	plain.counts[10] = 2;
	hist_subtract(&a, &b);
	assert_hist_is(&a, &plain);
}

/* One value is known exactly, wherever it lies. */
TEST(test_quantile_of_one)
{
	static const uint64_t values[] = {
		0,
		1,
		63,
		64,
		65,
		100,
		127,
		1000,
		1000000,
		86400000000,
		(1ULL << 42) - 1,
		1ULL << 42,
		1ULL << 50,
		UINT64_MAX,
	};

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		__cleanup(sample_done) struct sample sample = { .count = 0 };

		sample_add(&sample, values[i]);
		for (double q = 0; q <= 1; q += 0.125)
			assert_int_equal(sample_quantile(&sample, q), values[i]);
	}
}

TEST(test_quantiles_by_hand)
{
	static const struct text_pair cases[] = {
		/* NSxCOUNT, and Q:LOW-HIGH */
		/* Placed evenly, as the contract says. */
		{ "64x1 66x1 70x1 76x1", "0:67-67 .25:67-67 .26:70-70 .5:70-70 .75:73-73 1:76-76" },
		{ "1000x50 1000000x50",
		  "0:1000-1024 .01:1000-1024 .5:1000-1024 .505:917504-1000000 "
		  ".51:917504-1000000 .99:917504-1000000 1:1000000-1000000" },
		/* A slow call in a hundred is what p99 hides and the maximum shows. */
		{ "100x99 50000000x1",
		  ".5:96-112 .9:96-112 .99:96-112 .991:41943040-50000000 1:50000000-50000000" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		__cleanup(sample_done) struct sample sample = { .count = 0 };
		uint64_t ns, count, low, high;
		const char *at = cases[i].given;
		double q;

		for (int n; sscanf(at, "%lux%lu%n", &ns, &count, &n) == 2; at += n) {
			while (count--)
				sample_add(&sample, ns);
		}
		at = cases[i].expected;
		for (int n; sscanf(at, "%lf:%lu-%lu%n", &q, &low, &high, &n) == 3; at += n)
			assert_in_range(sample_quantile(&sample, q), low, high);
		assert_string_equal(at, "");
	}
}

/* Without knowing the extremes, the bounds of the bucket; of nothing, nothing. */
TEST(test_quantile_without_extremes)
{
	__cleanup(hist_done) struct hist hist = { 0 };

	assert_int_equal(hist_quantile_ns(&hist, 0.0, UINT64_MAX, 0), 0);
	assert_int_equal(hist_quantile_ns(&hist, 0.5, UINT64_MAX, 0), 0);
	assert_int_equal(hist_quantile_ns(&hist, 1.0, 5, 7), 0);
	assert_int_equal(hist_add(&hist, hist_bucket(64), 4), 0);
	assert_int_equal(hist_quantile_ns(&hist, 0.25, 0, UINT64_MAX), 68);
	assert_int_equal(hist_quantile_ns(&hist, 1, 0, UINT64_MAX), 80);
}

static int compare_values(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The ceil(q * total)-th smallest is in the same bucket, so the error is its width at most. */
static void sample_check(struct sample *sample, double q)
{
	size_t rank = 1;
	uint64_t truth, got = sample_quantile(sample, q);
	unsigned int bucket;

	while ((double)rank < q * (double)sample->count)
		rank++;
	truth = sample->values[rank - 1];
	bucket = hist_bucket(truth);
	if (got < hist_bucket_low(bucket) || got > hist_bucket_low(bucket + 1))
		fail_msg("q %g of %zu is %" PRIu64 ", not near %" PRIu64, q, sample->count, got,
			 truth);
	assert_in_range(got, sample->min_ns, sample->max_ns);
	if (truth >= 64 && truth < 1ULL << 42)
		assert_true((got > truth ? got - truth : truth - got) * 4 <= truth);
}

TEST(test_quantile_of_random_data)
{
	uint64_t seed = 5;

	for (size_t count = 1; count < ARRAY_SIZE(((struct sample *)0)->values); count += 37) {
		__cleanup(sample_done) struct sample sample = { .count = 0 };

		for (size_t i = 0; i < count; i++)
			sample_add(&sample, random_ns(&seed, 10 + count % 40));
		qsort(sample.values, count, sizeof(sample.values[0]), compare_values);
		for (int i = 0; i <= 64; i++)
			sample_check(&sample, i / 64.0);
		sample_check(&sample, 0.9);
		sample_check(&sample, 0.99);
	}
}

TEST(test_quantile_is_monotone)
{
	uint64_t seed = 6;

	for (int round = 0; round < 50; round++) {
		__cleanup(sample_done) struct sample sample = { .count = 0 };
		uint64_t last = 0;

		for (int i = 0; i < 100; i++)
			sample_add(&sample, random_ns(&seed, 46));
		for (int i = 0; i <= 1000; i++) {
			uint64_t ns = sample_quantile(&sample, i / 1000.0);

			assert_true(ns >= last);
			last = ns;
		}
		assert_int_equal(last, sample.max_ns);
	}
}
