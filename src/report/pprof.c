/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes the profile for pprof, a message Profile of its profile.proto. Things that samples share
 * are numbered when they first come up, and written at once; only the strings come last.
 * Invariant: string 0 is "", and other numbers begin with 1, as 0 means none.
 */
#include "report/report.h"

#include <limits.h>
#include <zlib.h>

#include "report/protobuf.h"

/* --- protocol buffers: after a failure nothing is added any more --------------------------------- */

enum wire_type {
	WIRE_VARINT = 0,
	WIRE_BYTES = 2,
};

void protobuf_done(struct protobuf *message)
{
	free(message->bytes);
	message->bytes = NULL;
}

static void append(struct protobuf *message, const void *bytes, size_t size)
{
	for (size_t i = 0; i < size && !message->err; i++) {
		if (array_grow(&message->bytes, message->size, 1))
			message->bytes[message->size++] = ((const unsigned char *)bytes)[i];
		else
			message->err = -ENOMEM;
	}
}

/* The lowest 7 bits first; the top bit of a byte says that more follow. */
static void append_varint(struct protobuf *message, uint64_t value)
{
	for (; value > 0x7f; value >>= 7)
		append(message, &(unsigned char){ (unsigned char)(value | 0x80) }, 1);
	append(message, &(unsigned char){ (unsigned char)value }, 1);
}

static void append_key(struct protobuf *message, unsigned int field, enum wire_type type)
{
	append_varint(message, (uint64_t)field << 3 | type);
}

void protobuf_add_uint(struct protobuf *message, unsigned int field, uint64_t value)
{
	if (!value)
		return;
	append_key(message, field, WIRE_VARINT);
	append_varint(message, value);
}

void protobuf_add_bytes(struct protobuf *message, unsigned int field, const void *bytes,
			size_t size)
{
	append_key(message, field, WIRE_BYTES);
	append_varint(message, size);
	append(message, bytes, size);
}

void protobuf_append(struct protobuf *message, const struct protobuf *other)
{
	if (other->err)
		message->err = other->err;
	append(message, other->bytes, other->size);
}

void protobuf_add_message(struct protobuf *message, unsigned int field,
			  const struct protobuf *inner)
{
	append_key(message, field, WIRE_BYTES);
	append_varint(message, inner->size);
	protobuf_append(message, inner);
}

void protobuf_add_packed(struct protobuf *message, unsigned int field, const uint64_t *values,
			 size_t count)
{
	struct protobuf packed __cleanup(protobuf_done) = { .size = 0 };

	for (size_t i = 0; i < count; i++)
		append_varint(&packed, values[i]);
	if (count)
		protobuf_add_message(message, field, &packed);
}

/* --- the profile -------------------------------------------------------------------------------- */

/* Fields of the messages. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING_TABLE = 6,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_DEFAULT_SAMPLE_TYPE = 14,

	VALUE_TYPE_TYPE = 1,
	VALUE_TYPE_UNIT = 2,

	SAMPLE_LOCATION_ID = 1,
	SAMPLE_VALUE = 2,
	SAMPLE_LABEL = 3,

	LABEL_KEY = 1,
	LABEL_STR = 2,
	LABEL_NUM = 3,

	THING_ID = 1, /* of mappings, locations and functions */

	MAPPING_FILENAME = 5,
	MAPPING_HAS_FUNCTIONS = 7,

	LOCATION_MAPPING_ID = 2,
	LOCATION_ADDRESS = 3,
	LOCATION_LINE = 4,

	LINE_FUNCTION_ID = 1,

	FUNCTION_NAME = 2,
	FUNCTION_SYSTEM_NAME = 3,
};

enum sample_type {
	SAMPLE_CALLS,
	SAMPLE_WALL,
	SAMPLE_CPU,
	SAMPLE_ERRORS,
	NR_SAMPLE_TYPE,
};

/* A string or a message that has a number: what it says, without that number. */
struct numbered {
	uint64_t id;
	size_t size;
	const void *bytes;
};

/* Most frames were there before: of so many it is remembered which location they are. */
#define NR_PLACES 8192

struct place {
	struct stack_frame frame;
	uint64_t location; /* 0: of no frame */
};

struct pprof {
	const struct snapshot *snapshot;
	struct protobuf profile, strings;
	/* Each field of the profile has one. */
	void *trees[PROFILE_STRING_TABLE + 1]; /* of struct numbered */
	uint64_t counts[PROFILE_STRING_TABLE + 1];
	struct stack_frame ends[NR_VIEW_END]; /* what incomplete stacks end with */
	uint64_t *locations;                  /* of a sample; owned */
	struct place *places;                 /* owned */
};

