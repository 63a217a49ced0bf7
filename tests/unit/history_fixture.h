/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Serves the tests of the history: a directory of their own, a host whose clocks are set by hand,
 * intervals whose numbers are known, and their sum by kind, made without the history.
 */
#pragma once

#include <dirent.h>

#include "fixture.h"

#include "base/clock.h"
#include "store/history.h"

#define SECOND ((int64_t)NS_PER_SEC)
#define MINUTE (60 * SECOND)
#define HOUR   (60 * MINUTE)
#define DAY    (24 * HOUR)

/* 2026-01-01 00:00:00 UTC: the start of an hour. */
#define NEW_YEAR (1767225600 * SECOND)

struct place {
	char dir[256];
	char file[300];
};

static inline void place_init(struct place *place)
{
	const char *base = getenv("TMPDIR");

	/* Thousands of files are made, and none has to outlive the machine: best in memory. */
	if (!base || !*base)
		base = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";
	snprintf(place->dir, sizeof(place->dir), "%s/bpftruss-history-XXXXXX", base);
	assert_non_null(mkdtemp(place->dir));
	snprintf(place->file, sizeof(place->file), "%s/history.db", place->dir);
}

/* How many files have a name that begins so; the log of a database is part of it. */
static inline unsigned int place_count(const struct place *place, const char *prefix)
{
	DIR *dir = opendir(place->dir);
	struct dirent *entry;
	unsigned int count = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir)))
		count += !strncmp(entry->d_name, prefix, strlen(prefix)) &&
			 !strstr(entry->d_name, "-wal");
	closedir(dir);
	return count;
}

static inline void place_empty(const struct place *place)
{
	DIR *dir = opendir(place->dir);
	struct dirent *entry;

	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] != '.' && unlinkat(dirfd(dir), entry->d_name, 0))
			shell_run("rm -r '%s/%s'", place->dir, entry->d_name);
	}
	closedir(dir);
}

static inline void place_done(struct place *place)
{
	place_empty(place);
	assert_int_equal(rmdir(place->dir), 0);
}

static inline void write_all(const char *path, const struct bytes *all)
{
	int fd __cleanup(closep) = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);

	assert_int_equal(write(fd, all->data, all->size), all->size);
}

/* It is what it was. */
static inline void must_be(const char *path, const struct bytes *wanted)
{
	__cleanup(bytes_done) struct bytes got = bytes_read(path);

	assert_int_equal(got.size, wanted->size);
	assert_memory_equal(got.data, wanted->data, wanted->size);
}

/* A test with a place of its own as its state. */
#define PLACE_TEST(name) TEST_WITH(name, const struct place *place, place_set_up, place_tear_down)

static inline int place_set_up(void **state)
{
	struct place *place = malloc(sizeof(*place));

	place_init(place);
	*state = place;
	return 0;
}

static inline int place_tear_down(void **state)
{
	place_done(*state);
	free(*state);
	return 0;
}

/* Opens what must open; a sentence says why it does not. */
static inline struct history *open_with(const struct place *place,
					const struct history_options *options)
{
	struct history *history = NULL;

	must(history_open(place->dir, options, &history, &d));
	return history;
}

static inline struct history *open_default(const struct place *place)
{
	const struct history_options options = { 0 };
	struct history *history = open_with(place, &options);

	assert_null(history_set_aside(history));
	return history;
}

struct host {
	int64_t real_ns, mono_ns;
	char boot_id[8];
	uint64_t seed;
};

static inline struct host host_make(uint64_t seed)
{
	return (struct host){ NEW_YEAR, 1000 * SECOND, "boot-1", seed };
}

/* The host as it is now, with nothing counted. */
static inline struct snapshot *host_snapshot(const struct host *host)
{
	const struct snapshot description = {
		.host = "web-1",
		.boot_id = (char *)host->boot_id,
		.kernel = "6.1.0-test",
		.start_ns = host->real_ns,
		.end_ns = host->real_ns,
		.end_mono_ns = (uint64_t)host->mono_ns,
		.has_runq = true,
	};
	struct snapshot *snapshot;

	assert_int_equal(snapshot_new_like(&description, &snapshot), 0);
	return snapshot;
}

/* Begins a test of a history with these options and of a host; the timeline is for answers. */
#define HISTORY_TEST(name, seed, ...)                                                           \
	static void name##_in(struct history *history, struct host host,                        \
			      struct timeline *timeline);                                       \
	PLACE_TEST(name)                                                                        \
	{                                                                                       \
		const struct history_options options = { __VA_ARGS__ };                         \
		__cleanup(history_closep) struct history *history = open_with(place, &options); \
		__cleanup(timeline_done) struct timeline timeline = { 0 };                      \
		assert_null(history_set_aside(history));                                        \
		name##_in(history, host_make(seed), &timeline);                                 \
	}                                                                                       \
	static void name##_in(struct history *history, struct host host,                        \
			      __attribute__((unused)) struct timeline *timeline)

