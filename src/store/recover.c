/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns what becomes of a damaged file: what can be read and has the right checksum is copied into a
 * new file; the damaged one and its log are renamed, not changed. Of an interval whose numbers are
 * lost the row stays, so that its time is known to be a gap. The new file takes its place last, so
 * that one who dies in between begins again.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "store/content.h"
#include "store/history_private.h"
#include "store/meta.h"
#include "store/schema.h"

#define NEW_NAME "history.db.new"

/* Intervals that are copied in one transaction. */
#define BATCH 64

struct salvage {
	struct db *from, *to;
	struct history_state *state;
	int64_t last_id;
	unsigned int in_batch;
};

int recover_check(struct db *db)
{
	sqlite3_stmt *row = NULL;
	int err = db_errno(sqlite3_prepare_v2(db->handle, "PRAGMA quick_check(1)", -1, &row, NULL));
	const char *word;

	if (!err) {
		err = db_next(row);
		word = err == 1 ? (const char *)sqlite3_column_text(row, 0) : NULL;
		err = err < 0 ? err : word && !strcmp(word, "ok") ? 0 : -EBADMSG;
	}
	sqlite3_finalize(row);
	return err;
}

static int copy_names(struct salvage *salvage)
{
	struct db *from = salvage->from, *to = salvage->to;
	int err = 0;

	kinds_salvage(from);
	runs_salvage(from);
	for (size_t i = 0; i < from->kinds.count && !err; i++)
		err = kind_write(to, from->kinds.items[i]);
	for (size_t i = 0; i < from->runs.count && !err; i++)
		err = run_write(to, &from->runs.items[i]);
	return err ?: db_load(to);
}

static int copy_meta(struct salvage *salvage)
{
	static const char *const names[] = { "retired_start_ns", "retired_run", "retired_mono_ns",
					     "retired_end_ns" };
	int64_t value;
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(names) && !err; i++) {
		if (!meta_read(salvage->from, names[i], &value) && value)
			err = meta_write(salvage->to, names[i], value);
	}
	return err;
}

/* 0, 1 when it cannot be read whole, or -errno of the target. */
static int copy_content(struct salvage *salvage, const struct interval *interval)
{
	struct sum sum __cleanup(sum_done) = { 0 };
	struct content_check check;
	int err = interval_verify(salvage->from, interval);

	err = err
		      ?: content_add(salvage->from, CONTENT_INTERVAL, interval->id,
				     &salvage->from->kinds, NULL, &sum);
	if (err)
		return err == -ENOMEM ? err : 1;
	return content_write(salvage->to, CONTENT_INTERVAL, interval->id, &sum, &check);
}

static int copy_interval(struct salvage *salvage, const struct interval *interval)
{
	struct interval copy = *interval;
	int err = copy_content(salvage, interval);

	if (err == 1) {
		copy.flags |= INTERVAL_DAMAGED;
		copy.nr_cells = copy.nr_shares = copy.nr_losses = copy.content = 0;
		salvage->state->intervals_lost += !(interval->flags & INTERVAL_DAMAGED);
		err = 0;
	} else if (!err) {
		salvage->state->intervals_kept++;
	}
	err = err ?: interval_write(salvage->to, &copy);
	if (interval->id > salvage->last_id)
		salvage->last_id = interval->id;
	if (err || ++salvage->in_batch < BATCH)
		return err;
	salvage->in_batch = 0;
	err = db_commit(salvage->to);
	return err ?: db_begin(salvage->to);
}

static int copy_intervals(struct salvage *salvage)
{
	const struct run_list *runs = &salvage->from->runs;
	int err = 0;

	for (size_t i = 0; i < runs->count * NR_HISTORY_LEVEL && !err; i++) {
		int64_t level = (int64_t)(i % NR_HISTORY_LEVEL);
		const struct interval_range range = { level, level,
						      runs->items[i / NR_HISTORY_LEVEL].id,
						      INT64_MIN, INT64_MAX };
		struct interval_list list __cleanup(interval_list_done) = { 0 };
		size_t damaged = 0;

		intervals_salvage(salvage->from, &range, &list, &damaged);
		salvage->state->intervals_lost += damaged;
		for (size_t j = 0; j < list.count && !err; j++)
			err = copy_interval(salvage, &list.items[j]);
	}
	return err;
}

