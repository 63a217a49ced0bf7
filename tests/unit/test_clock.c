/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading and printing clocks. */
#include "fixture.h"

#include <time.h>

#include "base/clock.h"

/* Seconds as date(1) gives them. */
static const struct {
	int64_t seconds;
	int64_t ns;
	const char *text;
} instants[] = {
	{ 0, -1, "1969-12-31T23:59:59.999999999Z" },
	{ 0, 0, "1970-01-01T00:00:00.000000000Z" },
	{ 0, 1, "1970-01-01T00:00:00.000000001Z" },
	{ 0, 999999999, "1970-01-01T00:00:00.999999999Z" },
	{ 1, 0, "1970-01-01T00:00:01.000000000Z" },
	{ 951868799, 0, "2000-02-29T23:59:59.000000000Z" },
	{ 951868800, 0, "2000-03-01T00:00:00.000000000Z" },
	{ 1709210096, 120000000, "2024-02-29T12:34:56.120000000Z" },
	{ 1769903999, 0, "2026-01-31T23:59:59.000000000Z" },
	{ 1769903999, 999999999, "2026-01-31T23:59:59.999999999Z" },
	{ 1769904000, 0, "2026-02-01T00:00:00.000000000Z" },
	{ 2147483647, 0, "2038-01-19T03:14:07.000000000Z" },
	{ 2147483648, 5, "2038-01-19T03:14:08.000000005Z" },
	{ 4107542399, 0, "2100-02-28T23:59:59.000000000Z" },
	{ 4107542400, 0, "2100-03-01T00:00:00.000000000Z" },
	{ 9223372036, 854775807, "2262-04-11T23:47:16.854775807Z" },
};

TEST(test_rfc3339)
{
	for (size_t i = 0; i < ARRAY_SIZE(instants); i++) {
		char text[CLOCK_RFC3339_SIZE];

		memset(text, 'x', sizeof(text));
		clock_rfc3339(instants[i].seconds * 1000000000 + instants[i].ns, text,
			      sizeof(text));
		assert_string_equal(text, instants[i].text);
	}
}

/* It is UTC, wherever the machine stands. */
TEST(test_rfc3339_is_utc)
{
	char text[CLOCK_RFC3339_SIZE];

	assert_int_equal(setenv("TZ", "EST+5EDT", 1), 0);
	tzset();
	clock_rfc3339(1709210096000000000, text, sizeof(text));
	assert_int_equal(unsetenv("TZ"), 0);
	tzset();
	assert_string_equal(text, "2024-02-29T12:34:56.000000000Z");
}

TEST(test_monotonic)
{
	struct timespec before, after;
	uint64_t ns, later;

	clock_gettime(CLOCK_MONOTONIC, &before);
	ns = clock_mono_ns();
	later = clock_mono_ns();
	clock_gettime(CLOCK_MONOTONIC, &after);
	assert_all(ns >= (uint64_t)before.tv_sec * 1000000000 + (uint64_t)before.tv_nsec,
		   later >= ns,
		   later <= (uint64_t)after.tv_sec * 1000000000 + (uint64_t)after.tv_nsec);
}

/* Somebody may set the clock meanwhile, but not by an hour. */
TEST(test_real)
{
	time_t now = time(NULL);
	int64_t seconds = clock_real_ns() / 1000000000;

	assert_in_range(seconds, now - 3600, now + 3600);
}

TEST(test_sooner)
{
	assert_int_equal(sooner_ms(-1, -1), -1);
	assert_int_equal(sooner_ms(-1, 7), 7);
	assert_int_equal(sooner_ms(7, -1), 7);
	assert_int_equal(sooner_ms(0, -1), 0);
	assert_int_equal(sooner_ms(3, 7), 3);
	assert_int_equal(sooner_ms(7, 3), 3);
}
