/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Logs what happens to the daemon and, if it pushes, keeps it as an event until it is pushed. So many events are
 * kept at a time; the number of further ones is an event of its own.
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
