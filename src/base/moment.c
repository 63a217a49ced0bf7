/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads times as people write them: what is accepted was read to its last character. */
#include "base/moment.h"

#include <ctype.h>
#include <time.h>

#include "base/clock.h"
#include "base/text.h"

/* The year 2262 is where 64 bits of ns end. */
#define YEAR_LAST        2261
#define SECONDS_LAST     9200000000LL
#define DURATION_LAST_NS (100ULL * 366 * 86400 * NS_PER_SEC)

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

/* That time of the day, this many days ago. */
static int64_t local_moment(int64_t now_ns, int days_before, const struct tm *time)
{
	struct tm day = local_day(now_ns, days_before);

	day.tm_hour = time->tm_hour;
	day.tm_min = time->tm_min;
	day.tm_sec = time->tm_sec;
	return local_seconds(&day) * (int64_t)NS_PER_SEC;
}

/* How many days ago a day was that has a name; -1: it is none. */
static int days_since(const char *name, size_t length, int64_t now_ns)
{
	static const char *const weekdays[] = { "sunday",   "monday", "tuesday", "wednesday",
						"thursday", "friday", "saturday" };
	struct tm today = local_day(now_ns, 0);

	if (length == 5 && !strncasecmp(name, "today", 5))
		return 0;
	if (length == 9 && !strncasecmp(name, "yesterday", 9))
		return 1;
	for (int i = 0; i < 7; i++) {
		/* A day that begins with these letters: mon, tues, monday. */
		if (length >= 3 && length <= strlen(weekdays[i]) &&
		    !strncasecmp(name, weekdays[i], length))
			return (today.tm_wday - i + 7) % 7;
	}
	return -1;
}

/* A day by its name, its first moment or with a time. */
static bool parse_day(const char *text, int64_t now_ns, int64_t *ret_ns)
{
	const char *name = text, *end;
	size_t length = strcspn(text, " ");
	int days = days_since(text, length, now_ns);
	struct tm time = { 0 };
	int64_t fraction_ns = 0;

	if (days < 0)
		return false;
	end = text + length;
	if (*end) {
		text = end + 1;
		end = take(text, times_of_day, ARRAY_SIZE(times_of_day), &time);
		end = end ? take_fraction(text, end, &fraction_ns) : NULL;
	}
	if (!end || *end)
		return false;
	*ret_ns = local_moment(now_ns, days, &time) + fraction_ns;
	/* On a Monday morning, "monday 14:05" was a week ago. */
	if (*ret_ns > now_ns && !days && strncasecmp(name, "today", length) != 0)
		*ret_ns = local_moment(now_ns, 7, &time) + fraction_ns;
	return true;
}

static bool parse_now(const char *text, int64_t now_ns, int64_t *ret_ns)
{
	*ret_ns = now_ns;
	return !strcmp(text, "now");
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
		*ret_ns = local_moment(now_ns, days_before, &time) + fraction_ns;
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

static const struct unit {
	const char *name;
	uint64_t ns;
} units[] = {
	{ "", NS_PER_SEC }, /* a number without a unit */
	{ "ns", 1 },
	{ "us", 1000 },
	{ "ms", NS_PER_MS },
	{ "s", NS_PER_SEC },
	{ "sec", NS_PER_SEC },
	{ "second", NS_PER_SEC },
	{ "m", 60 * NS_PER_SEC },
	{ "min", 60 * NS_PER_SEC },
	{ "minute", 60 * NS_PER_SEC },
	{ "h", 3600 * NS_PER_SEC },
	{ "hour", 3600 * NS_PER_SEC },
	{ "d", 86400 * NS_PER_SEC },
	{ "day", 86400 * NS_PER_SEC },
	{ "w", 604800 * NS_PER_SEC },
	{ "week", 604800 * NS_PER_SEC },
};

/* Takes a unit, in the plural too. Returns what follows; NULL: it is none. */
static const char *take_unit(const char *text, const struct unit **ret)
{
	size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyz");

	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		size_t own = strlen(units[i].name);
		bool is_plural = own > 2 && length == own + 1 && text[own] == 's';

		if ((length == own || is_plural) && !strncmp(text, units[i].name, own)) {
			*ret = &units[i];
			return text + length;
		}
	}
	return NULL;
}

