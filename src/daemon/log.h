/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes the daemon's log, and tells its service manager by the protocol of sd_notify(3). */
#pragma once

#include <syslog.h>

#include "base/mem.h"

/*
 * Writes a line to stderr, with its priority in front when the journal reads it. Priorities are those
 * of syslog(3). Control characters in what is printed are escaped.
 */
__attribute__((format(printf, 2, 3))) void log_line(int priority, const char *format, ...);

/* Sends lines such as READY=1, separated by newlines. Nobody who listens is no error. */
__attribute__((format(printf, 1, 2))) void notify_send(const char *format, ...);

/* How often at least the manager wants to hear WATCHDOG=1, in ns; 0: never. */
uint64_t notify_watchdog_ns(void);
