/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests how the records of several rings become one list, and that every gap in it is told. */
#include "test.h"

#include "calls/order.h"

/* The records that were handed on. */
struct shown {
	struct call_record record;
	struct order_gap gap;
};

struct taker {
	struct order *order;
	struct shown *list;
	size_t count;
};

static void take(void *context, const struct call_record *record, const struct order_gap *gap)
{
	struct taker *taker = context;

	assert_true(array_grow(&taker->list, taker->count, sizeof(*taker->list)));
	taker->list[taker->count++] = (struct shown){ *record, *gap };
}

static void taker_begin(struct taker *taker, size_t limit_bytes)
{
	*taker = (struct taker){ 0 };
	assert_int_equal(order_new(limit_bytes, take, taker, &taker->order), 0);
}

static void taker_done(struct taker *taker)
{
	order_free(taker->order);
	free(taker->list);
}

#define TAKER_TEST(name, limit_bytes) \
	TEST_OF(name, struct taker, given, taker_done, taker_begin, limit_bytes)

static struct call_record call_of(uint32_t tid, uint64_t number, uint64_t end_ns)
{
	return (struct call_record){ .size = sizeof(struct call_record),
				     .record = tid + 1,
				     .pid = tid,
				     .tid = tid,
				     .number = number,
				     .end_ns = end_ns };
}

static void add(struct taker *taker, uint32_t tid, uint64_t number, uint64_t end_ns)
{
	const struct call_record record = call_of(tid, number, end_ns);

	assert_int_equal(order_add(taker->order, &record), 0);
}

static void add_left_out(struct taker *taker, uint32_t tid, uint64_t number, uint64_t end_ns,
			 uint64_t left_out)
{
	struct call_record record = call_of(tid, number, end_ns);

	record.left_out = left_out;
	assert_int_equal(order_add(taker->order, &record), 0);
}

static void assert_shown(const struct taker *taker, size_t i, uint32_t tid, uint64_t number,
			 uint64_t missing)
{
	assert_true(i < taker->count);
	assert_has(&taker->list[i].record, tid, tid, number, number);
	assert_has(&taker->list[i].gap, missing, missing, is_unknown, false);
}

TAKER_TEST(test_rings_become_one_list, ORDER_DEFAULT)
{
	add(given, 1, 1, 10);
	add(given, 1, 2, 30);
	add(given, 1, 4, 50);
	add(given, 2, 1, 20);
	add(given, 1, 3, 40);
	add(given, 2, 2, 60);
	order_release(given->order, 50);
	assert_int_equal(given->count, 5);
	assert_shown(given, 0, 1, 1, 0);
	assert_shown(given, 1, 2, 1, 0);
	assert_shown(given, 2, 1, 2, 0);
	assert_shown(given, 3, 1, 3, 0);
	assert_shown(given, 4, 1, 4, 0);
	order_release(given->order, UINT64_MAX);
	assert_shown(given, 5, 2, 2, 0);
	assert_has(order_counts(given->order), taken, 6, early, 0, late, 0, missing, 0);
}

TAKER_TEST(test_gaps, ORDER_DEFAULT)
{
	add(given, 1, 4, 10);
	add(given, 1, 5, 20);
	add(given, 1, 9, 30);
	/* Two of the five calls between were left out, then all of three. */
	add_left_out(given, 1, 15, 40, 2);
	add_left_out(given, 1, 19, 50, 5);
	/* The first of another thread stands behind two that were left out. */
	/* Who made its process is none of them. */
	add_left_out(given, 2, 3, 60, 4194303ULL << CALL_PARENT_SHIFT | 2);
	order_release(given->order, 100);
	assert_int_equal(given->count, 6);
	assert_shown(given, 0, 1, 4, 3);
	assert_shown(given, 1, 1, 5, 0);
	assert_shown(given, 2, 1, 9, 3);
	assert_shown(given, 3, 1, 15, 3);
	assert_int_equal(given->list[3].gap.left_out, 2);
	assert_shown(given, 4, 1, 19, 0);
	assert_int_equal(given->list[4].gap.left_out, 3);
	assert_shown(given, 5, 2, 3, 0);
	assert_int_equal(order_counts(given->order)->missing, 9);
}

