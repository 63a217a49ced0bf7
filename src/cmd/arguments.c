/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the reading of numbers on the command line. */
#include "cmd/arguments.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
