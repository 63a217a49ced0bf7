/* SPDX-License-Identifier: BSD-2-Clause */
/* Deals with SQLite: opening, statements, errors. Knows nothing of what is stored. */
#include "store/db.h"

/* The tables and views of an empty file. */
static const char schema[] =
#include "schema.sql.inc"
	;

/* "bptr": what the first page of a history says that it is. */
#define APPLICATION_ID 0x62707472

static void db_closep(struct db **db)
{
	db_close(*db);
}

/* Readers do not hold the writer up, nor it them: only a checkpoint may. */
#define BUSY_MS 250

/* A connection begins with these: none of it is written. */
#define PRAGMAS                       \
	"PRAGMA temp_store = MEMORY;" \
	"PRAGMA cache_size = -1024;"  \
	"PRAGMA mmap_size = 0;"       \
	"PRAGMA cell_size_check = ON;"

#define READ_PRAGMAS PRAGMAS "PRAGMA query_only = ON;"

#define WRITE_PRAGMAS                                  \
	PRAGMAS "PRAGMA foreign_keys = ON;"            \
		"PRAGMA synchronous = NORMAL;"         \
		"PRAGMA wal_autocheckpoint = 256;"     \
		"PRAGMA journal_size_limit = 4194304;" \
		"PRAGMA secure_delete = OFF;"

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
		{ SQLITE_CONSTRAINT, -EUCLEAN },
		{ SQLITE_SCHEMA, -EUCLEAN },
		{ SQLITE_MISMATCH, -EUCLEAN },
		{ SQLITE_ERROR, -EUCLEAN }, /* of statements that are right: the schema is not */
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

void db_keep_log(struct db *db, bool keep)
{
	sqlite3_db_config(db->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, (int)keep, NULL);
}