/* A tid is used again, with the record: nothing of the old thread is said to be missing. */
TAKER_TEST(test_numbers_begin_again, ORDER_DEFAULT)
{
	add_left_out(given, 1, 1, 10, 0);
	add_left_out(given, 1, 7, 20, 6);
	add_left_out(given, 1, 1, 30, 0);
	add_left_out(given, 1, 9, 40, 2);
	add_left_out(given, 1, 4, 50, 1);
	order_release(given->order, 100);
	assert_int_equal(given->count, 5);
	assert_shown(given, 1, 1, 7, 0);
	assert_shown(given, 2, 1, 1, 0);
	assert_shown(given, 3, 1, 9, 5);
	assert_shown(given, 4, 1, 4, 2);
}

/* A thread that executes a program gets the tid of its process; the next user of a record is another. */
TAKER_TEST(test_thread_executes, ORDER_DEFAULT)
{
	struct call_record record = call_of(101, 1, 10);

	record.pid = 100;
	for (; record.number <= 6; record.number++, record.end_ns++) {
		record.tid = record.number < 4 ? 101 : 100;
		if (record.number != 5)
			assert_int_equal(order_add(given->order, &record), 0);
	}
	record.pid = record.tid = 200;
	record.number = 8;
	assert_int_equal(order_add(given->order, &record), 0);
	order_release(given->order, 100);
	assert_int_equal(given->count, 6);
	assert_shown(given, 2, 101, 3, 0);
	assert_shown(given, 3, 100, 4, 0);
	assert_shown(given, 4, 100, 6, 1);
	assert_shown(given, 5, 200, 8, 7);
}

/* The clock may be coarse. */
TAKER_TEST(test_same_time, ORDER_DEFAULT)
{
	add(given, 1, 2, 10);
	add(given, 1, 4, 10);
	add(given, 1, 1, 10);
	add(given, 1, 3, 10);
	order_release(given->order, 9);
	assert_int_equal(given->count, 0);
	order_release(given->order, 10);
	for (size_t i = 0; i < 4; i++)
		assert_shown(given, i, 1, i + 1, 0);
}

/* A call that was reported missing is not shown behind later ones. */
TAKER_TEST(test_late, ORDER_DEFAULT)
{
	add(given, 1, 1, 10);
	add(given, 1, 3, 30);
	order_release(given->order, 30);
	add(given, 1, 2, 20);
	add(given, 1, 4, 40);
	add(given, 2, 1, 15);
	order_release(given->order, 40);
	assert_int_equal(given->count, 4);
	assert_shown(given, 1, 1, 3, 1);
	assert_shown(given, 2, 2, 1, 0);
	assert_shown(given, 3, 1, 4, 0);
	assert_has(order_counts(given->order), taken, 4, late, 1, missing, 1);
}

TAKER_TEST(test_nonsense, ORDER_DEFAULT)
{
	struct call_record record = call_of(1, 1, 1);

	record.size--;
	assert_int_equal(order_add(given->order, &record), -EINVAL);
	record.size = 1 << 20;
	assert_int_equal(order_add(given->order, &record), -EINVAL);
	record = call_of(1, 0, 1);
	assert_int_equal(order_add(given->order, &record), -EINVAL);
	/* More was left out than there were calls. */
	add_left_out(given, 1, 3, 10, 1000);
	add_left_out(given, 1, 9, 20, UINT64_MAX);
	add_left_out(given, 1, UINT64_MAX, 30, 0);
	order_release(given->order, 100);
	assert_shown(given, 0, 1, 3, 0);
	assert_shown(given, 1, 1, 9, 0);
	assert_shown(given, 2, 1, UINT64_MAX, UINT64_MAX - 1);
}

/* The pieces are copied, and come out as they were. */
static void take_bytes(void *context, const struct call_record *record, const struct order_gap *gap)
{
	const unsigned char *bytes = (const void *)(record + 1);
	uint64_t *sum = context;

	assert_int_equal(gap->missing, 0);
	for (size_t i = 0; i < record->size - sizeof(*record); i++)
		assert_int_equal(bytes[i], (unsigned char)(record->number + i));
	*sum += record->size;
}

