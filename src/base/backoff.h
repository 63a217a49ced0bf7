/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When to try again what failed and takes work: after 1, 2, 4 … occasions, so that failing stays
 * cheap. All zero: at the next one.
 */
#ifndef BPFTRUSS_BACKOFF_H
#define BPFTRUSS_BACKOFF_H

#include <stdbool.h>

/* Occasions that are left out at most. */
#define BACKOFF_MAX 32

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

#endif
