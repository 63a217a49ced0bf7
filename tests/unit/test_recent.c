/* SPDX-License-Identifier: BSD-2-Clause */
/* Recent differences: which marks are known, what spans add up to, and how much memory they take. */
#include "fixture.h"

#include <malloc.h>

#include "daemon/recent.h"

#define NS_A_PART 1000

#define RECENT_TEST(name, bytes) \
	TEST_OF(name, struct recent, recent, recent_done, recent_init, bytes)

/* One difference, which ends at mark * NS_A_PART: a call of each of some processes. */
static struct snapshot *difference_make(unsigned int mark, unsigned int nr_calls)
{
	struct builder *builder = builder_make();
	struct snapshot *difference;

	for (unsigned int i = 0; i < nr_calls; i++) {
		builder_take_calls(builder, 100 + i, ABI_X86_64, "read", 1, 1000, 0, 0);
		builder_take_process(builder, 100 + i, "counted", 8, 5);
	}
	difference = snapshot_take(builder);
	difference->end_mono_ns = mark * NS_A_PART;
	difference->elapsed_ns = NS_A_PART;
	return difference;
}

static void add(struct recent *recent, unsigned int mark, unsigned int nr_calls,
		enum recent_mark kind)
{
	assert_int_equal(recent_add(recent, difference_make(mark, nr_calls), kind), 0);
	assert_int_equal(recent_limit(recent), 0);
}

/* Calls counted since a mark up to the last one. */
static uint64_t calls_since(const struct recent *recent, unsigned int mark, unsigned int last)
{
	__cleanup(snapshot_freep) struct snapshot *now = snapshot_take(builder_make()), *sum = NULL;
	size_t first;

	assert_true(recent_find(recent, mark * NS_A_PART, &first));
	now->end_mono_ns = last * NS_A_PART;
	assert_int_equal(recent_sum(recent, first, now, &sum), 0);
	assert_int_equal(sum->elapsed_ns, (last - mark) * NS_A_PART);
	return snapshot_sum(sum).calls;
}

static bool knows(const struct recent *recent, unsigned int mark)
{
	size_t first;

	return recent_find(recent, mark * NS_A_PART, &first);
}

RECENT_TEST(test_spans_add_up, 1 << 20)
{
	for (unsigned int i = 1; i <= 10; i++)
		add(recent, i, i, i % 3 ? MARK_GIVEN : MARK_TICK);
	for (unsigned int i = 0; i <= 10; i++)
		assert_int_equal(calls_since(recent, i, 10), 55 - i * (i + 1) / 2);
	assert_all(!knows(recent, 11), !recent->has_forgotten);
}

RECENT_TEST(test_passing_marks_leave_no_trace, 1 << 20)
{
	add(recent, 1, 1, MARK_GIVEN);
	for (unsigned int i = 2; i <= 200; i++)
		add(recent, i, 1, MARK_PASSING);
	add(recent, 201, 1, MARK_GIVEN);
	assert_int_equal(recent->nr_parts, 2);
	assert_int_equal(calls_since(recent, 1, 201), 200);
	assert_false(knows(recent, 100));
}

RECENT_TEST(test_oldest_marks_of_clients_go, 1 << 24)
{
	add(recent, 1, 1, MARK_TICK);
	for (unsigned int i = 2; i <= 101; i++)
		add(recent, i, 1, MARK_GIVEN);
	assert_int_equal(calls_since(recent, 0, 101), 101);
	assert_int_equal(calls_since(recent, 1, 101), 100);
	assert_all(!knows(recent, 2), knows(recent, 100));
}

/* However little memory there is: the last mark is good for one question. */
RECENT_TEST(test_last_mark_is_known_to_the_next_question, 1)
{
	for (unsigned int i = 1; i <= 20; i++) {
		assert_int_equal(recent_add(recent, difference_make(i, 50), MARK_GIVEN), 0);
		assert_int_equal(calls_since(recent, i - 1, i), 50);
		/* Whether there is time to make room or not. */
		if (i % 2)
			assert_int_equal(recent_limit(recent), 0);
		assert_true(recent->nr_parts <= 3);
	}
	/* All since the last tick is still there: it goes nowhere else. */
	assert_int_equal(calls_since(recent, 0, 20), 1000);
}

RECENT_TEST(test_ticks_beyond_memory_go, 100000)
{
	for (unsigned int i = 1; i <= 100; i++)
		add(recent, i, 50, MARK_TICK);
	assert_all(recent->has_forgotten, !knows(recent, 0));
	assert_int_equal(calls_since(recent, 99, 100), 50);
}

