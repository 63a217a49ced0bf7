/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Remembers how long the calls of the last intervals took, of each line and of all together, in a bounded memory: when
 * it is full, the oldest interval goes.
 */
#pragma once

#include "model/rates.h"

#define HEAT_INTERVALS 240
#define HEAT_BYTES     (16u << 20)

struct heat_frame;

struct heat {
	struct heat_frame *frames[HEAT_INTERVALS]; /* owned; the oldest first */
	size_t count;
	size_t bytes; /* of all frames */
};

void heat_done(struct heat *heat);

/* Adds an interval. Returns 0, or -ENOMEM: it is as it was. */
int heat_add(struct heat *heat, const struct rates *rates);

/*
 * The calls of a line (NULL: of all) of so many intervals ago, 0 is the last, as in struct rate. False: nothing is
 * known, since there was no such interval or lines were grouped in another way.
 */
bool heat_read(const struct heat *heat, const struct rate_identity *who, size_t ago,
	       uint64_t ret[RATE_LATENCIES]);

/* How long ago so many intervals began; those before the first one are taken to be of delay_ns. */
uint64_t heat_ago_ns(const struct heat *heat, size_t count, uint64_t delay_ns);

/* Levels of a number of calls from 0, none, to HEAT_LEVELS, as many as the most, on a log scale. */
#define HEAT_LEVELS 8
unsigned int heat_level(uint64_t count, uint64_t most);
