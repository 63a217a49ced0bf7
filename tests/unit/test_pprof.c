/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The profile for pprof, read back by a decoder of our own: as text for the golden files, and
 * whether all numbers refer to something. tests/readers lets other programs read what is written
 * here to SAMPLES_DIR.
 */
#include "stack_scenarios.h"

#include <ctype.h>
#include <zlib.h>

#include "report/protobuf.h"

/* --- decoding --- */

struct span {
	const unsigned char *at, *end;
};

static uint64_t read_varint(struct span *bytes)
{
	uint64_t value = 0;

	for (unsigned int shift = 0;; shift += 7) {
		assert_true(bytes->at < bytes->end && shift < 64);
		value |= (uint64_t)(*bytes->at & 0x7f) << shift;
		if (!(*bytes->at++ & 0x80))
			return value;
	}
}

struct field {
	unsigned int number;
	uint64_t value;    /* of a varint */
	struct span bytes; /* of the rest; at is NULL for a varint */
};

static bool read_field(struct span *bytes, struct field *field)
{
	uint64_t key, size;

	if (bytes->at == bytes->end)
		return false;
	key = read_varint(bytes);
	*field = (struct field){ .number = (unsigned int)(key >> 3) };
	if ((key & 7) == 0) {
		field->value = read_varint(bytes);
		return true;
	}
	assert_int_equal(key & 7, 2);
	size = read_varint(bytes);
	assert_true(size <= (uint64_t)(bytes->end - bytes->at));
	field->bytes = (struct span){ bytes->at, bytes->at + size };
	bytes->at += size;
	return true;
}

/* --- the profile as text --- */

#define STRINGS_MAX 512

struct profile {
	struct span all, strings[STRINGS_MAX]; /* all is owned */
	size_t nr_strings;
	uint64_t nr[128], ids[128]; /* messages of each kind: all, and those read so far */
	uint64_t sums[4];
};

static void profile_done(struct profile *profile)
{
	free((void *)profile->all.at);
}

/*
 * The kinds of a message's fields, in the order of their numbers. A capital letter is a message of
 * that kind and a small one the id of such; "m" may be 0, for none. "i" is the id of this message,
 * "v" values, "s" the index of a string, "t" a string, "x" an address and "n" any other number.
 */
static const struct {
	const char *name, *fields;
} kinds[128] = {
	['P'] = { "profile", "TSMLFt--nnTn-s" },
	['T'] = { "type", "ss" },
	['S'] = { "sample", "lvB" },
	['B'] = { "label", "ssn" },
	['M'] = { "mapping", "i---s-n" },
	['L'] = { "location", "imxC" },
	['C'] = { "line", "f" },
	['F'] = { "function", "iss" },
};

static char field_kind(char kind, const struct field *field)
{
	assert_in_range(field->number, 1, strlen(kinds[(int)kind].fields));
	return kinds[(int)kind].fields[field->number - 1];
}

static void write_value(struct profile *profile, char kind, char what, uint64_t value, FILE *out)
{
	if (what == 's') {
		assert_true(value < profile->nr_strings);
		fprintf(out, " \"%.*s\"",
			(int)(profile->strings[value].end - profile->strings[value].at),
			profile->strings[value].at);
		return;
	}
	fprintf(out, what == 'x' ? " 0x%" PRIx64 : " %" PRIu64, value);
	if (what == 'i')
		assert_int_equal(value, ++profile->ids[(int)kind]);
	else if (strchr("lfm", what))
		assert_in_range(value, what != 'm', profile->nr[toupper(what)]);
}

static void write_field(struct profile *profile, char kind, struct field *field, FILE *out)
{
	const char what = field_kind(kind, field);
	size_t i = 0;

	fprintf(out, "%u:", field->number);
	if (!field->bytes.at)
		return write_value(profile, kind, what, field->value, out);
	for (; field->bytes.at < field->bytes.end; i++) {
		const uint64_t value = read_varint(&field->bytes);

		write_value(profile, kind, what, value, out);
		if (what == 'v')
			profile->sums[i % 4] += value;
	}
	assert_true(what != 'v' || i == 4);
}

/* Writes a message on a line, with those in it. */
static void write_message(struct profile *profile, char kind, struct span message, FILE *out)
{
	struct field field;

	fputs(kinds[(int)kind].name, out);
	while (read_field(&message, &field)) {
		const char what = field_kind(kind, &field);

		if (what == 't')
			continue;
		fputc(kind == 'P' ? '\n' : ' ', out);
		if (kinds[(int)what].name)
			write_message(profile, what, field.bytes, out);
		else
			write_field(profile, kind, &field, out);
	}
}

