/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads and writes the rows of interval and run. */
#include "store/interval.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void interval_list_done(struct interval_list *list)
{
	free(list->items);
}

static int interval_from_row(sqlite3_stmt *row, struct interval *ret)
{
	int64_t *fields = (int64_t *)ret;

	for (size_t i = 0; i < sizeof(*ret) / sizeof(*fields); i++)
		fields[i] = sqlite3_column_int64(row, (int)i);
	return ret->level >= 0 && ret->level < NR_HISTORY_LEVEL ? 0 : -EUCLEAN;
}

int intervals_read(sqlite3_stmt *rows, struct interval_list *ret)
{
	int more, err;

	while ((more = db_next(rows)) == 1) {
		if (!array_grow(&ret->items, ret->count, sizeof(*ret->items)))
			return -ENOMEM;
		err = interval_from_row(rows, &ret->items[ret->count]);
		if (err)
			return err;
		ret->count++;
	}
	return more;
}

int interval_read(struct db *db, const char *sql, const int64_t *numbers, size_t count,
		  struct interval *ret)
{
	sqlite3_stmt *row __cleanup(db_resetp) = NULL;
	int err = db_query(db, sql, numbers, count, &row), more;

	if (err)
		return err;
	more = db_next(row);
	return more == 1 ? interval_from_row(row, ret) ?: 1 : more;
}

int interval_write(struct db *db, struct interval *interval)
{
	int err = db_change(db,
			    "INSERT INTO interval (level, run, start_mono_ns, end_mono_ns, "
			    "start_ns, end_ns, flags, threads_unknown) "
			    "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
			    &interval->level, 8);

	interval->id = sqlite3_last_insert_rowid(db->handle);
	return err;
}

int interval_remove_inside(struct db *db, const struct interval *outer, int64_t last_level)
{
	return db_change(
		db,
		"DELETE FROM interval WHERE level <= ? AND run = ? AND "
		"start_mono_ns >= ? AND start_mono_ns < ?",
		DB_NUMBERS(last_level, outer->run, outer->start_mono_ns, outer->end_mono_ns));
}

void run_done(struct run *run)
{
	free(run->host);
	free(run->boot_id);
	free(run->kernel);
	*run = (struct run){ 0 };
}

int run_set(struct run *run, const struct snapshot *host, int64_t start_ns, int64_t start_mono_ns)
{
	struct run made = {
		.host = strdup(host->host ?: ""),
		.boot_id = strdup(host->boot_id ?: ""),
		.kernel = strdup(host->kernel ?: ""),
		.start_ns = start_ns,
		.start_mono_ns = start_mono_ns,
		.end_ns = start_ns,
		.end_mono_ns = start_mono_ns,
	};

	if (!made.host || !made.boot_id || !made.kernel) {
		run_done(&made);
		return -ENOMEM;
	}
	run_done(run);
	*run = made;
	return 0;
}

int run_write(struct db *db, struct run *run)
{
	const char *const texts[] = { run->host, run->boot_id, run->kernel };
	sqlite3_stmt *insert;
	int err = db_query(db,
			   "INSERT INTO run (start_ns, start_mono_ns, host, boot_id, kernel) "
			   "VALUES (?, ?, ?, ?, ?)",
			   DB_NUMBERS(run->start_ns, run->start_mono_ns), &insert);

	for (int i = 0; i < 3 && !err; i++)
		err = db_bind_text(insert, 3 + i, texts[i], strlen(texts[i]));
	if (err)
		return err;
	err = db_run(insert);
	run->id = sqlite3_last_insert_rowid(db->handle);
	return err;
}

int run_read(struct db *db, int64_t id, struct snapshot *ret)
{
	sqlite3_stmt *row __cleanup(db_resetp) = NULL;
	int err = db_query(db, "SELECT host, boot_id, kernel FROM run WHERE id = ?", DB_NUMBERS(id),
			   &row);

	if (err)
		return err;
	err = db_next(row);
	if (err != 1)
		return err ?: -EUCLEAN;
	return db_column_text(row, 0, &ret->host)
		       ?: db_column_text(row, 1, &ret->boot_id)
		       ?: db_column_text(row, 2, &ret->kernel);
}
