/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files cut off anywhere, flipped bits, writers that are killed, full disks: a damaged file is put
 * aside whole, its time is a gap, and what is counted after that is right.
 */
#include "history_fixture.h"

#include <sched.h>
#include <sys/mount.h>

#define NR_INTERVALS 45

/* The time at which the file of a sample was written last. */
#define WRITTEN (NEW_YEAR + 20 * MINUTE)

/* The calls of a minute each, and the bytes of a file that has them. */
struct sample {
	struct place place;
	struct host host;
	uint64_t calls[NR_INTERVALS];
	struct bytes file;
};

static void append_counted(struct sample *sample, struct history *history, size_t i)
{
	__cleanup(snapshot_freep) struct snapshot *interval = host_pass(&sample->host, MINUTE, 6);

	sample->calls[i] = snapshot_sum(interval).calls;
	append_must(history, interval);
}

static void sample_init(struct sample *sample, uint64_t seed)
{
	struct history *history;

	*sample = (struct sample){ .host = host_make(seed) };
	place_init(&sample->place);
	history = open_default(&sample->place);
	host_begin(&sample->host, history);
	for (size_t i = 0; i < NR_INTERVALS; i++)
		append_counted(sample, history, i);
	history_close(history);
	sample->file = bytes_read(sample->place.file);
}

static void sample_done(struct sample *sample)
{
	free(sample->file.data);
	place_done(&sample->place);
}

/* How many minutes are there; each has all its calls, and after the first that lacks all do. */
static size_t check_answer(const struct sample *sample, struct history *history)
{
	__cleanup(timeline_done) struct timeline timeline = { 0 };
	size_t count = 0;

	ask_must(history, NEW_YEAR, NEW_YEAR + NR_INTERVALS * MINUTE, (uint64_t)MINUTE, &timeline);
	for (size_t i = 0; i < timeline.nr_steps && timeline.steps[i].sum; i++) {
		assert_int_equal(timeline.steps[i].covered_ns, MINUTE);
		assert_int_equal(snapshot_sum(timeline.steps[i].sum).calls, sample->calls[i]);
		count++;
	}
	for (size_t i = count; i < timeline.nr_steps; i++)
		assert_null(timeline.steps[i].sum);
	return count;
}

/*
 * The damaged span is a gap before what is counted now, and so are intervals that were refused in
 * between; the file may tell since when, or when it was written.
 */
static void check_damage(struct history *history, int64_t end_ns, int refused)
{
	__cleanup(timeline_done) struct timeline timeline = { 0 };
	int64_t now_ns = end_ns + refused * MINUTE;

	ask_has(history, NEW_YEAR - DAY, now_ns + MINUTE, 0, &timeline, nr_gaps, 1 + (refused > 0));
	if (refused)
		assert_gap(&timeline, 1, end_ns, now_ns, GAP_NOT_WRITTEN);
	assert_int_equal(timeline.gaps[0].reason, GAP_DAMAGED);
	if (timeline.gaps[0].start_ns != NEW_YEAR)
		assert_int_equal(timeline.gaps[0].start_ns, WRITTEN);
	assert_has(&timeline, gaps[0].end_ns, end_ns, steps[0].covered_ns, MINUTE);
}

/* Counting begins again. Returns how many intervals were refused first, for what is in the file. */
static int go_on(struct history *history, struct host *host)
{
	__cleanup(snapshot_freep) struct snapshot *now = host_snapshot(host);
	int err = history_begin(history, now, now->end_ns, now->end_mono_ns, &d);
	bool begins = !err;
	int refused = 0;

	do {
		__cleanup(snapshot_freep) struct snapshot *interval = host_pass(host, MINUTE, 3);

		assert_true(!err || err == -EUCLEAN);
		err = history_append(history, interval, &d);
		refused += err != 0;
	} while (err && refused < 2 + begins);
	if (err)
		fail_msg("%s", d.text);
	return refused;
}

/* Opens these bytes, asks, and goes on. Returns whether they were put aside. */
static bool check_bytes(struct sample *sample, const struct bytes *bytes)
{
	const struct timespec written[2] = { { WRITTEN / SECOND, 0 }, { WRITTEN / SECOND, 0 } };
	const struct history_options options = { 0 };
	struct host later = sample->host;
	__cleanup(history_closep) struct history *history = NULL;
	const struct history_question question = { 0 };
	__cleanup(timeline_done) struct timeline timeline = { 0 };
	int err, refused;
	__cleanup(freep) char *aside = NULL, *later_aside = NULL;

	place_empty(&sample->place);
	write_all(sample->place.file, bytes);
	assert_int_equal(utimensat(AT_FDCWD, sample->place.file, written, 0), 0);
	history = open_with(&sample->place, &options);
	aside = history_set_aside(history);
	if (aside)
		must_be(aside, bytes);
	err = history_ask(history, &question, &timeline, &d);
	/* SQLite does not see bytes that only we do not understand. */
	assert_true(!err || (err == -EUCLEAN && !aside));
	later.real_ns += MINUTE;
	later.mono_ns += MINUTE;
	refused = go_on(history, &later);
	/* SQLite may see it only when it reads what is damaged. */
	later_aside = history_set_aside(history);
	assert_int_equal(place_count(&sample->place, "history.db.damaged-"), aside || later_aside);
	if (aside || later_aside)
		check_damage(history, later.real_ns - (1 + refused) * MINUTE, refused);
	assert_null(history_set_aside(history));
	return aside || later_aside;
}