/* The schema of a file that somebody else made is not to be trusted. */
static int db_configure(struct db *db, enum db_mode mode)
{
	int err;

	sqlite3_extended_result_codes(db->handle, 1);
	sqlite3_busy_timeout(db->handle, BUSY_MS);
	sqlite3_db_config(db->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(db->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(db->handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	db_keep_log(db, true);
	err = db_execute(db, mode == DB_WRITE ? WRITE_PRAGMAS : READ_PRAGMAS);
	/* They read the schema: what SQLite cannot make sense of at all is damaged. */
	return err == -EUCLEAN ? -EBADMSG : err;
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
	int err;

	if (!db || (mode == DB_FROZEN && !uri))
		return -ENOMEM;
	flags |= mode == DB_WRITE ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
	flags |= uri ? SQLITE_OPEN_URI : 0;
	err = db_errno(sqlite3_open_v2(uri ?: path, &db->handle, flags, NULL))
		      ?: db_configure(db, mode);
	if (err)
		return err;
	*ret = steal_ptr(&db);
	return 0;
}

void db_close(struct db *db)
{
	if (!db)
		return;
	for (size_t i = 0; i < db->nr_statements; i++)
		sqlite3_finalize(db->statements[i].prepared);
	sqlite3_close(db->handle);
	free(db->statements);
	free(db);
}

static int check_once(struct db *db)
{
	sqlite3_stmt *row __cleanup(db_resetp) = NULL;
	int err = db_query(db, "PRAGMA quick_check(1)", DB_NO_NUMBERS, &row) ?: db_next(row);
	static const char code[] = "error code=";
	const char *word, *at;

	if (err < 0)
		return err == -EUCLEAN ? -EBADMSG : err;
	word = (err ? (const char *)sqlite3_column_text(row, 0) : NULL) ?: "";
	if (!strcmp(word, "ok"))
		return 0;
	/* It tells of pages that could not be read as if they were damaged. */
	at = strstr(word, code);
	return (at ? db_errno(atoi(at + strlen(code))) : 0) ?: -EBADMSG;
}

/* It does not tell why some pages are wrong: damaged ones are so when they are read again. */
int db_check(struct db *db)
{
	int err = check_once(db);

	return err == -EBADMSG ? check_once(db) : err;
}

int db_execute(struct db *db, const char *sql)
{
	return db_errno(sqlite3_exec(db->handle, sql, NULL, NULL, NULL));
}

static int db_prepare(struct db *db, const char *sql, sqlite3_stmt **ret)
{
	int err;

	if (!array_grow(&db->statements, db->nr_statements, sizeof(*db->statements)))
		return -ENOMEM;
	err = db_errno(
		sqlite3_prepare_v3(db->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, ret, NULL));
	if (err)
		return err;
	db->statements[db->nr_statements++] = (struct db_statement){ sql, *ret };
	return 0;
}

int db_query(struct db *db, const char *sql, const int64_t *numbers, size_t count,
	     sqlite3_stmt **ret)
{
	sqlite3_stmt *statement = NULL;
	int err = 0;

	for (size_t i = 0; i < db->nr_statements && !statement; i++) {
		if (db->statements[i].sql == sql)
			statement = db->statements[i].prepared;
	}
	if (!statement)
		err = db_prepare(db, sql, &statement);
	if (err)
		return err;
	sqlite3_reset(statement);
	sqlite3_clear_bindings(statement);
	for (size_t i = 0; i < count && !err; i++)
		err = db_errno(sqlite3_bind_int64(statement, (int)i + 1, numbers[i]));
	*ret = statement;
	return err;
}

int db_next(sqlite3_stmt *statement)
{
	int result = sqlite3_step(statement);

	return result == SQLITE_ROW ? 1 : db_errno(result);
}

int db_run(sqlite3_stmt *statement)
{
	int result = sqlite3_step(statement);

	sqlite3_reset(statement);
	return db_errno(result);
}

int db_change(struct db *db, const char *sql, const int64_t *numbers, size_t count)
{
	sqlite3_stmt *statement;

	return db_query(db, sql, numbers, count, &statement) ?: db_run(statement);
}

static int first_number(sqlite3_stmt *row, int64_t *ret)
{
	int more = db_next(row);

	if (more == 1)
		*ret = sqlite3_column_int64(row, 0);
	return more < 0 ? more : 0;
}

int db_number(struct db *db, const char *sql, const int64_t *numbers, size_t count, int64_t *ret)
{
	sqlite3_stmt *row __cleanup(db_resetp) = NULL;

	return db_query(db, sql, numbers, count, &row) ?: first_number(row, ret);
}

int db_bind_text(sqlite3_stmt *statement, int index, const char *text)
{
	return db_errno(sqlite3_bind_text(statement, index, text, -1, SQLITE_STATIC));
}

int db_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, size_t size)
{
	return size ? db_errno(sqlite3_bind_blob(statement, index, bytes, (int)size, SQLITE_STATIC))
		    : 0;
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
		return -EUCLEAN;
	copy = size ? strndup(bytes, size) : strdup("");
	if (!copy)
		return -ENOMEM;
	*ret = copy;
	return 0;
}

void db_rollback(struct db *db)
{
	/* Some errors have rolled back already. */
	if (!sqlite3_get_autocommit(db->handle))
		db_execute(db, "ROLLBACK");
}

/* Makes the tables of an empty file: the schema begins a transaction. */
static int make_schema(struct db *db, int64_t damaged_ns)
{
	int err = db_execute(db, schema);

	if (!err && damaged_ns)
		err = db_meta_write(db, "damaged_start_ns", damaged_ns);
	err = err ?: db_execute(db, "COMMIT");
	db_rollback(db);
	return err;
}

int db_check_schema(struct db *db, bool make, int64_t damaged_ns)
{
	int64_t application = 0, version = 0, tables = 0;
	int err = db_number(db, "PRAGMA application_id", DB_NO_NUMBERS, &application)
			  ?: db_number(db, "PRAGMA user_version", DB_NO_NUMBERS, &version)
			  ?: db_number(db, "SELECT count(*) FROM sqlite_schema", DB_NO_NUMBERS,
				       &tables);

	if (err)
		return err;
	if (!tables && !application && !version)
		return make ? make_schema(db, damaged_ns) : -ENOENT;
	if (application != APPLICATION_ID || version < SCHEMA_VERSION)
		return -EBADMSG;
	return version > SCHEMA_VERSION ? -ENOTSUP : 0;
}

int db_meta_read(struct db *db, const char *name, int64_t *ret)
{
	sqlite3_stmt *row __cleanup(db_resetp) = NULL;

	return db_query(db, "SELECT value FROM meta WHERE name = ?", DB_NO_NUMBERS, &row)
		       ?: db_bind_text(row, 1, name)
		       ?: first_number(row, ret);
}

int db_meta_write(struct db *db, const char *name, int64_t value)
{
	sqlite3_stmt *insert;

	return db_query(db, "INSERT OR REPLACE INTO meta (value, name) VALUES (?, ?)",
			DB_NUMBERS(value), &insert)
		       ?: db_bind_text(insert, 2, name)
		       ?: db_run(insert);
}
