/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Serves the tests of the model and the reports: random numbers that never change, rows made of
 * calls, comparison of whole values, reports as text, and golden files (tests/golden/README.md).
 */
#pragma once

#include "test.h"

#include <jansson.h>

#include "model/builder.h"
#include "model/snapshot.h"
#include "syscalls/names.h"

static inline void row_init_for(struct row *row, uint32_t pid, enum syscall_abi abi, int64_t nr)
{
	row_init(row);
	row->pid = pid;
	row->boot_ns = pid ? pid * 1000ULL : 0;
	row->abi = abi;
	row->nr = nr;
}

/* Works like row_init_for(), by the name of the call. */
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

/* Returns what all rows add up to, of the plain counts and times. */
static inline struct row snapshot_sum(const struct snapshot *snapshot)
{
	struct row sum = { .calls = 0 };

	for (size_t i = 0; i < snapshot->nr_rows; i++) {
		const struct row *row = snapshot->rows[i];

		sum.calls += row->calls;
		sum.errors += row->errors;
		sum.wall_ns += row->wall_ns;
		sum.off_ns += row->off_ns;
	}
	return sum;
}

/* Each is before all that follow it, and equal to itself. */
#define assert_sorted_by(sorted, compare)                                                     \
	do {                                                                                  \
		for (size_t i_ = 0; i_ < ARRAY_SIZE(sorted) * ARRAY_SIZE(sorted); i_++) {     \
			size_t a_ = i_ / ARRAY_SIZE(sorted), b_ = i_ % ARRAY_SIZE(sorted);    \
			int order_ = compare(&(sorted)[a_], &(sorted)[b_]);                   \
			assert_int_equal((order_ > 0) - (order_ < 0), (a_ > b_) - (a_ < b_)); \
		}                                                                             \
	} while (0)

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
	assert_same(a, b, calls, errors, interrupted, untimed, denied, no_return, result_sum,
		    wall_ns, off_ns, runq_ns);
	assert_hist_equal(&a->hist, &b->hist);
	assert_int_equal(a->nr_errnos, b->nr_errnos);
	for (size_t i = 0; i < a->nr_errnos; i++)
		assert_same(&a->errnos[i], &b->errnos[i], err, count);
}

static inline void assert_sorted(const struct snapshot *snapshot)
{
	for (size_t i = 1; i < snapshot->nr_rows; i++)
		assert_true(row_compare(snapshot->rows[i - 1], snapshot->rows[i]) < 0);
	for (size_t i = 1; i < snapshot->nr_processes; i++)
		assert_true(process_compare(&snapshot->processes[i - 1], &snapshot->processes[i]) <
			    0);
	for (size_t i = 1; i < snapshot->nr_users; i++)
		assert_true(snapshot->users[i - 1].id < snapshot->users[i].id);
	for (size_t i = 1; i < snapshot->nr_cgroups; i++)
		assert_true(snapshot->cgroups[i - 1].id < snapshot->cgroups[i].id);
}

static inline void assert_row_equal(const struct row *a, const struct row *b)
{
	assert_row_sums_equal(a, b);
	assert_same(a, b, min_ns, max_ns, in_flight, in_flight_early, oldest_start_ns);
}

static inline void assert_process_equal(const struct process *a, const struct process *b)
{
	assert_same(a, b, pid, boot_ns, user_ns);
	assert_memory_equal(a->comm, b->comm, sizeof(a->comm));
}

