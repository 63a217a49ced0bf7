/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the life of a history: opening, closing, transactions, and what is done when one of them
 * meets a full disk or a damaged file.
 */
#include "store/history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/history_private.h"
#include "store/schema.h"

#define NS_PER_HOUR (3600 * NS_PER_SEC)

static void options_default(struct history_options *options)
{
	static const uint64_t hours[NR_HISTORY_LEVEL] = {
		HISTORY_KEEP_HOURS_0,
		HISTORY_KEEP_HOURS_1,
		HISTORY_KEEP_HOURS_2,
	};

	for (int i = 0; i < NR_HISTORY_LEVEL; i++) {
		if (!options->keep_ns[i])
			options->keep_ns[i] = hours[i] * NS_PER_HOUR;
	}
	if (!options->max_bytes)
		options->max_bytes = HISTORY_MAX_BYTES;
}

void history_set_options(struct history *history, const struct history_options *options)
{
	bool read_only = history->options.read_only;

	history->options = *options;
	history->options.read_only = read_only;
	options_default(&history->options);
}

int history_explain(const struct history *history, int err, const char *what, struct diag *d)
{
	static const struct {
		int err;
		const char *why;
	} reasons[] = {
		{ -ENOSPC, "the disk is full: make room" },
		{ -EROFS, "it is on a read-only file system: mount it writable" },
		{ -EBUSY, "another program has it locked: end that program" },
		{ -EBADMSG, "it is damaged: the daemon sets it aside when it starts" },
		{ -ENOTSUP, "it was written by a newer bpftruss: use that one" },
		{ -ENOENT, "it cannot be opened: start the daemon, which makes it" },
		{ -ENOMEM, "out of memory" },
		{ -ERANGE, "a count is impossible: report this as a bug" },
	};
	const char *why = history->db ? db_message(history->db) : strerror(-err);

	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
		if (reasons[i].err == err)
			why = reasons[i].why;
	}
	return diag_set(d, DIAG_FAILED, -err, "history: cannot %s %.250s: %s", what, history->path,
			why);
}

/* The end of the interval written last. A damaged row is as if it were not there. */
static int read_last(struct db *db, struct history_end *ret)
{
	struct interval_range range = INTERVAL_ALL;
	struct interval_list list __cleanup(interval_list_done) = { 0 };
	int err;

	*ret = (struct history_end){ 0 };
	range.from_mono_ns = INT64_MIN;
	err = intervals_read(db, &range, &list, NULL);
	for (size_t i = 0; i < list.count && !err; i++) {
		const struct interval *interval = &list.items[i];

		if (interval->run > ret->run ||
		    (interval->run == ret->run && interval->end_mono_ns > ret->mono_ns))
			*ret = (struct history_end){ interval->run, interval->end_mono_ns,
						     interval->end_ns };
	}
	return err;
}

/* In one transaction, since nobody has looked at the file for a while. */
static int tidy(struct history *history)
{
	struct db *db = history->db;
	int err = db_begin(db);

	err = err ?: retire_orphans(db);
	err = err ?: db_commit(db);
	if (err)
		db_rollback(db);
	return err;
}

static int open_file(struct history *history)
{
	bool read_only = history->options.read_only;
	enum db_mode mode = !read_only ? DB_WRITE : place_is_frozen(history) ? DB_FROZEN : DB_READ;
	int err = db_open(history->path, mode, &history->db);

	history->has_counts = false;
	if (err)
		return err;
	if (read_only)
		err = schema_check(history->db);
	else
		err = schema_migrate(history->db, schema_steps, schema_version);
	if (!err && !read_only)
		err = recover_check(history->db);
	err = err ?: db_load(history->db);
	if (!err && !read_only)
		err = tidy(history);
	/* What is superfluous may stay for want of room. */
	if (err == -ENOSPC)
		err = 0;
	err = err ?: db_number(history->db, INTERVAL_LAST_ID, &history->last_id);
	return err ?: read_last(history->db, &history->last);
}

/* Opens the file, after putting a damaged one aside. */
static int open_or_recover(struct history *history, struct history_state *state, struct diag *d)
{
	int err = history->options.read_only ? 0 : place_make_file(history, "history.db", d);

	if (err)
		return err;
	err = open_file(history);
	if (err == -EBADMSG && !history->options.read_only) {
		db_close(steal_ptr(&history->db));
		err = recover_file(history, state, d);
		if (err)
			return err;
		history->set_aside++;
		err = open_file(history);
	}
	return err ? history_explain(history, err, "open", d) : 0;
}

/* The row of the run that is being counted may have been among what was lost. */
static int restore_run(struct history *history, const struct history_end *last)
{
	int err = 0;

	if (history->run.id && !run_find(history->db, history->run.id))
		err = run_write(history->db, &history->run);
	if (!err && last->run >= history->last.run)
		history->last = *last;
	return err;
}

