/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests which descriptors are known to have been others before. */
#include "call_fixture.h"

#include "calls/descriptors.h"
#include "calls/replaced.h"

static void note(struct replaced *replaced, uint32_t pid, const char *call, uint64_t first,
		 uint64_t second)
{
	const uint64_t arguments[CALL_ARGUMENTS] = { first, second };
	static struct record_made made;

	record_begin(&made, ABI_X86_64, call, arguments, 0);
	record_of(&made)->pid = pid;
	replaced_note(replaced, record_of(&made));
}

static void replaced_begin(struct replaced **replaced)
{
	assert_int_equal(replaced_new(replaced), 0);
}

#define REPLACED_TEST(name) TEST_OF(name, struct replaced *, given, replaced_freep, replaced_begin)

REPLACED_TEST(test_nothing)
{
	replaced_settle(*given);
	assert_false(replaced_has(*given, 100, 3));
}

REPLACED_TEST(test_single_ones)
{
	note(*given, 100, "close", 3, 9);
	note(*given, 100, "close", 3, 9);
	note(*given, 101, "dup2", 4, 5);
	note(*given, 102, "dup3", 6, 7);
	note(*given, 103, "fchdir", 8, 0);
	note(*given, 99, "read", 3, 0);
	note(*given, 99, "dup", 3, 0);
	replaced_settle(*given);
	assert_all(replaced_has(*given, 100, 3), replaced_has(*given, 101, 5),
		   replaced_has(*given, 102, 7), replaced_has(*given, 103, DESCRIPTOR_CWD));
	assert_all(!replaced_has(*given, 100, 9), !replaced_has(*given, 101, 4),
		   !replaced_has(*given, 102, 6), !replaced_has(*given, 103, 8),
		   !replaced_has(*given, 99, 3), !replaced_has(*given, 100, DESCRIPTOR_CWD));
}

REPLACED_TEST(test_all_of_a_process)
{
	static const char *const calls[] = { "execve", "execveat", "close_range", "unshare",
					     "exit_group" };

	for (uint32_t i = 0; i < ARRAY_SIZE(calls); i++)
		note(*given, 100 + i, calls[i], 1, 2);
	replaced_settle(*given);
	for (uint32_t i = 0; i < ARRAY_SIZE(calls); i++)
		assert_true(replaced_has(*given, 100 + i, 77) &&
			    replaced_has(*given, 100 + i, DESCRIPTOR_CWD));
	assert_false(replaced_has(*given, 99, 1));
}

/* The number of close() is another call's elsewhere. */
REPLACED_TEST(test_numbers_of_other_abis)
{
	const uint64_t arguments[CALL_ARGUMENTS] = { 3 };
	static struct record_made made;

	record_begin(&made, ABI_I386, "close", arguments, 0);
	replaced_note(*given, record_of(&made));
	record_of(&made)->abi = ABI_X86_64;
	record_of(&made)->pid++;
	replaced_note(*given, record_of(&made));
	record_of(&made)->abi = NR_SYSCALL_ABI;
	record_of(&made)->pid++;
	replaced_note(*given, record_of(&made));
	record_of(&made)->nr = -1;
	replaced_note(*given, record_of(&made));
	replaced_settle(*given);
	assert_true(replaced_has(*given, 100, 3));
	assert_false(replaced_has(*given, 101, 3));
	assert_false(replaced_has(*given, 102, 3));
}
