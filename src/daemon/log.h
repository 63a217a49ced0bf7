/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines on stderr, with their priority in front when the journal reads them. */
#ifndef BPFTRUSS_LOG_H
#define BPFTRUSS_LOG_H

#include <syslog.h>

/* Priorities are those of syslog(3). Control characters in what is printed are escaped. */
__attribute__((format(printf, 2, 3))) void log_line(int priority, const char *format, ...);

#endif
