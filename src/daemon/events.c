/* SPDX-License-Identifier: BSD-2-Clause */
/* Logs and keeps events. */
#include "daemon/events.h"

#include <stdarg.h>

#include "base/clock.h"
#include "daemon/log.h"

#define EVENT_BYTES 1024

void events_clear(struct events *events)
{
	for (size_t i = 0; i < events->count; i++)
		free((char *)events->all[i].text);
	events->count = 0;
	events->dropped = 0;
}

void events_tell(struct events *events, const struct otlp_event *event, const char *format, ...)
{
	char text[EVENT_BYTES], *copy;
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	log_line(event->priority, "%s", text);
	if (!events)
		return;
	copy = events->count < EVENTS_MAX ? strdup(text) : NULL;
	if (!copy) {
		events->dropped++;
		return;
	}
	events->all[events->count] = *event;
	events->all[events->count].text = copy;
	events->all[events->count++].time_ns = clock_real_ns();
}
