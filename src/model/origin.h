/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lists where and when the parts of a merged snapshot were counted. Snapshots share a list, which no
 * longer changes once a snapshot has it.
 */
#pragma once

#include "base/mem.h"

/* One snapshot that became part of another. */
struct origin {
	char *host, *boot_id, *kernel, *version; /* owned; untrusted bytes; never NULL in a list */
	int64_t start_ns, end_ns;                /* CLOCK_REALTIME */
	uint64_t elapsed_ns, paused_ns;          /* CLOCK_MONOTONIC: counted, and not counted */
	uint64_t end_mono_ns;                    /* CLOCK_MONOTONIC of its host at the end */
	bool is_exact;
};

struct origins {
	uint32_t refs;
	struct origin *items; /* owned */
	size_t count;
};

/* Returns 0 or -ENOMEM. */
int origins_new(struct origins **ret);

/* Takes another reference. NULL is fine. */
struct origins *origins_ref(struct origins *origins);

/* Drops a reference, and frees the list with the last one. NULL is fine. */
void origins_free(struct origins *origins);
CLEANUP_OF(origins, origins_free)

/* Adds a copy to the end; a text that is NULL becomes "". Returns 0 or -ENOMEM. */
int origins_add(struct origins *origins, const struct origin *origin);

/* Whether two are of one host, from one start of it to the next. */
bool origin_same_boot(const struct origin *a, const struct origin *b);

/* Whether two have the same clock: those of one boot, also under different names. Without a boot, the name tells. */
bool origin_same_clock(const struct origin *a, const struct origin *b);

/* Orders by clock, and the end on it. */
int origin_compare_clocks(const struct origin *a, const struct origin *b);

/* Orders by host, boot, and the end on the clock of the host. */
int origin_compare(const struct origin *a, const struct origin *b);

/* When it began, on the clock of its host in ns. Pauses are part of it; the times of day do not matter. */
uint64_t origin_start_mono_ns(const struct origin *origin);
