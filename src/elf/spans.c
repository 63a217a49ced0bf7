/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the sweep over claims in the order of their starts. A heap holds the claims that have begun,
 * the strongest on top; one that has ended leaves it when it comes to the top.
 */
#include "elf/spans.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"

struct start {
	uint64_t at;
	size_t claim;
};

struct sweep {
	const struct claim *claims;
	struct start *starts; /* ascending */
	size_t nr, next;
	size_t *heap; /* claims, the greatest index first */
	size_t nr_heap;
	struct span *spans;
	size_t nr_spans;
};

static int start_compare(const void *a, const void *b)
{
	const struct start *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

static void heap_push(struct sweep *sweep, size_t claim)
{
	size_t at = sweep->nr_heap++;

	for (; at && sweep->heap[(at - 1) / 2] < claim; at = (at - 1) / 2)
		sweep->heap[at] = sweep->heap[(at - 1) / 2];
	sweep->heap[at] = claim;
}

static void heap_pop(struct sweep *sweep)
{
	size_t last = sweep->heap[--sweep->nr_heap], at = 0, child;

	for (; (child = 2 * at + 1) < sweep->nr_heap; at = child) {
		if (child + 1 < sweep->nr_heap && sweep->heap[child + 1] > sweep->heap[child])
			child++;
		if (sweep->heap[child] <= last)
			break;
		sweep->heap[at] = sweep->heap[child];
	}
	sweep->heap[at] = last;
}

static void span_add(struct sweep *sweep, uint64_t start, uint64_t end, size_t owner)
{
	struct span *last = sweep->nr_spans ? &sweep->spans[sweep->nr_spans - 1] : NULL;

	if (last && last->owner == owner && last->end == start)
		last->end = end;
	else
		sweep->spans[sweep->nr_spans++] = (struct span){ start, end, owner };
}

/* Every round begins a claim or ends one: no more than twice as many spans. */
static void sweep_run(struct sweep *sweep)
{
	const struct claim *claims = sweep->claims;
	uint64_t at = 0, stop;

	while (sweep->next < sweep->nr || sweep->nr_heap) {
		if (!sweep->nr_heap)
			at = sweep->starts[sweep->next].at;
		while (sweep->next < sweep->nr && sweep->starts[sweep->next].at <= at)
			heap_push(sweep, sweep->starts[sweep->next++].claim);
		while (sweep->nr_heap && claims[sweep->heap[0]].end <= at)
			heap_pop(sweep);
		if (!sweep->nr_heap)
			continue;
		stop = claims[sweep->heap[0]].end;
		if (sweep->next < sweep->nr && sweep->starts[sweep->next].at < stop)
			stop = sweep->starts[sweep->next].at;
		span_add(sweep, at, stop, sweep->heap[0]);
		at = stop;
	}
}

int spans_make(const struct claim *claims, size_t nr, struct span **ret, size_t *nr_ret)
{
	__cleanup(freep) struct start *starts = calloc(nr + 1, sizeof(*starts));
	__cleanup(freep) size_t *heap = calloc(nr + 1, sizeof(*heap));
	__cleanup(freep) struct span *spans = calloc(2 * nr + 1, sizeof(*spans));
	struct sweep sweep = { claims, starts, nr, 0, heap, 0, spans, 0 };

	if (!starts || !heap || !spans)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		starts[i] = (struct start){ claims[i].start, i };
	qsort(starts, nr, sizeof(*starts), start_compare);
	sweep_run(&sweep);
	*nr_ret = sweep.nr_spans;
	*ret = steal_ptr(&spans);
	return 0;
}
