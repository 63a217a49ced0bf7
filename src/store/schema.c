/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the tables and their versions. A step is never changed once it is released: a new version
 * is a new step. All tables are trees by their primary key alone, so that no index can contradict
 * one.
 */
#include "store/schema.h"

#include <errno.h>
#include <stdio.h>

#include "base/mem.h"
#include "store/db.h"
#include "store/meta.h"

/* A cell, or a cell of a baseline. */
#define CELL_TABLE(name, owner)                      \
	"CREATE TABLE " name " ("                    \
	"	" owner " INTEGER NOT NULL,"         \
	"	kind INTEGER NOT NULL,"                    \
	"	call INTEGER NOT NULL,"                    \
	"	calls INTEGER NOT NULL,"                   \
	"	errors INTEGER NOT NULL,"                  \
	"	interrupted INTEGER NOT NULL,"             \
	"	untimed INTEGER NOT NULL,"                 \
	"	denied INTEGER NOT NULL,"                  \
	"	no_return INTEGER NOT NULL,"               \
	"	result_sum INTEGER NOT NULL,"              \
	"	wall_ns INTEGER NOT NULL,"                 \
	"	off_ns INTEGER NOT NULL,"                  \
	"	runq_ns INTEGER NOT NULL,"                 \
	"	max_ns INTEGER NOT NULL,"                  \
	"	min_ns INTEGER,"                           \
	"	histogram BLOB,"                           \
	"	errnos BLOB,"                              \
	"	PRIMARY KEY (" owner ", kind, call)" \
	") STRICT, WITHOUT ROWID;"

#define SHARE_TABLE(name, owner)               \
	"CREATE TABLE " name " ("              \
	"	" owner " INTEGER NOT NULL,"   \
	"	kind INTEGER NOT NULL,"              \
	"	processes INTEGER NOT NULL,"         \
	"	user_ns INTEGER NOT NULL,"           \
	"	PRIMARY KEY (" owner ", kind)" \
	") STRICT, WITHOUT ROWID;"

#define LOSS_TABLE(name, owner)                \
	"CREATE TABLE " name " ("              \
	"	" owner " INTEGER NOT NULL,"   \
	"	name TEXT NOT NULL,"                 \
	"	count INTEGER NOT NULL,"             \
	"	PRIMARY KEY (" owner ", name)" \
	") STRICT, WITHOUT ROWID;"

#define TABLES                                                                                     \
	"CREATE TABLE meta ("                                                                      \
	"	name TEXT PRIMARY KEY NOT NULL,"                                                         \
	"	value INTEGER NOT NULL,"                                                                 \
	"	checksum INTEGER NOT NULL"                                                               \
	") STRICT, WITHOUT ROWID;"                                                                 \
	"CREATE TABLE run ("                                                                       \
	"	id INTEGER PRIMARY KEY NOT NULL,"                                                        \
	"	start_ns INTEGER NOT NULL,"                                                              \
	"	start_mono_ns INTEGER NOT NULL,"                                                         \
	"	after_run INTEGER NOT NULL,"                                                             \
	"	after_mono_ns INTEGER NOT NULL,"                                                         \
	"	after_ns INTEGER NOT NULL,"                                                              \
	"	host TEXT NOT NULL,"                                                                     \
	"	boot_id TEXT NOT NULL,"                                                                  \
	"	kernel TEXT NOT NULL,"                                                                   \
	"	checksum INTEGER NOT NULL"                                                               \
	") STRICT;"                                                                                \
	"CREATE TABLE kind ("                                                                      \
	"	id INTEGER PRIMARY KEY NOT NULL,"                                                        \
	"	sort INTEGER NOT NULL,"                                                                  \
	"	uid INTEGER NOT NULL,"                                                                   \
	"	seen INTEGER NOT NULL,"                                                                  \
	"	comm TEXT NOT NULL,"                                                                     \
	"	user TEXT,"                                                                              \
	"	cgroup TEXT,"                                                                            \
	"	checksum INTEGER NOT NULL"                                                               \
	") STRICT;"                                                                                \
	"CREATE TABLE call ("                                                                      \
	"	id INTEGER PRIMARY KEY NOT NULL,"                                                        \
	"	abi TEXT NOT NULL,"                                                                      \
	"	nr INTEGER NOT NULL,"                                                                    \
	"	name TEXT NOT NULL,"                                                                     \
	"	moves_data INTEGER NOT NULL"                                                             \
	") STRICT;"                                                                                \
	"CREATE TABLE interval ("                                                                  \
	"	level INTEGER NOT NULL,"                                                                 \
	"	run INTEGER NOT NULL,"                                                                   \
	"	start_mono_ns INTEGER NOT NULL,"                                                         \
	"	id INTEGER NOT NULL,"                                                                    \
	"	end_mono_ns INTEGER NOT NULL,"                                                           \
	"	start_ns INTEGER NOT NULL,"                                                              \
	"	end_ns INTEGER NOT NULL,"                                                                \
	"	after_mono_ns INTEGER NOT NULL,"                                                         \
	"	flags INTEGER NOT NULL,"                                                                 \
	"	threads_unknown INTEGER NOT NULL,"                                                       \
	"	nr_cells INTEGER NOT NULL,"                                                              \
	"	nr_shares INTEGER NOT NULL,"                                                             \
	"	nr_losses INTEGER NOT NULL,"                                                             \
	"	content INTEGER NOT NULL,"                                                               \
	"	checksum INTEGER NOT NULL,"                                                              \
	"	PRIMARY KEY (level, run, start_mono_ns)"                                                 \
	") STRICT, WITHOUT ROWID;" CELL_TABLE("cell", "interval") SHARE_TABLE("share", "interval") \
		LOSS_TABLE("loss", "interval")

