/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The profile for pprof, read back by a decoder of our own: as text for the golden files, and
 * whether all numbers refer to something. tests/readers lets other programs read what is written
 * here to SAMPLES_DIR.
 */
#include "stack_scenarios.h"

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
	char *raw; /* owned */
	size_t size;
	struct span strings[STRINGS_MAX];
	size_t nr_strings;
	uint64_t nr_mappings, nr_locations, nr_functions;
	uint64_t sums[4];
};

static void profile_done(struct profile *profile)
{
	free(profile->raw);
}

/* Reads what a message has in its fields below 16, for fields that come once. */
static void read_scalars(struct span message, uint64_t values[16])
{
	struct field field;

	memset(values, 0, 16 * sizeof(*values));
	while (read_field(&message, &field)) {
		assert_true(field.number < 16);
		values[field.number] = field.value;
	}
}

static void write_string(const struct profile *profile, uint64_t index, FILE *out)
{
	assert_true(index < profile->nr_strings);
	fprintf(out, " \"%.*s\"", (int)(profile->strings[index].end - profile->strings[index].at),
		profile->strings[index].at);
}

static void write_label(struct profile *profile, struct span message, FILE *out)
{
	uint64_t values[16];

	read_scalars(message, values);
	fputs(" ", out);
	write_string(profile, values[1], out);
	fputs(":", out);
	if (values[2])
		write_string(profile, values[2], out);
	else
		fprintf(out, " %" PRIu64, values[3]);
}

static void write_sample(struct profile *profile, struct span message, FILE *out)
{
	struct field field;
	size_t nr_values = 0;

	fputs("sample", out);
	while (read_field(&message, &field)) {
		struct span list = field.bytes;

		if (field.number == 3) {
			write_label(profile, field.bytes, out);
			continue;
		}
		fputs(field.number == 1 ? " at" : " values", out);
		while (list.at < list.end) {
			uint64_t value = read_varint(&list);

			fprintf(out, " %" PRIu64, value);
			if (field.number == 1)
				assert_in_range(value, 1, profile->nr_locations);
			else
				profile->sums[nr_values++] += value;
		}
	}
	assert_int_equal(nr_values, 4);
	fputc('\n', out);
}

static void write_location(struct profile *profile, struct span message, FILE *out)
{
	uint64_t values[16], line[16];
	struct field field;

	read_scalars(message, values);
	assert_true(values[2] <= profile->nr_mappings);
	fprintf(out, "location %" PRIu64 " mapping %" PRIu64 " address 0x%" PRIx64 " functions",
		values[1], values[2], values[3]);
	while (read_field(&message, &field)) {
		if (field.number != 4)
			continue;
		read_scalars(field.bytes, line);
		assert_in_range(line[1], 1, profile->nr_functions);
		fprintf(out, " %" PRIu64, line[1]);
	}
	fputc('\n', out);
}

static void write_named(struct profile *profile, const char *title, struct span message,
			unsigned int name, FILE *out)
{
	uint64_t values[16];

	read_scalars(message, values);
	fprintf(out, "%s %" PRIu64, title, values[1]);
	write_string(profile, values[name], out);
	fputc('\n', out);
}

static void write_message(struct profile *profile, const struct field *field, FILE *out)
{
	uint64_t values[16];

	if (field->number == 1) {
		read_scalars(field->bytes, values);
		fputs("type", out);
		write_string(profile, values[1], out);
		write_string(profile, values[2], out);
		fputc('\n', out);
	} else if (field->number == 2) {
		write_sample(profile, field->bytes, out);
	} else if (field->number == 3) {
		write_named(profile, "mapping", field->bytes, 5, out);
	} else if (field->number == 4) {
		write_location(profile, field->bytes, out);
	} else if (field->number == 5) {
		write_named(profile, "function", field->bytes, 2, out);
	} else if (field->number != 6) {
		fprintf(out, "field %u: %" PRIu64 "\n", field->number, field->value);
	}
}

/* First what others refer to: it may stand behind them. Ids count from 1 in order. */
static void profile_scan(struct profile *profile)
{
	struct span all = { (unsigned char *)profile->raw,
			    (unsigned char *)profile->raw + profile->size };
	uint64_t *counts[16] = { [3] = &profile->nr_mappings,
				 [4] = &profile->nr_locations,
				 [5] = &profile->nr_functions };
	struct field field;
	uint64_t values[16];

	while (read_field(&all, &field)) {
		assert_true(field.number < 16);
		if (field.number == 6) {
			assert_true(profile->nr_strings < STRINGS_MAX);
			profile->strings[profile->nr_strings++] = field.bytes;
		}
		if (!counts[field.number])
			continue;
		read_scalars(field.bytes, values);
		assert_int_equal(values[1], ++*counts[field.number]);
	}
	assert_true(profile->nr_strings > 0);
	assert_ptr_equal(profile->strings[0].at, profile->strings[0].end);
}

/* The profile of a snapshot as text, to be freed. */
static char *profile_text(struct profile *profile)
{
	struct span all = { (unsigned char *)profile->raw,
			    (unsigned char *)profile->raw + profile->size };
	struct field field;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	profile_scan(profile);
	while (read_field(&all, &field))
		write_message(profile, &field, out);
	assert_int_equal(fclose(out), 0);
	return text;
}

/* --- unpacking --- */

static void gunzip(const char *packed, size_t size, struct profile *profile)
{
	z_stream stream = { .next_in = (unsigned char *)packed, .avail_in = (uInt)size };

	profile->raw = calloc(1, 1 << 20);
	stream.next_out = (unsigned char *)profile->raw;
	stream.avail_out = 1 << 20;
	assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
	assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
	assert_int_equal(stream.avail_in, 0);
	profile->size = stream.total_out;
	inflateEnd(&stream);
}

static void profile_make(const struct snapshot *snapshot, const char *name, struct profile *ret)
{
	__cleanup(freep) char *packed = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&packed, &size);

	assert_int_equal(report_pprof(snapshot, out), 0);
	assert_int_equal(fclose(out), 0);
	sample_write(name, packed, size);
	gunzip(packed, size, ret);
}

static void profile_check(const struct snapshot *snapshot, const char *name)
{
	__cleanup(profile_done) struct profile profile = { .size = 0 };
	__cleanup(freep) char *text = NULL;
	const struct row sum = snapshot_sum(snapshot);
	char file[64];

	snprintf(file, sizeof(file), "%s.pb.gz", name);
	profile_make(snapshot, file, &profile);
	text = profile_text(&profile);
	golden_check(name, text);
	assert_has(&profile, sums[0], sum.calls, sums[1], sum.wall_ns, sums[2], row_cpu_ns(&sum),
		   sums[3], sum.errors);
}

STACKS_TEST(test_golden)
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