#define SAMPLE_TEST(name, seed) TEST_OF(name, struct sample, sample, sample_done, sample_init, seed)

SAMPLE_TEST(test_truncated, 21)
{
	assert_false(check_bytes(sample, &sample->file));
	/* An empty file is a new one. */
	for (size_t size = 0; size < sample->file.size; size += size % 4096 < 97 ? 131 : 3811)
		assert_int_equal(check_bytes(sample, &(struct bytes){ sample->file.data, size }),
				 size != 0);
}

/* Damage that SQLite does not see changes a number at most; what it does see is put aside. */
SAMPLE_TEST(test_flipped_bits, 22)
{
	uint64_t seed = 22;
	size_t asides = 0;

	for (size_t i = 0; i < 70; i++) {
		size_t at = random_below(&seed, i % 2 ? sample->file.size : 4096);
		uint8_t bit = (uint8_t)(1 << random_below(&seed, 8));

		sample->file.data[at] ^= bit;
		asides += check_bytes(sample, &sample->file);
		sample->file.data[at] ^= bit;
	}
	assert_in_range(asides, 1, 69);
}

/* Damage that appears while a file is open that is larger than what is in memory of it. */
TEST(test_damaged_while_open)
{
	const struct history_question minutes = { .step_ns = MINUTE, .folded = KIND_FIELDS };
	struct sample sample __cleanup(sample_done) = { .host = host_make(23) };
	__cleanup(freep) char *aside = NULL;
	__cleanup(history_closep) struct history *history = NULL;
	struct history_size size;
	__cleanup(timeline_done) struct timeline timeline = { 0 };

	place_init(&sample.place);
	history = open_default(&sample.place);
	host_begin(&sample.host, history);
	for (int i = 0; i < 1005; i++) {
		__cleanup(snapshot_freep) struct snapshot *interval =
			host_pass(&sample.host, MINUTE, i < 1000 ? 40 : 1);

		/* The disk goes bad between two appends. */
		if (i == 1000) {
			sample.file = bytes_read(sample.place.file);
			assert_true(sample.file.size > 2 << 20);
			memset(sample.file.data + 4096, 0xa5, sample.file.size - 4096);
			write_all(sample.place.file, &sample.file);
			answer_must(history, &minutes, &timeline);
		}
		append_must(history, interval);
	}
	assert_int_equal(history_size(history, &size), 0);
	assert_has(&size, set_aside, 1, failed, 0, intervals[0], 5);
	aside = history_set_aside(history);
	assert_all(aside, !history_set_aside(history));
	ask_has(history, NEW_YEAR, 0, 0, &timeline, steps[0].covered_ns, 5 * MINUTE, nr_gaps, 1);
	assert_has(&timeline.gaps[0], reason, GAP_DAMAGED, end_ns, NEW_YEAR + 1000 * MINUTE);
}

/* Appends until it is killed; says how many intervals there were before each. */
static void write_until_killed(struct sample *sample, int out)
{
	struct history *history = open_default(&sample->place);

	host_begin(&sample->host, history);
	for (uint8_t i = 0; i < NR_INTERVALS; i++) {
		append_counted(sample, history, i);
		if (write(out, &i, 1) != 1)
			_exit(1);
	}
	pause();
}

static void kill_one(uint64_t *seed)
{
	uint64_t limit_us = random_below(seed, 40000);
	struct sample sample __cleanup(sample_done) = { .host = host_make(25) };
	__cleanup(history_closep) struct history *history = NULL;
	size_t known = 0;
	uint8_t number;
	int ends[2];
	pid_t child;

	place_init(&sample.place);
	assert_int_equal(pipe(ends), 0);
	child = fork_must();
	if (!child) {
		close(ends[0]);
		write_until_killed(&sample, ends[1]);
	}
	close(ends[1]);
	usleep((useconds_t)limit_us);
	child_kill(child);
	while (read(ends[0], &number, 1) == 1)
		known++;
	close(ends[0]);
	for (size_t i = 0; i < NR_INTERVALS; i++) {
		__cleanup(snapshot_freep) struct snapshot *interval =
			host_pass(&sample.host, MINUTE, 6);

		sample.calls[i] = snapshot_sum(interval).calls;
	}
	/* All that was said to be written is there, and nothing is half there. */
	history = open_default(&sample.place);
	assert_in_range(check_answer(&sample, history), known, known + 1);
}

TEST(test_killed_writer)
{
	uint64_t seed = 25;

	for (int i = 0; i < 25; i++)
		kill_one(&seed);
}

