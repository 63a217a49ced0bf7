/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records lie in chunks, which are reused once all records in them are handed on. An array of items
 * that point to records is sorted: it consists of sorted runs, one per ring, which are merged.
 */
#include "calls/order.h"

#include "base/text.h"

/* --- threads ------------------------------------------------------------------------------------ */

/* The last record of a thread that was handed on. */
struct last_call {
	uint32_t record, pid, tid;
	uint64_t number, left_out; /* number 0: nobody */
	uint64_t end_ns;
};

/* A thread belongs to one set, in which the thread that was quiet longest makes room. */
#define SET_WAYS 8
#define NR_SET   4096

struct thread_set {
	struct last_call calls[SET_WAYS];
	bool has_evicted;
};

/* --- records ------------------------------------------------------------------------------------ */

/* Chunks are aligned to their size, so that a record's address leads to its chunk. */
struct chunk {
	struct chunk *next; /* of those that are free */
	size_t used;
	size_t records; /* that are not handed on */
	size_t pad;
	char bytes[];
};

struct item {
	uint64_t end_ns, number;
	struct call_record *record;
};

struct order {
	order_take *take;
	void *context;
	struct order_counts counts;
	struct chunk *open;  /* to which records are added; NULL: none */
	struct chunk *spare; /* without records */
	size_t nr_chunks, max_chunks;
	struct item *items, *merged; /* of the same capacity */
	size_t count, capacity;
	size_t sorted; /* so many items are in order from the first on */
	struct thread_set *sets;
};

#define MIN_CHUNKS 4
/* No record is longer: see struct open_call. */
#define MAX_RECORD 16384

int order_new(size_t limit_bytes, order_take *take, void *context, struct order **ret)
{
	struct order *order __cleanup(order_freep) = calloc(1, sizeof(*order));

	if (!order)
		return -ENOMEM;
	order->take = take;
	order->context = context;
	order->max_chunks = max_u64(limit_bytes / ORDER_CHUNK, MIN_CHUNKS);
	order->sets = calloc(NR_SET, sizeof(*order->sets));
	if (!order->sets)
		return -ENOMEM;
	*ret = steal_ptr(&order);
	return 0;
}

static struct chunk *chunk_of(const struct call_record *record)
{
	return (struct chunk *)((uintptr_t)record & ~(ORDER_CHUNK - 1)); /* NOLINT */
}

void order_free(struct order *order)
{
	if (!order)
		return;
	for (size_t i = 0; i < order->count; i++) {
		struct chunk *chunk = chunk_of(order->items[i].record);

		if (!--chunk->records && chunk != order->open)
			free(chunk);
	}
	while (order->spare) {
		struct chunk *next = order->spare->next;

		free(order->spare);
		order->spare = next;
	}
	free(order->open);
	free(order->items);
	free(order->merged);
	free(order->sets);
	free(order);
}

const struct order_counts *order_counts(const struct order *order)
{
	return &order->counts;
}

size_t order_bytes(const struct order *order)
{
	return order->nr_chunks * ORDER_CHUNK + 2 * order->capacity * sizeof(*order->items);
}

static void record_drop(struct order *order, struct call_record *record)
{
	struct chunk *chunk = chunk_of(record);

	if (--chunk->records)
		return;
	chunk->used = sizeof(*chunk);
	if (chunk == order->open)
		return;
	chunk->next = order->spare;
	order->spare = chunk;
}

/* Finds a chunk without records; NULL: there may be no more of them, or there is no memory. */
static struct chunk *chunk_take(struct order *order)
{
	struct chunk *chunk = order->spare;

	if (chunk) {
		order->spare = chunk->next;
		return chunk;
	}
	if (order->nr_chunks == order->max_chunks)
		return NULL;
	chunk = aligned_alloc(ORDER_CHUNK, ORDER_CHUNK);
	if (!chunk)
		return NULL;
	chunk->used = sizeof(*chunk);
	chunk->records = 0;
	order->nr_chunks++;
	return chunk;
}

/* Whether a chunk is free, or the open one has become so. */
static bool order_has_room(const struct order *order)
{
	return order->spare || (order->open && !order->open->records);
}

