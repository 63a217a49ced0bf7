/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens and closes a history, runs its transactions, and deals with a full disk or a damaged file
 * when one of them meets it.
 */
#include "store/history.h"

#include "store/history_private.h"

#define NS_PER_HOUR (3600 * NS_PER_SEC)

void history_set_options(struct history *history, const struct history_options *options)
{
	static const uint64_t hours[NR_HISTORY_LEVEL] = { HISTORY_KEEP_HOURS_0,
							  HISTORY_KEEP_HOURS_1,
							  HISTORY_KEEP_HOURS_2 };
	struct history_options *own = &history->options;

	own->max_bytes = options->max_bytes ?: HISTORY_MAX_BYTES;
	for (int i = 0; i < NR_HISTORY_LEVEL; i++)
		own->keep_ns[i] = options->keep_ns[i] ?: hours[i] * NS_PER_HOUR;
}

/* Changes in a row that may fail for what is in the file: after so many it cannot go on with it. */
#define ODD_MAX 3

/* Says in d what an error of db.h means for somebody who did something to the history. */
static int explain(const struct history *history, int err, const char *what, struct diag *d)
{
	static const struct {
		int err;
		const char *why;
	} reasons[] = {
		{ -ENOSPC, "the disk is full: make room" },
		{ -EROFS, "it is on a read-only file system: mount it writable" },
		{ -EBUSY, "another program has it locked: end that program" },
		{ -EBADMSG, "it is damaged: the daemon renames it when it starts" },
		{ -ENOMEDIUM, "the damaged file was set aside, and no new one can be made yet" },
		{ -EUCLEAN, "it has content that bpftruss does not write: ask for another span" },
		{ -ENOTSUP, "it was written by a newer bpftruss: use that one" },
		{ -ENOENT, "it cannot be opened: start the daemon, which creates it" },
		{ -EIO, "a page of it cannot be read or written: check the disk" },
		{ -ENOMEM, "out of memory" },
		{ -ERANGE, "a count is impossible: report this as a bug" },
	};
	const char *why = history->db ? sqlite3_errmsg(history->db->handle) : strerror(-err);

	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
		if (reasons[i].err == err)
			why = reasons[i].why;
	}
	if (err == -EUCLEAN && !strcmp(what, "write"))
		why = "not all in it is as bpftruss writes it: a new one begins unless that passes";
	return diag_set(d, DIAG_FAILED, -err, "history: cannot %s %.250s: %s", what, history->path,
			why);
}

static int open_file(struct history *history)
{
	bool read_only = history->options.read_only;
	enum db_mode mode = !read_only ? DB_WRITE : place_is_frozen(history) ? DB_FROZEN : DB_READ;
	int err = db_open(history->path, mode, &history->db)
			  ?: db_check_schema(history->db, !read_only, history->damaged_ns);

	if (err || read_only)
		return err;
	/* A file that is damaged must stay as it was. */
	err = db_check(history->db) ?: db_execute(history->db, "PRAGMA journal_mode = WAL");
	if (err)
		return err;
	db_keep_log(history->db, false);
	history->damaged_ns = 0;
	return 0;
}

/* Since when a damaged file has told of something, as far as it can be asked. */
static int64_t damaged_since(struct history *history)
{
	const struct run *run = &history->run;
	int64_t since_ns = 0;

	if (!history->db ||
	    db_number(history->db,
		      "SELECT min(ns) FROM (SELECT start_ns AS ns FROM run UNION ALL "
		      "SELECT value FROM meta WHERE name IN ('retired_start_ns', "
		      "'damaged_start_ns'))",
		      DB_NO_NUMBERS, &since_ns))
		since_ns = 0;
	if (!since_ns)
		since_ns = place_changed_ns(history);
	return run->boot_id && run->start_ns < since_ns ? run->start_ns : since_ns;
}

/* Puts the file aside and begins a new one, in which what is lost is a gap. */
static int replace_file(struct history *history, struct diag *d)
{
	char *aside;
	int err;

	if (!history->damaged_ns)
		history->damaged_ns = damaged_since(history);
	if (history->db)
		db_keep_log(history->db, true);
	db_close(steal_ptr(&history->db));
	err = place_set_aside(history, &aside);
	if (err)
		return diag_set(d, DIAG_FAILED, -err,
				"history: cannot rename the damaged %.250s: %s", history->path,
				strerror(-err));
	free(history->aside);
	history->aside = aside;
	history->set_aside++;
	history->appended_before = history->appended;
	/* Counting goes on as a run of its own in the new file. */
	history->run.id = 0;
	history->run.start_ns = history->run.end_ns;
	history->run.start_mono_ns = history->run.end_mono_ns;
	err = place_make_file(history, d);
	if (err)
		return err;
	err = open_file(history);
	return err ? explain(history, err, "open", d) : 0;
}

