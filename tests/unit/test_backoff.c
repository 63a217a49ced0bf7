/* SPDX-License-Identifier: BSD-2-Clause */
/* What fails is tried again, and the more seldom the longer it has failed. */
#include "fixture.h"

#include "base/clock.h"

TEST(test_waits_double)
{
	static const unsigned int expected[] = { 0, 1, 2, 4, 8, 16, 32, 32, 32 };
	struct backoff backoff = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		unsigned int waited = 0;

		backoff_failed(&backoff);
		while (backoff_waits(&backoff))
			waited++;
		assert_int_equal(waited, expected[i]);
	}
	backoff_failed(&backoff);
	backoff_done(&backoff);
	assert_false(backoff_waits(&backoff));
}
