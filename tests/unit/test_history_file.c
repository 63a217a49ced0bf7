/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The file of the history: who may open it, which versions of it, the blobs of cells in it, odd
 * contents, and a disk that fails.
 */
#include "history_fixture.h"

#include <sqlite3.h>
#include <sys/inotify.h>

#include "store/db.h"
#include "store/history_private.h"
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
		ask_has(reader, 0, 0, 0, &timeline, steps[0].covered_ns, i * MINUTE);
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

static void run_sql(const struct place *place, const char *sql)
{
	sqlite3 *handle;

	assert_int_equal(sqlite3_open(place->file, &handle), SQLITE_OK);
	assert_int_equal(sqlite3_exec(handle, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(handle);
}

static void set_version(const struct place *place, int version)
{
	char sql[160];

	snprintf(sql, sizeof(sql), "PRAGMA user_version = %d", version);
	run_sql(place, sql);
}

/* A daemon was killed when it had begun the file: a reader waits for the next, which goes on with it. */
PLACE_TEST(test_begun)
{
	const struct history_options read_only = { .read_only = true };
	__cleanup(history_closep) struct history *writer = NULL, *reader = NULL;

	run_sql(place, "PRAGMA auto_vacuum = INCREMENTAL");
	must_fail(history_open(place->dir, &read_only, &reader, &d), -ENOENT,
		  "start the daemon, which creates it");
	writer = open_default(place);
	assert_int_equal(place_count(place, "history.db.damaged-"), 0);
	reader = open_with(place, &read_only);
}

/* At no moment of its making there is a journal, which whoever only reads could not undo. */
PLACE_TEST(test_made_without_journal)
{
	int fd __cleanup(closep) = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	char events[65536];
	ssize_t size;

	assert_return_code(inotify_add_watch(fd, place->dir, IN_CREATE), errno);
	history_close(open_default(place));
	size = read(fd, events, sizeof(events));
	assert_in_range(size, 1, sizeof(events) - 1);
	assert_non_null(memmem(events, (size_t)size, "history.db-wal", 14));
	assert_null(memmem(events, (size_t)size, "history.db-journal", 18));
}

/* A file that a newer program wrote is left alone, by writers and by readers. */
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

	run_sql(place, "CREATE TABLE thing (a INTEGER)");
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
			__cleanup(freep) uint8_t *bytes = malloc(size + 1);

			memcpy(bytes, blob.bytes, size);
			bytes = realloc(bytes, size ?: 1);
			blob_to_hist(bytes, size, &part);
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
		__cleanup(row_done) struct row row;

		row_init(&row);
		assert_int_equal(blob_to_errnos(errnos[i].bytes, errnos[i].size, &row), -EUCLEAN);
	}
}

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

/* Any single read of a page may fail: that is no damage, and the next start finds all. */
TEST_WITH(test_a_read_that_fails_once, const struct place *place, disk_set_up, disk_tear_down)
{
	const struct history_options options = { 0 };
	__cleanup(history_closep) struct history *history = open_default(place);
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
	__cleanup(history_closep) struct history *history = open_default(place);
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
	ask_has(history, 0, 0, 0, &timeline, steps[0].covered_ns, MINUTE);
}

/* No file is set aside for a question that it cannot answer. */
static void assert_unanswered(const struct place *place, const char *sql)
{
	const struct history_question question = { 0 };
	__cleanup(history_closep) struct history *history = NULL;
	struct host host = host_make(65);
	struct timeline timeline;

	history = open_default(place);
	append_minutes(history, &host, 2, 5);
	history_close(steal_ptr(&history));
	run_sql(place, sql);
	history = open_default(place);
	for (int i = 0; i < 10; i++)
		assert_int_equal(history_ask(history, &question, &timeline, &d), -EUCLEAN);
	assert_int_equal(place_count(place, "history.db.damaged-"), 0);
}

PLACE_TEST(test_no_table_or_no_name_of_a_process)
{
	assert_unanswered(place, "DROP TABLE loss");
	place_empty(place);
	assert_unanswered(place, "PRAGMA foreign_keys = OFF; DELETE FROM kind");
}

/* A damaged file that a killed daemon has left, with a log: neither is written to. */
PLACE_TEST(test_the_log_of_a_damaged_file)
{
	__cleanup(history_closep) struct history *history = open_default(place);
	struct host host = host_make(64);
	__cleanup(bytes_done) struct bytes file = { 0 }, log = { 0 };
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
}

/* If the file cannot be renamed, its log stays: without it, another file would be read. */
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
