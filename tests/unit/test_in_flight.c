/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests what --in-flight makes of the threads that the kernel lists: what is folded, in which order, how shown. */
#include "scenarios.h"

#include "json/documents.h"
#include "model/in_flight.h"
#include "report/report.h"
#include "syscalls/arguments.h"

static struct listed_thread thread_in(uint32_t pid, uint32_t tid, const char *call, uint64_t arg0,
				      uint64_t age_ns)
{
	return (struct listed_thread){ .pid = pid,
				       .tid = tid,
				       .nr = syscall_find(ABI_OF_TESTS, call),
				       .abi = ABI_OF_TESTS,
				       .age_ns = age_ns,
				       .arguments = { arg0, 0x7000 + tid, 64 },
				       .sp = 0x7fff0000,
				       .comm = "worker" };
}

static void take(struct in_flight *list, uint32_t pid, uint32_t tid, const char *call,
		 uint64_t arg0, uint64_t age_ns)
{
	const struct listed_thread thread = thread_in(pid, tid, call, arg0, age_ns);

	assert_int_equal(in_flight_add(list, &thread), 0);
}

static void take_outside(struct in_flight *list, uint32_t pid, uint32_t tid, uint32_t state)
{
	const struct listed_thread thread = { .pid = pid, .tid = tid, .state = state };

	assert_int_equal(in_flight_add(list, &thread), 0);
}

TEST(test_alike_is_one_item_and_the_oldest_is_first)
{
	struct in_flight list __cleanup(in_flight_done) = { 0 };

	take_outside(&list, 1, 9, LISTED_AWAKE);
	take(&list, 1, 1, "read", 3, 5 * SEC);
	take(&list, 1, 2, "read", 3, 7 * SEC);
	take(&list, 1, 3, "read", 4, 6 * SEC);
	take(&list, 2, 4, "read", 3, 8 * SEC);
	take_outside(&list, 1, 10, LISTED_AWAKE);
	in_flight_fold(&list, 99);
	assert_int_equal(list.count, 4);
	assert_int_equal(list.threads, 6);
	assert_has(&list.items[0].thread, pid, 2, tid, 4);
	assert_has(&list.items[1].thread, pid, 1, tid, 2);
	assert_int_equal(list.items[1].others, 1);
	assert_int_equal(list.items[2].thread.tid, 3);
	assert_int_equal(list.items[3].thread.state, LISTED_AWAKE);
	assert_int_equal(list.items[3].others, 1);
}

/* A futex that several wait for stays apart from those of idle workers, one each. */
TEST(test_futexes)
{
	struct in_flight list __cleanup(in_flight_done) = { 0 };

	for (uint32_t i = 0; i < 10; i++)
		take(&list, 1, 100 + i, "futex", 0x1000 - i * 8, (i + 1) * SEC);
	take(&list, 1, 200, "futex", 0xabc0, SEC);
	take(&list, 1, 201, "futex", 0xabc0, SEC);
	take(&list, 2, 300, "futex", 0x1000, 3 * SEC);
	in_flight_fold(&list, 99);
	assert_int_equal(list.count, 3);
	assert_has(&list.items[0], others, 9, apart, true);
	assert_int_equal(list.items[0].thread.tid, 109);
	assert_has(&list.items[1], others, 0, apart, false);
	assert_has(&list.items[2], others, 1, apart, false);
}

/* Whoever reads the list finds the holder of a lock beside those that wait for him. */
TEST(test_other_stacks_are_other_items)
{
	struct in_flight list __cleanup(in_flight_done) = { 0 };
	const struct flight *idle;

	for (uint32_t i = 0; i < 6; i++) {
		take(&list, 1, 100 + i, "futex", 0x1000 + i * 8, (10 - i) * SEC);
		list.items[i].stack_id = i % 3;
	}
	in_flight_fold(&list, 99);
	assert_int_equal(list.count, 3);
	idle = &list.items[1];
	assert_has(idle, stack_id, 1, others, 1, apart, true, nr_members, 1);
	assert_int_equal(idle->thread.tid, 101);
	assert_int_equal(idle->members[0].tid, 104);
	assert_string_equal(idle->members[0].comm, "worker");
}

/* Stacks are wanted of all threads of the kinds that may be shown, and the first of each is due. */
TEST(test_what_is_wanted)
{
	struct in_flight list __cleanup(in_flight_done) = { 0 };

	take(&list, 1, 1, "read", 3, 5 * SEC);
	take(&list, 1, 2, "futex", 0x1000, 7 * SEC);
	take(&list, 1, 3, "read", 4, 6 * SEC);
	take(&list, 1, 4, "futex", 0x2000, 1 * SEC);
	assert_int_equal(in_flight_sort(&list, 2), 0);
	assert_has(&list.items[0], thread.tid, 2, is_wanted, true, is_due, true);
	assert_has(&list.items[1], thread.tid, 3, is_wanted, true, is_due, true);
	assert_has(&list.items[2], thread.tid, 1, is_wanted, false, is_due, false);
	assert_has(&list.items[3], thread.tid, 4, is_wanted, true, is_due, false);
}

/* Only so many members are kept. */
TEST(test_a_crowd)
{
	struct in_flight list __cleanup(in_flight_done) = { 0 };

	for (uint32_t i = 0; i < 1000; i++)
		take(&list, 1, 2000 - i, "futex", 0x1000 + i * 8, (1000 - i) * SEC);
	in_flight_fold(&list, 99);
	assert_int_equal(list.count, 1);
	assert_has(&list.items[0], thread.tid, 2000, others, 999, nr_members, MAX_FLIGHT_MEMBERS);
	assert_true(list.items[0].members[0].tid < list.items[0].members[1].tid);
}