/* First what others refer to: it may stand behind them. */
static void profile_scan(struct profile *profile)
{
	struct span all = profile->all;
	struct field field;

	while (read_field(&all, &field)) {
		profile->nr[(int)field_kind('P', &field)]++;
		if (field.number != 6)
			continue;
		assert_true(profile->nr_strings < STRINGS_MAX);
		profile->strings[profile->nr_strings++] = field.bytes;
	}
	assert_true(profile->nr_strings > 0);
	assert_ptr_equal(profile->strings[0].at, profile->strings[0].end);
}

/* The profile of a snapshot as text, to be freed. */
static char *profile_text(struct profile *profile)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	profile_scan(profile);
	write_message(profile, 'P', profile->all, out);
	fputc('\n', out);
	assert_int_equal(fclose(out), 0);
	return text;
}

/* --- unpacking --- */

static void gunzip(const char *packed, size_t size, struct profile *profile)
{
	z_stream stream = { .next_in = (unsigned char *)packed, .avail_in = (uInt)size };

	profile->all.at = stream.next_out = calloc(1, 1 << 20);
	stream.avail_out = 1 << 20;
	assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
	assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
	assert_int_equal(stream.avail_in, 0);
	profile->all.end = profile->all.at + stream.total_out;
	inflateEnd(&stream);
}

static void profile_check(const struct snapshot *snapshot, const char *name)
{
	__cleanup(profile_done) struct profile profile = { .nr_strings = 0 };
	__cleanup(freep) char *packed = NULL, *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&packed, &size);
	const struct row sum = snapshot_sum(snapshot);
	char file[64];

	snprintf(file, sizeof(file), "%s.pb.gz", name);
	assert_int_equal(report_pprof(snapshot, out), 0);
	assert_int_equal(fclose(out), 0);
	sample_write(file, packed, size);
	gunzip(packed, size, &profile);
	text = profile_text(&profile);
	golden_check(name, text);
	assert_has(&profile, sums[0], sum.calls, sums[1], sum.wall_ns, sums[2], row_cpu_ns(&sum),
		   sums[3], sum.errors);
}

STACKS_TEST(test_golden, scenario_stacks())
{
	__cleanup(stacked_done) struct stacked stacked = scenario_stacks_hostile();
	__cleanup(stacked_done) struct stacked empty = scenario_stacks_empty();

	profile_check(snapshot, "pprof_stacks");
	profile_check(stacked.snapshot, "pprof_hostile");
	profile_check(empty.snapshot, "pprof_empty");
	assert_full(report_pprof, snapshot);
}

/* --- the encoder --- */

TEST(test_varints)
{
	static const struct {
		uint64_t value;
		const char *bytes;
		size_t size;
	} cases[] = {
		{ 1, "\x08\x01", 2 },
		{ 127, "\x08\x7f", 2 },
		{ 128, "\x08\x80\x01", 3 },
		{ 300, "\x08\xac\x02", 3 },
		{ UINT64_MAX, "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11 },
		{ 0, "", 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		__cleanup(protobuf_done) struct protobuf message = { .size = 0 };

		protobuf_add_uint(&message, 1, cases[i].value);
		assert_has(&message, err, 0, size, cases[i].size);
		if (message.size)
			assert_memory_equal(message.bytes, cases[i].bytes, message.size);
	}
}

TEST(test_nesting)
{
	static const uint64_t values[] = { 0, 1, 300 };
	__cleanup(protobuf_done) struct protobuf inner = { .size = 0 }, outer = { .size = 0 };

	protobuf_add_bytes(&inner, 20, "hi", 2);
	protobuf_add_packed(&inner, 2, values, ARRAY_SIZE(values));
	protobuf_add_packed(&inner, 3, values, 0);
	protobuf_add_message(&outer, 1, &inner);
	protobuf_add_bytes(&outer, 2, "", 0);
	assert_has(&outer, err, 0, size, 15);
	assert_memory_equal(outer.bytes, "\x0a\x0b\xa2\x01\x02hi\x12\x04\x00\x01\xac\x02\x12\x00",
			    15);
	/* A failure stays, and spreads. */
	inner.err = -ENOMEM;
	protobuf_add_message(&outer, 1, &inner);
	assert_int_equal(outer.err, -ENOMEM);
}
