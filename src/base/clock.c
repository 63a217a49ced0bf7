/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads clocks, writes what they show, and reads times as people write them: what is accepted was read to
 * its last character.
 */
#include "base/clock.h"

#include <ctype.h>
#include <sys/timerfd.h>
#include <time.h>

#include "base/text.h"

static uint64_t clock_ns(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * NS_PER_SEC + (uint64_t)now.tv_nsec;
}

uint64_t clock_mono_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t clock_cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

int64_t clock_real_ns(void)
{
	return (int64_t)clock_ns(CLOCK_REALTIME);
}

static struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){ (time_t)(ns / NS_PER_SEC), (long)(ns % NS_PER_SEC) };
}

void clock_set_timer(int fd, uint64_t first_ns, uint64_t repeat_ns)
{
	struct itimerspec when = { timespec_of(repeat_ns), timespec_of(first_ns) };

	timerfd_settime(fd, 0, &when, NULL);
}

int clock_until_ms(uint64_t mono_ns)
{
	uint64_t now_ns = clock_mono_ns(), left_ms;

	left_ms = now_ns < mono_ns ? (mono_ns - now_ns) / NS_PER_MS + 1 : 0;
	return left_ms < 3600000 ? (int)left_ms : 3600000;
}

/* Whole seconds, rounded down before 1970 too, and what is left. */
static time_t split_seconds(int64_t real_ns, int64_t *fraction)
{
	*fraction = (real_ns % (int64_t)NS_PER_SEC + (int64_t)NS_PER_SEC) % (int64_t)NS_PER_SEC;
	return (time_t)((real_ns - *fraction) / (int64_t)NS_PER_SEC);
}

void clock_rfc3339(int64_t real_ns, char *buf, size_t size)
{
	int64_t fraction;
	time_t seconds = split_seconds(real_ns, &fraction);
	struct tm utc;
	size_t used;

	gmtime_r(&seconds, &utc);
	used = strftime(buf, size, "%Y-%m-%dT%H:%M:%S", &utc);
	snprintf(buf + used, size - used, ".%09lldZ", (long long)fraction);
}

void clock_local(int64_t real_ns, char *buf, size_t size)
{
	int64_t fraction;
	time_t seconds = split_seconds(real_ns, &fraction);
	struct tm local;

	if (!localtime_r(&seconds, &local) || !strftime(buf, size, "%F %T", &local))
		snprintf(buf, size, "-");
}

/* --- times as people write them --------------------------------------------------------------- */

/* The year 2262 is where 64 bits of ns end. */
#define YEAR_LAST     2261
#define SECONDS_LAST  9200000000LL
#define DURATION_LAST (100ULL * 366 * 86400)

/*
 * Reads the longest of some forms of strptime() that text begins with, if it stands there just as
 * strftime() would write it: so every field has all its digits, and there is such a day. Returns
 * what follows; NULL: it begins with none.
 */
static const char *take(const char *text, const char *const *forms, size_t count, struct tm *ret)
{
	for (size_t i = 0; i < count; i++) {
		struct tm read = { .tm_mday = 1 }, real;
		const char *end = strptime(text, forms[i], &read);
		char again[32];
		size_t length;

		if (!end)
			continue;
		real = read;
		timegm(&real);
		length = strftime(again, sizeof(again), forms[i], &real);
		if (length == (size_t)(end - text) && !memcmp(again, text, length)) {
			*ret = read;
			return end;
		}
	}
	return NULL;
}

static const char *const times_of_day[] = { "%H:%M:%S", "%H:%M" };

/* Digits behind a point, where seconds stand in front of it. Returns what follows. */
static const char *take_fraction(const char *text, const char *end, int64_t *ret_ns)
{
	int64_t unit = NS_PER_SEC;

	*ret_ns = 0;
	if (*end != '.' || end - text < 8 || end[-3] != ':' || end[-6] != ':' ||
	    !isdigit((unsigned char)end[1]))
		return end;
	for (end++; isdigit((unsigned char)*end) && unit > 1; end++) {
		unit /= 10;
		*ret_ns += unit * (*end - '0');
	}
	return end;
}

