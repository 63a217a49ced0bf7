/* SPDX-License-Identifier: BSD-2-Clause */
/* Clocks are read and printed, times and durations are written by people, and retries wait longer. */
#include "fixture.h"

#include <time.h>

#include "base/clock.h"
#include "base/moment.h"

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

static void zone_set(const char *zone)
{
	setenv("TZ", zone, 1);
	tzset();
}

/* It is UTC, wherever the machine stands. */
TEST(test_rfc3339)
{
	zone_set("EST+5EDT");
	for (size_t i = 0; i < ARRAY_SIZE(instants); i++) {
		char text[CLOCK_RFC3339_SIZE];

		memset(text, 'x', sizeof(text));
		clock_rfc3339(instants[i].seconds * 1000000000 + instants[i].ns, text,
			      sizeof(text));
		assert_string_equal(text, instants[i].text);
	}
}

/* Somebody may set the clock meanwhile, but not by an hour. */
TEST(test_now)
{
	const uint64_t ns = clock_mono_ns();
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	assert_in_range((uint64_t)now.tv_sec * NS_PER_SEC + (uint64_t)now.tv_nsec, ns,
			clock_mono_ns());
	assert_in_range(clock_real_ns() / 1000000000, time(NULL) - 3600, time(NULL) + 3600);
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

/* --- moments as people write them ---------------------------------------------------------------- */

/* Rules that need no files of time zones. */
#define BERLIN "CET-1CEST,M3.5.0,M10.5.0/3"
#define DUBLIN "IST-1GMT0,M10.5.0,M3.5.0/1"

/* 2026-11-20 14:31:05 UTC */
#define NOW 1795185065LL

static int64_t parse_at(const char *text, int64_t now_seconds)
{
	int64_t ns;

	if (moment_parse("--from", text, now_seconds * (int64_t)NS_PER_SEC, &ns, &d))
		fail_msg("%s: %s", text, d.text);
	assert_int_equal(ns % (int64_t)NS_PER_SEC, 0);
	return ns / (int64_t)NS_PER_SEC;
}

/* Seconds as date(1) gives them. */
TEST(test_forms)
{
	static const struct text_number forms[] = {
		{ "now", NOW },
		{ "10m", NOW - 600 },
		{ "10m ago", NOW - 600 },
		{ "2h30m", NOW - 9000 },
		{ "1w2d3h4m5s ago", NOW - 788645 },
		{ "-1h", NOW - 3600 },
		{ "-10", NOW - 10 },
		{ "1.5h", NOW - 5400 },
		{ "5 minutes ago", NOW - 300 },
		{ "1 hour ago", NOW - 3600 },
		{ "2 days ago", NOW - 172800 },
		{ "30sec ago", NOW - 30 },
		{ "friday", 1795132800 }, /* it is one */
		{ "Friday 14:05", 1795183500 },
		{ "fri 14:32", 1795132800 - 6 * 86400 - 86400 + 52320 },
		{ "monday", 1795132800 - 4 * 86400 },
		{ "sat 23:00", 1795132800 - 6 * 86400 + 82800 },
		{ "yesterday 14:05", 1795183500 - 86400 },
		{ "today 23:00:01", 1795132800 + 82801 },
		{ "today", 1795132800 },
		{ "yesterday", 1795046400 },
		{ "14:05", 1795183500 },
		{ "14:05:07", 1795183507 },
		{ "14:31:05", NOW },
		{ "14:32", NOW - 86400 + 55 },
		{ "2026-11-19", 1795046400 },
		{ "2026-11-19 14:05", 1795097100 },
		{ "2026-11-19T14:05:07", 1795097107 },
		{ "2026-11-19T14:05Z", 1795097100 },
		{ "2026-11-19 14:05:07Z", 1795097107 },
		{ "2026-11-19T14:05+02:00", 1795097100 - 7200 },
		{ "2026-11-19T14:05-05:30", 1795097100 + 19800 },
		{ "2024-02-29", 1709164800 },
		{ "1970-01-01T00:00Z", 0 },
		{ "@1763560000", 1763560000 },
		{ "@0", 0 },
	};

	zone_set("UTC");
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
		assert_int_equal(parse_at(forms[i].text, NOW), forms[i].number);
}

static void assert_no_moment(const char *text)
{
	int64_t ns = 77;

	if (!moment_parse("--from", text, NOW * 1000000000, &ns, &d))
		fail_msg("\"%s\" was taken", text);
	assert_int_equal(d.kind, DIAG_USAGE);
	assert_memory_equal(d.text, "--from: ", 8);
	assert_int_equal(ns, 77);
}

TEST(test_refused)
{
	static const char words[] =
		"noon Now 10 10x 10m5h 10m5m 1h5 -x - 10mago 99999999999999999999s 5301w 24:00 "
		"9:05 "
		"1..5h . 0x10m 1e3s mo mond4y mondays "
		"14:60 14:05:60 14:05x 2026-13-01 2026-02-29 2026-04-31 2026-11-19T 2026-11-19T14 "
		"2026-11-19T14:05z 2026-11-19T14:05+2 1969-12-31 2262-01-01 20261119 @ @-1 @1.5 "
		"@9999999999999999999999 @9200000001 14:05. 14:05:07.";
	static const char *const blanks[] = { "",
					      " ",
					      "now ",
					      "10m  ago",
					      "2026-11-19 ",
					      "2026-11-19T14:05Z ",
					      "5 ago minutes",
					      "monday noon",
					      "monday ",
					      "yesterday 5m ago",
					      "10 m s ago" };
	char word[MAX_WORD];

	zone_set("UTC");
	for (const char *at = words; word_read(&at, word);)
		assert_no_moment(word);
	for (size_t i = 0; i < ARRAY_SIZE(blanks); i++)
		assert_no_moment(blanks[i]);
}

TEST(test_fractions)
{
	int64_t ns;

	zone_set(BERLIN);
	assert_int_equal(moment_parse("", "2026-01-31T23:59:59.000000007Z", 0, &ns, NULL), 0);
	assert_int_equal(ns, 1769903999000000007);
	assert_int_equal(moment_parse("", "2026-01-31T23:59:59.5Z", 0, &ns, NULL), 0);
	assert_int_equal(ns, 1769903999500000000);
	/* Any text of clock_rfc3339() comes back. */
	for (uint64_t seed = 1, i = 0; i < 1000; i++) {
		int64_t expected = (int64_t)(random_u64(&seed) % 9180000000000000000ULL);
		char text[CLOCK_RFC3339_SIZE];

		clock_rfc3339(expected, text, sizeof(text));
		assert_int_equal(moment_parse("", text, 0, &ns, NULL), 0);
		assert_int_equal(ns, expected);
	}
}

/* On 2026-03-29 clocks went from 2:00 to 3:00, on 2026-10-25 back, both at 01:00 UTC. */
TEST(test_summer_time)
{
	static const struct text_number times[] = {
		{ "2026-03-29 01:59", 1774745940 },
		{ "2026-03-29 03:00", 1774746000 },
		{ "2026-03-29 02:30", 1774747800 }, /* there was none: 03:30 */
		{ "2026-10-25 01:59", 1792886340 },
		{ "2026-10-25 02:30", 1792888200 }, /* twice: the first */
		{ "2026-10-25 03:00", 1792893600 },
		{ "2026-07-01 12:00", 1782900000 },
		{ "2026-01-01 12:00", 1767265200 },
	};

	zone_set(BERLIN);
	for (size_t i = 0; i < ARRAY_SIZE(times); i++)
		assert_int_equal(parse_at(times[i].text, NOW), times[i].number);
	/* In Dublin, winter time is the exception, an hour behind at the same moments. */
	zone_set(DUBLIN);
	assert_int_equal(parse_at("2026-03-29 00:59", NOW), 1774745940);
	assert_int_equal(parse_at("2026-03-29 01:30", NOW), 1774747800);
	assert_int_equal(parse_at("2026-10-25 01:30", NOW), 1792888200);
	assert_int_equal(parse_at("2026-10-25 02:00", NOW), 1792893600);
}

/* Days of 23 and 25 hours. */
TEST(test_days)
{
	zone_set(BERLIN);
	/* 2026-03-29 12:00 local, on the day clocks went forward. */
	assert_int_equal(parse_at("today", 1774778400), 1774738800);
	assert_int_equal(parse_at("yesterday", 1774778400), 1774738800 - 86400);
	/* 2026-03-30 12:00: yesterday had 23 hours. */
	assert_int_equal(parse_at("today", 1774864800) - parse_at("yesterday", 1774864800),
			 23 * 3600);
	/* 2026-10-26 12:00: it had 25. */
	assert_int_equal(parse_at("today", 1793012400) - parse_at("yesterday", 1793012400),
			 25 * 3600);
	/* Durations are what clocks that run measure. */
	assert_int_equal(parse_at("1d", 1793012400), 1793012400 - 86400);
	/* On the first of a year, at 00:30 local, 23:00 was in the year before. */
	assert_int_equal(parse_at("23:00", 1767223800), 1767218400);
}

TEST(test_durations)
{
	static const struct text_number durations[] = {
		{ "10", 10000000000 },
		{ "10s", 10000000000 },
		{ "0.5", 500000000 },
		{ "500ms", 500000000 },
		{ "1.5s", 1500000000 },
		{ "20us", 20000 },
		{ "7ns", 7 },
		{ "5m", 300000000000 },
		{ "5 minutes", 300000000000 },
		{ "1h30m", 5400000000000 },
		{ "1.5h", 5400000000000 },
		{ "36600d", 36600 * 86400000000000 },
	};
	static const char *const refused[] = { "",       "m",    "5m ", "1h1h",  "0s",
					       "5m ago", "1m5",  "-5m", "+5m",   "5M",
					       " 5m",    "1..5", ".",   "inf",   "1e3s",
					       "0x5",    "nan",  "5 ",  "36601d" };
	uint64_t ns = 7;

	for (size_t i = 0; i < ARRAY_SIZE(durations); i++) {
		assert_int_equal(duration_parse("--step", durations[i].text, &ns, &d), 0);
		assert_int_equal(ns, durations[i].number);
	}
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		assert_int_equal(duration_parse("--step", refused[i], &ns, &d), -EINVAL);
		assert_memory_equal(d.text, "--step: ", 8);
	}
}

