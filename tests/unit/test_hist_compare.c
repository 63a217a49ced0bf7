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

/* Adds COUNTxNS of a text. */
static void draws_read(struct row *draws, const char *text)
{
	uint64_t count, ns;

	for (int n; sscanf(text, "%lux%lu%n", &count, &ns, &n) == 2; text += n)
		draws_add(draws, count, (double)ns);
	assert_string_equal(text, "");
}

#define ANY_TAIL 9

TEST(test_by_hand)
{
	static const struct {
		const char *a, *b;
		enum hist_word word;
		int tail;
		double low, high; /* bounds of the probability */
	} cases[] = {
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
		{ "510000x1270 490000x1290", "480000x1270 601000x1290 9000x200000", HIST_SLOWER,
		  ANY_TAIL, 0, 1 },
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
		/* Beyond every bucket. */
		{ "20x1000000", "100x1125899906842624", HIST_SLOWER, ANY_TAIL, 0, 1 },
		/*
		 * Values of Smirnov's table: 0.0500 at x = 1.3581, 0.0010 at 1.9495; twice that, for two
		 * questions. 20000 a side: x = distance * 100. The tail has nothing to say.
		 */
		{ "10000x1500 10000x3000", "9728x1500 10272x3000", HIST_NO_CHANGE, ANY_TAIL,
		  2 * 0.0485, 2 * 0.05 },
		{ "10000x1500 10000x3000", "9610x1500 10390x3000", HIST_NO_CHANGE, ANY_TAIL,
		  2 * 0.000991, 2 * 0.001001 },
	};

	assert_int_equal(HIST_COMPARE_LEAST, 20);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		__cleanup(row_done) struct row a = draws_make(), b = draws_make();
		struct hist_difference found;

		draws_read(&a, cases[i].a);
		draws_read(&b, cases[i].b);
		found = draws_compare(&a, &b);
		if (found.word != cases[i].word || found.probability < cases[i].low ||
		    (cases[i].tail != ANY_TAIL && found.tail != cases[i].tail) ||
		    found.probability > cases[i].high || (!i && found.distance != 1))
			fail_msg("%s, %s: word %d, tail %d, %g", cases[i].a, cases[i].b, found.word,
				 found.tail, found.probability);
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