/* The earliest moment at which local clocks showed this, or as much after a gap. */
static int64_t local_seconds(const struct tm *tm)
{
	int64_t earliest = INT64_MAX, latest = INT64_MIN;

	for (int is_dst = 0; is_dst < 2; is_dst++) {
		struct tm shown = *tm;
		int64_t seconds;

		shown.tm_isdst = is_dst;
		seconds = mktime(&shown);
		if (seconds > latest)
			latest = seconds;
		if (shown.tm_hour == tm->tm_hour && shown.tm_min == tm->tm_min &&
		    shown.tm_isdst == is_dst && seconds < earliest)
			earliest = seconds;
	}
	return earliest == INT64_MAX ? latest : earliest;
}

/* The fields of local time, so many days before now. */
static struct tm local_day(int64_t now_ns, int days_before)
{
	time_t seconds = (time_t)(now_ns / (int64_t)NS_PER_SEC);
	struct tm now = { 0 }, day = { 0 };

	localtime_r(&seconds, &now);
	day.tm_year = now.tm_year;
	day.tm_mon = now.tm_mon;
	day.tm_mday = now.tm_mday - days_before;
	/* UTC has every day and hour: this gets over the first of a month. */
	timegm(&day);
	return day;
}

static bool parse_word(const char *text, int64_t now_ns, int64_t *ret_ns)
{
	bool is_yesterday = !strcmp(text, "yesterday");
	struct tm day = local_day(now_ns, is_yesterday);

	if (!strcmp(text, "now"))
		*ret_ns = now_ns;
	else if (is_yesterday || !strcmp(text, "today"))
		*ret_ns = local_seconds(&day) * (int64_t)NS_PER_SEC;
	else
		return false;
	return true;
}

static bool parse_epoch(const char *text, int64_t now_ns, int64_t *ret_ns)
{
	uint64_t seconds;

	(void)now_ns;
	if (text[0] != '@' || !number_read(text + 1, SECONDS_LAST, &seconds))
		return false;
	*ret_ns = (int64_t)(seconds * NS_PER_SEC);
	return true;
}

static bool parse_time_of_day(const char *text, int64_t now_ns, int64_t *ret_ns)
{
	struct tm time;
	int64_t fraction_ns;
	const char *end = take(text, times_of_day, ARRAY_SIZE(times_of_day), &time);

	if (!end || *take_fraction(text, end, &fraction_ns))
		return false;
	for (int days_before = 0; days_before < 2; days_before++) {
		struct tm day = local_day(now_ns, days_before);

		day.tm_hour = time.tm_hour;
		day.tm_min = time.tm_min;
		day.tm_sec = time.tm_sec;
		*ret_ns = local_seconds(&day) * (int64_t)NS_PER_SEC + fraction_ns;
		if (*ret_ns <= now_ns)
			break;
	}
	return true;
}

/* Z, +HH:MM or -HH:MM, and no more: what to add to the time to get UTC. */
static bool parse_zone(const char *text, int64_t *ret_seconds)
{
	struct tm zone;
	const char *end;

	*ret_seconds = 0;
	if (!strcmp(text, "Z"))
		return true;
	if (*text != '+' && *text != '-')
		return false;
	end = take(text + 1, &times_of_day[1], 1, &zone);
	if (!end || *end)
		return false;
	*ret_seconds = (*text == '+' ? -1 : 1) * (zone.tm_hour * 3600LL + zone.tm_min * 60LL);
	return true;
}

static bool parse_date(const char *text, int64_t now_ns, int64_t *ret_ns)
{
	static const char *const forms[] = {
		"%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M",
		"%Y-%m-%d %H:%M",    "%Y-%m-%d",
	};
	int64_t fraction_ns, zone_seconds, seconds;
	struct tm tm;
	const char *end = take(text, forms, ARRAY_SIZE(forms), &tm);

	(void)now_ns;
	if (!end || tm.tm_year < 1970 - 1900 || tm.tm_year > YEAR_LAST - 1900)
		return false;
	end = take_fraction(text, end, &fraction_ns);
	if (!*end)
		seconds = local_seconds(&tm);
	else if (parse_zone(end, &zone_seconds))
		seconds = (int64_t)timegm(&tm) + zone_seconds;
	else
		return false;
	*ret_ns = seconds * (int64_t)NS_PER_SEC + fraction_ns;
	return true;
}

