/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests how the arrays of the kernel's side are read while a task writes them, as bpf/account.bpf.h
 * does. The reader is compiled in here, above a collector that consists of nothing but arrays.
 */
#include "scenarios.h"

#include <pthread.h>

#include "collect/reader.c"

#define NR_SLOTS 400
#define READINGS 3000

static struct call_slot *slots;
static struct hist_line lines[2];

/* The elements of a table are those of a plain array. */
void *map_array_at(struct map_array *array, uint32_t index)
{
	if ((void *)array == (void *)slots)
		return &slots[index];
	if ((void *)array == (void *)lines)
		return &lines[index];
	return &((struct task_record *)array)[index];
}

uint32_t map_array_size(const struct map_array *array)
{
	return (const void *)array == (const void *)slots ? NR_SLOTS + 1 : 2;
}

/* --- what is not asked for here ----------------------------------------------------------------- */

bool slot_split(const struct collector *collector, const struct call_slot *slot, uint64_t *ret)
{
	(void)collector, (void)slot, (void)ret;
	return false;
}

/* --- a task ------------------------------------------------------------------------------------- */

/* A task has many slots. Its call number i begins at i, and lasts for a while. */
struct task {
	struct task_record records[2];
	bool done;
};

static void store_order(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static void *task_run(void *closure)
{
	struct task *task = closure;
	struct task_record *record = &task->records[1];
	struct call_slot *slot = &slots[1];

	for (uint64_t i = 0; !__atomic_load_n(&task->done, __ATOMIC_RELAXED); i++) {
		record->enter_ns = i;
		store_order();
		record->flags = RECORD_CALL_OPEN;
		store_order();
		for (volatile int spin = 0; spin < 100000; spin++)
			;
		record->mark_cpu_ns = i + 1;
		store_order();
		record->flags = 0;
		slot->calls++;
		store_order();
		lines[1].buckets[0]++;
		store_order();
		slot->settled = slot->calls;
	}
	return NULL;
}

/* Its call is that of the last slot in its list: whoever reads the others first takes a while. */
static void task_make(struct task *task, struct collector *collector)
{
	slots = calloc(NR_SLOTS + 1, sizeof(*slots));
	*task = (struct task){ .done = false };
	*collector = (struct collector){ .skel = NULL };
	collector->tables.arrays[TABLE_LINES] = (struct map_array *)lines;
	collector->tables.arrays[TABLE_TASKS] = (struct map_array *)task->records;
	collector->tables.arrays[TABLE_SLOTS] = (struct map_array *)slots;
	task->records[1] = (struct task_record){ .state = RECORD_LIVE,
						 .pid = 7,
						 .tid = 7,
						 .nr = 1,
						 .abi = ABI_OF_TESTS,
						 .first_slot = NR_SLOTS };
	for (uint32_t i = 1; i <= NR_SLOTS; i++) {
		slots[i].nr = (int)i;
		slots[i].abi = ABI_OF_TESTS;
		slots[i].next = i - 1;
		slots[i].calls = slots[i].settled = slots[i].untimed = i > 1;
		slots[i].min_inverted_ns = ~1ULL;
	}
}

static struct snapshot *task_read(const struct collector *collector)
{
	struct reading reading = { .builder = builder_make(), .now_ns = UINT64_MAX / 4 };

	assert_int_equal(record_read(collector, 1, &reading), 0);
	return snapshot_take(reading.builder);
}

/* A call that began at i is in flight only while exactly those before it have ended. */
TEST(test_never_in_flight_and_ended)
{
	struct collector collector;
	uint64_t flying = 0, wrong = 0;
	struct task task;
	pthread_t thread;

	task_make(&task, &collector);
	slots[1].lines[0] = 1;
	assert_int_equal(pthread_create(&thread, NULL, task_run, &task), 0);
	for (int i = 0; i < READINGS; i++) {
		struct snapshot *snapshot __cleanup(snapshot_freep) = task_read(&collector);
		const struct row *row = snapshot->rows[0];

		/* Before its first call it has no such row. */
		if (row->nr != 1 || !row->in_flight)
			continue;
		flying++;
		wrong += row->calls != row->oldest_start_ns;
	}
	__atomic_store_n(&task.done, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	free(slots);
	assert_int_equal(wrong, 0);
	/* A call lasts far longer than it takes to find its row. */
	assert_true(flying > READINGS / 10);
}

/* Outside of calls, CPU time is user time up to now: while a task has a CPU, and as long as it is there. */
TEST(test_user_time_goes_on_outside_of_calls)
{
	const struct task_record records[] = {
		{ .user_clock = 100, .clock = 1000, .mark_cpu_ns = 150 },
		{ .user_clock = 100,
		  .clock = 1000,
		  .mark_cpu_ns = 5000 }, /* the event is younger */
		{ .user_clock = 100, .clock = 700 | CLOCK_STOPPED, .mark_cpu_ns = 150 },
		{ .user_clock = 70 | USER_STOPPED, .clock = 1000, .mark_cpu_ns = 150 },
		{ .user_clock = 70 | USER_STOPPED,
		  .clock = 700 | CLOCK_STOPPED,
		  .mark_cpu_ns = 150 },
	};
	const uint64_t user_ns[] = { 3900, 4900, 600, 70, 70 };

	for (size_t i = 0; i < ARRAY_SIZE(records); i++)
		assert_int_equal(record_user_ns(&records[i], 5000), user_ns[i]);
}

/* The CPU of a task may be taken away in the middle of its stores: its row must not vanish meanwhile. */
TEST(test_a_row_whose_task_stands_still)
{
	struct collector collector;
	struct reading reading = { .builder = builder_make(), .now_ns = 1 };
	struct snapshot *snapshot __cleanup(snapshot_freep) = NULL;
	struct task task;

	task_make(&task, &collector);
	slots[5].calls = slots[5].untimed = 30;
	slots[5].settled = 29;
	slots[5].off_ns = 7;
	assert_int_equal(record_read(&collector, 1, &reading), 0);
	snapshot = snapshot_take(reading.builder);
	free(slots);
	assert_int_equal(reading.torn_rows, 1);
	assert_int_equal(snapshot->nr_rows, NR_SLOTS - 1);
	assert_has(snapshot->rows[3], nr, 5, calls, 30, wall_ns, 7);
}

/* 1,024 CPUs have a set each, and those of another ABI are behind them: all are in the sums, and once. */
TEST(test_overflow_rows_of_all_cpus)
{
	const struct overflow_sets native = { .first = 0, .mask = 1023 };
	const struct overflow_sets other = { .first = 1024, .mask = 15 };
	struct overflow_row sums[OVERFLOW_ROWS],
		*rows = calloc(1040 * OVERFLOW_ROWS, sizeof(*rows));

	for (uint64_t set = 0; set < 1040; set++) {
		rows[set * OVERFLOW_ROWS] =
			(struct overflow_row){ .calls = set + 1, .errors = set };
		rows[set * OVERFLOW_ROWS + CALLS_INDEXED].interrupted = 2;
	}
	overflow_sum(rows, &native, sums);
	assert_has(&sums[0], calls, 1024 * 1025 / 2, errors, 1023 * 1024 / 2);
	assert_int_equal(sums[CALLS_INDEXED].interrupted, 2 * 1024);
	overflow_sum(rows, &other, sums);
	assert_int_equal(sums[0].calls, 1040 * 1041 / 2 - 1024 * 1025 / 2);
	assert_int_equal(sums[1].calls, 0);
	free(rows);
}