TEST(test_spans)
{
	static const char *const refused[] = {
		"..",       "..now",         "now",       "now..10m",
		"10m..10m", "10m..now..now", "10m...now", "2026-11-19 14:05:07.5.5..now",
	};
	const int64_t now_ns = NOW * (int64_t)NS_PER_SEC;
	int64_t from_ns = 1, to_ns = 2;

	zone_set("UTC");
	assert_all(span_is("yesterday..today"), !span_is("monday"));
	assert_int_equal(span_parse("compare", "yesterday..today", now_ns, &from_ns, &to_ns, &d),
			 0);
	assert_int_equal(from_ns, 1795046400 * (int64_t)NS_PER_SEC);
	assert_int_equal(to_ns, 1795132800 * (int64_t)NS_PER_SEC);
	assert_int_equal(span_parse("compare", "10m ago..", now_ns, &from_ns, &to_ns, &d), 0);
	assert_int_equal(to_ns - from_ns, 600 * (int64_t)NS_PER_SEC);
	assert_int_equal(to_ns, now_ns);
	assert_int_equal(span_parse("compare", "00:01..23:59", now_ns, &from_ns, &to_ns, &d),
			 -EINVAL);
	assert_non_null(
		strstr(d.text, "ends at a time that has not come yet today; write 00:01..now"));
	assert_int_equal(span_parse("compare", "00:02..00:01", now_ns, &from_ns, &to_ns, &d),
			 -EINVAL);
	assert_non_null(strstr(d.text, "write the earlier time first"));
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		if (span_parse("compare", refused[i], now_ns, &from_ns, &to_ns, &d) != -EINVAL)
			fail_msg("\"%s\" was taken", refused[i]);
		assert_memory_equal(d.text, "compare: ", 9);
	}
}