/* Numbers with their units, each unit smaller than the one before. */
static bool take_duration(const char **at, uint64_t *ret_seconds)
{
	static const struct {
		char unit;
		uint64_t seconds;
	} units[] = { { 'w', 604800 }, { 'd', 86400 }, { 'h', 3600 }, { 'm', 60 }, { 's', 1 } };
	uint64_t sum = 0;
	size_t next = 0;

	while (isdigit((unsigned char)**at)) {
		uint64_t number = 0;

		for (; isdigit((unsigned char)**at); (*at)++) {
			number = number * 10 + (uint64_t)(**at - '0');
			if (number > DURATION_LAST)
				return false;
		}
		while (next < ARRAY_SIZE(units) && units[next].unit != **at)
			next++;
		if (next == ARRAY_SIZE(units) || number > DURATION_LAST / units[next].seconds)
			return false;
		(*at)++;
		sum += number * units[next++].seconds;
	}
	*ret_seconds = sum;
	return sum > 0 && sum <= DURATION_LAST;
}

static bool parse_ago(const char *text, int64_t now_ns, int64_t *ret_ns)
{
	uint64_t seconds;

	if (!take_duration(&text, &seconds) || (*text && strcmp(text, " ago")))
		return false;
	*ret_ns = now_ns - (int64_t)(seconds * NS_PER_SEC);
	return true;
}

int moment_parse(const char *option, const char *text, int64_t now_ns, int64_t *ret_ns,
		 struct diag *d)
{
	static bool (*const forms[])(const char *, int64_t, int64_t *) = {
		parse_word, parse_epoch, parse_time_of_day, parse_date, parse_ago,
	};

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		int64_t ns;

		if (forms[i](text, now_ns, &ns)) {
			*ret_ns = ns;
			return 0;
		}
	}
	return diag_set(d, DIAG_USAGE, EINVAL,
			"%s: \"%.64s\" is not a time, such as now, \"10m ago\", 2h30m, yesterday, "
			"14:05, \"2026-11-19 14:05\", 2026-11-19T14:05Z or @1763560000",
			option, text);
}

int duration_parse(const char *option, const char *text, uint64_t *ret_ns, struct diag *d)
{
	const char *at = text;
	uint64_t seconds;

	if (!take_duration(&at, &seconds) || *at)
		return diag_set(d, DIAG_USAGE, EINVAL,
				"%s: \"%.64s\" is not a duration, such as 30s, 10m, 2h30m or 1d",
				option, text);
	*ret_ns = seconds * NS_PER_SEC;
	return 0;
}

bool span_is(const char *text)
{
	return strstr(text, "..") != NULL;
}

int span_parse(const char *option, const char *text, int64_t now_ns, int64_t *ret_from_ns,
	       int64_t *ret_to_ns, struct diag *d)
{
	const char *dots = strstr(text, "..");
	int64_t from_ns = 0, to_ns = now_ns;
	char from[64];
	int err = 0;

	if (!dots || dots == text || (size_t)(dots - text) >= sizeof(from))
		return diag_set(
			d, DIAG_USAGE, EINVAL,
			"%s: \"%.64s\" is not a span, such as 14:00..14:30, yesterday..today "
			"or \"10m ago..now\"",
			option, text);
	snprintf(from, sizeof(from), "%.*s", (int)(dots - text), text);
	err = moment_parse(option, from, now_ns, &from_ns, d);
	if (!err && dots[2])
		err = moment_parse(option, dots + 2, now_ns, &to_ns, d);
	if (err)
		return err;
	if (from_ns >= to_ns)
		return diag_set(d, DIAG_USAGE, EINVAL,
				"%s: \"%.64s\" ends before it begins; write the earlier time first",
				option, text);
	*ret_from_ns = from_ns;
	*ret_to_ns = to_ns;
	return 0;
}
