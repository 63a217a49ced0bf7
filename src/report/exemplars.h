/* SPDX-License-Identifier: BSD-2-Clause */
/* Texts of the slowest calls, in a table or below one; and what is said of those of which no more is known. */
#pragma once

#include "calls/exemplars.h"
#include "calls/line.h"
#include "model/snapshot.h"

/* Appends a time of day: 15:04:05.123456. */
void line_put_time_of_day(struct line *line, int64_t real_ns);

/* Appends the call with its arguments and result. */
void exemplar_put_call(struct line *line, const struct snapshot *snapshot,
		       const struct exemplar *exemplar);

/* Prints how many slow calls were lost or forgotten, if any. */
void print_missing_exemplars(const struct exemplars *exemplars, FILE *out);
