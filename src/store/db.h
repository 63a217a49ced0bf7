/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Holds one open database, its statements and its schema (schema.sql). All functions that return
 * int return 0 or -errno: -EBADMSG means that SQLite finds the file damaged, -EUCLEAN that
 * something in it is not as we write it (the file may be whole), -ENOSPC that the disk is full.
 */
#pragma once

#include <sqlite3.h>

#include "base/mem.h"

enum db_mode {
	DB_WRITE,
	DB_READ,
	DB_FROZEN, /* reads from a file system on which nothing changes */
};

/* A statement that was prepared, and the text that it was prepared from. */
struct db_statement {
	const char *sql;
	sqlite3_stmt *prepared;
};

struct db {
	sqlite3 *handle;
	struct db_statement *statements; /* owned */
	size_t nr_statements;
};

/*
 * Opens a file that exists, without a look at what is in it. When it is closed it stays as it is, and
 * so does its log, unless db_keep_log() has said otherwise.
 */
int db_open(const char *path, enum db_mode mode, struct db **ret);

/* Whether closing leaves the log alone; else what is in it goes into the file. */
void db_keep_log(struct db *db, bool keep);

void db_close(struct db *db);

/* Whether SQLite finds the file in order: 0, -EBADMSG, or -EIO when it could not be read. */
int db_check(struct db *db);

/* Turns an SQLite result code into a negative errno; 0 for success. */
int db_errno(int result);

/* Runs SQL without results: any number of statements. */
int db_execute(struct db *db, const char *sql);

/* Parameters 1, 2, … of a statement, as two arguments of the functions below. */
#define DB_NUMBERS(...) \
	(const int64_t[]){ __VA_ARGS__ }, sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)
#define DB_NO_NUMBERS NULL, 0

/*
 * A statement with these parameters; all others are NULL. The text must be a constant, since its
 * address tells which statement is meant. It belongs to the database, and must be reset after use.
 */
int db_query(struct db *db, const char *sql, const int64_t *numbers, size_t count,
	     sqlite3_stmt **ret);

/* Resets a statement at the end of a scope. */
static inline void db_resetp(sqlite3_stmt **statement)
{
	sqlite3_reset(*statement);
}

/* The next row: 1, or 0 when there is none. */
int db_next(sqlite3_stmt *statement);

/* Runs a statement that has no rows, and resets it. */
int db_run(sqlite3_stmt *statement);

/* A statement that changes something, with numbers as all its parameters. */
int db_change(struct db *db, const char *sql, const int64_t *numbers, size_t count);

/* Reads the first column of the first row; without a row *ret stays as it is. */
int db_number(struct db *db, const char *sql, const int64_t *numbers, size_t count, int64_t *ret);

/* NULL text is NULL, and bytes without a size are. They must live until the statement is run. */
int db_bind_text(sqlite3_stmt *statement, int index, const char *text);
int db_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, size_t size);

/* A copy of a column, to be freed; NULL for NULL. -ENOMEM, or -EUCLEAN if it holds a NUL. */
int db_column_text(sqlite3_stmt *statement, int column, char **ret);

#define SCHEMA_VERSION 1

/*
 * Says whether a file is a history of this version, and makes the tables of an empty one if that is
 * asked for, in one transaction with a note of damaged_ns: since when a damaged file before it told of
 * something; 0: there was none. Returns 0, -ENOTSUP for one of a newer version, or -errno; -EBADMSG
 * also for the file of another program, -ENOENT for an empty one if that is not asked for.
 */
int db_check_schema(struct db *db, bool make, int64_t damaged_ns);

/* Numbers of the whole file, by name; without one, *ret stays as it is. */
int db_meta_read(struct db *db, const char *name, int64_t *ret);
int db_meta_write(struct db *db, const char *name, int64_t value);

/* Undoes what was done since BEGIN, if anything. */
void db_rollback(struct db *db);
