/* SPDX-License-Identifier: BSD-2-Clause */
/* Remembers the rates of calls of the last intervals, of each line and of all together. */
#pragma once

#include "model/rates.h"

#define SPARK_INTERVALS 16

struct spark {
	struct rate_identity who;
	float rates[SPARK_INTERVALS]; /* calls per second, the latest last */
};

struct sparks {
	enum rate_by by;
	struct spark *items; /* owned; by who */
	size_t count;
	float total[SPARK_INTERVALS];
};

void sparks_done(struct sparks *sparks);

/* Adds an interval; lines of another kind begin anew. Returns 0 or -ENOMEM. */
int sparks_add(struct sparks *sparks, const struct rates *rates);

/* The rates of a line, or NULL. */
const float *sparks_find(const struct sparks *sparks, const struct rates *rates,
			 const struct rate *line);

/* Levels of the rates from 0, none, to the highest of them. */
#define SPARK_LEVELS 8
#define SPARK_ASCII  " .:-=+*#@" /* a character for each */
void spark_levels(const float rates[SPARK_INTERVALS], unsigned char levels[SPARK_INTERVALS]);
