/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the holes between intervals. Between runs nobody counted; a hole inside a run was counted, but
 * could not be written.
 */
#include "store/gaps.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"

void gaps_done(struct gaps *gaps)
{
	free(gaps->items);
	*gaps = (struct gaps){ 0 };
}

int gaps_add(struct gaps *gaps, int64_t start_ns, int64_t end_ns, enum gap_reason reason)
{
	struct timeline_gap *grown;

	start_ns = start_ns < gaps->from_ns ? gaps->from_ns : start_ns;
	end_ns = end_ns > gaps->to_ns ? gaps->to_ns : end_ns;
	if (end_ns <= start_ns)
		return 0;
	grown = reallocarray(gaps->items, gaps->count + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	gaps->items = grown;
	grown[gaps->count++] = (struct timeline_gap){ start_ns, end_ns, reason };
	return 0;
}

bool gaps_meet(const struct gaps *gaps, int64_t start_ns, int64_t end_ns)
{
	for (size_t i = 0; i < gaps->count; i++) {
		if (gaps->items[i].start_ns < end_ns && gaps->items[i].end_ns > start_ns)
			return true;
	}
	return false;
}

int gaps_between(struct gaps *gaps, const struct history_end *end, const struct interval *next)
{
	int64_t mono_ns = end->mono_ns;
	int err = 0;

	if (end->run != next->run) {
		if (end->run)
			err = gaps_add(gaps, end->real_ns, next->run_start_ns, GAP_NOT_RUNNING);
		mono_ns = next->run_start_mono_ns;
	}
	if (err || next->start_mono_ns <= mono_ns)
		return err;
	/* Inside a run each monotonic time is one of the day, as of the interval that follows. */
	return gaps_add(gaps, next->start_ns - (next->start_mono_ns - mono_ns), next->start_ns,
			GAP_NOT_WRITTEN);
}

static int compare_gap(const void *a, const void *b)
{
	const struct timeline_gap *x = a, *y = b;
	int order = (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);

	return order ?: (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

void gaps_sort(struct gaps *gaps)
{
	size_t kept = 0;

	if (gaps->count)
		qsort(gaps->items, gaps->count, sizeof(*gaps->items), compare_gap);
	for (size_t i = 0; i < gaps->count; i++) {
		struct timeline_gap *last = kept ? &gaps->items[kept - 1] : NULL;

		if (last && last->reason == gaps->items[i].reason &&
		    gaps->items[i].start_ns <= last->end_ns) {
			if (gaps->items[i].end_ns > last->end_ns)
				last->end_ns = gaps->items[i].end_ns;
			continue;
		}
		gaps->items[kept++] = gaps->items[i];
	}
	gaps->count = kept;
}
