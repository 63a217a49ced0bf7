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
	sample->hist.buckets[hist_bucket(ns)]++;
}

static uint64_t sample_quantile(const struct sample *sample, double q)
{
	return hist_quantile_ns(&sample->hist, q, sample->min_ns, sample->max_ns);
}

static void hist_init_random(struct hist *hist, uint64_t *seed)
{
	for (unsigned int i = 0; i < HIST_BUCKETS; i++)
		hist->buckets[i] = random_ns(seed, 40);
}

static void test_merge(void **state)
{
	struct hist a, b, sum;
	uint64_t seed = 3;

	(void)state;
	hist_init_random(&a, &seed);
	hist_init_random(&b, &seed);
	sum = a;
	hist_merge(&sum, &b);
	for (unsigned int i = 0; i < HIST_BUCKETS; i++)
		assert_int_equal(sum.buckets[i], a.buckets[i] + b.buckets[i]);
	assert_int_equal(hist_total(&sum), hist_total(&a) + hist_total(&b));
}

static void test_subtract_undoes_merge(void **state)
{
	struct hist a, b, sum, nothing = { 0 };
	uint64_t seed = 4;

	(void)state;
	hist_init_random(&a, &seed);
	hist_init_random(&b, &seed);
	sum = a;
	hist_merge(&sum, &b);
	hist_subtract(&sum, &b);
	assert_memory_equal(&sum, &a, sizeof(sum));
	hist_subtract(&sum, &nothing);
	assert_memory_equal(&sum, &a, sizeof(sum));
	hist_subtract(&sum, &a);
	assert_memory_equal(&sum, &nothing, sizeof(sum));
}

static void test_total(void **state)
{
	struct hist hist = { 0 };

	(void)state;
	assert_int_equal(hist_total(&hist), 0);
	hist.buckets[0] = 1;
	assert_int_equal(hist_total(&hist), 1);
	hist.buckets[HIST_BUCKETS - 1] = 5000000000;
	assert_int_equal(hist_total(&hist), 5000000001);
	for (unsigned int i = 0; i < HIST_BUCKETS; i++)
		hist.buckets[i] = 1;
	assert_int_equal(hist_total(&hist), HIST_BUCKETS);
}

static void test_quantile_of_nothing(void **state)
{
	struct hist hist = { 0 };

	(void)state;
	assert_int_equal(hist_quantile_ns(&hist, 0.0, UINT64_MAX, 0), 0);
	assert_int_equal(hist_quantile_ns(&hist, 0.5, UINT64_MAX, 0), 0);
	assert_int_equal(hist_quantile_ns(&hist, 1.0, 5, 7), 0);
}

/* One value is known exactly, wherever it lies. */
static void test_quantile_of_one(void **state)
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

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		struct sample sample = { .count = 0 };

		sample_add(&sample, values[i]);
		for (double q = 0; q <= 1; q += 0.125)
			assert_int_equal(sample_quantile(&sample, q), values[i]);
	}
}

/* Placed evenly, as the contract says. */
static void test_quantile_in_one_bucket(void **state)
{
	struct sample sample = { .count = 0 };

	(void)state;
	sample_add(&sample, 64);
	sample_add(&sample, 66);
	sample_add(&sample, 70);
	sample_add(&sample, 76);
	assert_int_equal(sample_quantile(&sample, 0), 67);
	assert_int_equal(sample_quantile(&sample, 0.25), 67);
	assert_int_equal(sample_quantile(&sample, 0.26), 70);
	assert_int_equal(sample_quantile(&sample, 0.5), 70);
	assert_int_equal(sample_quantile(&sample, 0.75), 73);
	assert_int_equal(sample_quantile(&sample, 1), 76);
	/* Without knowing the extremes, the bounds of the bucket. */
	assert_int_equal(hist_quantile_ns(&sample.hist, 0.25, 0, UINT64_MAX), 68);
	assert_int_equal(hist_quantile_ns(&sample.hist, 1, 0, UINT64_MAX), 80);
}

static void test_quantile_stays_between_extremes(void **state)
{
	static const uint64_t lows[] = { 0, 64, 112, 4096, 1ULL << 30, 1ULL << 42 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lows); i++) {
		struct sample sample = { .count = 0 };

		sample_add(&sample, lows[i] + 3);
		for (int j = 0; j < 98; j++)
			sample_add(&sample, lows[i] + 4);
		sample_add(&sample, lows[i] + 5);
		assert_int_equal(sample_quantile(&sample, 1), lows[i] + 5);
		for (double q = 0; q <= 1; q += 0.01)
			assert_in_range(sample_quantile(&sample, q), lows[i] + 3, lows[i] + 5);
	}
}

static void test_quantile_of_two_modes(void **state)
{
	struct sample sample = { .count = 0 };

	(void)state;
	for (int i = 0; i < 50; i++)
		sample_add(&sample, 1000);
	for (int i = 0; i < 50; i++)
		sample_add(&sample, 1000000);
	assert_in_range(sample_quantile(&sample, 0), 1000, 1024);
	assert_in_range(sample_quantile(&sample, 0.01), 1000, 1024);
	assert_in_range(sample_quantile(&sample, 0.5), 1000, 1024);
	assert_in_range(sample_quantile(&sample, 0.505), 917504, 1000000);
	assert_in_range(sample_quantile(&sample, 0.51), 917504, 1000000);
	assert_in_range(sample_quantile(&sample, 0.99), 917504, 1000000);
	assert_int_equal(sample_quantile(&sample, 1), 1000000);
}

/* A slow call in a hundred is what p99 hides and the maximum shows. */
static void test_quantile_ranks(void **state)
{
	struct sample sample = { .count = 0 };

	(void)state;
	for (int i = 0; i < 99; i++)
		sample_add(&sample, 100);
	sample_add(&sample, 50000000);
	assert_in_range(sample_quantile(&sample, 0.5), 96, 112);
	assert_in_range(sample_quantile(&sample, 0.9), 96, 112);
	assert_in_range(sample_quantile(&sample, 0.99), 96, 112);
	assert_in_range(sample_quantile(&sample, 0.991), 41943040, 50000000);
	assert_int_equal(sample_quantile(&sample, 1), 50000000);
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

static void test_quantile_of_random_data(void **state)
{
	uint64_t seed = 5;

	(void)state;
	for (size_t count = 1; count < ARRAY_SIZE(((struct sample *)0)->values); count += 37) {
		struct sample sample = { .count = 0 };

		for (size_t i = 0; i < count; i++)
			sample_add(&sample, random_ns(&seed, 10 + count % 40));
		qsort(sample.values, count, sizeof(sample.values[0]), compare_values);
		for (int i = 0; i <= 64; i++)
			sample_check(&sample, i / 64.0);
		sample_check(&sample, 0.9);
		sample_check(&sample, 0.99);
	}
}

static void test_quantile_is_monotone(void **state)
{
	uint64_t seed = 6;

	(void)state;
	for (int round = 0; round < 50; round++) {
		struct sample sample = { .count = 0 };
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_merge),
		cmocka_unit_test(test_subtract_undoes_merge),
		cmocka_unit_test(test_total),
		cmocka_unit_test(test_quantile_of_nothing),
		cmocka_unit_test(test_quantile_of_one),
		cmocka_unit_test(test_quantile_in_one_bucket),
		cmocka_unit_test(test_quantile_stays_between_extremes),
		cmocka_unit_test(test_quantile_of_two_modes),
		cmocka_unit_test(test_quantile_ranks),
		cmocka_unit_test(test_quantile_of_random_data),
		cmocka_unit_test(test_quantile_is_monotone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
