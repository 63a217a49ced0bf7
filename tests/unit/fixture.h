/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the tests of the model and the reports share: random numbers that never change, rows made
 * of calls, comparison of whole values, reports as text, and golden files (tests/golden/README.md).
 */
#ifndef TESTS_FIXTURE_H
#define TESTS_FIXTURE_H

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "model/builder.h"
#include "model/snapshot.h"
#include "syscalls/names.h"

#include "in_range.h"

/* splitmix64: the same numbers on every machine. */
static inline uint64_t random_u64(uint64_t *seed)
{
	uint64_t z = *seed += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static inline uint64_t random_below(uint64_t *seed, uint64_t limit)
{
	return random_u64(seed) % limit;
}

/* Evenly many of every magnitude below 2^bits. */
static inline uint64_t random_ns(uint64_t *seed, unsigned int bits)
{
	unsigned int magnitude = (unsigned int)random_below(seed, bits) + 1;

	return random_u64(seed) >> (64 - magnitude);
}

static inline void row_init_for(struct row *row, uint32_t pid, enum syscall_abi abi, int64_t nr)
{
	row_init(row);
	row->pid = pid;
	row->boot_ns = pid ? pid * 1000ULL : 0;
	row->abi = abi;
	row->nr = nr;
}

/* As row_init_for(), by the name of the call. */
static inline void row_init_named(struct row *row, uint32_t pid, enum syscall_abi abi,
				  const char *name)
{
	int nr = syscall_find(abi, name);

	assert_true(nr >= 0);
	row_init_for(row, pid, abi, nr);
}

/* Calls of one kind: of wall_ns each was off the CPU for off_ns, and of that runnable runq_ns. */
static inline void row_add_calls(struct row *row, uint64_t count, uint64_t wall_ns, uint64_t off_ns,
				 uint64_t runq_ns)
{
	row->calls += count;
	row->wall_ns += count * wall_ns;
	row->off_ns += count * off_ns;
	row->runq_ns += count * runq_ns;
	assert_int_equal(hist_add(&row->hist, hist_bucket(wall_ns), count), 0);
	if (wall_ns < row->min_ns)
		row->min_ns = wall_ns;
	if (wall_ns > row->max_ns)
		row->max_ns = wall_ns;
}

/* Makes errors of calls that were added already. */
static inline void row_add_errors(struct row *row, int err, uint64_t count)
{
	row->errors += count;
	assert_int_equal(row_add_errno(row, err, count), 0);
}

/* A row with every number set, of few processes and calls so that some meet. */
static inline void row_init_random(struct row *row, uint64_t *seed)
{
	static const int errnos[] = { EPERM, ENOENT, EINTR, EAGAIN, ENOMEM, ETIMEDOUT };
	unsigned int kinds = 1 + (unsigned int)random_below(seed, 8);

	row_init_for(row, (uint32_t)random_below(seed, 4), (enum syscall_abi)random_below(seed, 2),
		     (int)random_below(seed, 5));
	for (unsigned int i = 0; i < kinds; i++) {
		uint64_t wall_ns = random_ns(seed, 44);
		uint64_t off_ns = random_below(seed, wall_ns + 1);

		row_add_calls(row, 1 + random_below(seed, 5), wall_ns, off_ns,
			      random_below(seed, off_ns + 1));
		row_add_errors(row, errnos[random_below(seed, ARRAY_SIZE(errnos))], 1);
	}
	row->interrupted = random_below(seed, 3);
	row->denied = random_below(seed, 3);
	row->untimed = row->denied + random_below(seed, 3);
	row->no_return = random_below(seed, 3);
	row->calls += row->untimed + row->no_return;
	row->result_sum = random_below(seed, 100000);
	row->in_flight = random_below(seed, 3);
	row->in_flight_early = random_below(seed, row->in_flight + 1);
	if (row->in_flight)
		row->oldest_start_ns = random_below(seed, 1000000);
}

static inline void rows_done(struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		row_done(&rows[i]);
}

static inline void assert_hist_equal(const struct hist *a, const struct hist *b)
{
	for (unsigned int i = 0; i < HIST_BUCKETS; i++)
		assert_int_equal(hist_count(a, i), hist_count(b, i));
}

/* Everything that subtraction gives back exactly: not the extremes, not the calls in flight. */
static inline void assert_row_sums_equal(const struct row *a, const struct row *b)
{
	assert_int_equal(row_compare(a, b), 0);
	assert_int_equal(a->calls, b->calls);
	assert_int_equal(a->errors, b->errors);
	assert_int_equal(a->interrupted, b->interrupted);
	assert_int_equal(a->untimed, b->untimed);
	assert_int_equal(a->denied, b->denied);
	assert_int_equal(a->no_return, b->no_return);
	assert_int_equal(a->result_sum, b->result_sum);
	assert_int_equal(a->wall_ns, b->wall_ns);
	assert_int_equal(a->off_ns, b->off_ns);
	assert_int_equal(a->runq_ns, b->runq_ns);
	assert_hist_equal(&a->hist, &b->hist);
	assert_int_equal(a->nr_errnos, b->nr_errnos);
	for (size_t i = 0; i < a->nr_errnos; i++) {
		assert_int_equal(a->errnos[i].err, b->errnos[i].err);
		assert_int_equal(a->errnos[i].count, b->errnos[i].count);
	}
}

static inline void assert_row_equal(const struct row *a, const struct row *b)
{
	assert_row_sums_equal(a, b);
	assert_int_equal(a->min_ns, b->min_ns);
	assert_int_equal(a->max_ns, b->max_ns);
	assert_int_equal(a->in_flight, b->in_flight);
	assert_int_equal(a->in_flight_early, b->in_flight_early);
	assert_int_equal(a->oldest_start_ns, b->oldest_start_ns);
}

static inline void assert_process_equal(const struct process *a, const struct process *b)
{
	assert_int_equal(a->pid, b->pid);
	assert_int_equal(a->boot_ns, b->boot_ns);
	assert_int_equal(a->user_ns, b->user_ns);
	assert_memory_equal(a->comm, b->comm, sizeof(a->comm));
}

/* Of what was counted; the descriptions may differ. */
static inline void assert_snapshot_equal(const struct snapshot *a, const struct snapshot *b)
{
	assert_int_equal(a->nr_rows, b->nr_rows);
	assert_int_equal(a->nr_processes, b->nr_processes);
	for (size_t i = 0; i < a->nr_rows; i++)
		assert_row_equal(a->rows[i], b->rows[i]);
	for (size_t i = 0; i < a->nr_processes; i++)
		assert_process_equal(&a->processes[i], &b->processes[i]);
}

static inline struct builder *builder_make(void)
{
	struct builder *builder;

	assert_int_equal(builder_new(&builder), 0);
	return builder;
}

/* Adds a row and ends it. */
static inline void builder_take_row(struct builder *builder, struct row *row)
{
	assert_int_equal(builder_add_row(builder, row), 0);
	row_done(row);
}

/* The process of row_init_for(). */
static inline struct process process_make(uint32_t pid, const char *comm, size_t comm_size)
{
	struct process process = { .pid = pid, .boot_ns = pid * 1000ULL };

	assert_true(comm_size <= sizeof(process.comm));
	memcpy(process.comm, comm, comm_size);
	return process;
}

static inline void builder_take_process(struct builder *builder, uint32_t pid, const char *comm,
					size_t comm_size, uint64_t user_ns)
{
	struct process process = process_make(pid, comm, comm_size);

	process.user_ns = user_ns;
	assert_int_equal(builder_add_process(builder, &process, false), 0);
}

/* Calls that run, some of them from before the counting. */
static inline void builder_take_in_flight(struct builder *builder, uint32_t pid,
					  enum syscall_abi abi, const char *name, uint64_t count,
					  uint64_t early, uint64_t oldest_start_ns)
{
	struct row row;

	row_init_named(&row, pid, abi, name);
	row.in_flight = count;
	row.in_flight_early = early;
	row.oldest_start_ns = oldest_start_ns;
	builder_take_row(builder, &row);
}

/* One more name of a user or a cgroup. */
static inline void names_add(struct id_name **names, size_t *count, uint64_t id, const char *name)
{
	*names = reallocarray(*names, *count + 1, sizeof(**names));
	assert_non_null(*names);
	(*names)[*count] = (struct id_name){ id, strdup(name) };
	assert_non_null((*names)[(*count)++].name);
}

/* 2.5 seconds across the end of a month, with nothing in them. */
static inline struct snapshot *snapshot_make(void)
{
	const struct snapshot description = {
		.host = "web-1",
		.boot_id = "6f1c2a34-5b6d-4e7f-8a90-b1c2d3e4f506",
		.kernel = "6.1.0-test",
		.start_ns = 1769903998500000000,
		.end_ns = 1769904001000000000,
		.elapsed_ns = 2500000000,
		.end_mono_ns = 1000000000000,
		.has_runq = true,
	};
	struct snapshot *snapshot;

	assert_int_equal(snapshot_new_like(&description, &snapshot), 0);
	return snapshot;
}

/* Ends the builder. */
static inline struct snapshot *snapshot_take(struct builder *builder)
{
	struct snapshot *snapshot = snapshot_make();

	assert_int_equal(builder_finish(builder, snapshot), 0);
	builder_free(builder);
	return snapshot;
}

/* A stream into memory. */
struct text_stream {
	FILE *out;
	char *text;
	size_t size;
};

static inline FILE *text_open(struct text_stream *stream)
{
	stream->text = NULL;
	stream->out = open_memstream(&stream->text, &stream->size);
	assert_non_null(stream->out);
	return stream->out;
}

/* What was written, as text that the caller frees. */
static inline char *text_close(struct text_stream *stream)
{
	assert_int_equal(fclose(stream->out), 0);
	assert_int_equal(strlen(stream->text), stream->size);
	return stream->text;
}

/* A stream that takes nothing. */
static inline FILE *full_open(void)
{
	FILE *full = fopen("/dev/full", "we");

	assert_non_null(full);
	setbuf(full, NULL);
	return full;
}

typedef int snapshot_report(const struct snapshot *, FILE *);

static inline char *report_render(snapshot_report *report, const struct snapshot *snapshot)
{
	struct text_stream stream;

	assert_int_equal(report(snapshot, text_open(&stream)), 0);
	return text_close(&stream);
}

/* NULL when there is no such file. */
static inline char *golden_read(const char *path)
{
	FILE *file __cleanup(fclosep) = fopen(path, "re");
	char *text = NULL;
	size_t size = 0;

	if (!file)
		return NULL;
	/* No golden text has a NUL. */
	if (getdelim(&text, &size, '\0', file) < 0) {
		free(text);
		text = strdup("");
	}
	return text;
}

static inline void golden_write(const char *path, const char *text)
{
	FILE *file __cleanup(fclosep) = fopen(path, "we");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	fprintf(stderr, "rewrote %s\n", path);
}

/* Compares byte for byte with GOLDEN_DIR/name.expected, or rewrites that. */
static inline void golden_check(const char *name, const char *text)
{
	__cleanup(freep) char *expected = NULL;
	const char *update = getenv("GOLDEN_UPDATE");
	char path[256];

	snprintf(path, sizeof(path), "%s/%s.expected", GOLDEN_DIR, name);
	if (update && !strcmp(update, "1")) {
		golden_write(path, text);
		return;
	}
	expected = golden_read(path);
	if (expected && !strcmp(expected, text))
		return;
	fprintf(stderr, "--- %s, expected%s:\n%s--- got:\n%s---\n", path,
		expected ? "" : " (no such file)", expected ? expected : "", text);
	fail();
}

/* JSON with the version of the program masked, which changes without a change of the contract. */
static inline char *version_mask(const char *text)
{
	static const char real[] = "\"version\":\"" BPFTRUSS_VERSION "\"";
	static const char mask[] = "\"version\":\"VERSION\"";
	const char *at = strstr(text, real);
	char *masked = NULL;

	assert_non_null(at);
	assert_true(asprintf(&masked, "%.*s%s%s", (int)(at - text), text, mask, at + strlen(real)) >
		    0);
	return masked;
}

/* NULL when absent. */
static inline const struct row *snapshot_find_row(const struct snapshot *snapshot,
						  const struct row *identity)
{
	struct row *const *place = snapshot_place_row(snapshot, identity);

	return place ? *place : NULL;
}

#endif
