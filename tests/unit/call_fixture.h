/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes records of calls, and lines of them. */
#pragma once

#include "calls/strace.h"
#include "calls/truss.h"
#include "json/call.h"
#include "syscalls/names.h"
#include "test.h"

#define RECORD_SPACE 65536

struct record_made {
	_Alignas(8) unsigned char bytes[RECORD_SPACE];
};

struct piece_given {
	uint8_t argument, part, flags;
	const void *bytes;
	size_t size;
};

#define PIECES_GIVEN 8

/* A text with its NUL, a text without it, any object. */
#define TEXT_AT(i, text)    { i, PART_SELF, 0, text, sizeof(text) }
#define BYTES_AT(i, text)   { i, PART_SELF, 0, text, sizeof(text) - 1 }
#define THING_AT(i, ...)    { i, PART_SELF, 0, &(__VA_ARGS__), sizeof(__VA_ARGS__) }
#define PART_AT(i, n, text) { i, n, 0, text, sizeof(text) - 1 }
#define NONE_AT(i)          { i, PART_SELF, PIECE_UNREADABLE, "", 0 }

static inline struct call_record *record_of(struct record_made *made)
{
	return (struct call_record *)made->bytes;
}

static inline void record_begin(struct record_made *made, enum syscall_abi abi, const char *call,
				const uint64_t arguments[CALL_ARGUMENTS], int64_t result)
{
	struct call_record *record = record_of(made);

	*record = (struct call_record){
		.size = sizeof(*record),
		.abi = abi,
		.flags = CALL_RETURNED | CALL_TIMED,
		.nr = syscall_find(abi, call),
		.pid = 100,
		.tid = 101,
		.number = 7,
		.end_ns = 2000000000,
		.wall_ns = 12345,
		.off_ns = 2345,
		.runq_ns = 345,
		.result = result,
		.comm = "w\"\x1b",
	};
	if (record->nr < 0)
		fail_msg("%s is no call", call);
	memcpy(record->arguments, arguments, sizeof(record->arguments));
}

static inline void record_add(struct record_made *made, const struct piece_given *given)
{
	struct call_record *record = record_of(made);
	struct call_piece piece = { .argument = given->argument,
				    .part = given->part,
				    .flags = given->flags,
				    .size = (uint16_t)given->size };
	unsigned char *at = made->bytes + record->size;

	assert_true(record->size + sizeof(piece) + given->size + 8 < RECORD_SPACE);
	memcpy(at, &piece, sizeof(piece));
	memcpy(at + sizeof(piece), given->bytes, given->size);
	record->size += (uint32_t)(sizeof(piece) + (given->size + 7) / 8 * 8);
}

/* A call, what it points at, and what becomes of it. */
struct call_given {
	const char *call;
	uint64_t arguments[CALL_ARGUMENTS];
	int64_t result;
	struct piece_given pieces[PIECES_GIVEN];
	const char *truss;
	const char *strace; /* NULL: the same */
};

static inline void record_make(struct record_made *made, enum syscall_abi abi,
			       const struct call_given *given)
{
	record_begin(made, abi, given->call, given->arguments, given->result);
	for (size_t i = 0; i < PIECES_GIVEN && given->pieces[i].bytes; i++)
		record_add(made, &given->pieces[i]);
}

/* The name of this descriptor was found out late, and this one is new after each call. */
#define LATE_FD 7
#define MADE_FD 11

static inline struct fd_text fixture_fd_name(void *context, const struct call_record *record,
					     int fd, bool is_made)
{
	static const char *const names[] = { [3] = "/srv/a",
					     [4] = "socket:[77]",
					     [5] = "/a<b>\n\"",
					     [6] = "/gone (deleted)",
					     [LATE_FD] = "/late" };

	assert_ptr_equal(context, &fixture_fd_name);
	assert_int_equal(record->pid, 100);
	if (fd == AT_FDCWD)
		return (struct fd_text){ .text = "/cwd" };
	if (fd == MADE_FD)
		return (struct fd_text){ .text = is_made ? "/new" : "/old" };
	if (fd < 0 || (size_t)fd >= ARRAY_SIZE(names))
		return (struct fd_text){ .text = NULL };
	return (struct fd_text){ names[fd], fd == LATE_FD };
}