static inline void host_begin(struct host *host, struct history *history)
{
	__cleanup(snapshot_freep) struct snapshot *now = host_snapshot(host);

	must(history_begin(history, now, now->end_ns, now->end_mono_ns, &d));
}

/* Time goes on by this much, and what the builder has, which is ended, is counted meanwhile. */
static inline struct snapshot *host_count(struct host *host, int64_t ns, struct builder *builder)
{
	int64_t start_ns = host->real_ns;
	struct snapshot *snapshot;

	host->real_ns += ns;
	host->mono_ns += ns;
	snapshot = host_snapshot(host);
	snapshot->start_ns = start_ns;
	snapshot->elapsed_ns = (uint64_t)ns;
	assert_int_equal(builder_finish(builder, snapshot), 0);
	builder_free(builder);
	return snapshot;
}

/* Works like host_count(), with random rows of processes 1 … 3, called kind-1 …, and of nobody. */
static inline struct snapshot *host_pass(struct host *host, int64_t ns, unsigned int nr_rows)
{
	struct builder *builder = builder_make();
	struct snapshot *snapshot;

	for (unsigned int i = 0; i < nr_rows; i++) {
		struct row row;

		row_init_random(&row, &host->seed);
		builder_take_row(builder, &row);
	}
	for (uint32_t pid = 1; pid < 4; pid++) {
		struct process process = { .pid = pid, .boot_ns = pid * 1000ULL, .uid = 1000 };

		process.cgroup_id = 77;
		snprintf(process.comm, sizeof(process.comm), "kind-%u", pid);
		process.user_ns = 1 + random_below(&host->seed, 1000);
		assert_int_equal(builder_add_process(builder, &process, false), 0);
	}
	snapshot = host_count(host, ns, builder);
	names_add(&snapshot->users, &snapshot->nr_users, 1000, "www");
	names_add(&snapshot->cgroups, &snapshot->nr_cgroups, 77, "/system.slice/web.service");
	snapshot->losses.count[random_below(&host->seed, NR_MODEL_LOSS)] =
		random_below(&host->seed, 5);
	return snapshot;
}

/* A process, and one call of it. */
static inline void builder_take_caller(struct builder *builder, struct process process, int64_t nr)
{
	struct row row;

	row_init_for(&row, process.pid, ABI_X86_64, nr);
	row.boot_ns = process.boot_ns;
	row_add_calls(&row, 1, 100, 50, 25);
	builder_take_row(builder, &row);
	assert_int_equal(builder_add_process(builder, &process, false), 0);
}

/* Many kinds of process of the names that begin so, each with one call. */
static inline struct snapshot *pass_crowd(struct host *host, const char *prefix, uint32_t count)
{
	struct builder *builder = builder_make();

	for (uint32_t pid = 1; pid <= count; pid++) {
		struct process process = { .pid = pid, .boot_ns = 1, .uid = 5 };

		snprintf(process.comm, sizeof(process.comm), "%s%u", prefix, pid);
		builder_take_caller(builder, process, 0);
	}
	return host_count(host, MINUTE, builder);
}

static inline int64_t random_between(uint64_t *seed, int64_t low, int64_t high)
{
	return low + (int64_t)random_below(seed, (uint64_t)(high - low + 1));
}

/* Something happens to the host between two intervals. Returns whether counting must begin anew. */
static inline bool host_stumble(struct host *host)
{
	int64_t pause_ns = random_between(&host->seed, 1, 40 * MINUTE);

	switch (random_below(&host->seed, 12)) {
	case 0: /* a stop */
		host->real_ns += pause_ns;
		host->mono_ns += pause_ns;
		return true;
	case 1: /* a boot */
		host->real_ns += pause_ns;
		host->mono_ns = random_between(&host->seed, 1, 100 * SECOND);
		host->boot_id[5]++;
		return true;
	case 2: /* intervals that were not written */
		host->real_ns += pause_ns;
		host->mono_ns += pause_ns;
		return false;
	case 3: /* the clock is set, most often by little */
		host->real_ns += random_between(&host->seed, -2 * HOUR, 2 * HOUR) >>
				 random_below(&host->seed, 12);
		return false;
	default:
		return false;
	}
}

static inline void append_must(struct history *history, const struct snapshot *interval)
{
	must(history_append(history, interval, &d));
}

/* Adds an interval in which a host did nothing in particular. */
static inline void append_some(struct history *history, struct host *host, int64_t ns,
			       unsigned int nr_rows)
{
	__cleanup(snapshot_freep) struct snapshot *interval = host_pass(host, ns, nr_rows);

	append_must(history, interval);
}