static int copy_all(struct salvage *salvage)
{
	int err = db_begin(salvage->to);

	err = err ?: copy_names(salvage);
	err = err ?: copy_meta(salvage);
	err = err ?: copy_intervals(salvage);
	err = err ?: rollup_repair(salvage->to, &salvage->last_id);
	return err ?: db_commit(salvage->to);
}

static void remove_new(const struct history *history)
{
	unlinkat(history->dir_fd, NEW_NAME, 0);
	unlinkat(history->dir_fd, NEW_NAME "-wal", 0);
	unlinkat(history->dir_fd, NEW_NAME "-shm", 0);
}

/* Of a file that is no database at all nothing can be copied. */
static int make_new(const struct history *history, struct history_state *state, struct diag *d)
{
	struct db *from __cleanup(db_closep) = NULL, *to __cleanup(db_closep) = NULL;
	struct salvage salvage = { .state = state };
	__cleanup(freep) char *path = NULL;
	int64_t version;
	int err;

	if (asprintf(&path, "%s/" NEW_NAME, history->dir) < 0) {
		path = NULL;
		return diag_oom(d);
	}
	err = place_make_file(history, NEW_NAME, d);
	if (err)
		return err;
	err = db_open(path, DB_WRITE, &to);
	err = err ?: schema_migrate(to, schema_steps, schema_version);
	if (err)
		return history_explain(history, err, "replace", d);
	salvage.to = to;
	if (db_open(history->path, DB_SALVAGE, &from) || db_number(from, SCHEMA_VERSION, &version))
		return 0;
	salvage.from = from;
	err = copy_all(&salvage);
	return err ? history_explain(history, err, "copy what can be read of", d) : 0;
}

/* A name that is free, for the file; the log's has -wal behind it, as SQLite wants it. */
static void name_aside(const struct history *history, char *name, size_t size)
{
	time_t now = (time_t)(clock_real_ns() / (int64_t)NS_PER_SEC);
	char stamp[32] = "unknown";
	struct tm utc;

	if (gmtime_r(&now, &utc))
		strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", &utc);
	snprintf(name, size, "history.db.damaged-%s", stamp);
	for (int i = 2; !faccessat(history->dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW); i++)
		snprintf(name, size, "history.db.damaged-%s-%d", stamp, i);
}

/* The log first: with it gone, the new file cannot be taken for the one that it belongs to. */
static int swap_files(const struct history *history, struct history_state *state)
{
	char name[128], log_name[160];
	int dir = history->dir_fd;

	name_aside(history, name, sizeof(name));
	snprintf(log_name, sizeof(log_name), "%s-wal", name);
	if (!place_log_bytes(history))
		unlinkat(dir, "history.db-wal", 0);
	else if (renameat(dir, "history.db-wal", dir, log_name))
		return -errno;
	unlinkat(dir, "history.db-shm", 0);
	if (renameat(dir, "history.db", dir, name) || renameat(dir, NEW_NAME, dir, "history.db"))
		return -errno;
	fsync(dir);
	state->set_aside = true;
	snprintf(state->aside, sizeof(state->aside), "%s/%s", history->dir, name);
	return 0;
}

int recover_file(const struct history *history, struct history_state *state, struct diag *d)
{
	int err;

	remove_new(history);
	err = make_new(history, state, d);
	if (!err) {
		err = swap_files(history, state);
		if (err)
			diag_set(d, DIAG_FAILED, -err,
				 "history: cannot rename the damaged %.250s: %s", history->path,
				 strerror(-err));
	}
	if (err)
		remove_new(history);
	return err;
}
