/* SPDX-License-Identifier: BSD-2-Clause */
/* Clocks in nanoseconds, when to try again, and times as people read them. */
#pragma once

#include "base/diag.h"

#define NS_PER_SEC 1000000000ULL
#define NS_PER_MS  1000000ULL

/* CLOCK_MONOTONIC: what bpf_ktime_get_ns() reads too. */
uint64_t clock_mono_ns(void);

/* CPU time of the calling thread, user and system. */
uint64_t clock_cpu_ns(void);

/* CLOCK_REALTIME. */
int64_t clock_real_ns(void);

/* The shorter of two times as poll() takes them: milliseconds, -1 for ever. */
static inline int sooner_ms(int a, int b)
{
	return a < 0 ? b : b < 0 || a < b ? a : b;
}

/* Sleeps until then on CLOCK_MONOTONIC. */
void clock_sleep_until(uint64_t mono_ns);

/* Sets a timerfd on CLOCK_MONOTONIC: first_ns from now, and then every repeat_ns; 0: never. */
void clock_set_timer(int fd, uint64_t first_ns, uint64_t repeat_ns);

/* How long it is until a moment of clock_mono_ns(), as poll() takes it: an hour at most, 0 if it has come. */
int clock_until_ms(uint64_t mono_ns);

#define CLOCK_RFC3339_SIZE 40

/* RFC 3339 in UTC with nanoseconds: 2026-01-31T23:59:59.000000000Z. */
void clock_rfc3339(int64_t real_ns, char *buf, size_t size);

#define CLOCK_LOCAL_SIZE 32

/*
 * Writes for people: date, blank, time in the local time zone, 2026-01-31 23:59:59, rounded down.
 */
void clock_local(int64_t real_ns, char *buf, size_t size);

/* Occasions that are left out at most. */
#define BACKOFF_MAX 32

/*
 * When to try again what failed and takes work: after 1, 2, 4 … occasions, so that failing stays
 * cheap. All zero: at the next one.
 */
struct backoff {
	unsigned int left; /* occasions that are still left out */
	unsigned int next; /* after one more failure */
};

/* Whether this occasion is to be left out. */
static inline bool backoff_waits(struct backoff *backoff)
{
	bool waits = backoff->left > 0;

	backoff->left -= waits;
	return waits;
}

static inline void backoff_failed(struct backoff *backoff)
{
	unsigned int next = backoff->next * 2;

	backoff->left = backoff->next;
	backoff->next = !next ? 1 : next < BACKOFF_MAX ? next : BACKOFF_MAX;
}

static inline void backoff_done(struct backoff *backoff)
{
	*backoff = (struct backoff){ 0 };
}
