/* SPDX-License-Identifier: BSD-2-Clause */
/* The mapping of latencies to buckets: the header is the very one that the BPF side compiles. */
#include "fixture.h"

#include "bpftruss/hist_bucket.h"

/* The same mapping, said in another way: count up the bounds. */
static uint64_t bucket_low_by_steps(unsigned int bucket)
{
	uint64_t low = 64, width = 16;

	if (bucket == 0)
		return 0;
	for (unsigned int i = 1; i < bucket; i++) {
		low += width;
		if (i % 4 == 0)
			width *= 2;
	}
	return low;
}

TEST(test_shape)
{
	assert_int_equal(HIST_BUCKETS, 146);
	for (unsigned int i = 0; i < HIST_BUCKETS; i++)
		assert_int_equal(hist_bucket_low(i), bucket_low_by_steps(i));
	assert_int_equal(hist_bucket_low(144), 7ULL << 39);
	assert_int_equal(hist_bucket_low(145), 1ULL << 42);
	assert_int_equal(hist_bucket_low(146), UINT64_MAX);
	assert_int_equal(hist_bucket_low(UINT_MAX), UINT64_MAX);
}

TEST(test_edges)
{
	for (unsigned int i = 0; i < HIST_BUCKETS; i++) {
		uint64_t low = hist_bucket_low(i), high = hist_bucket_low(i + 1);

		if (i)
			assert_int_equal(hist_bucket(low - 1), i - 1);
		assert_int_equal(hist_bucket(low), i);
		assert_int_equal(hist_bucket(low + 1), i);
		assert_int_equal(hist_bucket(low + (high - low) / 2), i);
		assert_int_equal(hist_bucket(high - 1), i);
	}
	assert_int_equal(hist_bucket(UINT64_MAX), HIST_BUCKETS - 1);
}

TEST(test_every_small_value)
{
	unsigned int last = 0;

	for (uint64_t ns = 0; ns < 1 << 20; ns++) {
		unsigned int bucket = hist_bucket(ns);

		if (bucket != last)
			assert_int_equal(bucket, last + 1);
		if (hist_bucket_low(bucket) > ns || ns >= hist_bucket_low(bucket + 1))
			fail_msg("%" PRIu64 " is not in bucket %u", ns, bucket);
		last = bucket;
	}
}

TEST(test_random_values)
{
	uint64_t seed = 1;

	for (int i = 0; i < 200000; i++) {
		uint64_t a = random_ns(&seed, 64), b = random_ns(&seed, 64);
		unsigned int bucket = hist_bucket(a);

		assert_true(bucket < HIST_BUCKETS);
		if (hist_bucket_low(bucket) > a || (a >= hist_bucket_low(bucket + 1) && ~a))
			fail_msg("%" PRIu64 " is not in bucket %u", a, bucket);
		assert_true(a <= b ? bucket <= hist_bucket(b) : bucket >= hist_bucket(b));
	}
}

static void assert_log2(uint64_t value)
{
	if (hist_log2(value) != 63 - (unsigned int)__builtin_clzll(value))
		fail_msg("log2 of %" PRIx64 " is not %u", value, hist_log2(value));
}

TEST(test_log2)
{
	uint64_t seed = 2;

	for (uint64_t value = 1; value < 1 << 18; value++)
		assert_log2(value);
	for (int bit = 0; bit < 64; bit++) {
		uint64_t power = 1ULL << bit;

		assert_int_equal(hist_log2(power), bit);
		assert_int_equal(hist_log2(power | (power - 1)), bit);
		if (bit)
			assert_int_equal(hist_log2(power - 1), bit - 1);
		for (int other = 0; other < bit; other++)
			assert_log2(power | 1ULL << other);
	}
	for (int i = 0; i < 100000; i++)
		assert_log2(random_ns(&seed, 64) | 1);
}
