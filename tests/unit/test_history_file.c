/* SPDX-License-Identifier: BSD-2-Clause */
/* The file of the history: who may open it, which versions of it, and the blobs of cells in it. */
#include "history_fixture.h"

#include <sqlite3.h>

#include "store/db.h"
#include "store/sum.h"

PLACE_TEST(test_reader_and_writer)
{
	const struct history_options read_only = { .read_only = true };
	__cleanup(history_closep) struct history *writer = open_default(place);
	__cleanup(history_closep) struct history *reader = NULL;
	struct history *second = NULL;
	struct host host = host_make(14);
	__cleanup(timeline_done) struct timeline timeline = { 0 };

	reader = open_with(place, &read_only);
	for (int i = 1; i < 30; i++) {
		__cleanup(snapshot_freep) struct snapshot *interval = host_pass(&host, MINUTE, 5);

		append_must(writer, interval);
		ask_must(reader, 0, 0, 0, &timeline);
		assert_int_equal(timeline.steps[0].covered_ns, i * MINUTE);
		assert_int_equal(history_append(reader, interval, &d), -EROFS);
	}
	assert_int_equal(history_open(place->dir, &(struct history_options){ 0 }, &second, &d),
			 -EBUSY);
	assert_non_null(strstr(d.text, "another bpftruss"));
}

static void assert_refused(const char *dir, int err)
{
	const struct history_options options = { 0 };
	struct history *history = NULL;
	struct diag d = { 0 };

	assert_int_equal(history_open(dir, &options, &history, &d), err);
	assert_true(strlen(d.text) > 0);
}

PLACE_TEST(test_directory)
{
	char path[300];

	assert_refused("/nonexistent/history", -ENOENT);
	assert_int_equal(chmod(place->dir, 0750), 0);
	assert_refused(place->dir, -EPERM);
	assert_int_equal(chmod(place->dir, 0700), 0);
	snprintf(path, sizeof(path), "%s/link", place->dir);
	assert_int_equal(symlink(place->dir, path), 0);
	/* The kernel says that a link is no directory. */
	assert_refused(path, -ENOTDIR);
	assert_int_equal(symlink("/etc/passwd", place->file), 0);
	assert_refused(place->dir, -ELOOP);
	assert_int_equal(unlink(place->file), 0);
	assert_int_equal(mkfifo(place->file, 0600), 0);
	assert_refused(place->dir, -EINVAL);
}

