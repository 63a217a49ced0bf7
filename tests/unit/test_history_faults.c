/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the history on a disk that fails, and on files with odd contents. */
#include "history_fixture.h"

#include <sqlite3.h>

#include "store/history_private.h"
#include "store/sum.h"

/* --- a disk that fails when it is told to ------------------------------------------------------ */

static struct {
	sqlite3_vfs vfs;
	sqlite3_vfs *real;
	sqlite3_io_methods methods;
	const sqlite3_io_methods *real_methods;
	unsigned int read_fails_at; /* the read that fails from now on; 0: none does, or it has */
	bool is_full;
} disk;

static int disk_read(sqlite3_file *file, void *buf, int size, sqlite3_int64 at)
{
	if (disk.read_fails_at && !--disk.read_fails_at)
		return SQLITE_IOERR_READ;
	return disk.real_methods->xRead(file, buf, size, at);
}

static int disk_write(sqlite3_file *file, const void *buf, int size, sqlite3_int64 at)
{
	return disk.is_full ? SQLITE_FULL : disk.real_methods->xWrite(file, buf, size, at);
}

static int disk_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
		     int *ret_flags)
{
	int result = disk.real->xOpen(vfs, name, file, flags, ret_flags);

	if (result != SQLITE_OK || !(flags & SQLITE_OPEN_MAIN_DB))
		return result;
	disk.real_methods = file->pMethods;
	disk.methods = *file->pMethods;
	disk.methods.xRead = disk_read;
	disk.methods.xWrite = disk_write;
	file->pMethods = &disk.methods;
	return result;
}

static int disk_set_up(void **state)
{
	disk.real = sqlite3_vfs_find(NULL);
	disk.vfs = *disk.real;
	disk.vfs.zName = "disk";
	disk.vfs.pNext = NULL;
	disk.vfs.xOpen = disk_open;
	disk.read_fails_at = 0;
	disk.is_full = false;
	assert_int_equal(sqlite3_vfs_register(&disk.vfs, 1), SQLITE_OK);
	return place_set_up(state);
}

static int disk_tear_down(void **state)
{
	sqlite3_vfs_unregister(&disk.vfs);
	sqlite3_vfs_register(disk.real, 1);
	return place_tear_down(state);
}

/* One read of a page fails, whichever it is: that is no damage, and the next start finds all. */
TEST_WITH(test_a_read_that_fails_once, const struct place *place, disk_set_up, disk_tear_down)
{
	const struct history_options options = { 0 };
	struct history *history = open_default(place);
	struct host host = host_make(61);
	__cleanup(timeline_done) struct timeline timeline = { 0 };
	unsigned int at = 0, refused = 0;
	uint64_t calls;
	int err;

	append_minutes(history, &host, 30, 20);
	ask_must(history, 0, 0, 0, &timeline);
	calls = timeline_calls(&timeline);
	history_close(history);
	do {
		disk.read_fails_at = ++at;
		err = history_open(place->dir, &options, &history, &d);
		assert_true(err == 0 || err == -EIO);
		assert_int_equal(place_count(place, "history.db.damaged-"), 0);
		assert_true(!err || strstr(d.text, "check the disk"));
		refused += err != 0;
		if (!err)
			history_close(history);
	} while (!disk.read_fails_at);
	disk.read_fails_at = 0;
	/* Each page is read, and without most of them nothing is known of it. */
	assert_true(at > 20);
	assert_in_range(refused, at / 2, at);
	history = open_default(place);
	ask_must(history, 0, 0, 0, &timeline);
	assert_int_equal(timeline_calls(&timeline), calls);
	history_close(history);
}

