/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the drawing of histograms in text. */
#include "report/bars.h"

#include <inttypes.h>

#include "report/label.h"

#define BAR_WIDTH 40
#define GAP_MAX   2 /* empty buckets in a row that are still drawn */

static uint64_t largest(const struct hist *hist)
{
	uint64_t most = 0;

	for (unsigned int i = 0; i < HIST_BUCKETS; i++)
		most = hist_count(hist, i) > most ? hist_count(hist, i) : most;
	return most;
}

static void print_bucket(const struct hist *hist, unsigned int i, uint64_t most, FILE *out)
{
	uint64_t count = hist_count(hist, i);
	/* The least count is still seen. */
	int length = count ? (int)((double)count / (double)most * (BAR_WIDTH - 1)) + 1 : 0;
	char low[AGE_MAX], high[AGE_MAX] = "more";

	format_age(hist_bucket_low(i), low, sizeof(low));
	if (i + 1 < HIST_BUCKETS)
		format_age(hist_bucket_low(i + 1), high, sizeof(high));
	fprintf(out, "%11s .. %11s %9" PRIu64 " |", low, high, count);
	for (int j = 0; j < length; j++)
		fputc('#', out);
	fputc('\n', out);
}

void bars_print(const struct hist *hist, FILE *out)
{
	uint64_t most = largest(hist);
	unsigned int at = 0, next;

	while (most && !hist_count(hist, at))
		at++;
	for (; most && at < HIST_BUCKETS; at = next) {
		print_bucket(hist, at, most, out);
		next = at + 1;
		while (next < HIST_BUCKETS && !hist_count(hist, next))
			next++;
		if (next == HIST_BUCKETS)
			break;
		if (next - at - 1 > GAP_MAX)
			fprintf(out, "%11s\n", "...");
		else
			next = at + 1;
	}
}
