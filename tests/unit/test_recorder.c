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

/* --- copies ------------------------------------------------------------------------------------- */

#define COPY_SIZE 40000

/* Whatever is copied piece by piece is the same recording. */
TEST(test_copies)
{
	struct recorder *from __cleanup(recorder_freep) = NULL;
	struct recorder *to __cleanup(recorder_freep) = NULL;
	_Alignas(8) static unsigned char bytes[COPY_SIZE];
	struct recorder_entry one, other;
	uint64_t position = 0, at = 0, here = 0, seed = 17;
	struct made made;
	size_t size;

	assert_int_equal(recorder_new(RECORDER_BYTES_MIN, &from), 0);
	assert_int_equal(recorder_new(2 * RECORDER_BYTES_MIN, &to), 0);
	for (uint64_t number = 1; number <= 700; number++) {
		make(&made, number, random_below(&seed, 500));
		made.record.end_ns = number;
		assert_int_equal(recorder_add(from, &made.record), 0);
		if (number % 100 == 0)
			recorder_mark(from, number);
	}
	recorder_break(from);
	while ((size = recorder_copy(from, &position, bytes, COPY_SIZE)))
		assert_int_equal(recorder_add_copy(to, bytes, size), 0);
	assert_int_equal(position, recorder_end(from));
	assert_int_equal(recorder_start(to), recorder_start(from));
	while (recorder_next(from, &at, &one)) {
		assert_true(recorder_next(to, &here, &other));
		assert_int_equal(one.horizon_ns, other.horizon_ns);
		assert_int_equal(!one.record, !other.record);
		if (one.record)
			assert_memory_equal(one.record, other.record, one.record->size);
	}
	assert_int_equal(one.horizon_ns, RECORDER_BREAK);
	assert_false(recorder_next(to, &here, &other));
	recorder_note_gone(to, recorder_counts(from)->overwritten, recorder_counts(from)->gone_ns);
	assert_has(recorder_counts(to), recorded, 700, overwritten,
		   recorder_counts(from)->overwritten, gone_ns, recorder_counts(from)->gone_ns);
}

/* A position that was never given out leads to nonsense at most, and never beyond the memory. */
RECORDER_TEST(test_positions_that_are_none, 0)
{
	_Alignas(8) static unsigned char bytes[COPY_SIZE];
	struct made made;

	for (uint64_t number = 1; number <= 1000; number++)
		assert_int_equal(recorder_add(*given, make(&made, number, number % 300)), 0);
	for (uint64_t from = 0; from < recorder_end(*given) + 100; from++) {
		uint64_t position = from;

		assert_true(recorder_copy(*given, &position, bytes, COPY_SIZE) <= COPY_SIZE);
		assert_true(position <= recorder_end(*given) || position <= from);
	}
}

/* Whatever a daemon sends: it is refused, or the records are whole. */
RECORDER_TEST(test_copies_of_nonsense, 0)
{
	_Alignas(8) unsigned char bytes[1024];
	struct call_record *record = (struct call_record *)bytes;
	struct made made;

	make(&made, 1, 32);
	memcpy(bytes, &made, made.record.size);
	assert_int_equal(recorder_add_copy(*given, bytes, made.record.size), 0);
	assert_int_equal(recorder_add_copy(*given, bytes, made.record.size - 8), -EINVAL);
	assert_int_equal(recorder_add_copy(*given, bytes, made.record.size + 8), -EINVAL);
	record->record = UINT32_MAX;
	assert_int_equal(recorder_add_copy(*given, bytes, made.record.size), -EINVAL);
	record->record = 0;
	record->number = 0;
	assert_int_equal(recorder_add_copy(*given, bytes, made.record.size), -EINVAL);
	for (uint64_t seed = 1; seed < 20000; seed++) {
		uint64_t random = seed;

		for (size_t i = 0; i < sizeof(bytes); i += 8)
			*(uint64_t *)(bytes + i) = random_u64(&random);
		record->size = (uint32_t)random_below(&random, 2 * sizeof(bytes));
		recorder_add_copy(*given, bytes, sizeof(bytes));
	}
}
