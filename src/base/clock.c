/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns reading and printing clocks. */
#include "base/clock.h"

#include <stdio.h>
#include <time.h>

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

int64_t clock_real_ns(void)
{
	return (int64_t)clock_ns(CLOCK_REALTIME);
}

void clock_rfc3339(int64_t real_ns, char *buf, size_t size)
{
	int64_t fraction =
		(real_ns % (int64_t)NS_PER_SEC + (int64_t)NS_PER_SEC) % (int64_t)NS_PER_SEC;
	time_t seconds = (time_t)((real_ns - fraction) / (int64_t)NS_PER_SEC);
	struct tm utc;
	size_t used;

	gmtime_r(&seconds, &utc);
	used = strftime(buf, size, "%Y-%m-%dT%H:%M:%S", &utc);
	snprintf(buf + used, size - used, ".%09lldZ", (long long)fraction);
}
