/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps a list for each thread's record, by time. The next thread that gets the record counts its calls anew, so
 * numbers alone would not tell whose bytes they are.
 */
#include "calls/rests.h"

/* What each piece of memory takes besides. */
#define MALLOC_BYTES 32

struct rest {
	uint64_t number, offset, read_ns;
	uint8_t argument, part;
	bool is_cut;
	uint16_t size;
	uint8_t *bytes; /* owned */
};

struct thread_rests {
	struct rest *items; /* owned; the oldest first */
	size_t count, bytes;
};

struct rests {
	struct thread_rests *threads; /* owned; by the index of their records */
	size_t nr_threads, bytes;
};

int rests_new(struct rests **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

/* The memory that a rest takes, at most: arrays double as they grow. */
static size_t rest_cost(const struct rest *rest)
{
	return rest->size + 2 * sizeof(*rest) + MALLOC_BYTES;
}

static void thread_forget(struct rests *rests, struct thread_rests *thread, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		rests->bytes -= rest_cost(&thread->items[i]);
		thread->bytes -= rest_cost(&thread->items[i]);
		free(thread->items[i].bytes);
	}
	thread->count -= count;
	if (count && thread->count)
		memmove(thread->items, thread->items + count,
			thread->count * sizeof(*thread->items));
	if (!thread->count)
		free(steal_ptr(&thread->items));
}

void rests_free(struct rests *rests)
{
	if (!rests)
		return;
	for (size_t i = 0; i < rests->nr_threads; i++) {
		thread_forget(rests, &rests->threads[i], rests->threads[i].count);
		free(rests->threads[i].items);
	}
	free(rests->threads);
	free(rests);
}

static struct thread_rests *thread_at(struct rests *rests, uint32_t record)
{
	while (rests->nr_threads <= record) {
		if (!array_grow(&rests->threads, rests->nr_threads, sizeof(*rests->threads)))
			return NULL;
		rests->threads[rests->nr_threads++] = (struct thread_rests){ NULL, 0, 0 };
	}
	return &rests->threads[record];
}

/* Conditions leave calls out whose bytes were sent: nobody else forgets those. */
static void rests_make_room(struct rests *rests)
{
	struct thread_rests *most = rests->threads;

	for (size_t i = 1; i < rests->nr_threads; i++) {
		if (rests->threads[i].bytes > most->bytes)
			most = &rests->threads[i];
	}
	thread_forget(rests, most, (most->count + 1) / 2);
}

void rests_add(struct rests *rests, const struct call_record *record)
{
	const struct call_rest *from = (const void *)record;
	struct rest rest = { .number = record->number,
			     .offset = record->arguments[0],
			     .read_ns = record->end_ns,
			     .argument = from->piece.argument,
			     .part = from->piece.part,
			     .is_cut = from->piece.flags & PIECE_CUT,
			     .size = from->piece.size };
	struct thread_rests *thread = thread_at(rests, record->record);
	size_t at;

	if (!thread || rest.size > REST_BYTES)
		return;
	if (rests->bytes + rest_cost(&rest) > RESTS_BYTES)
		rests_make_room(rests);
	if (!array_grow(&thread->items, thread->count, sizeof(*thread->items)))
		return;
	rest.bytes = malloc(rest.size);
	if (!rest.bytes)
		return;
	memcpy(rest.bytes, from->bytes, rest.size);
	for (at = thread->count; at && thread->items[at - 1].read_ns > rest.read_ns; at--)
		thread->items[at] = thread->items[at - 1];
	thread->items[at] = rest;
	thread->count++;
	thread->bytes += rest_cost(&rest);
	rests->bytes += rest_cost(&rest);
}

bool rests_find(const struct rests *rests, const struct call_record *call, unsigned int argument,
		unsigned int part, uint64_t offset, struct rest_bytes *ret)
{
	const struct thread_rests *thread = rests->threads + call->record;

	for (size_t i = 0; call->record < rests->nr_threads && i < thread->count; i++) {
		const struct rest *rest = &thread->items[i];

		if (rest->read_ns > call->end_ns)
			break;
		if (rest->number != call->number || rest->argument != argument ||
		    rest->part != part || rest->offset != offset)
			continue;
		*ret = (struct rest_bytes){ rest->bytes, rest->size, rest->is_cut };
		return true;
	}
	return false;
}

void rests_forget(struct rests *rests, const struct call_record *call)
{
	struct thread_rests *thread = rests->threads + call->record;
	size_t count = 0;

	if (call->record >= rests->nr_threads)
		return;
	while (count < thread->count && thread->items[count].read_ns <= call->end_ns)
		count++;
	thread_forget(rests, thread, count);
}