static void pprof_done(struct pprof *pprof)
{
	protobuf_done(&pprof->profile);
	protobuf_done(&pprof->strings);
	for (size_t i = 0; i < ARRAY_SIZE(pprof->trees); i++)
		tdestroy(pprof->trees[i], free);
	free(pprof->locations);
	free(pprof->places);
}

static int compare_things(const void *a, const void *b)
{
	const struct numbered *x = a, *y = b;

	return compare_u64(x->size, y->size) ?: memcmp(x->bytes, y->bytes, x->size);
}

/* The number of a thing, a new one for a new thing. 0: no memory, as the profile remembers. */
static uint64_t number_of(struct pprof *pprof, unsigned int field, const void *bytes, size_t size,
			  bool *ret_new)
{
	const struct numbered thing = { .size = size, .bytes = bytes };
	struct numbered *const *found = tfind(&thing, &pprof->trees[field], compare_things), *copy;

	*ret_new = false;
	if (found)
		return (*found)->id;
	copy = malloc(sizeof(*copy) + size);
	if (copy)
		*copy = (struct numbered){ 0, size, memcpy(copy + 1, bytes, size) };
	if (!copy || !tsearch(copy, &pprof->trees[field], compare_things)) {
		free(copy);
		pprof->profile.err = -ENOMEM;
		return 0;
	}
	*ret_new = true;
	return copy->id = ++pprof->counts[field];
}

/* --- what samples refer to --- */

/* Strings of the format are valid UTF-8, and its readers print them as they are. */
static uint64_t string_id(struct pprof *pprof, const char *text)
{
	char *visible __cleanup(freep) = text_visible(text);
	bool is_new = false;
	uint64_t id = 0;

	if (!visible)
		pprof->profile.err = -ENOMEM;
	else if (*visible)
		id = number_of(pprof, PROFILE_STRING_TABLE, visible, strlen(visible), &is_new);
	if (is_new)
		protobuf_add_bytes(&pprof->strings, PROFILE_STRING_TABLE, visible, strlen(visible));
	return id;
}

/* Returns the number of a message, which becomes its first field. */
static uint64_t message_id(struct pprof *pprof, unsigned int field, const struct protobuf *body)
{
	struct protobuf message __cleanup(protobuf_done) = { .size = 0 };
	bool is_new;
	uint64_t id = number_of(pprof, field, body->bytes ?: (const void *)"", body->size, &is_new);

	if (body->err)
		pprof->profile.err = body->err;
	if (!is_new)
		return id;
	protobuf_add_uint(&message, THING_ID, id);
	protobuf_append(&message, body);
	protobuf_add_message(&pprof->profile, field, &message);
	return id;
}

/*
 * A frame with those that were inlined into it, innermost first. The address is the offset, which is
 * one in the function if that is known: the format has no other place for it, and it keeps frames of
 * one function apart.
 */
static uint64_t location_id(struct pprof *pprof, const struct stack_frame *frames, size_t count)
{
	struct protobuf location __cleanup(protobuf_done) = { .size = 0 };
	struct protobuf mapping __cleanup(protobuf_done) = { .size = 0 };
	const struct stack_frame *outermost = &frames[count - 1];

	if (*frame_module(outermost)) {
		protobuf_add_uint(&mapping, MAPPING_FILENAME,
				  string_id(pprof, frame_module(outermost)));
		/* Names are there already: without that mark readers would look for the file. */
		protobuf_add_uint(&mapping, MAPPING_HAS_FUNCTIONS, true);
		protobuf_add_uint(&location, LOCATION_MAPPING_ID,
				  message_id(pprof, PROFILE_MAPPING, &mapping));
	}
	protobuf_add_uint(&location, LOCATION_ADDRESS, outermost->offset);
	for (size_t i = 0; i < count; i++) {
		struct protobuf function __cleanup(protobuf_done) = { .size = 0 };
		struct protobuf line __cleanup(protobuf_done) = { .size = 0 };
		uint64_t name;

		if (!frames[i].symbol)
			continue;
		name = string_id(pprof, frames[i].symbol);
		protobuf_add_uint(&function, FUNCTION_NAME, name);
		protobuf_add_uint(&function, FUNCTION_SYSTEM_NAME, name);
		protobuf_add_uint(&line, LINE_FUNCTION_ID,
				  message_id(pprof, PROFILE_FUNCTION, &function));
		protobuf_add_message(&location, LOCATION_LINE, &line);
	}
	return message_id(pprof, PROFILE_LOCATION, &location);
}