/* A loss stays a gap, also when the disk was full as the file was set aside. */
TEST_WITH(test_damaged_and_full, const struct place *place, disk_set_up, disk_tear_down)
{
	const struct timespec times[2] = { { NEW_YEAR / SECOND, 0 }, { NEW_YEAR / SECOND, 0 } };
	const struct history_question question = { 0 };
	struct host host = host_make(62);
	__cleanup(history_closep) struct history *history = NULL;
	__cleanup(snapshot_freep) struct snapshot *lost = NULL;
	__cleanup(freep) char *aside = NULL;
	__cleanup(timeline_done) struct timeline timeline = { 0 };
	int fd = open(place->file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	for (int i = 0; i < 1000; i++)
		assert_int_equal(write(fd, "no database", 11), 11);
	close(fd);
	assert_int_equal(utimensat(AT_FDCWD, place->file, times, 0), 0);
	disk.is_full = true;
	history = open_with(place, &(struct history_options){ 0 });
	aside = history_set_aside(history);
	assert_non_null(aside);
	host.real_ns += HOUR;
	assert_all(history_ask(history, &question, &timeline, &d) < 0,
		   strstr(d.text, "no new one can be made yet"));
	lost = host_pass(&host, MINUTE, 5);
	must_fail(history_append(history, lost, &d), -ENOSPC, "the disk is full");
	disk.is_full = false;
	append_minutes(history, &host, 1, 5);
	ask_must(history, NEW_YEAR - DAY, 0, 0, &timeline);
	assert_gap(&timeline, 0, NEW_YEAR, NEW_YEAR + HOUR, GAP_DAMAGED);
	assert_int_equal(timeline.steps[0].covered_ns, MINUTE);
	assert_int_equal(place_count(place, "history.db.damaged-"), 1);
}

/* --- what is in the file ----------------------------------------------------------------------- */

static void run_sql(const struct place *place, const char *sql)
{
	sqlite3 *handle;

	assert_int_equal(sqlite3_open(place->file, &handle), SQLITE_OK);
	assert_int_equal(sqlite3_exec(handle, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(handle);
}

/* A check of the file reads all of it. */
static int count_check(unsigned int event, void *closure, void *statement, void *sql)
{
	int *checks = closure;

	(void)event, (void)statement;
	*checks += strstr(sql, "quick_check") != NULL;
	return 0;
}

/*
 * SQLite finds nothing wrong with bytes that nobody can decode: a question fails, and so do intervals
 * that have to read them; a new file begins when nothing can be written to this one any more. Nobody
 * waits for the whole file to be checked meanwhile.
 */
PLACE_TEST(test_odd_bytes)
{
	const struct history_question question = { 0 };
	struct history *history = open_default(place);
	struct host host = host_make(63);
	__cleanup(timeline_done) struct timeline timeline = { 0 };
	int checks = 0;

	append_minutes(history, &host, 5, 10);
	history_close(history);
	run_sql(place, "UPDATE cell SET errnos = x'ff'");
	history = open_default(place);
	sqlite3_trace_v2(history->db->handle, SQLITE_TRACE_STMT, count_check, &checks);
	for (int i = 0; i < 10; i++)
		must_fail(history_ask(history, &question, &timeline, &d), -EUCLEAN,
			  "that bpftruss does not write: ask for another span");
	for (int i = 0; i < 3; i++) {
		__cleanup(snapshot_freep) struct snapshot *interval = host_pass(&host, MINUTE, 10);

		assert_int_equal(place_count(place, "history.db.damaged-"), 0);
		assert_int_equal(history_append(history, interval, &d), i < 2 ? -EUCLEAN : 0);
		assert_true(i == 2 || strstr(d.text, "a new one begins unless that passes"));
		assert_int_equal(checks, 0);
	}
	assert_int_equal(place_count(place, "history.db.damaged-"), 1);
	ask_must(history, 0, 0, 0, &timeline);
	assert_int_equal(timeline.steps[0].covered_ns, MINUTE);
	history_close(history);
}

/* No file is set aside for a question that its schema cannot answer. */
PLACE_TEST(test_odd_schema)
{
	const struct history_question question = { 0 };
	__cleanup(history_closep) struct history *history = NULL;
	struct host host = host_make(65);
	struct timeline timeline;

	history = open_default(place);
	append_minutes(history, &host, 2, 5);
	history_close(steal_ptr(&history));
	run_sql(place, "DROP TABLE loss");
	history = open_default(place);
	for (int i = 0; i < 10; i++)
		assert_int_equal(history_ask(history, &question, &timeline, &d), -EUCLEAN);
	assert_int_equal(place_count(place, "history.db.damaged-"), 0);
}

/* A damaged file that a killed daemon has left, with a log: neither is written to. */
PLACE_TEST(test_the_log_of_a_damaged_file)
{
	struct history *history = open_default(place);
	struct host host = host_make(64);
	struct bytes file, log;
	__cleanup(freep) char *aside = NULL;
	char path[400];

	append_minutes(history, &host, 60, 40);
	history_close(history);
	history = open_default(place);
	append_minutes(history, &host, 1, 5);
	snprintf(path, sizeof(path), "%s-wal", place->file);
	file = bytes_read(place->file);
	log = bytes_read(path);
	assert_true(log.size > 4096 && file.size > log.size);
	history_close(history);
	memset(file.data + file.size / 4, 0xa5, file.size / 2);
	write_all(place->file, &file);
	write_all(path, &log);
	history = open_with(place, &(struct history_options){ 0 });
	aside = history_set_aside(history);
	assert_non_null(aside);
	must_be(aside, &file);
	snprintf(path, sizeof(path), "%s-wal", aside);
	must_be(path, &log);
	history_close(history);
	bytes_done(&file);
	bytes_done(&log);
}

/* Where the file cannot be renamed, its log stays beside it: without, it would be read as another one. */
PLACE_TEST(test_the_log_of_a_file_that_stays)
{
	__cleanup(history_closep) struct history *history = open_default(place);
	struct host host = host_make(66);
	char log[400], kept[400], *aside = NULL;

	append_minutes(history, &host, 2, 5);
	snprintf(log, sizeof(log), "%s-wal", place->file);
	snprintf(kept, sizeof(kept), "%s-kept", place->file);
	assert_int_equal(access(log, F_OK), 0);
	assert_int_equal(rename(place->file, kept), 0);
	assert_int_equal(place_set_aside(history, &aside), -ENOENT);
	assert_int_equal(access(log, F_OK), 0);
	assert_int_equal(place_count(place, "history.db.damaged-"), 0);
	assert_int_equal(rename(kept, place->file), 0);
}

/* --- others ------------------------------------------------------------------------------------ */

/* Reads, then writes, while another program tries to write in between. */
static int write_late(struct history *history, void *closure)
{
	int64_t runs = 0;
	int err = db_number(history->db, "SELECT count(*) FROM run", DB_NO_NUMBERS, &runs);

	assert_int_equal(
		sqlite3_exec(closure, "INSERT INTO meta VALUES ('other', 1)", NULL, NULL, NULL),
		SQLITE_BUSY);
	return err ?: db_meta_write(history->db, "late", 1);
}

PLACE_TEST(test_another_writer)
{
	__cleanup(history_closep) struct history *history = open_default(place);
	sqlite3 *other;

	assert_int_equal(sqlite3_open(place->file, &other), SQLITE_OK);
	must(history_run(history, write_late, other, true, "write", &d));
	sqlite3_close(other);
}

/* The statement of kind_find(), which the database keeps. */
static const char *kind_sql(struct db *db)
{
	for (size_t i = 0; i < db->nr_statements; i++) {
		if (!strncmp(db->statements[i].sql, "SELECT id FROM kind WHERE uid", 29))
			return db->statements[i].sql;
	}
	fail();
	return NULL;
}

static void check_plan(struct db *db)
{
	sqlite3_stmt *plan;
	char sql[300];

	snprintf(sql, sizeof(sql), "EXPLAIN QUERY PLAN %s", kind_sql(db));
	assert_int_equal(sqlite3_prepare_v2(db->handle, sql, -1, &plan, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(plan), SQLITE_ROW);
	assert_non_null(strstr((const char *)sqlite3_column_text(plan, 3),
			       "kind_by_value (comm=? AND uid=? AND cgroup=? AND user=?)"));
	/* Nothing is sorted, either. */
	assert_int_equal(sqlite3_step(plan), SQLITE_DONE);
	sqlite3_finalize(plan);
}

/* A user with many cgroups: a kind is found by all that it is, not among all of a name and a user. */
PLACE_TEST(test_many_kinds_of_a_name)
{
	char cgroup[32];
	int64_t room = KINDS_MAX;
	struct db *db;

	history_close(open_default(place));
	assert_int_equal(db_open(place->file, DB_WRITE, &db), 0);
	assert_int_equal(db_execute(db, "BEGIN"), 0);
	for (int pass = 0; pass < 2; pass++) {
		for (int64_t i = 0; i < KINDS_MAX; i++) {
			struct kind kind = { .comm = "same", .uid = 7, .user = "www" };

			snprintf(cgroup, sizeof(cgroup), "/%d", (int)i);
			kind.cgroup = cgroup;
			assert_int_equal(kind_take(db, &kind, &room), 0);
			assert_int_equal(kind.id, KIND_OTHERS + 1 + i);
			if (!i)
				check_plan(db);
		}
		assert_int_equal(room, 0);
	}
	assert_int_equal(db_execute(db, "COMMIT"), 0);
	db_close(db);
}
