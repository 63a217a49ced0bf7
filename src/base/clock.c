/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads clocks, and writes what they show. */
#include "base/clock.h"

#include <sys/timerfd.h>
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

void clock_sleep_until(uint64_t mono_ns)
{
	const struct timespec when = timespec_of(mono_ns);

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL) == EINTR)
		;
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
	/* Not the difference of the two, which may be below the least number. */
	return (time_t)(real_ns / (int64_t)NS_PER_SEC - (real_ns % (int64_t)NS_PER_SEC < 0));
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