static inline struct call_decoder *decoder_make(bool has_names, const struct syscall_set *raw,
						const struct syscall_set *verbose)
{
	struct decode_options options = { .raw = raw, .verbose = verbose };
	struct call_decoder *decoder;

	if (has_names) {
		options.fd_name = fixture_fd_name;
		options.context = &fixture_fd_name;
	}
	assert_int_equal(call_decoder_new(&options, &decoder), 0);
	return decoder;
}

/* The line with one blank where there are more, without its end; to be freed. */
static inline char *line_take(struct line *line)
{
	char *text = malloc(line->used + 1), *to = text;

	assert_false(line->failed);
	assert_true(line->used && line->bytes[line->used - 1] == '\n');
	for (size_t i = 0; i + 1 < line->used; i++) {
		if (line->bytes[i] != ' ' || to == text || to[-1] != ' ')
			*to++ = line->bytes[i];
	}
	*to = 0;
	line_clear(line);
	return text;
}

static inline char *truss_line(struct call_decoder *decoder, const struct call_record *record)
{
	struct line line __cleanup(line_done) = { 0 };
	const struct truss_options options = { 0 };

	truss_put_call(decoder, record, &options, 0, &line);
	return line_take(&line);
}

/* Without thread and times. */
static inline char *strace_line(struct call_decoder *decoder, const struct call_record *record)
{
	struct line line __cleanup(line_done) = { 0 };
	static const char before[] = "101 1.999987 ", behind[] = " <0.000012>";
	char *text, *end;

	strace_put_call(decoder, record, 0, &line);
	text = line_take(&line);
	assert_memory_equal(text, before, sizeof(before) - 1);
	memmove(text, text + sizeof(before) - 1, strlen(text) - sizeof(before) + 2);
	end = strstr(text, behind);
	if (end)
		*end = 0;
	return text;
}

static inline char *json_line(struct call_decoder *decoder, const struct call_record *record)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(report_call_json(decoder, record, 1732459000123456789, NULL, out), 0);
	assert_int_equal(fclose(out), 0);
	return text;
}

/* All of a table, in both forms. */
static inline void lines_check(struct call_decoder *decoder, enum syscall_abi abi,
			       const struct call_given *given, size_t count)
{
	static struct record_made made;
	size_t wrong = 0;

	for (size_t i = 0; i < count; i++) {
		const char *strace = given[i].strace ?: given[i].truss;
		char *text __cleanup(freep) = NULL;
		char *other __cleanup(freep) = NULL;

		record_make(&made, abi, &given[i]);
		text = truss_line(decoder, record_of(&made));
		other = strace_line(decoder, record_of(&made));
		if (strcmp(text, given[i].truss) != 0 && ++wrong)
			print_error("truss:  %s\nnot     %s\n", text, given[i].truss);
		if (strcmp(other, strace) != 0 && ++wrong)
			print_error("strace: %s\nnot     %s\n", other, strace);
	}
	assert_int_equal(wrong, 0);
}

#define CWD       ((uint64_t)AT_FDCWD)
#define ERR(name) (-(int64_t)(name))

/* The same without names of descriptors, natively on x86-64. */
static inline void lines_check_plain(const struct call_given *given, size_t count)
{
	__cleanup(call_decoder_freep) struct call_decoder *decoder =
		decoder_make(false, NULL, NULL);

	lines_check(decoder, ABI_X86_64, given, count);
}

#define CHECK(...)                                                 \
	do {                                                       \
		const struct call_given given[] = { __VA_ARGS__ }; \
		lines_check_plain(given, ARRAY_SIZE(given));       \
	} while (0)
