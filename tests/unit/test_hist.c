/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Histograms: sums, differences, quantiles held against sorted arrays, the mapping of latencies to
 * buckets, whose header is the very one that the BPF side compiles, and whether two of them differ.
 */
#include "fixture.h"

#include <math.h>

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

/* Fills a random range of buckets, so that two ranges meet, overlap or lie apart. */
static void hist_add_random(struct hist *hist, uint64_t *seed)
{
	unsigned int first = (unsigned int)random_below(seed, HIST_BUCKETS);
	unsigned int end = first + 1 + (unsigned int)random_below(seed, HIST_BUCKETS - first);

	for (unsigned int i = first; i < end; i++)
		assert_int_equal(hist_add(hist, i, random_below(seed, 3) * random_ns(seed, 40)), 0);
}

/* Holds what a histogram should have: the sums of plain arrays. */
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

/* Buckets come in any order: the range grows at both ends. */
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

/* A histogram that is no earlier state takes away what is there, and nothing beside it. */
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

/* One value is known exactly, wherever it lies: on both sides of 2^42, and beyond. */
TEST(test_quantile_of_one)
{
	const char *at =
		"0 1 63 64 65 100 127 1000 1000000 86400000000 4398046511103 4398046511104 "
		"1125899906842624 18446744073709551615";
	char word[MAX_WORD];

	while (word_read(&at, word)) {
		__cleanup(sample_done) struct sample sample = { .count = 0 };
		uint64_t value = strtoull(word, NULL, 10);

		sample_add(&sample, value);
		for (double q = 0; q <= 1; q += 0.125)
			assert_int_equal(sample_quantile(&sample, q), value);
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
		assert_string_equal(at, "");
		at = cases[i].expected;
		for (int n; sscanf(at, "%lf:%lu-%lu%n", &q, &low, &high, &n) == 3; at += n)
			assert_in_range(sample_quantile(&sample, q), low, high);
		assert_string_equal(at, "");
	}
}

/* The bounds of the bucket count where the extremes are not known; of nothing, nothing. */
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

/* --- buckets ------------------------------------------------------------------------------------- */

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

/* --- comparison ---------------------------------------------------------------------------------- */

/* Rows own what their histograms take. */
static struct row draws_make(void)
{
	struct row draws;

	row_init(&draws);
	return draws;
}

static void draws_add(struct row *draws, uint64_t count, double ns)
{
	assert_int_equal(hist_add(&draws->hist, hist_bucket((uint64_t)ns), count), 0);
	draws->wall_ns += count * (uint64_t)ns;
}

static struct hist_difference draws_compare(const struct row *a, const struct row *b)
{
	const struct hist_side x = { &a->hist, a->wall_ns };
	const struct hist_side y = { &b->hist, b->wall_ns };
	struct hist_difference difference;

	hist_compare(&x, &y, &difference);
	return difference;
}

static double random_share(uint64_t *seed)
{
	return ((double)(random_u64(seed) >> 11) + 0.5) / 9007199254740992.0;
}

/* Log-normal, as most calls are: the median, and the spread of the logarithm. */
static double random_usual(uint64_t *seed, double median_ns, double spread)
{
	double u = random_share(seed), v = random_share(seed);

	return median_ns * exp(spread * sqrt(-2 * log(u)) * cos(2 * M_PI * v));
}

/* Two humps, of cached and of other reads, the second with a heavy tail. */
static double random_humps(uint64_t *seed)
{
	if (random_share(seed) < 0.8)
		return random_usual(seed, 900, 0.2);
	return 80000 / sqrt(random_share(seed));
}

enum shape { SHAPE_USUAL, SHAPE_NARROW, SHAPE_HUMPS, NR_SHAPE };

static void draws_take(struct row *draws, enum shape shape, size_t count, double factor,
		       uint64_t *seed)
{
	row_done(draws);
	row_init(draws);
	for (size_t i = 0; i < count; i++) {
		double ns = shape == SHAPE_HUMPS
				    ? random_humps(seed)
				    : random_usual(seed, 1500, shape == SHAPE_USUAL ? 0.5 : 0.02);

		draws_add(draws, 1, ns * factor);
	}
}

#define PAIRS 600

/* Equal distributions have a probability below p in a share p of the pairs at most. */
TEST(test_false_alarms)
{
	static const size_t sizes[][2] = { { 20, 20 }, { 300, 300 }, { 2000, 150 }, { 50, 1500 } };
	static const double limits[] = { 0.5, 0.2, 0.05, HIST_CHANCE };
	size_t below[ARRAY_SIZE(limits)] = { 0 }, pairs = 0, words = 0;
	struct hist_difference difference;
	__cleanup(row_done) struct row a = draws_make(), b = draws_make();
	uint64_t seed = 11;

	for (size_t i = 0; i < PAIRS * NR_SHAPE * ARRAY_SIZE(sizes); i++, pairs++) {
		const size_t *size = sizes[i % ARRAY_SIZE(sizes)];
		enum shape shape = (enum shape)(i / ARRAY_SIZE(sizes) % NR_SHAPE);

		draws_take(&a, shape, size[0], 1, &seed);
		draws_take(&b, shape, size[1], 1, &seed);
		difference = draws_compare(&a, &b);
		for (size_t j = 0; j < ARRAY_SIZE(limits); j++)
			below[j] += difference.probability < limits[j];
		words += difference.word != HIST_NO_CHANGE;
	}
	for (size_t j = 0; j < ARRAY_SIZE(limits); j++)
		assert_true((double)below[j] <= limits[j] * (double)pairs);
	assert_true((double)words <= HIST_CHANCE * (double)pairs);
	/* A test that never says anything would pass the above. */
	assert_true(below[0] > pairs / 50);
}

