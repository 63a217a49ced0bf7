/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One open database: its handle, its statements, prepared once, and the kinds and runs that its
 * rows refer to, kept in memory. All functions return 0 or -errno: -EBADMSG is damage of the file,
 * after which it is set aside, -EUCLEAN a row that does not match its checksum, -ENOSPC a full disk.
 */
#ifndef BPFTRUSS_STORE_DB_H
#define BPFTRUSS_STORE_DB_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "store/kind.h"
#include "store/run.h"
#include "store/statements.h"

/* Ids that are tried one by one behind a page that cannot be read. */
#define SALVAGE_TRIES 20000

enum db_mode {
	DB_WRITE,
	DB_READ,
	DB_FROZEN,  /* reads from a file system on which nothing changes */
	DB_SALVAGE, /* reads, and leaves file and log as they are */
};

struct db {
	sqlite3 *handle;
	sqlite3_stmt *statements[NR_STATEMENT];
	struct kinds kinds;
	struct run_list runs;
};

/* Opens a file that exists, without a look at what is in it. */
int db_open(const char *path, enum db_mode mode, struct db **ret);

/* NULL is fine. */
void db_close(struct db *db);

static inline void db_closep(struct db **db)
{
	db_close(*db);
}

/* What an SQLite result code is as a negative errno; 0 for success. */
int db_errno(int result);

/* The latest error in words, borrowed. */
const char *db_message(const struct db *db);

/* Runs SQL without results. */
int db_execute(struct db *db, const char *sql);

/* The value of a statement that yields one number, such as PRAGMA page_count. */
int db_number(struct db *db, enum statement which, int64_t *ret);

/* A statement of this database, reset, with all its parameters NULL. */
int db_statement(struct db *db, enum statement which, sqlite3_stmt **ret);

/* The next row: 1, or 0 when there is none and the statement was reset. */
int db_next(sqlite3_stmt *statement);

/* Runs a statement that has no rows, and resets it. */
int db_run(sqlite3_stmt *statement);

/* Binds the numbers to the parameters 1, 2, … */
int db_bind(sqlite3_stmt *statement, const int64_t *numbers, size_t count);

/* NULL text is NULL. The text must live until the statement is run. */
int db_bind_text(sqlite3_stmt *statement, int index, const char *text);

/* Bytes that SQL shows as text, though they may be none. */
int db_bind_bytes(sqlite3_stmt *statement, int index, const char *bytes, size_t size);

/* A copy of a column, to be freed; NULL for NULL. -ENOMEM, or -EBADMSG if it holds a NUL. */
int db_column_text(sqlite3_stmt *statement, int column, char **ret);

int db_begin(struct db *db);
int db_commit(struct db *db);

/* Also forgets the kinds and runs that were added since: they are read again. */
void db_rollback(struct db *db);

/* Reads the kinds and runs; rows of them that fail their checksum are left out. */
int db_load(struct db *db);

#endif