/* Compares what was counted; the descriptions may differ. */
static inline void assert_snapshot_equal(const struct snapshot *a, const struct snapshot *b)
{
	assert_same(a, b, nr_rows, nr_processes);
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

/* Begins a test that is given a builder, and ends it. */
#define BUILDER_TEST(name)                              \
	static void name##_of(struct builder *builder); \
	TEST(name)                                      \
	{                                               \
		name##_of(builder_make());              \
	}                                               \
	static void name##_of(struct builder *builder)

/*
 * Works like BUILDER_TEST(), with two builders: of what was there before, and of what is after it.
 */
#define BUILDERS_TEST(name)                                                   \
	static void name##_of(struct builder *before, struct builder *after); \
	TEST(name)                                                            \
	{                                                                     \
		name##_of(builder_make(), builder_make());                    \
	}                                                                     \
	static void name##_of(struct builder *before, struct builder *after)

/* Adds a row and ends it. */
static inline void builder_take_row(struct builder *builder, struct row *row)
{
	assert_int_equal(builder_add_row(builder, row), 0);
	row_done(row);
}

/* A row of calls of one kind. */
static inline void row_init_calls(struct row *row, uint32_t pid, enum syscall_abi abi,
				  const char *name, uint64_t count, uint64_t wall_ns,
				  uint64_t off_ns, uint64_t runq_ns)
{
	row_init_named(row, pid, abi, name);
	row_add_calls(row, count, wall_ns, off_ns, runq_ns);
}

static inline void builder_take_calls(struct builder *builder, uint32_t pid, enum syscall_abi abi,
				      const char *name, uint64_t count, uint64_t wall_ns,
				      uint64_t off_ns, uint64_t runq_ns)
{
	struct row row;

	row_init_calls(&row, pid, abi, name, count, wall_ns, off_ns, runq_ns);
	builder_take_row(builder, &row);
}

/* Errors of calls that were added already. */
static inline void builder_take_errors(struct builder *builder, uint32_t pid, enum syscall_abi abi,
				       const char *name, int err, uint64_t count)
{
	struct row row;

	row_init_named(&row, pid, abi, name);
	row_add_errors(&row, err, count);
	builder_take_row(builder, &row);
}

/* Calls that found no room for a time. */
static inline void builder_take_untimed(struct builder *builder, uint32_t pid, enum syscall_abi abi,
					const char *name, uint64_t count)
{
	struct row row;

	row_init_named(&row, pid, abi, name);
	row.calls = row.untimed = count;
	builder_take_row(builder, &row);
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

/* Adds one more name of a user or a cgroup. */
static inline void names_add(struct id_name **names, size_t *count, uint64_t id, const char *name)
{
	*names = reallocarray(*names, *count + 1, sizeof(**names));
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

/* Begins a test that is given the snapshot that an expression makes. */
#define SNAPSHOT_TEST(name, make)                                           \
	static void name##_of(struct snapshot *snapshot);                   \
	TEST(name)                                                          \
	{                                                                   \
		__cleanup(snapshot_freep) struct snapshot *snapshot = make; \
		name##_of(snapshot);                                        \
	}                                                                   \
	static void name##_of(struct snapshot *snapshot)

/* Returns what the builder has, which goes on. */
static inline struct snapshot *snapshot_read(const struct builder *builder)
{
	struct builder *copy = builder_make();

	assert_int_equal(builder_merge(copy, builder), 0);
	return snapshot_take(copy);
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
	return stream->out;
}

/* Returns what was written, as text that the caller frees. */
static inline char *text_close(struct text_stream *stream)
{
	assert_int_equal(fclose(stream->out), 0);
	assert_int_equal(strlen(stream->text), stream->size);
	return stream->text;
}

/* The text, which the caller frees, that report(..., stream) writes. */
#define render(report, ...)                                                    \
	({                                                                     \
		struct text_stream stream_;                                    \
		assert_int_equal(report(__VA_ARGS__, text_open(&stream_)), 0); \
		text_close(&stream_);                                          \
	})

/* A report(..., stream) says so when its stream takes nothing. */
#define assert_full(report, ...)                                    \
	do {                                                        \
		FILE *full_ = fopen("/dev/full", "we");             \
		assert_non_null(full_);                             \
		setbuf(full_, NULL);                                \
		assert_int_equal(report(__VA_ARGS__, full_), -EIO); \
		fclose(full_);                                      \
	} while (0)

typedef int snapshot_report(const struct snapshot *, FILE *);

static inline json_t *json_parse(const char *text)
{
	json_error_t error;
	json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, &error);

	if (!json)
		fail_msg("byte %d: %s", error.position, error.text);
	return json;
}

/* Returns what stands there by its keys and numbers: rows/0/pid; NULL: nothing. */
static inline const json_t *json_at(const json_t *at, const char *path)
{
	char word[MAX_WORD];

	for (int n; sscanf(path, "%63[^/]%n", word, &n) == 1; path += n + (path[n] == '/'))
		at = json_is_array(at) ? json_array_get(at, strtoul(word, NULL, 10))
				       : json_object_get(at, word);
	return at;
}

static inline json_int_t json_number(const json_t *json, const char *path)
{
	if (!json_is_integer(json_at(json, path)))
		fail_msg("%s is not an integer", path);
	return json_integer_value(json_at(json, path));
}

static inline const char *json_text(const json_t *json, const char *path)
{
	if (!json_is_string(json_at(json, path)))
		fail_msg("%s is not a string", path);
	return json_string_value(json_at(json, path));
}

/* NULL when there is no such file. */
static inline char *golden_read(const char *path)
{
	FILE *file __cleanup(fclosep) = fopen(path, "re");
	char *text = NULL;
	size_t size = 0;

	/* No golden text has a NUL, and some have nothing. */
	if (file && getdelim(&text, &size, '\0', file) < 0)
		*text = '\0';
	return text;
}

/* A text as golden files have it, which outlive a version of the program; the caller frees it. */
static inline char *version_mask(const char *text)
{
	static const char *const before[] = { "\"version\":\"", "version=\"", "bpftruss  " };
	char *masked = strdup(text);

	for (size_t i = 0; i < ARRAY_SIZE(before); i++) {
		const size_t length = strlen(before[i]);
		size_t done = 0;

		for (const char *at; (at = strstr(masked + done, before[i]));) {
			char *old = masked;

			at += length;
			done = (size_t)(at - masked);
			if (strncmp(at, BPFTRUSS_VERSION, strlen(BPFTRUSS_VERSION)) != 0)
				continue;
			assert_true(asprintf(&masked, "%.*sVERSION%s", (int)done, old,
					     at + strlen(BPFTRUSS_VERSION)) > 0);
			free(old);
		}
	}
	return masked;
}

/* Compares byte for byte with GOLDEN_DIR/name.expected, or rewrites that. */
static inline void golden_check(const char *name, const char *text)
{
	__cleanup(freep) char *masked = version_mask(text), *expected = NULL;
	const char *update = getenv("GOLDEN_UPDATE");
	FILE *file __cleanup(fclosep) = NULL;
	char path[256];

	snprintf(path, sizeof(path), "%s/%s.expected", GOLDEN_DIR, name);
	if (update && !strcmp(update, "1")) {
		file = fopen(path, "we");
		assert_true(file && fputs(masked, file) >= 0);
		fprintf(stderr, "rewrote %s\n", path);
		return;
	}
	expected = golden_read(path);
	if (expected && !strcmp(expected, masked))
		return;
	fprintf(stderr, "--- %s, expected:\n%s--- got:\n%s---\n", path,
		expected ?: "(no such file)\n", masked);
	fail();
}

/* Compares the text that report(..., stream) writes. */
#define golden_render(name, report, ...)                                    \
	do {                                                                \
		char *text_ __cleanup(freep) = render(report, __VA_ARGS__); \
		golden_check(name, text_);                                  \
	} while (0)

/* NULL when absent. */
static inline const struct row *snapshot_find_row(const struct snapshot *snapshot,
						  const struct row *identity)
{
	struct row *const *place = snapshot_place_row(snapshot, identity);

	return place ? *place : NULL;
}
