/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files cut off anywhere, flipped bits, writers that are killed, full disks: every number that the
 * history gives is right, and what it cannot give is a gap.
 */
#include "history_fixture.h"

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "store/db.h"

#define NR_INTERVALS 45

/* Known numbers of a minute each, and the bytes of a file that has them. */
struct sample {
	struct place place;
	struct host host;
	uint64_t marks[NR_INTERVALS];
	uint8_t *bytes;
	size_t size;
};

/* A number that changes with anything in a row, and of a sum is the sum. */
static uint64_t row_mark(const struct row *row, uint64_t kind)
{
	const uint64_t numbers[] = { row->calls,  row->errors,    row->interrupted, row->untimed,
				     row->denied, row->no_return, row->wall_ns,     row->result_sum,
				     row->off_ns, row->runq_ns };
	uint64_t seed = kind << 40 ^ (uint64_t)row->abi << 32 ^ (uint64_t)row->nr, mark = 0;

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		mark += numbers[i] * random_u64(&seed);
	for (unsigned int i = 0; i < HIST_BUCKETS; i++)
		mark += hist_count(&row->hist, i) * random_u64(&seed);
	for (size_t i = 0; i < row->nr_errnos; i++) {
		uint64_t of_errno = seed ^ (uint64_t)row->errnos[i].err;

		mark += row->errnos[i].count * random_u64(&of_errno);
	}
	return mark;
}

static uint64_t snapshot_mark(const struct snapshot *snapshot)
{
	uint64_t mark = 0;

	for (size_t i = 0; i < snapshot->nr_rows; i++) {
		const struct row *row = snapshot->rows[i];
		const struct process *process =
			snapshot_find_process(snapshot, row->pid, row->boot_ns);

		if (row->calls)
			mark += row_mark(row, process ? (uint64_t)process->comm[5] : 0);
	}
	for (size_t i = 0; i < snapshot->nr_processes; i++) {
		uint64_t seed = (uint64_t)snapshot->processes[i].comm[5];

		mark += snapshot->processes[i].user_ns * random_u64(&seed);
	}
	for (uint64_t i = 0; i < NR_MODEL_LOSS; i++) {
		uint64_t seed = i;

		mark += snapshot->losses.count[i] * random_u64(&seed);
	}
	return mark;
}

static void read_bytes(struct sample *sample)
{
	int fd __cleanup(closep) = open(sample->place.file, O_RDONLY | O_CLOEXEC);
	struct stat status;

	assert_int_equal(fstat(fd, &status), 0);
	sample->size = (size_t)status.st_size;
	sample->bytes = malloc(sample->size);
	assert_non_null(sample->bytes);
	assert_int_equal(read(fd, sample->bytes, sample->size), sample->size);
}

