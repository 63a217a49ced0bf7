/* SPDX-License-Identifier: BSD-2-Clause */
/* Blobs of cells: what is written is read, in few bytes, and what nobody wrote is refused. */
#include "fixture.h"

#include "store/sum.h"

TEST(test_histogram)
{
	struct blob blob __cleanup(blob_done) = { 0 };
	uint64_t seed = 31;

	for (int i = 0; i < 500; i++) {
		struct hist hist __cleanup(hist_done) = { 0 }, copy __cleanup(hist_done) = { 0 };
		size_t nr = random_below(&seed, 20);

		for (size_t j = 0; j < nr; j++)
			hist_add(&hist, (unsigned int)random_below(&seed, HIST_BUCKETS),
				 1 + random_ns(&seed, 60));
		assert_int_equal(blob_from_hist(&blob, &hist), 0);
		assert_int_equal(blob_to_hist(blob.bytes, blob.size, &copy), 0);
		for (unsigned int j = 0; j < HIST_BUCKETS; j++)
			assert_int_equal(hist_count(&copy, j), hist_count(&hist, j));
		/* Cut off anywhere it is another histogram or none, never too much to read. */
		for (size_t size = 0; size < blob.size; size++) {
			struct hist part __cleanup(hist_done) = { 0 };
			uint8_t *bytes = malloc(size + 1);

			assert_non_null(bytes);
			memcpy(bytes, blob.bytes, size);
			bytes = realloc(bytes, size ?: 1);
			blob_to_hist(bytes, size, &part);
			free(bytes);
		}
	}
}

/* The format is part of the schema. */
TEST(test_histogram_bytes)
{
	static const uint8_t expected[] = { 1 << 2 | 0, 2 << 2 | 2, 0x93, 0x03, 6 };
	struct blob blob __cleanup(blob_done) = { 0 };
	struct hist hist __cleanup(hist_done) = { 0 };

	hist_add(&hist, 0, 1);
	hist_add(&hist, 3, 2);
	hist_add(&hist, 13, 100);
	assert_int_equal(blob_from_hist(&blob, &hist), 0);
	assert_int_equal(blob.size, sizeof(expected));
	assert_memory_equal(blob.bytes, expected, sizeof(expected));
}

TEST(test_errnos)
{
	static const struct errno_count errnos[] = { { 2, 1 }, { 11, 300 }, { 4095, UINT64_MAX } };
	static const uint8_t expected[] = { 2,    1,    9,    0xac, 0x02, 0xf4, 0x1f, 0xff, 0xff,
					    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01 };
	struct blob blob __cleanup(blob_done) = { 0 };
	__cleanup(row_done) struct row row;

	row_init(&row);
	assert_int_equal(blob_from_errnos(&blob, errnos, ARRAY_SIZE(errnos)), 0);
	assert_int_equal(blob.size, sizeof(expected));
	assert_memory_equal(blob.bytes, expected, sizeof(expected));
	assert_int_equal(blob_to_errnos(blob.bytes, blob.size, &row), 0);
	assert_int_equal(row.nr_errnos, ARRAY_SIZE(errnos));
	for (size_t i = 0; i < ARRAY_SIZE(errnos); i++)
		assert_same(&row.errnos[i], &errnos[i], err, count);
}

TEST(test_refused)
{
	static const struct {
		uint8_t bytes[12];
		size_t size;
	} histograms[] = {
		{ { 0x84 }, 1 },       /* no end */
		{ { 0 }, 1 },	       /* a bucket without calls */
		{ { 7 }, 1 },	       /* no number of skipped buckets */
		{ { 7, 0xff, 1 }, 3 }, /* a bucket beyond the last */
		{ { 0x87, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02, 0 }, 11 },
	}, errnos[] = {
		{ { 2 }, 1 },
		{ { 2, 0 }, 2 },
		{ { 0x80, 0x80, 0x80, 0x80, 0x10, 1 }, 6 }, /* no int */
		{ { 0xff, 0xff, 0xff, 0xff, 7, 1, 1, 1 }, 8 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(histograms); i++) {
		struct hist hist __cleanup(hist_done) = { 0 };

		assert_int_equal(blob_to_hist(histograms[i].bytes, histograms[i].size, &hist),
				 -EUCLEAN);
	}
	for (size_t i = 0; i < ARRAY_SIZE(errnos); i++) {
		struct row row;

		row_init(&row);
		assert_int_equal(blob_to_errnos(errnos[i].bytes, errnos[i].size, &row), -EUCLEAN);
		row_done(&row);
	}
}
