/* SPDX-License-Identifier: BSD-2-Clause */
/* The file of the history: who may open it, and which versions of it. */
#include "history_fixture.h"

#include <sqlite3.h>

#include "store/db.h"
#include "store/meta.h"
#include "store/schema.h"

static void test_reader_and_writer(void **state)
{
	const struct history_options read_only = { .read_only = true };
	__cleanup(history_closep) struct history *writer = open_default(*state);
	__cleanup(history_closep) struct history *reader = NULL;
	struct history *second = NULL;
	struct history_state opened;
	struct host host = host_make(14);
	struct timeline timeline;
	struct diag d = { 0 };

	reader = open_with(*state, &read_only, &opened);
	for (int i = 1; i < 30; i++) {
		__cleanup(snapshot_freep) struct snapshot *interval = host_pass(&host, MINUTE, 5);

		append_must(writer, interval);
		ask_must(reader, 0, 0, 0, &timeline);
		assert_int_equal(timeline.steps[0].covered_ns, i * MINUTE);
		timeline_done(&timeline);
		assert_int_equal(history_append(reader, interval, &d), -EROFS);
	}
	assert_int_equal(history_open(((struct place *)*state)->dir, &(struct history_options){ 0 },
				      &second, &opened, &d),
			 -EBUSY);
	assert_non_null(strstr(d.text, "another bpftruss"));
}

static void assert_refused(const char *dir, int err)
{
	const struct history_options options = { 0 };
	struct history *history = NULL;
	struct history_state state;
	struct diag d = { 0 };

	assert_int_equal(history_open(dir, &options, &history, &state, &d), err);
	assert_true(strlen(d.text) > 0);
}

static void test_directory(void **state)
{
	const struct place *place = *state;
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

/* One that a newer program wrote is left alone; a version that is a flipped bit is damage. */
static void test_newer_version(void **state)
{
	const struct place *place = *state;
	struct history_state opened;
	struct host host = host_make(15);
	__cleanup(snapshot_freep) struct snapshot *interval = host_pass(&host, MINUTE, 5);
	__cleanup(history_closep) struct history *history = open_default(*state);
	struct db *db;

	append_must(history, interval);
	history_close(steal_ptr(&history));
	set_version(place, schema_version + 1);
	history = open_with(place, &(struct history_options){ 0 }, &opened);
	assert_true(opened.set_aside);
	assert_int_equal(opened.intervals_kept, 1);
	assert_int_equal(opened.intervals_lost, 0);
	history_close(steal_ptr(&history));
	set_version(place, schema_version + 1);
	assert_int_equal(db_open(place->file, DB_WRITE, &db), 0);
	assert_int_equal(meta_write(db, "schema_version", schema_version + 1), 0);
	db_close(db);
	assert_refused(place->dir, -ENOTSUP);
}

/* An old file goes through all steps or, when one fails, stays what it was. */
static void test_migration(void **state)
{
	static const char *const steps[] = {
		"CREATE TABLE meta (name TEXT PRIMARY KEY NOT NULL, value INTEGER NOT NULL,"
		"	checksum INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
		"CREATE TABLE thing (a INTEGER); INSERT INTO thing VALUES (7);",
		"ALTER TABLE thing ADD COLUMN b INTEGER; UPDATE thing SET b = 10 * a;",
		"ALTER TABLE thing RENAME COLUMN b TO c;",
	};
	const char *const broken[] = { steps[0], steps[1], "INSERT INTO nothing VALUES (1)" };
	const struct place *place = *state;
	struct db *db;
	sqlite3_stmt *row;
	int64_t version;

	close(open(place->file, O_CREAT | O_WRONLY, 0600));
	assert_int_equal(db_open(place->file, DB_WRITE, &db), 0);
	assert_int_equal(schema_migrate(db, steps, 1), 0);
	assert_int_equal(schema_migrate(db, broken, 3), -EBADMSG);
	assert_int_equal(db_number(db, SCHEMA_VERSION, &version), 0);
	assert_int_equal(version, 1);
	assert_int_equal(schema_migrate(db, steps, 3), 0);
	assert_int_equal(schema_migrate(db, steps, 3), 0);
	assert_int_equal(db_number(db, SCHEMA_VERSION, &version), 0);
	assert_int_equal(version, 3);
	assert_int_equal(schema_migrate(db, steps, 2), -ENOTSUP);
	assert_int_equal(sqlite3_prepare_v2(db->handle, "SELECT a, c FROM thing", -1, &row, NULL),
			 SQLITE_OK);
	assert_int_equal(db_next(row), 1);
	assert_int_equal(sqlite3_column_int64(row, 0), 7);
	assert_int_equal(sqlite3_column_int64(row, 1), 70);
	sqlite3_finalize(row);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PLACE_TEST(test_reader_and_writer),
		PLACE_TEST(test_directory),
		PLACE_TEST(test_newer_version),
		PLACE_TEST(test_migration),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