static void set_version(const struct place *place, int version)
{
	sqlite3 *handle;
	char sql[160];

	assert_int_equal(sqlite3_open(place->file, &handle), SQLITE_OK);
	snprintf(sql, sizeof(sql), "PRAGMA user_version = %d", version);
	assert_int_equal(sqlite3_exec(handle, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(handle);
}

/* One that a newer program wrote is left alone, by who writes and by who reads. */
PLACE_TEST(test_newer_version)
{
	const struct history_options read_only = { .read_only = true };
	struct history *reader = NULL;
	struct host host = host_make(15);
	__cleanup(history_closep) struct history *history = open_default(place);

	append_minutes(history, &host, 1, 5);
	history_close(steal_ptr(&history));
	set_version(place, SCHEMA_VERSION + 1);
	assert_refused(place->dir, -ENOTSUP);
	must_fail(history_open(place->dir, &read_only, &reader, &d), -ENOTSUP, "newer bpftruss");
	assert_int_equal(place_count(place, "history.db.damaged-"), 0);
	set_version(place, SCHEMA_VERSION);
	history = open_default(place);
}

/* The file of another program is not written to, but put aside. */
PLACE_TEST(test_foreign_database)
{
	__cleanup(history_closep) struct history *history = NULL;
	__cleanup(freep) char *aside = NULL;
	__cleanup(timeline_done) struct timeline timeline = { 0 };
	sqlite3 *handle;

	assert_int_equal(sqlite3_open(place->file, &handle), SQLITE_OK);
	assert_int_equal(sqlite3_exec(handle, "CREATE TABLE thing (a INTEGER)", NULL, NULL, NULL),
			 SQLITE_OK);
	sqlite3_close(handle);
	history = open_with(place, &(struct history_options){ 0 });
	aside = history_set_aside(history);
	assert_non_null(aside);
	assert_int_equal(place_count(place, "history.db.damaged-"), 1);
	ask_has(history, 0, 0, 0, &timeline, nr_steps, 0);
}

static uint64_t number_of(const struct place *place, const char *sql)
{
	struct db *db;
	int64_t number = -1;

	assert_int_equal(db_open(place->file, DB_READ, &db), 0);
	assert_int_equal(db_number(db, sql, DB_NO_NUMBERS, &number), 0);
	db_close(db);
	return (uint64_t)number;
}

/* SQL answers what the history answers, whatever levels are left of a moment. */
PLACE_TEST(test_views)
{
	const struct history_options options = { .keep_ns = { HOUR, 3 * HOUR, 400 * DAY } };
	__cleanup(history_closep) struct history *history = open_with(place, &options);
	__cleanup(timeline_done) struct timeline timeline = { 0 };
	struct host host = host_make(16);
	uint64_t user_ns = 0;

	append_minutes(history, &host, 6 * 60, 5);
	ask_must(history, 0, 0, 0, &timeline);
	for (size_t i = 0; i < timeline.steps[0].sum->nr_processes; i++)
		user_ns += timeline.steps[0].sum->processes[i].user_ns;
	assert_int_equal(number_of(place, "SELECT sum(calls) FROM calls"),
			 timeline_calls(&timeline));
	assert_int_equal(number_of(place, "SELECT sum(user_ns) FROM processes"), user_ns);
	assert_int_equal(number_of(place, "SELECT count(DISTINCT comm) FROM calls WHERE user = "
					  "'www' AND cgroup = '/system.slice/web.service'"),
			 3);
	assert_int_equal(number_of(place, "SELECT count(DISTINCT syscall) FROM calls WHERE syscall "
					  "GLOB '*[a-z]*' AND start < end"),
			 number_of(place, "SELECT count(DISTINCT syscall) FROM calls"));
	assert_int_equal(number_of(place, "SELECT sum(covered_s) FROM intervals WHERE level = 2"),
			 5 * 3600);
	assert_int_equal(number_of(place, "SELECT count(*) FROM intervals WHERE host = 'web-1'"),
			 number_of(place, "SELECT count(*) FROM interval"));
}

/* --- blobs --------------------------------------------------------------------------------------- */

TEST(test_histogram)
{
	struct blob blob __cleanup(blob_done) = { 0 };
	uint64_t seed = 31;

	for (int i = 0; i < 500; i++) {
		struct hist hist __cleanup(hist_done) = { 0 }, copy __cleanup(hist_done) = { 0 };
		size_t nr = random_below(&seed, 20);

		for (size_t j = 0; j < nr; j++)
			hist_add(&hist, (unsigned int)random_below(&seed, HIST_BUCKETS),
				 1 + random_ns(&seed, 60));
		assert_int_equal(blob_from_hist(&blob, &hist), 0);
		assert_int_equal(blob_to_hist(blob.bytes, blob.size, &copy), 0);
		for (unsigned int j = 0; j < HIST_BUCKETS; j++)
			assert_int_equal(hist_count(&copy, j), hist_count(&hist, j));
		/* Cut off anywhere it is another histogram or none, never too much to read. */
		for (size_t size = 0; size < blob.size; size++) {
			struct hist part __cleanup(hist_done) = { 0 };
			uint8_t *bytes = malloc(size + 1);

			memcpy(bytes, blob.bytes, size);
			bytes = realloc(bytes, size ?: 1);
			blob_to_hist(bytes, size, &part);
			free(bytes);
		}
	}
}

/* The format is part of the schema. */
TEST(test_histogram_bytes)
{
	static const uint8_t expected[] = { 1 << 2 | 0, 2 << 2 | 2, 0x93, 0x03, 6 };
	struct blob blob __cleanup(blob_done) = { 0 };
	struct hist hist __cleanup(hist_done) = { 0 };

	hist_add(&hist, 0, 1);
	hist_add(&hist, 3, 2);
	hist_add(&hist, 13, 100);
	assert_int_equal(blob_from_hist(&blob, &hist), 0);
	assert_int_equal(blob.size, sizeof(expected));
	assert_memory_equal(blob.bytes, expected, sizeof(expected));
}

TEST(test_errnos)
{
	static const struct errno_count errnos[] = { { 2, 1 }, { 11, 300 }, { 4095, UINT64_MAX } };
	static const uint8_t expected[] = { 2,    1,    9,    0xac, 0x02, 0xf4, 0x1f, 0xff, 0xff,
					    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01 };
	struct blob blob __cleanup(blob_done) = { 0 };
	__cleanup(row_done) struct row row;

	row_init(&row);
	assert_int_equal(blob_from_errnos(&blob, errnos, ARRAY_SIZE(errnos)), 0);
	assert_int_equal(blob.size, sizeof(expected));
	assert_memory_equal(blob.bytes, expected, sizeof(expected));
	assert_int_equal(blob_to_errnos(blob.bytes, blob.size, &row), 0);
	assert_int_equal(row.nr_errnos, ARRAY_SIZE(errnos));
	for (size_t i = 0; i < ARRAY_SIZE(errnos); i++)
		assert_same(&row.errnos[i], &errnos[i], err, count);
}

TEST(test_blobs_refused)
{
	static const struct {
		uint8_t bytes[12];
		size_t size;
	} histograms[] = {
		{ { 0x84 }, 1 },       /* no end */
		{ { 0 }, 1 },	       /* a bucket without calls */
		{ { 7 }, 1 },	       /* no number of skipped buckets */
		{ { 7, 0xff, 1 }, 3 }, /* a bucket beyond the last */
		{ { 0x87, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02, 0 }, 11 },
	}, errnos[] = {
		{ { 2 }, 1 },
		{ { 2, 0 }, 2 },
		{ { 0x80, 0x80, 0x80, 0x80, 0x10, 1 }, 6 }, /* no int */
		{ { 0xff, 0xff, 0xff, 0xff, 7, 1, 1, 1 }, 8 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(histograms); i++) {
		struct hist hist __cleanup(hist_done) = { 0 };

		assert_int_equal(blob_to_hist(histograms[i].bytes, histograms[i].size, &hist),
				 -EUCLEAN);
	}
	for (size_t i = 0; i < ARRAY_SIZE(errnos); i++) {
		struct row row;

		row_init(&row);
		assert_int_equal(blob_to_errnos(errnos[i].bytes, errnos[i].size, &row), -EUCLEAN);
		row_done(&row);
	}
}