/* How much a difference of 50 calls takes. */
static size_t part_bytes(enum recent_mark kind)
{
	__cleanup(recent_done) struct recent recent;

	recent_init(&recent, 1 << 20);
	add(&recent, 1, 50, kind);
	return recent.bytes;
}

/* While nobody makes room, adding does, before there is twice as much as there may be. */
RECENT_TEST(test_memory_is_bounded_between_questions, part_bytes(MARK_TICK) * 5 / 4)
{
	for (unsigned int i = 1; i <= 50; i++) {
		assert_int_equal(recent_add(recent, difference_make(i, 50), MARK_TICK), 0);
		assert_true(recent->bytes <= 2 * recent->max_bytes);
	}
}

/* However much comes at once: as many marks go as there has to be room for. */
RECENT_TEST(test_a_large_difference_makes_room, 25 * part_bytes(MARK_GIVEN))
{

	for (unsigned int i = 1; i <= 50; i++)
		assert_int_equal(recent_add(recent, difference_make(i, 50), MARK_GIVEN), 0);
	assert_int_equal(recent_add(recent, difference_make(51, 1000), MARK_GIVEN), 0);
	assert_true(recent->bytes <= 2 * recent->max_bytes);
	assert_int_equal(calls_since(recent, 0, 51), 50 * 50 + 1000);
}

RECENT_TEST(test_forgets_all_when_told, 1 << 20)
{
	add(recent, 1, 1, MARK_TICK);
	recent_clear(recent);
	assert_all(recent->has_forgotten, !knows(recent, 0));
}

/* A host on which little happens: many processes and names in each reading, few of them active. */
RECENT_TEST(test_idle_processes_take_no_memory, 8 << 20)
{
	for (unsigned int i = 1; i <= 50; i++) {
		struct snapshot *difference = difference_make(i, 2);
		size_t count = 500;

		difference->processes = reallocarray(difference->processes, count + 2,
						     sizeof(*difference->processes));
		for (size_t j = 0; j < count; j++) {
			difference->processes[2 + j] =
				(struct process){ .pid = 1000 + j, .cgroup_id = 7 + j };
			assert_int_equal(id_names_add(&difference->cgroups, &difference->nr_cgroups,
						      7 + j, "/system.slice/some-service.service"),
					 0);
		}
		difference->nr_processes += count;
		assert_int_equal(recent_add(recent, difference, MARK_TICK), 0);
	}
	assert_int_equal(recent->nr_parts, 50);
	for (size_t i = 0; i < recent->nr_parts; i++) {
		const struct snapshot *counts = recent->parts[i].counts;

		assert_has(counts, nr_processes, 2, nr_cgroups, 0);
		assert_all(malloc_usable_size(counts->processes) < 1000,
			   malloc_usable_size(counts->cgroups) < 1000);
	}
}

/* A difference with processes that ended in it, and one that is still there: this one. */
static struct snapshot *ended_make(unsigned int mark, unsigned int nr_processes)
{
	struct builder *builder = builder_make();
	struct process process;
	struct snapshot *difference;

	for (unsigned int i = 0; i <= nr_processes; i++) {
		/* No pid is as high. */
		process = process_make(i ? (1 << 23) + mark * 10000 + i : (uint32_t)getpid(),
				       "short", 5);
		process.ended_ns = i ? mark * NS_A_PART : 0;
		assert_int_equal(builder_add_process(builder, &process, true), 0);
		builder_take_calls(builder, process.pid, ABI_X86_64, "read", 1, 1000, 0, 0);
	}
	difference = snapshot_take(builder);
	difference->end_mono_ns = mark * NS_A_PART;
	difference->elapsed_ns = NS_A_PART;
	return difference;
}

/* Before the first interval ends nothing may be dropped, so processes are added up. */
RECENT_TEST(test_what_has_to_stay_is_added_up, 100000)
{
	struct snapshot *counts;

	for (unsigned int i = 1; i <= 50; i++) {
		assert_int_equal(recent_add(recent, ended_make(i, 200), MARK_PASSING), 0);
		assert_int_equal(recent_limit(recent), 0);
		assert_true(recent->bytes <= recent->max_bytes);
		assert_int_equal(calls_since(recent, 0, i), i * 201);
	}
	assert_int_equal(recent->nr_parts, 1);
	counts = recent->parts[0].counts;
	assert_non_null(snapshot_find_process(counts, (uint32_t)getpid(), getpid() * 1000ULL));
	assert_int_equal(counts->processes[0].pid, 0);
	assert_string_equal(counts->processes[0].comm, "short");
	assert_true(losses_none(&counts->losses));
}