/* Digits, with a point among them. Returns what follows; NULL: there is no number. */
static const char *take_amount(const char *text, double *ret)
{
	size_t length = strspn(text, "0123456789.");
	char *end;

	if (!isdigit((unsigned char)*text) && !(*text == '.' && isdigit((unsigned char)text[1])))
		return NULL;
	*ret = strtod(text, &end);
	return end == text + length ? end : NULL;
}

/*
 * Takes numbers with their units, each unit smaller than the one before. Returns what follows; NULL: it
 * begins with no duration.
 */
static const char *take_duration(const char *text, uint64_t *ret_ns)
{
	const struct unit *last = NULL, *unit;
	double sum = 0, amount;

	do {
		text = take_amount(text, &amount);
		if (text)
			text = take_unit(text + (*text == ' ' && islower((unsigned char)text[1])),
					 &unit);
		if (!text || (last && (unit->ns >= last->ns || !*unit->name || !*last->name)))
			return NULL;
		sum += amount * (double)unit->ns;
		last = unit;
	} while (isdigit((unsigned char)*text));
	if (sum > (double)DURATION_LAST_NS)
		return NULL;
	*ret_ns = (uint64_t)(sum + 0.5);
	return text;
}

/* Reads a duration from nothing to 100 years. */
static bool duration_read(const char *text, uint64_t *ret_ns)
{
	const char *end = take_duration(text, ret_ns);

	return end && !*end;
}

/* -1h, 2h30m, "5 minutes ago" */
static bool parse_ago(const char *text, int64_t now_ns, int64_t *ret_ns)
{
	uint64_t ago_ns;
	const char *end = take_duration(text + (*text == '-'), &ago_ns);

	/* A number alone could be anything, unless it is -10. */
	if (!end || (*end && strcmp(end, " ago") != 0) ||
	    (*text != '-' && strlen(text) == strspn(text, "0123456789.")))
		return false;
	*ret_ns = now_ns - (int64_t)ago_ns;
	return true;
}

int moment_parse(const char *option, const char *text, int64_t now_ns, int64_t *ret_ns,
		 struct diag *d)
{
	static bool (*const forms[])(const char *, int64_t, int64_t *) = {
		parse_now, parse_day, parse_epoch, parse_time_of_day, parse_date, parse_ago,
	};

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		int64_t ns;

		if (forms[i](text, now_ns, &ns)) {
			*ret_ns = ns;
			return 0;
		}
	}
	return diag_set(d, DIAG_USAGE, EINVAL,
			"%s: \"%.64s\" is not a time, such as -1h, \"5 minutes ago\", 14:05, "
			"yesterday, monday, \"2026-11-19 14:05\", 2026-11-19T14:05Z or @1763560000",
			option, text);
}

int duration_parse(const char *option, const char *text, uint64_t *ret_ns, struct diag *d)
{
	if (duration_read(text, ret_ns) && *ret_ns)
		return 0;
	return diag_set(d, DIAG_USAGE, EINVAL,
			"%s: \"%.64s\" is not a duration, such as " DURATION_EXAMPLES, option,
			text);
}

bool span_is(const char *text)
{
	return strstr(text, "..") != NULL;
}

int span_parse(const char *option, const char *text, int64_t now_ns, int64_t *ret_from_ns,
	       int64_t *ret_to_ns, struct diag *d)
{
	const char *dots = strstr(text, "..");
	int64_t from_ns = 0, to_ns = now_ns, today_ns;
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
	/* A time of day that has not come yet was yesterday's. */
	if (from_ns >= to_ns && dots[2] && parse_time_of_day(dots + 2, now_ns, &to_ns) &&
	    parse_day("today", now_ns, &today_ns) && to_ns < today_ns)
		return diag_set(d, DIAG_USAGE, EINVAL,
				"%s: \"%.64s\" ends at a time that has not come yet today; write "
				"%s..now",
				option, text, from);
	if (from_ns >= to_ns)
		return diag_set(d, DIAG_USAGE, EINVAL,
				"%s: \"%.64s\" ends before it begins; write the earlier time first",
				option, text);
	*ret_from_ns = from_ns;
	*ret_to_ns = to_ns;
	return 0;
}