/* Names of frames are those of a table, in which there is one of each. */
static bool frames_are_same(const struct stack_frame *a, const struct stack_frame *b)
{
	return a->symbol == b->symbol && a->module == b->module && a->offset == b->offset &&
	       a->inlined == b->inlined && a->kernel == b->kernel;
}

/* The same of one frame, which was mostly asked for before. */
static uint64_t frame_location_id(struct pprof *pprof, const struct stack_frame *frame)
{
	const uint64_t hash =
		((uintptr_t)frame->symbol ^ (uintptr_t)frame->module << 1 ^ frame->offset << 4) *
		0x9e3779b97f4a7c15ULL;
	struct place *place = &pprof->places[(hash >> 32) % NR_PLACES];

	if (!place->location || !frames_are_same(&place->frame, frame))
		*place = (struct place){ *frame, location_id(pprof, frame, 1) };
	return place->location;
}

/* --- samples --- */

static void sample_label(struct pprof *pprof, struct protobuf *sample, const char *key,
			 const char *text, uint64_t number)
{
	struct protobuf label __cleanup(protobuf_done) = { .size = 0 };

	protobuf_add_uint(&label, LABEL_KEY, string_id(pprof, key));
	protobuf_add_uint(&label, LABEL_STR, string_id(pprof, text));
	protobuf_add_uint(&label, LABEL_NUM, number);
	protobuf_add_message(sample, SAMPLE_LABEL, &label);
}

static void pprof_add_sample(struct pprof *pprof, const struct stack_sample *from)
{
	const struct row *row = from->row;
	const uint64_t values[NR_SAMPLE_TYPE] = {
		[SAMPLE_CALLS] = from->count.calls,
		[SAMPLE_WALL] = from->count.wall_ns,
		[SAMPLE_CPU] = from->count.wall_ns - from->count.off_ns,
		[SAMPLE_ERRORS] = from->count.errors,
	};
	const struct stack *view = &from->view;
	struct protobuf sample __cleanup(protobuf_done) = { .size = 0 };
	char comm[PROCESS_LABEL_MAX], call[ROW_LABEL_MAX];
	size_t depth = 0, length;

	/* Innermost first, as we have them; the reason of an incomplete stack is its outermost. */
	for (size_t i = 0; i < view->nr_frames; i += length) {
		length = 1;
		while (i + length < view->nr_frames && view->frames[i + length - 1].inlined)
			length++;
		pprof->locations[depth++] = length == 1
						    ? frame_location_id(pprof, &view->frames[i])
						    : location_id(pprof, &view->frames[i], length);
	}
	if (pprof->ends[view->end].symbol)
		pprof->locations[depth++] = location_id(pprof, &pprof->ends[view->end], 1);
	row_comm(pprof->snapshot, row, comm);
	row_label(row, call, sizeof(call));
	protobuf_add_packed(&sample, SAMPLE_LOCATION_ID, pprof->locations, depth);
	protobuf_add_packed(&sample, SAMPLE_VALUE, values, NR_SAMPLE_TYPE);
	if (row->pid)
		sample_label(pprof, &sample, "pid", "", row->pid);
	sample_label(pprof, &sample, "comm", comm, 0);
	sample_label(pprof, &sample, "syscall", call, 0);
	protobuf_add_message(&pprof->profile, PROFILE_SAMPLE, &sample);
}

/* Readers take the file of the first mapping for the program. */
static void pprof_add_program(struct pprof *pprof)
{
	const struct snapshot *snapshot = pprof->snapshot;
	struct protobuf mapping __cleanup(protobuf_done) = { .size = 0 };
	char name[PROCESS_LABEL_MAX] = "", other[PROCESS_LABEL_MAX];

	for (size_t i = 0; i < snapshot->nr_rows; i++) {
		row_comm(snapshot, snapshot->rows[i], other);
		if (*name && strcmp(name, other) != 0) {
			strcpy(name, "several programs");
			break;
		}
		strcpy(name, other);
	}
	if (!*name)
		return;
	protobuf_add_uint(&mapping, MAPPING_FILENAME, string_id(pprof, name));
	protobuf_add_uint(&mapping, MAPPING_HAS_FUNCTIONS, true);
	message_id(pprof, PROFILE_MAPPING, &mapping);
}

