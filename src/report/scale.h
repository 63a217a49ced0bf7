/* SPDX-License-Identifier: BSD-2-Clause */
/* One unit for a whole column of times: chosen from its largest value, named in its title. */
#ifndef BPFTRUSS_SCALE_H
#define BPFTRUSS_SCALE_H

#include <stddef.h>
#include <stdint.h>

struct time_scale {
	const char *unit; /* "us" */
	uint64_t unit_ns;
	int decimals;
};

/*
 * For latencies of single calls, where small ones matter beside large ones, and for sums. A column
 * is at most ten characters wide up to eleven days.
 */
const struct time_scale *scale_for_latencies(uint64_t largest_ns);
const struct time_scale *scale_for_sums(uint64_t largest_ns);

#define SCALED_MAX 32

/* 1234.567: rounded; what is not 0 but too little to be seen is "<0.001". */
void scale_format(const struct time_scale *scale, uint64_t ns, char *buf, size_t size);

#endif
