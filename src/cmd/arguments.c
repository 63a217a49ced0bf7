/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the reading of numbers and names on the command line. */
#include "cmd/arguments.h"

#include <ctype.h>
#include <errno.h>
#include <grp.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

int parse_seconds(const char *option, const char *arg, uint64_t *ret_ns, struct diag *d)
{
	char *end;
	double seconds = strtod(arg, &end);

	/* strtod() takes blanks, signs, "inf" and hexadecimal too. */
	if (!(isdigit((unsigned char)*arg) || *arg == '.') || *end || strpbrk(arg, "xX") ||
	    !(seconds >= 1e-3) || seconds > 1e9)
		return diag_set(d, DIAG_USAGE, EINVAL,
				"%s: \"%s\" is not a number of seconds, such as 10 or 0.5", option,
				arg);
	*ret_ns = (uint64_t)llround(seconds * 1e9);
	return 0;
}

int parse_time(const char *option, const char *arg, uint64_t *ret_ns, struct diag *d)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };
	char *end;
	double value = strtod(arg, &end), ns = -1;

	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (!strcmp(end, units[i].name))
			ns = value * units[i].ns;
	}
	if (!(isdigit((unsigned char)*arg) || *arg == '.') || strpbrk(arg, "xXpP") || !(ns >= 1) ||
	    ns > 3600e9)
		return diag_set(d, DIAG_USAGE, EINVAL,
				"%s: \"%s\" is not a time with its unit, such as 10ms or 1.5s",
				option, arg);
	*ret_ns = (uint64_t)llround(ns);
	return 0;
}

/* A plain decimal number in front of a unit; NULL if there is none. Returns what follows it. */
static const char *parse_amount(const char *arg, double *ret)
{
	char *end;

	*ret = strtod(arg, &end);
	if (!(isdigit((unsigned char)*arg) || *arg == '.') || end == arg || strpbrk(arg, "xXpPeE"))
		return NULL;
	return end;
}

int parse_size(const char *option, const char *arg, uint64_t low, uint64_t *ret, struct diag *d)
{
	static const struct {
		const char *name;
		double bytes;
	} units[] = { { "", 1 }, { "K", 0x1p10 }, { "M", 0x1p20 }, { "G", 0x1p30 } };
	double value, bytes = -1;
	const char *unit = parse_amount(arg, &value);

	for (size_t i = 0; unit && i < ARRAY_SIZE(units); i++) {
		if (!strcmp(unit, units[i].name))
			bytes = value * units[i].bytes;
	}
	if (!(bytes >= (double)low) || bytes > 0x1p50)
		return diag_set(d, DIAG_USAGE, EINVAL,
				"%s: \"%.64s\" is not a size from %llu KiB up, such as 8M or 2G",
				option, arg, (unsigned long long)(low >> 10));
	*ret = (uint64_t)bytes;
	return 0;
}

int parse_percent(const char *option, const char *arg, double *ret, struct diag *d)
{
	char *end;
	double percent = strtod(arg, &end);

	if (!(isdigit((unsigned char)*arg) || *arg == '.') || strcmp(end, "%") ||
	    strpbrk(arg, "xXeE") || !(percent >= 1e-3) || percent > 1e6)
		return diag_set(d, DIAG_USAGE, EINVAL,
				"%s: \"%s\" is not a percentage, such as 20%% or 0.5%%", option,
				arg);
	*ret = percent / 100;
	return 0;
}

int parse_limit(const char *option, const char *arg, uint32_t high, uint32_t *ret, struct diag *d)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(arg, &end, 10);
	if (!isdigit((unsigned char)*arg) || *end || errno || value < 1 || value > high)
		return diag_set(d, DIAG_USAGE, EINVAL, "%s: \"%s\" is not a number from 1 to %u",
				option, arg, high);
	*ret = (uint32_t)value;
	return 0;
}

int check_group(const char *option, const char *arg, struct diag *d)
{
	if (getgrnam(arg))
		return 0;
	return diag_set(d, DIAG_USAGE, ENOENT, "%s: there is no group \"%.64s\"", option, arg);
}
