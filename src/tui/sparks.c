/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps what is remembered sorted, so that each interval finds what its lines were before. */
#include "tui/sparks.h"

#include <math.h>

void sparks_done(struct sparks *sparks)
{
	free(sparks->items);
	*sparks = (struct sparks){ 0 };
}

static int compare_sparks(const void *a, const void *b)
{
	return memcmp(&((const struct spark *)a)->who, &((const struct spark *)b)->who,
		      sizeof(struct rate_identity));
}

static void rates_shift(float rates[SPARK_INTERVALS], double latest)
{
	memmove(rates, rates + 1, (SPARK_INTERVALS - 1) * sizeof(*rates));
	rates[SPARK_INTERVALS - 1] = (float)latest;
}

static const struct spark *find(const struct sparks *sparks, const struct spark *key)
{
	if (!sparks->count)
		return NULL;
	return bsearch(key, sparks->items, sparks->count, sizeof(*key), compare_sparks);
}

int sparks_add(struct sparks *sparks, const struct rates *rates)
{
	struct spark *items = calloc(rates->nr_lines + 1, sizeof(*items));

	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < rates->nr_lines; i++) {
		const struct rate *line = &rates->lines[i];
		const struct spark *before;

		rate_identify(rates, line, &items[i].who);
		before = rates->by == sparks->by ? find(sparks, &items[i]) : NULL;
		if (before)
			items[i] = *before;
		rates_shift(items[i].rates, rates_per_second(rates, line->calls));
	}
	rates_shift(sparks->total, rates_per_second(rates, rates->total.calls));
	qsort(items, rates->nr_lines, sizeof(*items), compare_sparks);
	free(sparks->items);
	sparks->items = items;
	sparks->count = rates->nr_lines;
	sparks->by = rates->by;
	return 0;
}

const float *sparks_find(const struct sparks *sparks, const struct rates *rates,
			 const struct rate *line)
{
	struct spark key = { 0 };
	const struct spark *found;

	rate_identify(rates, line, &key.who);
	found = rates->by == sparks->by ? find(sparks, &key) : NULL;
	return found ? found->rates : NULL;
}

void spark_levels(const float rates[SPARK_INTERVALS], unsigned char levels[SPARK_INTERVALS])
{
	float most = 0;

	for (int i = 0; i < SPARK_INTERVALS; i++)
		most = fmaxf(most, rates[i]);
	for (int i = 0; i < SPARK_INTERVALS; i++)
		levels[i] = rates[i] > 0 ? (unsigned char)ceilf(rates[i] / most * SPARK_LEVELS) : 0;
}
