/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the choice of time units. */
#include "report/scale.h"

#include <inttypes.h>
#include <stdio.h>

struct scale_step {
	uint64_t below_ns; /* for largest values below this; the last step has no limit */
	struct time_scale scale;
};

static const struct scale_step latency_steps[] = {
	{ 10000000, { "us", 1000, 3 } },
	{ 10000000000, { "us", 1000, 1 } },
	{ 1000000000000, { "ms", 1000000, 3 } },
	{ UINT64_MAX, { "s", 1000000000, 3 } },
};

static const struct scale_step sum_steps[] = {
	{ 10000000, { "us", 1000, 1 } },
	{ 10000000000, { "ms", 1000000, 3 } },
	{ UINT64_MAX, { "s", 1000000000, 3 } },
};

static const struct time_scale *scale_find(const struct scale_step *step, uint64_t largest_ns)
{
	while (largest_ns >= step->below_ns && step->below_ns != UINT64_MAX)
		step++;
	return &step->scale;
}

const struct time_scale *scale_for_latencies(uint64_t largest_ns)
{
	return scale_find(latency_steps, largest_ns);
}

const struct time_scale *scale_for_sums(uint64_t largest_ns)
{
	return scale_find(sum_steps, largest_ns);
}

void scale_format(const struct time_scale *scale, uint64_t ns, char *buf, size_t size)
{
	uint64_t parts = 1, step, count;

	for (int i = 0; i < scale->decimals; i++)
		parts *= 10;
	step = scale->unit_ns / parts;
	count = ns / step + (ns % step >= (step + 1) / 2);
	if (ns && !count)
		snprintf(buf, size, "<%d.%0*d", 0, scale->decimals, 1);
	else
		snprintf(buf, size, "%" PRIu64 ".%0*" PRIu64, count / parts, scale->decimals,
			 count % parts);
}
