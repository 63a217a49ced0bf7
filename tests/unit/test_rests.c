/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests which bytes belong to a call when numbers repeat and there are too many. */
#include "test.h"

#include "calls/rests.h"

static struct call_rest rest_of(uint32_t record, uint64_t number, uint64_t read_ns, uint64_t offset,
				uint8_t byte, bool is_cut)
{
	struct call_rest rest = {
		.call = { .size = sizeof(rest),
			  .flags = CALL_REST,
			  .record = record,
			  .number = number,
			  .end_ns = read_ns,
			  .arguments = { offset } },
		.piece = { .argument = 1, .flags = is_cut ? PIECE_CUT : 0, .size = REST_BYTES },
	};

	memset(rest.bytes, byte, sizeof(rest.bytes));
	return rest;
}

static void add(struct rests *rests, struct call_rest rest)
{
	rests_add(rests, &rest.call);
}

static int found(const struct rests *rests, uint32_t record, uint64_t number, uint64_t end_ns,
		 uint64_t offset)
{
	const struct call_record call = { .record = record, .number = number, .end_ns = end_ns };
	struct rest_bytes bytes;

	return rests_find(rests, &call, 1, PART_SELF, offset, &bytes) ? bytes.bytes[0] : -1;
}

TEST(test_bytes_of_a_call)
{
	__cleanup(rests_freep) struct rests *rests = NULL;

	assert_int_equal(rests_new(&rests), 0);
	/* The second record was read in another ring, before the first. */
	add(rests, rest_of(3, 7, 110, 32 + REST_BYTES, 'b', false));
	add(rests, rest_of(3, 7, 100, 32, 'a', true));
	add(rests, rest_of(3, 8, 200, 32, 'c', false));
	assert_int_equal(found(rests, 3, 7, 120, 32), 'a');
	assert_int_equal(found(rests, 3, 7, 120, 32 + REST_BYTES), 'b');
	assert_int_equal(found(rests, 3, 7, 120, 32 + 2 * REST_BYTES), -1);
	assert_int_equal(found(rests, 2, 7, 120, 32), -1);
	assert_int_equal(found(rests, 9, 7, 120, 32), -1);
	rests_forget(rests, &(struct call_record){ .record = 3, .number = 7, .end_ns = 120 });
	assert_int_equal(found(rests, 3, 7, 120, 32), -1);
	assert_int_equal(found(rests, 3, 8, 210, 32), 'c');
}

/* Numbers begin anew with each thread. */
TEST(test_the_next_thread_of_a_record)
{
	__cleanup(rests_freep) struct rests *rests = NULL;

	assert_int_equal(rests_new(&rests), 0);
	add(rests, rest_of(3, 1, 300, 32, 'n', false));
	/* Of the first thread, whose own bytes were lost. */
	assert_int_equal(found(rests, 3, 1, 250, 32), -1);
	rests_forget(rests, &(struct call_record){ .record = 3, .number = 99, .end_ns = 260 });
	assert_int_equal(found(rests, 3, 1, 310, 32), 'n');
}

TEST(test_too_many)
{
	__cleanup(rests_freep) struct rests *rests = NULL;
	const uint64_t most = RESTS_BYTES / REST_BYTES;

	assert_int_equal(rests_new(&rests), 0);
	for (uint64_t i = 1; i <= most; i++)
		add(rests, rest_of(0, i, i, 32, 'x', false));
	/* With what each takes besides, the older half had to go already. */
	assert_int_equal(found(rests, 0, most * 2 / 5, most, 32), -1);
	add(rests, rest_of(1, 1, most, 32, 'y', false));
	assert_int_equal(found(rests, 1, 1, most, 32), 'y');
	assert_int_equal(found(rests, 0, most, most, 32), 'x');
}
