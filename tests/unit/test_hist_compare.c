/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether histograms differ: rate of false alarms, shifts that are found, what does not matter. */
#include "fixture.h"

#include <math.h>

#include "hist/hist.h"

/* Rows own what their histograms take. */
static struct row draws_make(void)
{
	struct row draws;

	row_init(&draws);
	return draws;
}

static void draws_clear(struct row *draws)
{
	row_done(draws);
	row_init(draws);
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
	draws_clear(draws);
	for (size_t i = 0; i < count; i++) {
		double ns = shape == SHAPE_HUMPS
				    ? random_humps(seed)
				    : random_usual(seed, 1500, shape == SHAPE_USUAL ? 0.5 : 0.02);

		draws_add(draws, 1, ns * factor);
	}
}

#define PAIRS 600

/* Of equal distributions, a probability below p comes up in a share p of the pairs at most. */
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

/* With a million calls everything is significant; a shift within a bucket does not matter. */
TEST(test_matters)
{
	struct hist_difference difference;
	__cleanup(row_done) struct row a = draws_make(), b = draws_make();

	draws_add(&a, 1000000, 1270);
	draws_add(&b, 1000000, 1290);
	difference = draws_compare(&a, &b);
	assert_true(difference.distance == 1 && difference.probability == 0);
	assert_int_equal(difference.word, HIST_NO_CHANGE);
	/* 3 of 100 calls that take twice as long. */
	draws_clear(&b);
	draws_add(&a, 30000, 5000);
	draws_add(&b, 970000, 1270);
	draws_add(&b, 60000, 5000);
	difference = draws_compare(&a, &b);
	assert_true(difference.probability < HIST_CHANCE);
	assert_int_equal(difference.word, HIST_NO_CHANGE);
}

/* Nor does a part of the calls below a twentieth, where it moves the median and the mean. */
TEST(test_part_matters)
{
	__cleanup(row_done) struct row a = draws_make(), b = draws_make();
	struct hist_difference difference;

	draws_add(&a, 510000, 1270);
	draws_add(&a, 490000, 1290);
	draws_add(&b, 480000, 1270);
	draws_add(&b, 511000, 1290);
	draws_add(&b, 9000, 200000);
	difference = draws_compare(&a, &b);
	assert_true(difference.probability < HIST_CHANCE);
	assert_int_equal(difference.word, HIST_NO_CHANGE);
	draws_add(&b, 30000, 1290);
	assert_int_equal(draws_compare(&a, &b).word, HIST_NO_CHANGE);
	draws_add(&b, 60000, 1290);
	assert_int_equal(draws_compare(&a, &b).word, HIST_SLOWER);
}

/* The whole looks the same, the p99 is another. */
TEST(test_tail)
{
	__cleanup(row_done) struct row a = draws_make(), b = draws_make();

	draws_add(&a, 1000, 1500);
	draws_add(&b, 980, 1500);
	draws_add(&b, 20, 900000);
	assert_int_equal(draws_compare(&a, &b).tail, 1);
	assert_int_equal(draws_compare(&a, &b).word, HIST_SLOWER);
	assert_int_equal(draws_compare(&b, &a).tail, -1);
	assert_int_equal(draws_compare(&b, &a).word, HIST_FASTER);
	/* Two of a hundred may be chance. */
	draws_clear(&b);
	draws_add(&b, 98, 1500);
	draws_add(&b, 2, 900000);
	draws_clear(&a);
	draws_add(&a, 100, 1500);
	assert_int_equal(draws_compare(&a, &b).tail, 0);
	assert_int_equal(draws_compare(&a, &b).word, HIST_NO_CHANGE);
}

TEST(test_differs)
{
	__cleanup(row_done) struct row a = draws_make(), b = draws_make();

	draws_add(&a, 1000, 10000);
	draws_add(&b, 600, 3000);
	draws_add(&b, 400, 40000);
	assert_int_equal(draws_compare(&a, &b).word, HIST_DIFFERS);
	/* Most are faster, the slowest slower. */
	draws_clear(&b);
	draws_add(&b, 970, 3000);
	draws_add(&b, 30, 40000);
	assert_int_equal(draws_compare(&a, &b).tail, 1);
	assert_int_equal(draws_compare(&a, &b).word, HIST_DIFFERS);
}

TEST(test_too_few)
{
	__cleanup(row_done) struct row a = draws_make(), b = draws_make();

	assert_int_equal(draws_compare(&a, &b).word, HIST_TOO_FEW);
	draws_add(&a, 1000000, 100);
	draws_add(&b, HIST_COMPARE_LEAST - 1, 1000000);
	assert_int_equal(draws_compare(&a, &b).word, HIST_TOO_FEW);
	draws_add(&b, 1, 1000000);
	assert_int_equal(draws_compare(&a, &b).word, HIST_SLOWER);
	/* Beyond every bucket. */
	draws_clear(&a);
	draws_add(&a, 100, ldexp(1, 50));
	assert_int_equal(draws_compare(&b, &a).word, HIST_SLOWER);
}

/* Values of Smirnov's table: 0.0500 at x = 1.3581, 0.0010 at 1.9495; twice that, for two questions. */
TEST(test_probability)
{
	struct hist_difference difference;
	__cleanup(row_done) struct row a = draws_make(), b = draws_make();

	/* 20000 a side: x = distance * 100. In the middle, where the tail has nothing to say. */
	draws_add(&a, 10000, 1500);
	draws_add(&a, 10000, 3000);
	draws_add(&b, 10000 - 272, 1500);
	draws_add(&b, 10000 + 272, 3000);
	difference = draws_compare(&a, &b);
	assert_true(fabs(difference.probability - 2 * 0.0495) < 0.001);
	draws_clear(&b);
	draws_add(&b, 10000 - 390, 1500);
	draws_add(&b, 10000 + 390, 3000);
	difference = draws_compare(&a, &b);
	assert_true(fabs(difference.probability - 2 * 0.000996) < 0.00001);
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
