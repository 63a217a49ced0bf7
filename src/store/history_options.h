/* SPDX-License-Identifier: BSD-2-Clause */
/* Says how much a history keeps, and for how long. */
#pragma once

#include "base/mem.h"

#define NR_HISTORY_LEVEL 3

/* A folder beside the file. The store only knows that its files count towards max_bytes. */
#define HISTORY_BASELINES "baselines"

/* All zero: the defaults. */
struct history_options {
	/* How long intervals are kept as they came, added up to 10 minutes, and to hours. */
	uint64_t keep_ns[NR_HISTORY_LEVEL];
	uint64_t max_bytes; /* of the file and the baselines; the oldest intervals go first */
	bool read_only;     /* somebody else writes it */
};
