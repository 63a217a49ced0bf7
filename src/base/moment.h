/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Times as people write them: "now", "10m", "2h30m ago", "today", "yesterday" (their first moment),
 * "14:05" (when clocks last showed it), "2026-11-19", "2026-11-19 14:05:07", "2026-11-19T14:05Z",
 * "@1763560000" (seconds since 1970). Local times are of the time zone of tzset(3); one that came
 * twice, as clocks were set back, is the earlier; one that was left out is as much after the gap as
 * it lies behind its beginning.
 */
#ifndef BPFTRUSS_MOMENT_H
#define BPFTRUSS_MOMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"

/* CLOCK_REALTIME in ns; option begins the sentence of a fault. 0, or -EINVAL with d filled. */
int moment_parse(const char *option, const char *text, int64_t now_ns, int64_t *ret_ns,
		 struct diag *d);

/* A duration: 30s, 10m, 2h30m, 1d, 1w. 0, or -EINVAL with d filled. */
int duration_parse(const char *option, const char *text, uint64_t *ret_ns, struct diag *d);

/*
 * FROM..TO, two moments in that order; TO may be missing and is now then. Whether a text is meant
 * as one tells span_is(). 0, or -EINVAL with d filled.
 */
int span_parse(const char *option, const char *text, int64_t now_ns, int64_t *ret_from_ns,
	       int64_t *ret_to_ns, struct diag *d);
bool span_is(const char *text);

#endif
