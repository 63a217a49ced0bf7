/* SPDX-License-Identifier: BSD-2-Clause */
/* What a service tells its manager, in the protocol of sd_notify(3); without one, nothing. */
#ifndef BPFTRUSS_NOTIFY_H
#define BPFTRUSS_NOTIFY_H

#include <stdint.h>

/* Sends lines such as READY=1, separated by newlines. Nobody who listens is no error. */
__attribute__((format(printf, 1, 2))) void notify_send(const char *format, ...);

/* How often at least the manager wants to hear WATCHDOG=1, in ns; 0: never. */
uint64_t notify_watchdog_ns(void);

#endif
