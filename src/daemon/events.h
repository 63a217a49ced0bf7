/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What happens to the daemon: a line of its log and, if it pushes, an event that is kept until it is pushed. So
 * many are kept at a time; the count of further ones is an event of its own.
 */
#pragma once

#include <syslog.h>

#include "metrics/otlp.h"

#define EVENTS_MAX 128

struct events {
	struct otlp_event
		all[EVENTS_MAX + 1]; /* texts are owned; the last is that of further ones */
	size_t count;
	uint64_t dropped;
};

/*
 * Logs a line, and keeps it as an event, of which time and text are filled in here; name and reason are
 * constants. events is NULL where nothing is pushed.
 */
__attribute__((format(printf, 3, 4))) void
events_tell(struct events *events, const struct otlp_event *event, const char *format, ...);

/* Forgets all. */
void events_clear(struct events *events);