static void write_bytes(const struct place *place, const uint8_t *bytes, size_t size)
{
	int fd __cleanup(closep) =
		open(place->file, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
}

static void append_marked(struct sample *sample, struct history *history, size_t i)
{
	__cleanup(snapshot_freep) struct snapshot *interval = host_pass(&sample->host, MINUTE, 6);

	sample->marks[i] = snapshot_mark(interval);
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
		append_marked(sample, history, i);
	history_close(history);
	read_bytes(sample);
}

static void sample_done(struct sample *sample)
{
	free(sample->bytes);
	place_done(&sample->place);
}

/* The numbers of a step are those of the minutes that it says it covers. Returns which these are. */
static void check_step(const struct sample *sample, const struct timeline_step *step, bool *counted)
{
	int64_t end_ns = step->sum->end_ns;
	uint64_t mark = 0;

	assert_int_equal(step->covered_ns % (uint64_t)MINUTE, 0);
	assert_int_equal((end_ns - NEW_YEAR) % MINUTE, 0);
	for (uint64_t ns = 0; ns < step->covered_ns; ns += MINUTE) {
		size_t i = (size_t)((end_ns - NEW_YEAR - (int64_t)ns) / MINUTE) - 1;

		assert_true(i < NR_INTERVALS);
		assert_false(counted[i]);
		counted[i] = true;
		mark += sample->marks[i];
	}
	assert_int_equal(snapshot_mark(step->sum), mark);
}

static bool is_in_gap(const struct timeline *timeline, int64_t ns)
{
	for (size_t i = 0; i < timeline->nr_gaps; i++) {
		if (timeline->gaps[i].start_ns <= ns && ns < timeline->gaps[i].end_ns)
			return true;
	}
	return false;
}

/* Returns how many minutes were counted; none of the others before the last may lack a gap. */
static size_t check_answer(const struct sample *sample, struct history *history)
{
	bool counted[NR_INTERVALS] = { false };
	size_t count = 0, last = 0;
	struct timeline timeline;

	ask_must(history, NEW_YEAR, NEW_YEAR + NR_INTERVALS * MINUTE, (uint64_t)MINUTE, &timeline);
	for (size_t i = 0; i < timeline.nr_steps; i++) {
		if (timeline.steps[i].sum)
			check_step(sample, &timeline.steps[i], counted);
	}
	for (size_t i = 0; i < NR_INTERVALS; i++) {
		count += counted[i];
		last = counted[i] ? i : last;
	}
	for (size_t i = 0; i < last; i++)
		assert_true(counted[i] ||
			    is_in_gap(&timeline, NEW_YEAR + (int64_t)i * MINUTE + SECOND));
	timeline_done(&timeline);
	return count;
}

/* What becomes of these bytes: it opens, answers, and goes on. Returns how much was kept. */
static size_t check_bytes(struct sample *sample, const uint8_t *bytes, size_t size,
			  bool *ret_set_aside)
{
	const struct history_options options = { 0 };
	struct history_state state;
	struct history *history;
	struct host later = sample->host;
	__cleanup(snapshot_freep) struct snapshot *interval = NULL;
	size_t kept;

	place_empty(&sample->place);
	write_bytes(&sample->place, bytes, size);
	history = open_with(&sample->place, &options, &state);
	*ret_set_aside = state.set_aside;
	assert_int_equal(place_count(&sample->place, "history.db.damaged-") > 0, state.set_aside);
	kept = check_answer(sample, history);
	later.real_ns += MINUTE;
	later.mono_ns += MINUTE;
	host_begin(&later, history);
	interval = host_pass(&later, MINUTE, 3);
	append_must(history, interval);
	assert_int_equal(check_answer(sample, history), kept);
	history_close(history);
	return kept;
}

/* One in so many is tried: all of them, for a minute or two, only with DAMAGE_ALL=1. */
static size_t one_in(size_t usual)
{
	return getenv("DAMAGE_ALL") ? 1 : usual;
}

static void test_truncated(void **state)
{
	struct sample sample;
	size_t kept = 0, count = 0, none = 0, i = 0;
	bool set_aside;

	(void)state;
	sample_init(&sample, 21);
	assert_int_equal(check_bytes(&sample, sample.bytes, sample.size, &set_aside), NR_INTERVALS);
	assert_false(set_aside);
	for (size_t size = 0; size < sample.size; size += size % 4096 < 97 ? 31 : 811) {
		size_t some;

		if (i++ % one_in(4))
			continue;
		some = check_bytes(&sample, sample.bytes, size, &set_aside);
		/* An empty file is a new one. */
		assert_int_equal(set_aside, size != 0);
		kept += some;
		none += some == 0;
		count++;
	}
	/* Much of what is left is used: what is not was in the pages that lead to it. */
	assert_true(kept > count);
	assert_true(none < count);
	sample_done(&sample);
}

static void test_flipped_bits(void **state)
{
	struct sample sample;
	uint64_t seed = 22;
	size_t kept = 0, asides = 0, count = 0;
	bool set_aside;

	(void)state;
	sample_init(&sample, 22);
	for (size_t i = 0; i < 500; i++) {
		size_t at = random_below(&seed, sample.size);
		uint8_t bit = (uint8_t)(1 << random_below(&seed, 8));

		if (i % one_in(7))
			continue;
		sample.bytes[at] ^= bit;
		kept += check_bytes(&sample, sample.bytes, sample.size, &set_aside);
		asides += set_aside;
		sample.bytes[at] ^= bit;
		count++;
	}
	/* One bit costs one interval, seldom a page, and most of all nothing. */
	assert_true(kept > count * (NR_INTERVALS - 10));
	assert_true(asides > 0);
	sample_done(&sample);
}

/* Damage that appears while a file is open that is larger than what is in memory of it. */
static void test_damaged_while_open(void **state)
{
	struct sample sample = { .host = host_make(23) };
	struct history *history;
	struct history_size size;
	struct timeline timeline;

	(void)state;
	place_init(&sample.place);
	history = open_default(&sample.place);
	host_begin(&sample.host, history);
	for (int i = 0; i < 1005; i++) {
		__cleanup(snapshot_freep) struct snapshot *interval =
			host_pass(&sample.host, MINUTE, i < 1000 ? 40 : 1);

		/* The disk goes bad between two appends. */
		if (i == 1000) {
			read_bytes(&sample);
			assert_true(sample.size > 2 << 20);
			memset(sample.bytes + 4096, 0xa5, sample.size - 4096);
			write_bytes(&sample.place, sample.bytes, sample.size);
			ask_must(history, 0, 0, 0, &timeline);
			timeline_done(&timeline);
		}
		append_must(history, interval);
	}
	assert_int_equal(history_size(history, &size), 0);
	assert_int_equal(size.set_aside, 1);
	assert_int_equal(size.failed, 0);
	assert_in_range(size.intervals[0], 5, 1000);
	assert_int_equal(place_count(&sample.place, "history.db.damaged-") > 0, 1);
	ask_must(history, NEW_YEAR + 1000 * MINUTE, 0, 0, &timeline);
	assert_int_equal(timeline.steps[0].covered_ns, 5 * MINUTE);
	timeline_done(&timeline);
	history_close(history);
	sample_done(&sample);
}

static void run_sql(const struct place *place, const char *sql)
{
	struct db *db;

	assert_int_equal(db_open(place->file, DB_WRITE, &db), 0);
	assert_int_equal(db_execute(db, sql), 0);
	db_close(db);
}

/* What SQLite cannot see: the numbers of one cell, an interval, a kind. */
static void test_wrong_content(void **state)
{
	static const struct {
		const char *sql;
		size_t least, most;
	} changes[] = {
		{ "UPDATE cell SET calls = calls + 1 WHERE interval = 3", NR_INTERVALS - 1,
		  NR_INTERVALS - 1 },
		{ "DELETE FROM cell WHERE interval = 45", NR_INTERVALS - 1, NR_INTERVALS - 1 },
		{ "UPDATE share SET user_ns = user_ns + 1 WHERE interval = 7 AND kind = 2",
		  NR_INTERVALS - 1, NR_INTERVALS - 1 },
		{ "UPDATE interval SET end_ns = end_ns + 1 WHERE level = 0 AND id = 4",
		  NR_INTERVALS, NR_INTERVALS },
		{ "UPDATE interval SET end_ns = end_ns + 1 WHERE level = 0 AND id = 48",
		  NR_INTERVALS - 1, NR_INTERVALS - 1 },
		{ "UPDATE kind SET comm = 'kind-9' WHERE id = 1", 0, NR_INTERVALS - 1 },
		{ "DELETE FROM run", 0, 0 },
	};
	struct sample sample;

	(void)state;
	sample_init(&sample, 24);
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		struct history *history;
		size_t kept;

		place_empty(&sample.place);
		write_bytes(&sample.place, sample.bytes, sample.size);
		run_sql(&sample.place, changes[i].sql);
		history = open_default(&sample.place);
		kept = check_answer(&sample, history);
		assert_in_range(kept, changes[i].least, changes[i].most);
		history_close(history);
	}
	sample_done(&sample);
}