/* A file system of this many bytes that nobody else sees; false when we may not. */
static bool mount_small(const char *dir, const char *bytes)
{
	char options[64];

	snprintf(options, sizeof(options), "size=%s,mode=0700", bytes);
	return !unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	       !mount("tmpfs", dir, "tmpfs", 0, options);
}

static void fill_disk(const char *path)
{
	static const char zeroes[4096];
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	while (write(fd, zeroes, sizeof(zeroes)) > 0)
		;
	close(fd);
}

enum { CHILD_FINE = 0, CHILD_WRONG = 1, CHILD_SKIPS = 77 };

#define child_require(condition)                                                        \
	do {                                                                            \
		if (!(condition)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			_exit(CHILD_WRONG);                                             \
		}                                                                       \
	} while (0)

/* A question needs no room on the disk, even if it does not fit into the cache. */
static void ask_crowd(struct history *history, struct host host)
{
	__cleanup(snapshot_freep) struct snapshot *crowd = pass_crowd(&host, "crowd-", 12000);
	const struct history_question question = { .tail = crowd, .folded = KIND_FIELDS };
	__cleanup(timeline_done) struct timeline timeline = { 0 };

	child_require(!history_ask(history, &question, &timeline, &d));
	child_require(timeline_calls(&timeline) >= 12000);
}

/* Appends fail with a sentence while the disk is full, and go on by themselves after. */
static void live_with_full_disk(const struct place *place)
{
	struct host host = host_make(26);
	struct history *history;
	__cleanup(timeline_done) struct timeline timeline = { 0 };
	struct history_size size;
	struct diag d = { 0 };
	char ballast[300];
	int failed = 0;

	if (!mount_small(place->dir, "3m"))
		_exit(CHILD_SKIPS);
	snprintf(ballast, sizeof(ballast), "%s/ballast", place->dir);
	history = open_default(place);
	host_begin(&host, history);
	for (int i = 0; i < 300; i++) {
		__cleanup(snapshot_freep) struct snapshot *interval = host_pass(&host, MINUTE, 40);
		int err;

		if (i == 50)
			fill_disk(ballast);
		if (i == 290)
			unlink(ballast);
		err = history_append(history, interval, &d);
		child_require(!err || err == -ENOSPC);
		child_require(!err || strstr(d.text, "the disk is full"));
		child_require(!err || (i >= 50 && i < 290));
		if (err && !failed)
			ask_crowd(history, host);
		failed += err != 0;
	}
	child_require(failed > 0);
	child_require(!history_size(history, &size) && size.failed == (uint64_t)failed);
	ask_must(history, 0, 0, 0, &timeline);
	child_require(timeline.steps[0].covered_ns == (uint64_t)(300 - failed) * MINUTE);
	for (size_t i = 0; i < timeline.nr_gaps; i++)
		child_require(timeline.gaps[i].reason == GAP_NOT_WRITTEN);
	child_require(timeline.nr_gaps > 0);
	history_close(history);
	_exit(CHILD_FINE);
}

static void refuse_read_only_disk(const struct place *place)
{
	const struct history_options writer = { 0 }, reader = { .read_only = true };
	struct history *history = open_default(place);
	struct host host = host_make(27);
	struct snapshot *first = host_pass(&host, MINUTE, 5), *second;
	struct timeline timeline = { 0 };
	struct diag d = { 0 };

	append_must(history, first);
	history_close(history);
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount(place->dir, place->dir, NULL, MS_BIND, NULL) ||
	    mount(NULL, place->dir, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL))
		_exit(CHILD_SKIPS);
	child_require(history_open(place->dir, &writer, &history, &d) == -EROFS);
	child_require(strlen(d.text) > 0);
	child_require(!history_open(place->dir, &reader, &history, &d));
	history_close(history);
	/* Counts of meanwhile are written once, as soon as they can be. */
	second = host_pass(&host, MINUTE, 7);
	child_require(!mount(NULL, place->dir, NULL, MS_REMOUNT | MS_BIND, NULL));
	history = open_default(place);
	append_must(history, second);
	history_close(history);
	history = open_default(place);
	ask_must(history, 0, 0, 0, &timeline);
	child_require(timeline_calls(&timeline) ==
		      snapshot_sum(first).calls + snapshot_sum(second).calls);
	child_require(timeline.steps[0].covered_ns == 2 * (uint64_t)MINUTE);
	_exit(CHILD_FINE);
}

static void in_child(void (*run)(const struct place *place), const char *name)
{
	struct place place;
	int status;
	pid_t child;

	place_init(&place);
	child = fork_must();
	if (!child)
		run(&place);
	assert_int_equal(waitpid(child, &status, 0), child);
	place_done(&place);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == CHILD_SKIPS) {
		fprintf(stderr, "%s needs the right to mount\n", name);
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), CHILD_FINE);
}

TEST(test_full_disk)
{
	in_child(live_with_full_disk, "test_full_disk");
}

TEST(test_read_only_disk)
{
	in_child(refuse_read_only_disk, "test_read_only_disk");
}
