/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps what was counted lately, process by process: the differences between consecutive readings,
 * so that any span between two of them can be told. A reading is known by its mark: the
 * CLOCK_MONOTONIC time it speaks of, struct snapshot.end_mono_ns. Memory is bounded: marks that
 * nobody has got go at once, of the others the oldest first. Parts that the history has not got yet
 * cannot go: their ended processes are added up by name, user and cgroup.
 */
#pragma once

#include "model/snapshot.h"

/* Tells what the end of a part is good for. */
enum recent_mark {
	MARK_PASSING, /* nobody knows of it */
	MARK_GIVEN,   /* a client got it, and may ask from there */
	MARK_TICK,    /* the end of an interval */
};

struct recent_part {
	struct snapshot *counts; /* owned; a difference without what is true at one moment only */
	uint64_t start_mark, end_mark;
	size_t bytes;
	enum recent_mark mark; /* its end */
};

struct recent {
	struct recent_part *parts; /* owned; each begins where the one before ends */
	size_t nr_parts;
	size_t bytes, max_bytes;
	uint64_t serial;    /* of the next group that processes are folded into */
	size_t fold_at;     /* before so many bytes it is not worth folding again */
	bool has_forgotten; /* not everything since the first reading is here */
};

void recent_init(struct recent *recent, size_t max_bytes);

void recent_done(struct recent *recent);

/* Forgets everything: the next part need not begin where the last one ended. */
void recent_clear(struct recent *recent);

/* Takes over a difference, which is freed on failure too. Returns 0 or -ENOMEM. */
int recent_add(struct recent *recent, struct snapshot *difference, enum recent_mark mark);

/*
 * Makes room, as work that nobody has to wait for; without it, recent_add() does so before twice
 * the memory is taken. The end of the last part stays known. Returns 0, or -ENOMEM: then parts may lack
 * counts, and recent_clear() is due.
 */
int recent_limit(struct recent *recent);

/* The first part after a mark, nr_parts for the latest mark. False when it is not known any more. */
bool recent_find(const struct recent *recent, uint64_t mark, size_t *ret);

/* The same of the latest mark that is no later; false when it is earlier than all. */
bool recent_find_before(const struct recent *recent, uint64_t mark, size_t *ret);

/* Sum of all parts from an index on, as of the reading now, with which the last of them ends. */
int recent_sum(const struct recent *recent, size_t first, const struct snapshot *now,
	       struct snapshot **ret);
