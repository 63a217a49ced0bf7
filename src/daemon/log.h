/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes the daemon's log, and tells its service manager by the protocol of sd_notify(3). */
#pragma once

#include <syslog.h>

#include "base/mem.h"

/* Whether stderr goes to the journal; then a line may begin with its priority: "<3>". */
bool log_is_read_by_journal(void);

/*
 * Writes a line to stderr: for the journal with its priority in front, else with the time, in UTC, and
 * the priority as a word. Priorities are those of syslog(3), from LOG_ERR to LOG_DEBUG: errors are what
 * went wrong for good, warnings what somebody should look at, notices what changed. Control characters
 * in what is printed are escaped.
 */
__attribute__((format(printf, 2, 3))) void log_line(int priority, const char *format, ...);

/* Sends lines such as READY=1, separated by newlines. Nobody who listens is no error. */
__attribute__((format(printf, 1, 2))) void notify_send(const char *format, ...);

/* How often at least the manager wants to hear WATCHDOG=1, in ns; 0: never. */
uint64_t notify_watchdog_ns(void);