/* For people: names and text. Those of calls add up right whatever levels there are. */
#define VIEWS                                                                                 \
	"CREATE VIEW finest AS SELECT * FROM interval i WHERE flags & 4 = 0 AND NOT EXISTS (" \
	"	SELECT 1 FROM interval finer WHERE finer.level = i.level - 1 AND"                   \
	"	finer.run = i.run AND finer.start_mono_ns >= i.start_mono_ns AND"                   \
	"	finer.start_mono_ns < i.end_mono_ns);"                                              \
	"CREATE VIEW calls AS SELECT i.id AS interval, i.level,"                              \
	"	strftime('%Y-%m-%dT%H:%M:%SZ', i.start_ns / 1000000000, 'unixepoch') AS start,"     \
	"	strftime('%Y-%m-%dT%H:%M:%SZ', i.end_ns / 1000000000, 'unixepoch') AS end,"         \
	"	i.start_ns, i.end_ns, k.comm, coalesce(k.user, k.uid) AS user, k.cgroup,"           \
	"	coalesce(n.name, printf('syscall_0x%x', c.call >> 3)) AS syscall,"                  \
	"	c.calls, c.errors, c.interrupted, c.untimed, c.denied, c.no_return,"                \
	"	CASE WHEN n.moves_data THEN c.result_sum END AS bytes,"                             \
	"	c.wall_ns, c.off_ns, c.runq_ns, c.min_ns, c.max_ns, c.histogram, c.errnos"          \
	"	FROM finest i CROSS JOIN cell c ON c.interval = i.id"                               \
	"	JOIN kind k ON k.id = c.kind LEFT JOIN call n ON n.id = c.call;"                    \
	"CREATE VIEW processes AS SELECT i.id AS interval, i.level,"                          \
	"	strftime('%Y-%m-%dT%H:%M:%SZ', i.start_ns / 1000000000, 'unixepoch') AS start,"     \
	"	strftime('%Y-%m-%dT%H:%M:%SZ', i.end_ns / 1000000000, 'unixepoch') AS end,"         \
	"	i.start_ns, i.end_ns, k.comm, coalesce(k.user, k.uid) AS user, k.cgroup,"           \
	"	s.processes, s.user_ns"                                                             \
	"	FROM finest i CROSS JOIN share s ON s.interval = i.id JOIN kind k ON k.id = "       \
	"s.kind;"                                                                             \
	"CREATE VIEW intervals AS SELECT i.id AS interval, i.level,"                          \
	"	strftime('%Y-%m-%dT%H:%M:%SZ', i.start_ns / 1000000000, 'unixepoch') AS start,"     \
	"	strftime('%Y-%m-%dT%H:%M:%SZ', i.end_ns / 1000000000, 'unixepoch') AS end,"         \
	"	(i.end_mono_ns - i.start_mono_ns) / 1e9 AS covered_s, r.host, r.boot_id,"           \
	"	r.kernel, i.run, i.threads_unknown, i.flags & 4 <> 0 AS damaged"                    \
	"	FROM interval i JOIN run r ON r.id = i.run;"

const char *const schema_steps[] = {
	[0] = TABLES VIEWS,
};

const int schema_version = ARRAY_SIZE(schema_steps);

/* What both the first page and a row say, so that a flipped bit is no other version. */
static int schema_read_version(struct db *db, int64_t *ret)
{
	int64_t application = 0, version = 0, tables = 0;
	sqlite3_stmt *row = NULL;
	int err = db_number(db, APPLICATION_ID, &application);

	err = err ?: db_number(db, SCHEMA_VERSION, &version);
	if (err)
		return err;
	err = db_errno(sqlite3_prepare_v2(db->handle, "SELECT count(*) FROM sqlite_schema", -1,
					  &row, NULL));
	if (!err && db_next(row) == 1)
		tables = sqlite3_column_int64(row, 0);
	sqlite3_finalize(row);
	row = NULL;
	if (err)
		return err;
	*ret = version;
	if (!tables)
		return application || version ? -EBADMSG : 0;
	if (application != SCHEMA_APPLICATION_ID)
		return -EBADMSG;
	err = db_errno(sqlite3_prepare_v2(db->handle,
					  "SELECT value FROM meta WHERE name = 'schema_version'",
					  -1, &row, NULL));
	if (!err && (db_next(row) != 1 || sqlite3_column_int64(row, 0) != version))
		err = -EBADMSG;
	sqlite3_finalize(row);
	return err;
}

static int schema_note_version(struct db *db, int version)
{
	char sql[160];
	int err;

	snprintf(sql, sizeof(sql), "PRAGMA application_id = %d; PRAGMA user_version = %d;",
		 SCHEMA_APPLICATION_ID, version);
	err = db_execute(db, sql);
	return err ?: meta_write(db, "schema_version", version);
}

int schema_migrate(struct db *db, const char *const steps[], int version)
{
	int64_t from;
	int err = schema_read_version(db, &from);

	if (err || from == version)
		return err;
	if (from > version || from < 0)
		return -ENOTSUP;
	err = db_begin(db);
	for (; from < version && !err; from++)
		err = db_execute(db, steps[from]);
	err = err ?: schema_note_version(db, version);
	err = err ?: db_commit(db);
	if (err)
		db_rollback(db);
	return err;
}

int schema_check(struct db *db)
{
	int64_t version;
	int err = schema_read_version(db, &version);

	return err ?: version == schema_version ? 0 : version ? -ENOTSUP : -EBADMSG;
}