/* Appends until it is killed; says how many intervals there were before each. */
static void write_until_killed(struct sample *sample, int out)
{
	struct history *history = open_default(&sample->place);

	host_begin(&sample->host, history);
	for (uint8_t i = 0; i < NR_INTERVALS; i++) {
		append_marked(sample, history, i);
		if (write(out, &i, 1) != 1)
			_exit(1);
	}
	pause();
}

static void kill_one(uint64_t *seed)
{
	uint64_t limit_us = random_below(seed, 40000);
	struct sample sample = { .host = host_make(25) };
	struct history *history;
	size_t known = 0;
	uint8_t number;
	int ends[2];
	pid_t child;

	place_init(&sample.place);
	assert_int_equal(pipe(ends), 0);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		close(ends[0]);
		write_until_killed(&sample, ends[1]);
	}
	close(ends[1]);
	usleep((useconds_t)limit_us);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	while (read(ends[0], &number, 1) == 1)
		known++;
	close(ends[0]);
	for (size_t i = 0; i < NR_INTERVALS; i++) {
		__cleanup(snapshot_freep) struct snapshot *interval =
			host_pass(&sample.host, MINUTE, 6);

		sample.marks[i] = snapshot_mark(interval);
	}
	/* All that was said to be written is there, and nothing is half there. */
	history = open_default(&sample.place);
	assert_in_range(check_answer(&sample, history), known, known + 1);
	history_close(history);
	place_done(&sample.place);
}

