/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the dealings with SQLite that know nothing of what is stored. */
#include "store/db.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* Readers do not hold the writer up, nor it them: only a checkpoint or a recovery may. */
#define BUSY_MS 250

#define READ_PRAGMAS                  \
	"PRAGMA query_only = ON;"     \
	"PRAGMA temp_store = MEMORY;" \
	"PRAGMA cache_size = -1024;"  \
	"PRAGMA mmap_size = 0;"       \
	"PRAGMA cell_size_check = ON;"

/* What a connection begins with. */
static const char *const pragmas[] = {
	[DB_WRITE] = "PRAGMA page_size = 4096;"
		     "PRAGMA auto_vacuum = INCREMENTAL;"
		     "PRAGMA journal_mode = WAL;"
		     "PRAGMA synchronous = NORMAL;"
		     "PRAGMA wal_autocheckpoint = 256;"
		     "PRAGMA journal_size_limit = 4194304;"
		     "PRAGMA secure_delete = OFF;"
		     "PRAGMA temp_store = MEMORY;"
		     "PRAGMA cache_size = -1024;"
		     "PRAGMA mmap_size = 0;"
		     "PRAGMA cell_size_check = ON;",
	[DB_READ] = READ_PRAGMAS,
	[DB_FROZEN] = READ_PRAGMAS,
	[DB_SALVAGE] = "PRAGMA wal_autocheckpoint = 0;" READ_PRAGMAS,
};

int db_errno(int result)
{
	static const struct {
		int result, err;
	} known[] = {
		{ SQLITE_OK, 0 },
		{ SQLITE_ROW, 0 },
		{ SQLITE_DONE, 0 },
		{ SQLITE_CORRUPT, -EBADMSG },
		{ SQLITE_NOTADB, -EBADMSG },
		{ SQLITE_FULL, -ENOSPC },
		{ SQLITE_READONLY, -EROFS },
		{ SQLITE_BUSY, -EBUSY },
		{ SQLITE_LOCKED, -EBUSY },
		{ SQLITE_NOMEM, -ENOMEM },
		{ SQLITE_PERM, -EACCES },
		{ SQLITE_AUTH, -EACCES },
		{ SQLITE_CANTOPEN, -ENOENT },
		{ SQLITE_CONSTRAINT, -EBADMSG },
		{ SQLITE_SCHEMA, -EBADMSG },
		{ SQLITE_MISMATCH, -EBADMSG },
		{ SQLITE_ERROR, -EBADMSG }, /* of statements that are right: the schema is not */
	};

	/* Reading fails when the file ends too early, the index of the log when the disk is full. */
	if (result == SQLITE_IOERR_SHORT_READ)
		return -EBADMSG;
	if (result == SQLITE_IOERR_SHMSIZE)
		return -ENOSPC;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (known[i].result == (result & 0xff))
			return known[i].err;
	}
	return -EIO;
}

const char *db_message(const struct db *db)
{
	return db->handle ? sqlite3_errmsg(db->handle) : "out of memory";
}