int history_recover(struct history *history, struct diag *d)
{
	struct history_end last = history->last;
	struct history_state state = { 0 };
	int err;

	/* Once more does not help against what came back at once. */
	if (history->db && history->set_aside && history->appended == history->recovered_at)
		return history_explain(history, -EBADMSG, "use", d);
	db_close(steal_ptr(&history->db));
	err = recover_file(history, &state, d);
	if (err) {
		history->recover_err = err;
		return err;
	}
	history->set_aside++;
	history->recovered_at = history->appended;
	err = open_file(history);
	err = err ?: restore_run(history, &last);
	if (err)
		db_close(steal_ptr(&history->db));
	history->recover_err = err;
	return err ? history_explain(history, err, "open", d) : 0;
}

int history_open(const char *dir, const struct history_options *options, struct history **ret,
		 struct history_state *state, struct diag *d)
{
	struct history *history __cleanup(history_closep) = calloc(1, sizeof(*history));
	int err;

	if (!history)
		return diag_oom(d);
	history->dir_fd = -1;
	history->options = *options;
	options_default(&history->options);
	*state = (struct history_state){ 0 };
	err = place_open(history, dir, d);
	err = err ?: open_or_recover(history, state, d);
	if (err)
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
	closep(&history->dir_fd);
	free(history);
}

/* Runs one transaction; what it changed in memory is the caller's to take back. */
static int transact(struct history *history, int (*change)(struct history *history, void *closure),
		    void *closure)
{
	int64_t last_id = history->last_id, run_id = history->run.id;
	int err = db_load(history->db);

	err = err ?: db_begin(history->db);
	if (err)
		return err;
	err = change(history, closure);
	err = err ?: db_commit(history->db);
	if (!err) {
		history->has_counts = false;
		return 0;
	}
	db_rollback(history->db);
	history->last_id = last_id;
	history->run.id = run_id;
	return err;
}

/* A file that could not be replaced is read again and again: that must not be all that is done. */
static int reopen(struct history *history, struct diag *d)
{
	int err;

	if (backoff_waits(&history->recover))
		return history_explain(history, history->recover_err, "replace", d);
	err = history_recover(history, d);
	if (err && !history->db)
		backoff_failed(&history->recover);
	else
		backoff_done(&history->recover);
	return err;
}

int history_change(struct history *history, int (*change)(struct history *history, void *closure),
		   void *closure, const char *what, struct diag *d)
{
	int err = history->db ? 0 : reopen(history, d);

	if (err)
		return err;
	err = transact(history, change, closure);
	if (err == -ENOSPC) {
		sqlite3_wal_checkpoint_v2(history->db->handle, NULL, SQLITE_CHECKPOINT_RESTART,
					  NULL, NULL);
		err = transact(history, change, closure);
	}
	if (err == -EBADMSG) {
		err = history_recover(history, d);
		if (err)
			return err;
		err = transact(history, change, closure);
	}
	return err ? history_explain(history, err, what, d) : 0;
}

/* All that is read is of one moment; a reader also has to learn of new kinds and runs. */
static int read_once(struct history *history, int (*read)(struct history *history, void *closure),
		     void *closure)
{
	struct db *db = history->db;
	int err = db_execute(db, "BEGIN");

	if (err)
		return err;
	if (history->options.read_only) {
		kinds_done(&db->kinds);
		run_list_done(&db->runs);
	}
	err = db_load(db);
	err = err ?: read(history, closure);
	db_execute(db, "ROLLBACK");
	return err;
}

int history_read(struct history *history, int (*read)(struct history *history, void *closure),
		 void *closure, const char *what, struct diag *d)
{
	int err;

	/* Only what writes tries that again: anybody may ask. */
	if (!history->db)
		return history_explain(history, history->recover_err, "replace", d);
	err = read_once(history, read, closure);
	if (err == -EBADMSG && !history->options.read_only) {
		err = history_recover(history, d);
		if (err)
			return err;
		err = read_once(history, read, closure);
	}
	return err ? history_explain(history, err, what, d) : 0;
}

static int count_intervals(struct db *db, struct history_size *ret)
{
	sqlite3_stmt *row;
	int err = db_statement(db, INTERVAL_COUNT, &row), more;

	if (err)
		return err;
	while ((more = db_next(row)) == 1) {
		int64_t level = sqlite3_column_int64(row, 0);
		int64_t start_ns = sqlite3_column_int64(row, 2);

		/* Of a damaged row it may be any. */
		if (level >= 0 && level < NR_HISTORY_LEVEL)
			ret->intervals[level] = (uint64_t)sqlite3_column_int64(row, 1);
		if (!ret->first_ns || start_ns < ret->first_ns)
			ret->first_ns = start_ns;
	}
	return more;
}

int history_size(struct history *history, struct history_size *ret)
{
	struct history_size size = { 0 };
	int err = history->db ? 0 : -EBADMSG;

	if (!err && !history->has_counts) {
		err = count_intervals(history->db, &size);
		history->counts = size;
		/* Somebody else may write any time. */
		history->has_counts = !err && !history->options.read_only;
	}
	if (err)
		return err;
	*ret = history->counts;
	ret->bytes = place_bytes(history);
	ret->appended = history->appended;
	ret->failed = history->failed;
	ret->set_aside = history->set_aside;
	return 0;
}