/* --- sorting ------------------------------------------------------------------------------------ */

/* Two calls of a thread may end at the same time, if the clock is coarse. */
static bool item_is_before(const struct item *a, const struct item *b)
{
	return a->end_ns != b->end_ns ? a->end_ns < b->end_ns : a->number < b->number;
}

/* Returns the end of the run of ordered items that begins at a place. */
static size_t run_end(const struct item *items, size_t from, size_t count)
{
	size_t end = from + 1;

	while (end < count && !item_is_before(&items[end], &items[end - 1]))
		end++;
	return end < count ? end : count;
}

static void runs_merge(const struct item *a, size_t nr_a, const struct item *b, size_t nr_b,
		       struct item *to)
{
	while (nr_a && nr_b) {
		if (item_is_before(b, a)) {
			*to++ = *b++;
			nr_b--;
		} else {
			*to++ = *a++;
			nr_a--;
		}
	}
	memcpy(to, a, nr_a * sizeof(*a));
	memcpy(to + nr_a, b, nr_b * sizeof(*b));
}

/* Merges runs, two by two, until one is left. */
static void items_sort(struct order *order)
{
	size_t runs = order->sorted < order->count ? 2 : 1;

	while (runs > 1) {
		struct item *items = order->items;

		runs = 0;
		for (size_t from = 0; from < order->count; runs++) {
			size_t middle = run_end(items, from, order->count);
			size_t end = middle < order->count ? run_end(items, middle, order->count)
							   : middle;

			runs_merge(items + from, middle - from, items + middle, end - middle,
				   order->merged + from);
			from = end;
		}
		order->items = order->merged;
		order->merged = items;
	}
	order->sorted = order->count;
}

/* --- gaps --------------------------------------------------------------------------------------- */

/* Finds the thread of a record, or makes room for it: then its number is 0. */
static struct last_call *last_call_find(struct order *order, const struct call_record *record,
					bool *is_unknown)
{
	struct thread_set *set =
		&order->sets[record->record * 0x9e3779b97f4a7c15ULL >> 32 & (NR_SET - 1)];
	struct last_call *quiet = set->calls;

	*is_unknown = false;
	for (size_t i = 0; i < SET_WAYS; i++) {
		struct last_call *last = &set->calls[i];

		if (last->number && last->record == record->record)
			return last;
		if (last->end_ns < quiet->end_ns)
			quiet = last;
	}
	if (quiet->number) {
		order->counts.evicted++;
		set->has_evicted = true;
	}
	*quiet = (struct last_call){ .record = record->record };
	*is_unknown = set->has_evicted;
	return quiet;
}

/* A thread keeps its record when it executes a program, but has the tid of its process from then on. */
static bool is_same_thread(const struct last_call *last, const struct call_record *record)
{
	return last->pid == record->pid && (last->tid == record->tid || record->tid == record->pid);
}

enum place {
	PLACE_NEXT, /* nothing is missing */
	PLACE_BEHIND_GAP,
	PLACE_LATE, /* later calls of the thread were handed on */
};

/* Works out what is missing before a record. */
static enum place gap_find(const struct last_call *last, const struct call_record *record,
			   bool is_unknown, struct order_gap *ret)
{
	struct last_call first = { 0 };
	uint64_t between;

	if (record->end_ns < last->end_ns ||
	    (record->end_ns == last->end_ns && record->number <= last->number))
		return PLACE_LATE;
	/* The record belongs to a new thread, whose calls begin at 1 again. */
	if (!is_same_thread(last, record) || record->number <= last->number ||
	    CALL_LEFT_OUT(record->left_out) < last->left_out)
		last = &first;
	between = above(record->number, last->number + 1);
	ret->left_out = min_u64(CALL_LEFT_OUT(record->left_out) - last->left_out, between);
	ret->missing = between - ret->left_out;
	ret->is_unknown = is_unknown && ret->missing;
	if (ret->is_unknown)
		ret->missing = ret->left_out = 0;
	return ret->missing || ret->is_unknown ? PLACE_BEHIND_GAP : PLACE_NEXT;
}