/* The schema of a file that somebody else made is not to be trusted. */
static int db_configure(struct db *db, enum db_mode mode)
{
	int keep = mode == DB_SALVAGE;

	sqlite3_extended_result_codes(db->handle, 1);
	sqlite3_busy_timeout(db->handle, BUSY_MS);
	sqlite3_db_config(db->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(db->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(db->handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	sqlite3_db_config(db->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keep, NULL);
	sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_PERSIST_WAL, &keep);
	return db_execute(db, pragmas[mode]);
}

/* The path as a URI: only so can SQLite be told that nobody writes, and it needs no log. */
static char *frozen_uri(const char *path)
{
	static const char head[] = "file:", tail[] = "?immutable=1";
	char *uri = malloc(sizeof(head) + 3 * strlen(path) + sizeof(tail));
	char *at = uri;

	if (!uri)
		return NULL;
	at = stpcpy(at, head);
	for (; *path; path++)
		at += sprintf(at, strchr("%?#", *path) ? "%%%02x" : "%c", (unsigned char)*path);
	strcpy(at, tail);
	return uri;
}

int db_open(const char *path, enum db_mode mode, struct db **ret)
{
	struct db *db __cleanup(db_closep) = calloc(1, sizeof(*db));
	__cleanup(freep) char *uri = mode == DB_FROZEN ? frozen_uri(path) : NULL;
	int flags = SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;
	bool reads = mode == DB_READ || mode == DB_FROZEN;
	int err;

	if (!db || (mode == DB_FROZEN && !uri))
		return -ENOMEM;
	flags |= reads ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
	flags |= uri ? SQLITE_OPEN_URI : 0;
	err = db_errno(sqlite3_open_v2(uri ?: path, &db->handle, flags, NULL));
	if (!err)
		err = db_configure(db, mode);
	if (err)
		return err;
	*ret = steal_ptr(&db);
	return 0;
}

void db_close(struct db *db)
{
	if (!db)
		return;
	for (int i = 0; i < NR_STATEMENT; i++)
		sqlite3_finalize(db->statements[i]);
	sqlite3_close(db->handle);
	kinds_done(&db->kinds);
	run_list_done(&db->runs);
	free(db);
}

int db_execute(struct db *db, const char *sql)
{
	return db_errno(sqlite3_exec(db->handle, sql, NULL, NULL, NULL));
}

int db_statement(struct db *db, enum statement which, sqlite3_stmt **ret)
{
	sqlite3_stmt *statement = db->statements[which];
	int err;

	if (!statement) {
		err = db_errno(sqlite3_prepare_v3(db->handle, statement_texts[which], -1,
						  SQLITE_PREPARE_PERSISTENT, &statement, NULL));
		if (err)
			return err;
		db->statements[which] = statement;
	}
	sqlite3_reset(statement);
	sqlite3_clear_bindings(statement);
	*ret = statement;
	return 0;
}

int db_number(struct db *db, enum statement which, int64_t *ret)
{
	sqlite3_stmt *statement;
	int err = db_statement(db, which, &statement);

	if (err)
		return err;
	err = db_next(statement);
	if (err == 1)
		*ret = sqlite3_column_int64(statement, 0);
	sqlite3_reset(statement);
	return err < 0 ? err : err == 1 ? 0 : -EBADMSG;
}

int db_next(sqlite3_stmt *statement)
{
	int result = sqlite3_step(statement);

	if (result == SQLITE_ROW)
		return 1;
	sqlite3_reset(statement);
	return db_errno(result);
}

int db_run(sqlite3_stmt *statement)
{
	int result = sqlite3_step(statement);

	sqlite3_reset(statement);
	return db_errno(result);
}

int db_bind(sqlite3_stmt *statement, const int64_t *numbers, size_t count)
{
	int err = 0;

	for (size_t i = 0; i < count && !err; i++)
		err = db_errno(sqlite3_bind_int64(statement, (int)i + 1, numbers[i]));
	return err;
}

int db_bind_text(sqlite3_stmt *statement, int index, const char *text)
{
	return text ? db_bind_bytes(statement, index, text, strlen(text)) : 0;
}

int db_bind_bytes(sqlite3_stmt *statement, int index, const char *bytes, size_t size)
{
	return db_errno(sqlite3_bind_text(statement, index, bytes, (int)size, SQLITE_STATIC));
}

int db_column_text(sqlite3_stmt *statement, int column, char **ret)
{
	const void *bytes = sqlite3_column_blob(statement, column);
	size_t size = (size_t)sqlite3_column_bytes(statement, column);
	char *copy;

	if (sqlite3_column_type(statement, column) == SQLITE_NULL) {
		*ret = NULL;
		return 0;
	}
	if (size && !bytes)
		return -ENOMEM;
	if (size && memchr(bytes, 0, size))
		return -EBADMSG;
	copy = size ? strndup(bytes, size) : strdup("");
	if (!copy)
		return -ENOMEM;
	*ret = copy;
	return 0;
}

int db_begin(struct db *db)
{
	return db_execute(db, "BEGIN IMMEDIATE");
}

int db_commit(struct db *db)
{
	return db_execute(db, "COMMIT");
}

void db_rollback(struct db *db)
{
	/* Some errors have rolled back already. */
	if (!sqlite3_get_autocommit(db->handle))
		db_execute(db, "ROLLBACK");
	kinds_done(&db->kinds);
	run_list_done(&db->runs);
}

int db_load(struct db *db)
{
	int err = db->kinds.loaded ? 0 : kinds_load(db);

	return err ?: db->runs.loaded ? err : runs_load(db);
}
