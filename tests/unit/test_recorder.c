/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that the newest records are kept, whole and in order, and the others counted. */
#include "test.h"

#include "calls/recorder.h"

/* A record with so many bytes behind it, which its number tells. */
struct made {
	struct call_record record;
	unsigned char bytes[RECORDER_RECORD_MAX];
};

static const struct call_record *make(struct made *made, uint64_t number, size_t extra)
{
	made->record = (struct call_record){
		.size = (uint32_t)(sizeof(made->record) + extra),
		.number = number,
		.end_ns = 1000 + number,
	};
	for (size_t i = 0; i < extra; i++)
		made->bytes[i] = (unsigned char)(number * 31 + i);
	return &made->record;
}

static void check_record(const struct call_record *record, uint64_t number, size_t extra)
{
	const unsigned char *bytes = (const unsigned char *)(record + 1);

	assert_has(record, number, number, end_ns, 1000 + number, size, sizeof(*record) + extra);
	for (size_t i = 0; i < extra; i++)
		assert_int_equal(bytes[i], (unsigned char)(number * 31 + i));
}

static void recorder_begin(struct recorder **recorder, size_t bytes)
{
	assert_int_equal(recorder_new(bytes, recorder), 0);
}

#define RECORDER_TEST(name, bytes) \
	TEST_OF(name, struct recorder *, given, recorder_freep, recorder_begin, bytes)

RECORDER_TEST(test_nothing, 1 << 20)
{
	struct recorder_entry entry;
	uint64_t position = 0;

	assert_false(recorder_next(*given, &position, &entry));
	recorder_mark(*given, 17);
	assert_false(recorder_next(*given, &position, &entry));
	assert_has(recorder_counts(*given), recorded, 0, overwritten, 0, gone_ns, 0);
}

/* Marks stand between records, and only behind new ones. */
RECORDER_TEST(test_marks, 1 << 20)
{
	struct recorder_entry entry;
	uint64_t position = 0;
	struct made made;

	assert_int_equal(recorder_add(*given, make(&made, 1, 5)), 0);
	recorder_mark(*given, 4711);
	recorder_mark(*given, 4712);
	assert_int_equal(recorder_add(*given, make(&made, 2, 0)), 0);
	assert_true(recorder_next(*given, &position, &entry));
	check_record(entry.record, 1, 5);
	assert_true(recorder_next(*given, &position, &entry));
	assert_null(entry.record);
	assert_int_equal(entry.horizon_ns, 4711);
	assert_true(recorder_next(*given, &position, &entry));
	check_record(entry.record, 2, 0);
	assert_false(recorder_next(*given, &position, &entry));
	/* Later entries are found from there on. */
	assert_int_equal(recorder_add(*given, make(&made, 3, 1)), 0);
	assert_true(recorder_next(*given, &position, &entry));
	check_record(entry.record, 3, 1);
}

RECORDER_TEST(test_nonsense, 1 << 20)
{
	struct made made;

	make(&made, 1, 0);
	made.record.size--;
	assert_int_equal(recorder_add(*given, &made.record), -EINVAL);
	made.record.size = RECORDER_RECORD_MAX + 1;
	assert_int_equal(recorder_add(*given, &made.record), -EINVAL);
	made.record.size = 0;
	assert_int_equal(recorder_add(*given, &made.record), -EINVAL);
	made.record.size = UINT32_MAX;
	assert_int_equal(recorder_add(*given, &made.record), -EINVAL);
	assert_has(recorder_counts(*given), recorded, 0, overwritten, 0);
}

/* --- against a list that keeps all -------------------------------------------------------------- */

#define STEPS 60000

struct kept {
	uint32_t extra[STEPS + 1]; /* by number */
	uint64_t marks[STEPS + 1]; /* behind a record: 0 is none */
};

/* The entries are the newest records, none of them missing, and their marks. Returns their bytes. */
static size_t recorder_check(const struct recorder *recorder, const struct kept *kept,
			     uint64_t newest)
{
	const struct recorder_counts *counts = recorder_counts(recorder);
	struct recorder_entry entry;
	uint64_t position = 0, number = counts->overwritten;
	size_t bytes = 0;

	assert_int_equal(counts->recorded, newest);
	assert_int_equal(counts->gone_ns, number ? 1000 + number : 0);
	while (recorder_next(recorder, &position, &entry)) {
		if (!entry.record) {
			assert_int_equal(entry.horizon_ns, kept->marks[number]);
			bytes += 16;
			continue;
		}
		number++;
		check_record(entry.record, number, kept->extra[number]);
		bytes += (entry.record->size + 7UL) / 8 * 8;
	}
	assert_int_equal(number, newest);
	return bytes;
}

static void check_by_chance(size_t size, size_t longest)
{
	struct recorder *recorder __cleanup(recorder_freep) = NULL;
	static struct kept kept;
	uint64_t seed = size + longest;
	struct made made;
	size_t bytes;

	assert_int_equal(recorder_new(size, &recorder), 0);
	kept = (struct kept){ .marks = { 0 } };
	for (uint64_t number = 1; number <= STEPS; number++) {
		size_t extra = random_below(&seed, longest + 1);

		kept.extra[number] = (uint32_t)extra;
		assert_int_equal(recorder_add(recorder, make(&made, number, extra)), 0);
		if (random_below(&seed, 3) == 0) {
			kept.marks[number] = random_u64(&seed);
			recorder_mark(recorder, kept.marks[number]);
		}
		if (random_below(&seed, 2000) && number != STEPS)
			continue;
		bytes = recorder_check(recorder, &kept, number);
		assert_true(bytes <= size);
		/* Full, but for what one more record takes, and the end of the memory that one did not fit in. */
		if (recorder_counts(recorder)->overwritten)
			assert_true(bytes + 2 * (sizeof(made.record) + longest + 16) > size);
	}
	assert_true(recorder_counts(recorder)->overwritten > 0);
}

TEST(test_by_chance)
{
	check_by_chance(RECORDER_BYTES_MIN, 0);
	check_by_chance(RECORDER_BYTES_MIN, 300);
	check_by_chance(RECORDER_BYTES_MIN + 8, RECORDER_RECORD_MAX - sizeof(struct call_record));
	check_by_chance(RECORDER_BYTES_MIN + 7777, 2000);
	check_by_chance(1 << 20, 1024);
}

/* Each is as long as the memory has room for four times: only three fit behind one that is shorter. */
RECORDER_TEST(test_longest, 0)
{
	struct recorder_entry entry;
	uint64_t position = 0;
	struct made made;

	for (uint64_t number = 1; number <= 40; number++)
		assert_int_equal(recorder_add(*given, make(&made, number,
							   RECORDER_RECORD_MAX -
								   sizeof(struct call_record))),
				 0);
	assert_has(recorder_counts(*given), recorded, 40, overwritten, 36);
	for (uint64_t number = 37; number <= 40; number++) {
		assert_true(recorder_next(*given, &position, &entry));
		assert_int_equal(entry.record->number, number);
	}
	assert_false(recorder_next(*given, &position, &entry));
	assert_int_equal(recorder_add(*given, make(&made, 41, 0)), 0);
	assert_has(recorder_counts(*given), recorded, 41, overwritten, 37);
	assert_int_equal(
		recorder_add(*given,
			     make(&made, 42, RECORDER_RECORD_MAX - sizeof(struct call_record))),
		0);
	assert_has(recorder_counts(*given), recorded, 42, overwritten, 38);
}