TEST(test_nothing)
{
	struct in_flight list __cleanup(in_flight_done) = { 0 };

	in_flight_fold(&list, 99);
	assert_int_equal(list.count, 0);
}

/* More facts than there is room for are freed; see the leak sanitizer. */
TEST(test_many_facts)
{
	struct in_flight list __cleanup(in_flight_done) = { 0 };

	take(&list, 1, 1, "read", 3, SEC);
	for (int i = 0; i < 100; i++)
		flight_add_fact(&list.items[0], "file", strdup("x"));
	flight_add_fact(&list.items[0], "file", NULL);
	assert_int_equal(list.items[0].nr_facts, MAX_FLIGHT_FACTS);
}

/* All arguments, as long as they can be, fit. */
TEST(test_arguments)
{
	struct flight flight = { .thread = thread_in(1, 1, "read", UINT64_MAX, SEC) };
	char text[FLIGHT_ARGUMENTS_MAX];

	flight_arguments(&flight, text, sizeof(text));
	assert_string_equal(text, "-1, 0x7001, 64");
	flight.thread.nr = syscall_find(ABI_OF_TESTS, "futex");
	flight.thread.arguments[1] = 128;
	flight_arguments(&flight, text, sizeof(text));
	assert_string_equal(text, "0xffffffffffffffff, FUTEX_WAIT_PRIVATE, 64, 0, 0, 0");
	flight.thread.nr = syscall_find(ABI_OF_TESTS, "openat");
	flight.thread.arguments[0] = (uint32_t)AT_FDCWD;
	flight.thread.arguments[2] = O_CREAT | O_RDWR;
	flight.thread.arguments[3] = 0644;
	flight_arguments(&flight, text, sizeof(text));
	assert_string_equal(text, "AT_FDCWD, 0x80, O_RDWR|O_CREAT, 0644");
	flight.thread.nr = 100000;
	memset(flight.thread.arguments, 0xff, sizeof(flight.thread.arguments));
	flight_arguments(&flight, text, sizeof(text));
	assert_int_equal(strlen(text), 6 * 18 + 5 * 2);
}

/* Whatever is called like that, nobody can write to the terminal. */
static void take_hostile(struct in_flight *list)
{
	struct flight *flight;

	take(list, 7, 8, "read", 3, 3 * 3600 * SEC + 700 * SEC);
	take_outside(list, 9, 9, LISTED_STOPPED);
	take(list, 7, 9, "read", 5, 0);
	take(list, 7, 10, "read", 6, 0);
	in_flight_fold(list, 99);
	flight = &list->items[0];
	memcpy(flight->comm, "ev\x1b[2J\nil", 10);
	memcpy(flight->thread.comm,
	       "0123\xff\xc2\x9b"
	       "6789abcdef",
	       16);
	flight_add_fact(flight, "file", strdup("3: /tmp/a\nb\x1b[31m"));
	flight_add_fact(flight, "lock_held_by", strdup("12 (x\r): FLOCK, WRITE"));
	flight->kernel = strdup("pipe_read\nvfs_read\n");
	flight->module = strdup("li\nb.so");
	flight->offset = 0x1234;
	flight->others = 20;
	flight->nr_members = 11;
	flight->members = calloc(flight->nr_members, sizeof(*flight->members));
	assert_non_null(flight->members);
	for (uint32_t i = 0; i < flight->nr_members; i++)
		flight->members[i] = (struct flight_member){ .tid = 20 + i, .comm = "i\x1b[0m" };
	memcpy(flight->members[1].comm, flight->thread.comm, sizeof(flight->thread.comm));
	list->items[1].moved = true;
	list->items[2].gone = true;
	list->shown = 3;
	list->real_ns = 1769904000 * (int64_t)SEC;
}

/* Enough frames that the outermost ones are only counted. */
#define MANY_FRAMES 33

static void take_stack(struct in_flight *list, struct flight *flight)
{
	struct stack_frame frames[MANY_FRAMES];
	struct stack stack = {
		.id = 1, .end = STACK_NO_RULE, .nr_frames = MANY_FRAMES, .frames = frames
	};

	assert_int_equal(stack_table_new(&list->stacks), 0);
	for (int i = 0; i < MANY_FRAMES; i++)
		frames[i] = (struct stack_frame){ .module = "li\nb.so", .offset = 16 };
	frames[0].symbol = "read\x1b[31m";
	frames[1] = (struct stack_frame){ .offset = 0x7f0000001234 };
	for (int i = 0; i < MANY_FRAMES; i++) {
		stack_table_intern(list->stacks, frames[i].module, &frames[i].module);
		stack_table_intern(list->stacks, frames[i].symbol, &frames[i].symbol);
	}
	assert_int_equal(stack_table_put(list->stacks, &stack), 0);
	flight->stack = stack_table_find(list->stacks, 1);
	flight->stack_id = 1;
}

TEST(test_text_with_a_stack)
{
	struct in_flight list __cleanup(in_flight_done) = { 0 };

	take_hostile(&list);
	take_stack(&list, &list.items[0]);
	list.stacks_left_out = 1;
	golden_render("in_flight_stack_text", report_in_flight, &list);
	golden_render("in_flight_stack_json", report_in_flight_json, &list);
}

TEST(test_text)
{
	struct in_flight list __cleanup(in_flight_done) = { 0 };

	take_hostile(&list);
	golden_render("in_flight_text", report_in_flight, &list);
	golden_render("in_flight_json", report_in_flight_json, &list);
}
