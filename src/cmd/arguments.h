/* SPDX-License-Identifier: BSD-2-Clause */
/* Arguments of options that more than one verb takes. A fault is a usage error that names option. */
#ifndef BPFTRUSS_ARGUMENTS_H
#define BPFTRUSS_ARGUMENTS_H

#include <stdint.h>

#include "base/diag.h"

/* A number of seconds, such as 10 or 0.5; 0.001 at least. */
int parse_seconds(const char *option, const char *arg, uint64_t *ret_ns, struct diag *d);

/* A time with its unit, such as 10ms or 1.5s, up to an hour; ns, us, ms, s. */
int parse_time(const char *option, const char *arg, uint64_t *ret_ns, struct diag *d);

/* A size such as 512K, 8M or 2G; of low bytes at least. */
int parse_size(const char *option, const char *arg, uint64_t low, uint64_t *ret, struct diag *d);

/* A percentage above 0, such as 20% or 0.5%, as a part: 0.2, 0.005. */
int parse_percent(const char *option, const char *arg, double *ret, struct diag *d);

/* A number from 1 to high. */
int parse_limit(const char *option, const char *arg, uint32_t high, uint32_t *ret, struct diag *d);

/* Is there a group of this name? */
int check_group(const char *option, const char *arg, struct diag *d);

#endif