static const struct {
	const char *type, *unit;
} sample_types[NR_SAMPLE_TYPE] = {
	[SAMPLE_CALLS] = { "calls", "count" },
	[SAMPLE_WALL] = { "wall", "nanoseconds" },
	[SAMPLE_CPU] = { "cpu", "nanoseconds" },
	[SAMPLE_ERRORS] = { "errors", "count" },
};

static void pprof_add_type(struct pprof *pprof, unsigned int field, enum sample_type which)
{
	struct protobuf type __cleanup(protobuf_done) = { .size = 0 };

	protobuf_add_uint(&type, VALUE_TYPE_TYPE, string_id(pprof, sample_types[which].type));
	protobuf_add_uint(&type, VALUE_TYPE_UNIT, string_id(pprof, sample_types[which].unit));
	protobuf_add_message(&pprof->profile, field, &type);
}

static void pprof_add_head(struct pprof *pprof)
{
	protobuf_add_bytes(&pprof->strings, PROFILE_STRING_TABLE, "", 0);
	for (unsigned int i = 0; i < NR_SAMPLE_TYPE; i++)
		pprof_add_type(pprof, PROFILE_SAMPLE_TYPE, i);
	/* A sample for each call. Some readers do not expect a profile without a period. */
	pprof_add_type(pprof, PROFILE_PERIOD_TYPE, SAMPLE_CALLS);
	protobuf_add_uint(&pprof->profile, PROFILE_PERIOD, 1);
	protobuf_add_uint(&pprof->profile, PROFILE_DEFAULT_SAMPLE_TYPE,
			  string_id(pprof, sample_types[SAMPLE_CALLS].type));
	protobuf_add_uint(&pprof->profile, PROFILE_TIME_NANOS, (uint64_t)pprof->snapshot->start_ns);
	protobuf_add_uint(&pprof->profile, PROFILE_DURATION_NANOS, pprof->snapshot->elapsed_ns);
	pprof_add_program(pprof);
}

static void deflate_done(z_stream *stream)
{
	deflateEnd(stream);
}

#define WINDOW_GZIP (15 + 16) /* the largest window, and zlib's way to ask for gzip's header */
#define MEMORY      8

/* Writes a whole file in the format of gzip(1), without name and time in its header. */
static int gzip_write(const struct protobuf *message, FILE *out)
{
	z_stream stream __cleanup(deflate_done) = { .zalloc = Z_NULL };
	unsigned char *buffer __cleanup(freep) = NULL;

	if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WINDOW_GZIP, MEMORY,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	/* zlib counts in 32 bits. */
	if (deflateBound(&stream, message->size) > UINT_MAX)
		return -EFBIG;
	stream.next_in = message->bytes;
	stream.avail_in = (uInt)message->size;
	stream.avail_out = (uInt)deflateBound(&stream, message->size);
	stream.next_out = buffer = malloc(stream.avail_out);
	if (!buffer)
		return -ENOMEM;
	if (deflate(&stream, Z_FINISH) != Z_STREAM_END ||
	    fwrite(buffer, 1, stream.total_out, out) != stream.total_out)
		return -EIO;
	return 0;
}

int report_pprof(const struct snapshot *snapshot, FILE *out)
{
	struct pprof pprof __cleanup(pprof_done) = { .snapshot = snapshot };
	struct sample_list list __cleanup(samples_done) = { .samples = NULL };
	size_t deepest = 0;
	int err;

	for (unsigned int end = 0; end < NR_VIEW_END; end++)
		pprof.ends[end].symbol = view_end_name(end);
	pprof_add_head(&pprof);
	if (samples_list(snapshot, snapshot->rows, snapshot->nr_rows, STACK_WEIGHT_CALLS, &list))
		return -ENOMEM;
	for (size_t i = 0; i < list.count; i++)
		deepest = max_u64(deepest, list.samples[i].view.nr_frames);
	pprof.locations = calloc(deepest + 1, sizeof(*pprof.locations));
	pprof.places = calloc(NR_PLACES, sizeof(*pprof.places));
	if (!pprof.locations || !pprof.places)
		return -ENOMEM;
	for (size_t i = 0; i < list.count && !pprof.profile.err; i++)
		pprof_add_sample(&pprof, &list.samples[i]);
	protobuf_append(&pprof.profile, &pprof.strings);
	err = pprof.profile.err ?: gzip_write(&pprof.profile, out);
	if (err)
		return err;
	return ferror(out) ? -EIO : 0;
}