TEST(test_bytes)
{
	struct order *order __cleanup(order_freep) = NULL;
	unsigned char buf[sizeof(struct call_record) + 4096] __attribute__((aligned(8)));
	struct call_record *record = (void *)buf;
	uint64_t sum = 0, expected = 0;

	assert_int_equal(order_new(0, take_bytes, &sum, &order), 0);
	for (uint64_t number = 1; number <= 20000; number++) {
		size_t size = number * 7919 % 4096;

		*record = call_of(1, number, number);
		record->size += (uint32_t)size;
		for (size_t i = 0; i < size; i++)
			buf[sizeof(*record) + i] = (unsigned char)(number + i);
		assert_int_equal(order_add(order, record), 0);
		expected += record->size;
		if (number % 100 == 0)
			order_release(order, number - 50);
	}
	order_release(order, UINT64_MAX);
	assert_int_equal(sum, expected);
	assert_int_equal(order_counts(order)->early, 0);
	assert_in_range(order_bytes(order), 1, 4 * ORDER_CHUNK);
}

/* --- by chance ---------------------------------------------------------------------------------- */

#define CPUS    7
#define THREADS 50
#define STEPS   200000

struct scene {
	struct taker taker;
	uint64_t seed;
	struct ring {
		struct call_record *records;
		size_t count, read;
	} rings[CPUS];
	struct {
		uint64_t number, left_out;
		uint64_t dropped; /* of all that were dropped, those before one that was not */
		uint64_t dropped_since;
	} threads[THREADS];
	uint64_t now_ns, added;
};

static uint32_t chance(struct scene *scene, uint32_t limit)
{
	return (uint32_t)random_below(&scene->seed, limit);
}

/* A thread makes a call on any CPU, and that is left out, lost, or in the CPU's ring. */
static void scene_call(struct scene *scene)
{
	uint32_t i = chance(scene, THREADS);
	struct ring *ring = &scene->rings[chance(scene, CPUS)];
	uint64_t number = ++scene->threads[i].number;
	struct call_record record = call_of(100 + i, number, scene->now_ns);

	/* Now and then two end at the same time. */
	scene->now_ns += chance(scene, 3);
	if (chance(scene, 10) == 0) {
		scene->threads[i].left_out++;
		return;
	}
	record.left_out = scene->threads[i].left_out;
	if (chance(scene, 20) == 0) {
		scene->threads[i].dropped_since++;
		return;
	}
	scene->threads[i].dropped += scene->threads[i].dropped_since;
	scene->threads[i].dropped_since = 0;
	assert_true(array_grow(&ring->records, ring->count, sizeof(record)));
	ring->records[ring->count++] = record;
}

static void scene_read(struct scene *scene, struct ring *ring, size_t most)
{
	for (; ring->read < ring->count && most; ring->read++, most--) {
		assert_int_equal(order_add(scene->taker.order, &ring->records[ring->read]), 0);
		scene->added++;
	}
}

/* Per thread: ascending numbers, of which those that were dropped before one are told. */
static void scene_check(const struct scene *scene, uint64_t told_beyond_drops)
{
	uint64_t last[THREADS] = { 0 }, missing[THREADS] = { 0 }, left_out[THREADS] = { 0 };
	uint64_t dropped = 0, told = 0;

	for (size_t i = 0; i < scene->taker.count; i++) {
		const struct shown *shown = &scene->taker.list[i];
		uint32_t thread = shown->record.tid - 100;

		assert_true(shown->record.number > last[thread]);
		assert_int_equal(shown->record.number - last[thread] - 1,
				 shown->gap.missing + shown->gap.left_out);
		last[thread] = shown->record.number;
		missing[thread] += shown->gap.missing;
		left_out[thread] += shown->gap.left_out;
		assert_int_equal(left_out[thread], shown->record.left_out);
	}
	for (size_t i = 0; i < THREADS; i++) {
		if (!told_beyond_drops)
			assert_int_equal(missing[i], scene->threads[i].dropped);
		dropped += scene->threads[i].dropped;
		told += missing[i];
	}
	assert_int_equal(told, dropped + told_beyond_drops);
	assert_int_equal(order_counts(scene->taker.order)->missing, told);
}

static void scene_begin(struct scene *scene, size_t limit_bytes)
{
	*scene = (struct scene){ .seed = 4711, .now_ns = 1000 };
	taker_begin(&scene->taker, limit_bytes);
}

static void scene_done(struct scene *scene)
{
	taker_done(&scene->taker);
	for (size_t i = 0; i < CPUS; i++)
		free(scene->rings[i].records);
}