/* Hands a record on, unless it is after a gap and such records must wait. False: it waits. */
static bool record_take(struct order *order, struct call_record *record, bool gaps_wait)
{
	bool is_unknown;
	struct last_call *last = last_call_find(order, record, &is_unknown);
	struct order_gap gap = { 0 };
	enum place place = gap_find(last, record, is_unknown, &gap);

	if (place == PLACE_BEHIND_GAP && gaps_wait)
		return false;
	if (place == PLACE_LATE) {
		order->counts.late++;
	} else {
		last->pid = record->pid;
		last->tid = record->tid;
		last->number = record->number;
		last->left_out = CALL_LEFT_OUT(record->left_out);
		last->end_ns = record->end_ns;
		order->counts.taken++;
		order->counts.missing += gap.missing;
		order->counts.unknown += gap.is_unknown;
		order->take(order->context, record, &gap);
	}
	record_drop(order, record);
	return true;
}

/* Hands on the first so many items; those that wait stay. */
static void items_take(struct order *order, size_t count, bool gaps_wait)
{
	struct item *items = order->items;
	size_t waiting = 0;

	for (size_t i = 0; i < count; i++) {
		if (!record_take(order, items[i].record, gaps_wait))
			items[waiting++] = items[i];
	}
	memmove(items + waiting, items + count, (order->count - count) * sizeof(*items));
	order->count -= count - waiting;
	order->sorted = order->count;
}

void order_release(struct order *order, uint64_t horizon_ns)
{
	size_t count;

	items_sort(order);
	count = order->count;
	if (horizon_ns < UINT64_MAX)
		count = place_u64(order->items, count, sizeof(*order->items), horizon_ns + 1);
	items_take(order, count, false);
}

/*
 * Makes room with as little disorder as possible. Calls of a thread on another CPU may not have
 * been read yet, so calls after a gap wait until all others have gone.
 */
static void order_release_early(struct order *order)
{
	uint64_t before = order->counts.taken;

	items_sort(order);
	for (unsigned int step = 0; step < 4 && !order_has_room(order); step++)
		items_take(order, step & 1 ? order->count : (order->count + 1) / 2, step < 2);
	order->counts.early += order->counts.taken - before;
}

/* --- adding ------------------------------------------------------------------------------------- */

static bool items_make_room(struct order *order)
{
	size_t capacity = order->capacity ? 2 * order->capacity : 4096;
	struct item *items;

	if (order->count < order->capacity)
		return true;
	items = reallocarray(order->items, capacity, sizeof(*items));
	if (!items)
		return false;
	order->items = items;
	items = reallocarray(order->merged, capacity, sizeof(*items));
	if (!items)
		return false;
	order->merged = items;
	order->capacity = capacity;
	return true;
}

/* Finds room for so many bytes in the open chunk. */
static struct call_record *record_place(struct order *order, size_t size)
{
	struct chunk *chunk = order->open;

	if (!chunk || chunk->used + size > ORDER_CHUNK) {
		chunk = chunk_take(order);
		if (!chunk)
			order_release_early(order);
		if (!chunk && (!order->open || order->open->records))
			chunk = chunk_take(order);
		if (chunk)
			order->open = chunk;
	}
	chunk = order->open;
	if (!chunk || chunk->used + size > ORDER_CHUNK)
		return NULL;
	return (struct call_record *)((char *)chunk + chunk->used);
}

int order_add(struct order *order, const struct call_record *record)
{
	size_t size = (record->size + 7UL) & ~7UL;
	struct call_record *copy;
	struct item *item;

	if (record->size < sizeof(*record) || record->size > MAX_RECORD || !record->number)
		return -EINVAL;
	copy = record_place(order, size);
	if (!copy || !items_make_room(order))
		return -ENOMEM;
	memcpy(copy, record, record->size);
	order->open->used += size;
	order->open->records++;
	item = &order->items[order->count];
	*item = (struct item){ record->end_ns, record->number, copy };
	if (order->sorted == order->count && (!order->count || !item_is_before(item, item - 1)))
		order->sorted++;
	order->count++;
	return 0;
}