/* Opens the file, after putting a damaged one aside. */
static int open_or_replace(struct history *history, struct diag *d)
{
	int err = history->options.read_only ? 0 : place_make_file(history, d);

	if (err)
		return err;
	err = open_file(history);
	if (err == -EBADMSG && !history->options.read_only)
		err = replace_file(history, d);
	else if (err)
		explain(history, err, "open", d);
	if (err)
		db_close(steal_ptr(&history->db));
	return err;
}

int history_open(const char *dir, const struct history_options *options, struct history **ret,
		 struct diag *d)
{
	struct history *history __cleanup(history_closep) = calloc(1, sizeof(*history));
	int err;

	if (!history)
		return diag_oom(d);
	history->dir_fd = -1;
	history->options.read_only = options->read_only;
	history_set_options(history, options);
	err = place_open(history, dir, d);
	if (err)
		return err;
	err = open_or_replace(history, d);
	/* The gap of a file that was set aside must not be lost: the first change tries again. */
	if (err && !history->set_aside)
		return err;
	*ret = steal_ptr(&history);
	return 0;
}

void history_close(struct history *history)
{
	if (!history)
		return;
	db_close(history->db);
	run_done(&history->run);
	free(history->dir);
	free(history->path);
	free(history->aside);
	closep(&history->dir_fd);
	free(history);
}

char *history_set_aside(struct history *history)
{
	return steal_ptr(&history->aside);
}

/* Replaces a file that turned out to be damaged. It gives up if damage comes back at once. */
static int mend(struct history *history, struct diag *d)
{
	int err = -EBADMSG;

	if (history->set_aside && history->appended == history->appended_before)
		return explain(history, err, "use", d);
	err = replace_file(history, d);
	if (err)
		db_close(steal_ptr(&history->db));
	return err;
}

/* Runs one transaction; what it changed in memory is the caller's to take back. */
static int transact(struct history *history, history_task *task, void *closure, bool commits)
{
	int64_t run_id = history->run.id;
	/* A rollback must not need the disk. */
	int err = db_execute(history->db, commits ? "PRAGMA cache_spill = ON; BEGIN IMMEDIATE"
						  : "PRAGMA cache_spill = OFF; BEGIN")
			  ?: task(history, closure);

	if (!err && commits)
		err = db_execute(history->db, "COMMIT");
	if (!err && commits)
		return 0;
	db_rollback(history->db);
	history->run.id = run_id;
	return err;
}

/*
 * After some changes in a row that failed for what is in the file, a new one is better than one to
 * which nothing can be written any more. SQLite is not asked: it would read all of the file while
 * others wait.
 */
static int judge_odd(struct history *history, int err)
{
	if (err != -EUCLEAN) {
		history->odd = err ? history->odd : 0;
		return err;
	}
	if (++history->odd < ODD_MAX)
		return err;
	history->odd = 0;
	return -EBADMSG;
}

int history_run(struct history *history, history_task *task, void *closure, bool commits,
		const char *what, struct diag *d)
{
	int err = 0;

	/* Only what writes tries to open it again: anybody may ask. */
	if (!history->db)
		err = commits ? open_or_replace(history, d)
			      : explain(history, history->set_aside ? -ENOMEDIUM : -EBADMSG, what,
					d);
	if (err)
		return err;
	err = transact(history, task, closure, commits);
	if (err == -ENOSPC) {
		sqlite3_wal_checkpoint_v2(history->db->handle, NULL, SQLITE_CHECKPOINT_RESTART,
					  NULL, NULL);
		err = transact(history, task, closure, commits);
	}
	if (commits)
		err = judge_odd(history, err);
	if (err == -EBADMSG && !history->options.read_only) {
		err = mend(history, d);
		if (err)
			return err;
		err = transact(history, task, closure, commits);
	}
	/* A refusal has said why: it is no error of the database. */
	return !err || err == -EINVAL || err == -E2BIG ? err : explain(history, err, what, d);
}

static int count_intervals(struct db *db, struct history_size *ret)
{
	sqlite3_stmt *row __cleanup(db_resetp) = NULL;
	int err = db_query(
		db,
		"SELECT level, count(*), min(start_ns), max(end_ns) FROM interval WHERE level IN "
		"(0, 1, 2) GROUP BY level",
		DB_NO_NUMBERS, &row);

	if (err)
		return err;
	while ((err = db_next(row)) == 1) {
		int64_t start_ns = sqlite3_column_int64(row, 2);
		int64_t end_ns = sqlite3_column_int64(row, 3);

		ret->intervals[sqlite3_column_int64(row, 0)] =
			(uint64_t)sqlite3_column_int64(row, 1);
		if (!ret->first_ns || start_ns < ret->first_ns)
			ret->first_ns = start_ns;
		if (end_ns > ret->last_ns)
			ret->last_ns = end_ns;
	}
	return err;
}

int history_size(struct history *history, struct history_size *ret)
{
	struct history_size size = {
		.bytes = place_bytes(history),
		.appended = history->appended,
		.failed = history->failed,
		.set_aside = history->set_aside,
	};
	int err = history->db ? count_intervals(history->db, &size) : -EBADMSG;

	if (!err)
		*ret = size;
	return err;
}
