/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Times as people write them.
 *
 * A duration is a number with a unit, or several: 10 (seconds), 500ms, 1.5h, 2h30m, 1d, "5 minutes".
 *
 * A moment is "now", "today", "yesterday" or a day of the week (its last first moment, or with a time
 * behind it: "yesterday 14:05"), -1h, 2h30m, "5 minutes ago", 14:05 (when clocks last showed it),
 * 2026-11-19, "2026-11-19 14:05:07", 2026-11-19T14:05Z, @1763560000 (seconds since 1970). Local times are
 * of the time zone of tzset(3); one that came twice, as clocks were set back, is the earlier; one that
 * was left out is as much after the gap as it lies behind its beginning.
 *
 * In what follows option begins the sentence of a fault.
 */
#pragma once

#include "base/diag.h"

/* How an error describes a duration. */
#define DURATION_EXAMPLES "10, 500ms, 5m, 2h30m or 1d"

/* A duration of a nanosecond or more. 0, or -EINVAL with d filled. */
int duration_parse(const char *option, const char *text, uint64_t *ret_ns, struct diag *d);

/* CLOCK_REALTIME in ns. 0, or -EINVAL with d filled. */
int moment_parse(const char *option, const char *text, int64_t now_ns, int64_t *ret_ns,
		 struct diag *d);

/*
 * FROM..TO, two moments in that order; TO may be missing and is now then. Whether a text is meant
 * as one tells span_is(). 0, or -EINVAL with d filled.
 */
int span_parse(const char *option, const char *text, int64_t now_ns, int64_t *ret_from_ns,
	       int64_t *ret_to_ns, struct diag *d);
bool span_is(const char *text);
