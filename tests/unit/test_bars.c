/* SPDX-License-Identifier: BSD-2-Clause */
/* Histograms as text: which buckets are drawn, how long the bars are. */
#include "fixture.h"

#include "report/report.h"

static char *bars_render(const struct hist *hist)
{
	struct text_stream stream;

	bars_print(hist, text_open(&stream));
	return text_close(&stream);
}

static void bars_add(struct hist *hist, unsigned int bucket, uint64_t count)
{
	assert_int_equal(hist_add(hist, bucket, count), 0);
}

static void bars_check(const struct hist *hist, const char *expected)
{
	__cleanup(freep) char *text = bars_render(hist);

	assert_string_equal(text, expected);
}

TEST(test_by_hand)
{
	static const struct hist none = { 0 };
	__cleanup(hist_done) struct hist hist = { 0 };

	bars_check(&none, "");
	bars_add(&hist, 0, 1);
	bars_check(
		&hist,
		"       0 ns ..       64 ns         1 |########################################\n");
	bars_add(&hist, 3, 40);
	bars_check(
		&hist,
		"       0 ns ..       64 ns         1 |#\n"
		"      64 ns ..       80 ns         0 |\n"
		"      80 ns ..       96 ns         0 |\n"
		"      96 ns ..      112 ns        40 |########################################\n");
	hist_done(&hist);
	bars_add(&hist, 0, 1);
	bars_add(&hist, 4, 1000000);
	bars_check(
		&hist,
		"       0 ns ..       64 ns         1 |#\n"
		"        ...\n"
		"     112 ns ..      128 ns   1000000 |########################################\n");
}

/* The last bucket has no end. */
TEST(test_last)
{
	__cleanup(hist_done) struct hist hist = { 0 };

	bars_add(&hist, HIST_BUCKETS - 1, 7);
	bars_check(
		&hist,
		" 4398.047 s ..        more         7 |########################################\n");
}

/* Whatever the counts, a bar has 0 to 40 columns, 0 only for no call. */
TEST(test_lengths)
{
	uint64_t seed = 1;

	for (int round = 0; round < 100; round++) {
		__cleanup(freep) char *text = NULL;
		__cleanup(hist_done) struct hist hist = { 0 };
		size_t longest = 0;

		for (unsigned int i = 0; i < HIST_BUCKETS; i++)
			bars_add(&hist, i, random_below(&seed, 2) ? random_ns(&seed, 63) : 0);
		text = bars_render(&hist);
		for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
			const char *bar = strchr(line, '|');

			if (!bar)
				continue;
			longest = strlen(bar) - 1 > longest ? strlen(bar) - 1 : longest;
			assert_in_range(strlen(bar) - 1, strstr(line, " 0 |") ? 0 : 1, 40);
		}
		assert_int_equal(longest, 40);
	}
}
