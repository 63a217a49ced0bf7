/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the reasons of holes. Each interval knows where the one before it ended when it was written,
 * each run what was written last before it: what these know of and is not there any more was
 * damaged, the rest was never written.
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

/* Inside a run there is a wall-clock time to each monotonic one, as of the interval that follows. */
static int64_t real_at(const struct interval *next, int64_t mono_ns)
{
	return next->start_ns - (next->start_mono_ns - mono_ns);
}

/* From the last interval of an earlier run to the start of this one. */
static int between_runs(struct gaps *gaps, const struct history_end *end, const struct run *run)
{
	int64_t stopped_ns = end->real_ns;
	int err = 0;

	if (run->after_run > end->run ||
	    (run->after_run == end->run && run->after_mono_ns > end->mono_ns)) {
		err = gaps_add(gaps, end->real_ns, run->after_ns, GAP_DAMAGED);
		stopped_ns = run->after_ns;
	}
	return err ?: gaps_add(gaps, stopped_ns, run->start_ns, GAP_NOT_RUNNING);
}

int gaps_between(struct gaps *gaps, const struct history_end *end, const struct interval *next,
		 const struct run *run)
{
	int64_t mono_ns = end->mono_ns, known_ns = next->after_mono_ns;
	int err = 0;

	if (end->run != next->run) {
		err = between_runs(gaps, end, run);
		mono_ns = run->start_mono_ns;
	}
	if (known_ns > mono_ns && !err) {
		err = gaps_add(gaps, real_at(next, mono_ns), real_at(next, known_ns), GAP_DAMAGED);
		mono_ns = known_ns;
	}
	if (next->start_mono_ns > mono_ns && !err)
		err = gaps_add(gaps, real_at(next, mono_ns), next->start_ns, GAP_NOT_WRITTEN);
	return err;
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