static inline void append_minutes(struct history *history, struct host *host, int minutes,
				  unsigned int nr_rows)
{
	for (int i = 0; i < minutes; i++)
		append_some(history, host, MINUTE, nr_rows);
}

/* Rows by the number in a kind's name as pid: what two sums of different origin can agree on. */
static inline void flatten(struct builder *builder, const struct snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->nr_rows; i++) {
		struct row row = *snapshot->rows[i];
		const struct process *process =
			snapshot_find_process(snapshot, row.pid, row.boot_ns);

		if (!row.calls)
			continue;
		row.pid = process ? (uint32_t)atoi(process->comm + strlen("kind-")) : 0;
		row.boot_ns = 0;
		row.in_flight = row.in_flight_early = 0;
		row.oldest_start_ns = UINT64_MAX;
		assert_int_equal(builder_add_row(builder, &row), 0);
	}
	for (size_t i = 0; i < snapshot->nr_processes; i++) {
		struct process process = snapshot->processes[i];

		process.pid = (uint32_t)atoi(process.comm + strlen("kind-"));
		process.boot_ns = 0;
		assert_int_equal(builder_add_process(builder, &process, false), 0);
	}
}

/* A sum of intervals, and what the history must say of them. */
struct expected {
	struct builder *builder;
	struct losses losses;
	uint64_t covered_ns;
};

static inline struct expected expected_make(void)
{
	return (struct expected){ .builder = builder_make() };
}

static inline void expected_add(struct expected *expected, const struct snapshot *interval)
{
	flatten(expected->builder, interval);
	losses_merge(&expected->losses, &interval->losses);
	expected->covered_ns += interval->elapsed_ns;
}

/* Works like append_some(), and adds the interval to the expectation. */
static inline void append_expected(struct history *history, struct host *host, int64_t ns,
				   unsigned int nr_rows, struct expected *expected)
{
	__cleanup(snapshot_freep) struct snapshot *interval = host_pass(host, ns, nr_rows);

	append_must(history, interval);
	expected_add(expected, interval);
}

/* Compares all that was counted with the sum of all steps, and frees the expectation. */
static inline void expected_check(struct expected *expected, const struct timeline *timeline)
{
	struct builder *builder = builder_make();
	struct losses losses = { 0 };
	uint64_t covered_ns = 0;
	__cleanup(snapshot_freep) struct snapshot *got = NULL, *wanted = NULL;

	for (size_t i = 0; i < timeline->nr_steps; i++) {
		covered_ns += timeline->steps[i].covered_ns;
		if (!timeline->steps[i].sum)
			continue;
		flatten(builder, timeline->steps[i].sum);
		losses_merge(&losses, &timeline->steps[i].sum->losses);
		assert_int_equal(timeline->steps[i].sum->elapsed_ns, timeline->steps[i].covered_ns);
	}
	got = snapshot_take(builder);
	wanted = snapshot_take(expected->builder);
	assert_snapshot_equal(got, wanted);
	assert_memory_equal(&losses, &expected->losses, sizeof(losses));
	assert_int_equal(covered_ns, expected->covered_ns);
	expected->builder = NULL;
}

/* An answer takes the place of the one before. */
static inline void answer_must(struct history *history, const struct history_question *question,
			       struct timeline *ret)
{
	timeline_done(ret);
	must(history_ask(history, question, ret, &d));
}

static inline void ask_must(struct history *history, int64_t from_ns, int64_t to_ns,
			    uint64_t step_ns, struct timeline *ret)
{
	const struct history_question question = {
		.from_ns = from_ns,
		.to_ns = to_ns,
		.step_ns = step_ns,
	};

	answer_must(history, &question, ret);
}

/* Works like ask_must(), and checks these members of the answer. */
#define ask_has(history, from_ns, to_ns, step_ns, timeline, ...)      \
	do {                                                          \
		ask_must(history, from_ns, to_ns, step_ns, timeline); \
		assert_has(timeline, __VA_ARGS__);                    \
	} while (0)

static inline uint64_t timeline_calls(const struct timeline *timeline)
{
	uint64_t calls = 0;

	for (size_t i = 0; i < timeline->nr_steps; i++) {
		const struct snapshot *sum = timeline->steps[i].sum;

		calls += sum ? snapshot_sum(sum).calls : 0;
	}
	return calls;
}

static inline void assert_gap(const struct timeline *timeline, size_t at, int64_t start_ns,
			      int64_t end_ns, enum gap_reason reason)
{
	assert_true(at < timeline->nr_gaps);
	assert_has(&timeline->gaps[at], reason, reason, start_ns, start_ns, end_ns, end_ns);
}