static void test_killed_writer(void **state)
{
	uint64_t seed = 25;

	(void)state;
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

/* Appends fail with a sentence while the disk is full, and go on by themselves after. */
static void live_with_full_disk(const struct place *place)
{
	struct host host = host_make(26);
	struct history *history;
	struct timeline timeline;
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
		failed += err != 0;
	}
	child_require(failed > 0);
	child_require(!history_size(history, &size) && size.failed == (uint64_t)failed);
	ask_must(history, 0, 0, 0, &timeline);
	child_require(timeline.steps[0].covered_ns == (uint64_t)(300 - failed) * MINUTE);
	for (size_t i = 0; i < timeline.nr_gaps; i++)
		child_require(timeline.gaps[i].reason == GAP_NOT_WRITTEN);
	child_require(timeline.nr_gaps > 0);
	timeline_done(&timeline);
	history_close(history);
	_exit(CHILD_FINE);
}

static void refuse_read_only_disk(const struct place *place)
{
	const struct history_options writer = { 0 }, reader = { .read_only = true };
	struct history *history = open_default(place);
	struct host host = host_make(27);
	struct snapshot *interval = host_pass(&host, MINUTE, 5);
	struct history_state state;
	struct diag d = { 0 };

	append_must(history, interval);
	history_close(history);
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount(place->dir, place->dir, NULL, MS_BIND, NULL) ||
	    mount(NULL, place->dir, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL))
		_exit(CHILD_SKIPS);
	child_require(history_open(place->dir, &writer, &history, &state, &d) == -EROFS);
	child_require(strlen(d.text) > 0);
	child_require(!history_open(place->dir, &reader, &history, &state, &d));
	_exit(CHILD_FINE);
}

static void in_child(void (*run)(const struct place *place), const char *name)
{
	struct place place;
	int status;
	pid_t child;

	place_init(&place);
	child = fork();
	assert_true(child >= 0);
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

static void test_full_disk(void **state)
{
	(void)state;
	in_child(live_with_full_disk, "test_full_disk");
}

static void test_read_only_disk(void **state)
{
	(void)state;
	in_child(refuse_read_only_disk, "test_read_only_disk");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_truncated),          cmocka_unit_test(test_flipped_bits),
		cmocka_unit_test(test_damaged_while_open), cmocka_unit_test(test_wrong_content),
		cmocka_unit_test(test_killed_writer),      cmocka_unit_test(test_full_disk),
		cmocka_unit_test(test_read_only_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