/* All rings are read up to a time, and what ended before it is handed on. */
TEST_OF(test_random, struct scene, given, scene_done, scene_begin, ORDER_DEFAULT)
{
	for (size_t step = 0; step < STEPS; step++) {
		scene_call(given);
		if (chance(given, 500))
			continue;
		for (size_t cpu = 0; cpu < CPUS; cpu++)
			scene_read(given, &given->rings[cpu], SIZE_MAX);
		order_release(given->taker.order, given->now_ns - chance(given, 200));
	}
	for (size_t cpu = 0; cpu < CPUS; cpu++)
		scene_read(given, &given->rings[cpu], SIZE_MAX);
	order_release(given->taker.order, UINT64_MAX);
	assert_int_equal(given->taker.count, given->added);
	for (size_t i = 1; i < given->taker.count; i++)
		assert_true(given->taker.list[i].record.end_ns >=
			    given->taker.list[i - 1].record.end_ns);
	scene_check(given, 0);
	assert_has(order_counts(given->taker.order), taken, given->added, early, 0, late, 0,
		   unknown, 0);
}

/* One ring is read after the other, and there is no room for all of them. */
TEST_OF(test_random_without_room, struct scene, given, scene_done, scene_begin, 4 * ORDER_CHUNK)
{
	const struct order_counts *counts = order_counts(given->taker.order);

	for (size_t step = 0; step < STEPS; step++)
		scene_call(given);
	for (size_t cpu = 0; cpu < CPUS; cpu++)
		scene_read(given, &given->rings[cpu], SIZE_MAX);
	order_release(given->taker.order, UINT64_MAX);
	assert_true(counts->early > 0 && counts->late > 0);
	assert_int_equal(counts->taken + counts->late, given->added);
	assert_int_equal(given->taker.count, counts->taken);
	scene_check(given, counts->late);
	assert_in_range(order_bytes(given->taker.order), 1, 8 * ORDER_CHUNK);
}

/* The rings are read in turn; a thread's calls wait for those of its that are still in another. */
TEST_OF(test_early_in_turn, struct scene, given, scene_done, scene_begin, 4 * ORDER_CHUNK)
{
	const struct order_counts *counts = order_counts(given->taker.order);
	uint64_t before;

	for (size_t step = 0; step < STEPS; step++)
		scene_call(given);
	do {
		before = given->added;
		for (size_t cpu = 0; cpu < CPUS; cpu++)
			scene_read(given, &given->rings[cpu], 100);
	} while (given->added > before);
	order_release(given->taker.order, UINT64_MAX);
	assert_int_equal(given->taker.count, counts->taken);
	assert_true(counts->early > 0);
	scene_check(given, counts->late);
}

/* Without loss, calls that are handed on early are never out of order, nor late. */
TAKER_TEST(test_early_waits_for_other_ring, 4 * ORDER_CHUNK)
{
	enum { MOVED = 2000, OTHERS = 40000 };
	const struct order_counts *counts = order_counts(given->order);

	/* Each thread moves once, and its first call is in the ring that is read last. */
	for (uint32_t i = 0; i < MOVED; i++)
		add(given, 1 + i, 2, 100000 + i);
	for (uint32_t i = 0; i < OTHERS; i++)
		add(given, 100000, 1 + i, 200000 + i);
	for (uint32_t i = 0; i < MOVED; i++)
		add(given, 1 + i, 1, 1000 + i);
	order_release(given->order, UINT64_MAX);
	assert_int_equal(given->count, 2 * MOVED + OTHERS);
	assert_true(counts->early > 0);
	assert_has(counts, late, 0, missing, 0, unknown, 0);
}

/* A gap behind a thread that was forgotten is unknown, and none is made up. */
TAKER_TEST(test_more_threads_than_are_kept, ORDER_DEFAULT)
{
	enum { MANY = 100000 };
	const struct order_counts *counts = order_counts(given->order);
	uint64_t known = 0;

	for (uint32_t i = 0; i < MANY; i++)
		add(given, 1 + i, 1, 1 + i);
	order_release(given->order, UINT64_MAX);
	for (uint32_t i = 0; i < MANY; i++)
		add(given, 1 + i, 4, MANY + 1 + i);
	order_release(given->order, UINT64_MAX);
	assert_int_equal(given->count, 2 * MANY);
	assert_true(counts->evicted > 0 && counts->unknown > 0);
	for (size_t i = MANY; i < given->count; i++) {
		const struct order_gap *gap = &given->list[i].gap;

		assert_int_equal(gap->missing, gap->is_unknown ? 0 : 2);
		known += !gap->is_unknown;
	}
	assert_int_equal(known + counts->unknown, MANY);
	assert_int_equal(counts->missing, 2 * known);
}