static enum hist_word word_of_factor(enum shape shape, size_t count, double factor, uint64_t seed)
{
	__cleanup(row_done) struct row a = draws_make(), b = draws_make();

	draws_take(&a, shape, count, 1, &seed);
	draws_take(&b, shape, count, factor, &seed);
	return draws_compare(&a, &b).word;
}

/* A third more or less is found from 1000 calls on, and most often from 300 on. */
TEST(test_power)
{
	size_t found = 0;

	for (int shape = 0; shape < NR_SHAPE; shape++) {
		for (uint64_t seed = 0; seed < 50; seed++) {
			assert_int_equal(word_of_factor(shape, 1000, 1.3, seed), HIST_SLOWER);
			assert_int_equal(word_of_factor(shape, 1000, 1 / 1.3, seed), HIST_FASTER);
			found += word_of_factor(shape, 300, 1.3, seed) == HIST_SLOWER;
		}
	}
	assert_true(found > 50 * NR_SHAPE * 8 / 10);
}

/* Adds COUNTxNS of a text. */
static void draws_read(struct row *draws, const char *text)
{
	uint64_t count, ns;

	for (int n; sscanf(text, "%lux%lu%n", &count, &ns, &n) == 2; text += n)
		draws_add(draws, count, (double)ns);
	assert_string_equal(text, "");
}

#define ANY_TAIL 9

static const struct {
	const char *a, *b;
	enum hist_word word;
	int tail;
	double low, high; /* bounds of the probability */
} compared[] = {
	/* With a million calls everything is significant; a shift within a bucket is not. */
	{ "1000000x1270", "1000000x1290", HIST_NO_CHANGE, ANY_TAIL, 0, 0 },
	/* 3 of 100 calls that take twice as long do not matter. */
	{ "1000000x1270 30000x5000", "970000x1270 60000x5000", HIST_NO_CHANGE, ANY_TAIL, 0,
	  HIST_CHANCE },
	/* Nor does a part below a twentieth, where it moves the median and the mean. */
	{ "510000x1270 490000x1290", "480000x1270 511000x1290 9000x200000", HIST_NO_CHANGE,
	  ANY_TAIL, 0, HIST_CHANCE },
	{ "510000x1270 490000x1290", "480000x1270 541000x1290 9000x200000", HIST_NO_CHANGE,
	  ANY_TAIL, 0, 1 },
	{ "510000x1270 490000x1290", "480000x1270 601000x1290 9000x200000", HIST_SLOWER, ANY_TAIL,
	  0, 1 },
	/* The whole looks the same, the p99 is another; two of a hundred may be chance. */
	{ "1000x1500", "980x1500 20x900000", HIST_SLOWER, 1, 0, 1 },
	{ "980x1500 20x900000", "1000x1500", HIST_FASTER, -1, 0, 1 },
	{ "100x1500", "98x1500 2x900000", HIST_NO_CHANGE, 0, 0, 1 },
	{ "1000x10000", "600x3000 400x40000", HIST_DIFFERS, ANY_TAIL, 0, 1 },
	/* Most are faster, the slowest slower. */
	{ "1000x10000", "970x3000 30x40000", HIST_DIFFERS, 1, 0, 1 },
	{ "", "", HIST_TOO_FEW, ANY_TAIL, 0, 1 },
	{ "1000000x100", "19x1000000", HIST_TOO_FEW, ANY_TAIL, 0, 1 },
	{ "1000000x100", "20x1000000", HIST_SLOWER, ANY_TAIL, 0, 1 },
	/* This latency is beyond every bucket. */
	{ "20x1000000", "100x1125899906842624", HIST_SLOWER, ANY_TAIL, 0, 1 },
	/*
	 * Values of Smirnov's table: 0.0500 at x = 1.3581, 0.0010 at 1.9495; twice that, for two
	 * questions. 20000 a side: x = distance * 100. The tail has nothing to say.
	 */
	{ "10000x1500 10000x3000", "9728x1500 10272x3000", HIST_NO_CHANGE, ANY_TAIL, 2 * 0.0485,
	  2 * 0.05 },
	{ "10000x1500 10000x3000", "9610x1500 10390x3000", HIST_NO_CHANGE, ANY_TAIL, 2 * 0.000991,
	  2 * 0.001001 },
};

TEST(test_compared_by_hand)
{
	assert_int_equal(HIST_COMPARE_LEAST, 20);
	for (size_t i = 0; i < ARRAY_SIZE(compared); i++) {
		__cleanup(row_done) struct row a = draws_make(), b = draws_make();
		struct hist_difference found;

		draws_read(&a, compared[i].a);
		draws_read(&b, compared[i].b);
		found = draws_compare(&a, &b);
		if (found.word != compared[i].word || found.probability < compared[i].low ||
		    (compared[i].tail != ANY_TAIL && found.tail != compared[i].tail) ||
		    found.probability > compared[i].high || (!i && found.distance != 1))
			fail_msg("%s, %s: word %d, tail %d, %g", compared[i].a, compared[i].b,
				 found.word, found.tail, found.probability);
	}
}

/* The bound is one: never below the binomial tail, and no event is no surprise. */
TEST(test_chance_of_count)
{
	assert_all(chance_of_count(0, 0, 0.5) == 1, chance_of_count(5, 10, 0.5) == 1);
	/* All of ten heads: exactly 2^-10. */
	assert_true(fabs(chance_of_count(10, 10, 0.5) - 1.0 / 1024) < 1e-12);
	/* At least 9 of 10: 11 / 1024. */
	assert_all(chance_of_count(9, 10, 0.5) > 11.0 / 1024, chance_of_count(9, 10, 0.5) < 0.03,
		   chance_of_count(0, 100, 0.5) < 1e-30);
}
