/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the SQL that is run over and over; the tables are in schema.c. */
#include "store/statements.h"

#define INTERVAL_COLUMNS                                                                       \
	"level, run, start_mono_ns, id, end_mono_ns, start_ns, end_ns, after_mono_ns, flags, " \
	"threads_unknown, nr_cells, nr_shares, nr_losses, content, checksum"

#define KIND_COLUMNS "id, sort, uid, seen, comm, user, cgroup, checksum"

#define CELL_COLUMNS                                                                       \
	"kind, call, calls, errors, interrupted, untimed, denied, no_return, result_sum, " \
	"wall_ns, off_ns, runq_ns, max_ns, min_ns, histogram, errnos"

#define RUN_COLUMNS                                                                                \
	"id, start_ns, start_mono_ns, after_run, after_mono_ns, after_ns, host, boot_id, kernel, " \
	"checksum"

#define BASELINE_COLUMNS                                                                    \
	"id, saved_ns, start_ns, end_ns, covered_ns, end_mono_ns, flags, threads_unknown, " \
	"nr_cells, nr_shares, nr_losses, content, nr_kinds, name, host, boot_id, kernel, checksum"

/* The three statements of a table, for intervals and for baselines. */
#define CONTENT(NAME, table, columns, values)                                                 \
	[NAME##_WRITE] = "INSERT INTO " table " (interval, " columns ") VALUES (" values ")", \
	[BASELINE_##NAME##_WRITE] =                                                           \
		"INSERT INTO baseline_" table " (baseline, " columns ") VALUES (" values ")", \
	[NAME##_READ] = "SELECT " columns " FROM " table " WHERE interval = ?",               \
	[BASELINE_##NAME##_READ] =                                                            \
		"SELECT " columns " FROM baseline_" table " WHERE baseline = ?",              \
	[NAME##_REMOVE] = "DELETE FROM " table " WHERE interval = ?",                         \
	[BASELINE_##NAME##_REMOVE] = "DELETE FROM baseline_" table " WHERE baseline = ?"

const char *const statement_texts[NR_STATEMENT] = {
	[RUN_READ] = "SELECT " RUN_COLUMNS " FROM run WHERE id > ? ORDER BY id",
	[RUN_WRITE] = "INSERT OR REPLACE INTO run (" RUN_COLUMNS
		      ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[RUN_RETIRE] = "DELETE FROM run WHERE id < ?1 AND NOT EXISTS (SELECT 1 FROM interval "
		       "WHERE level IN (0, 1, 2) AND interval.run = run.id)",
	[KIND_READ] = "SELECT " KIND_COLUMNS " FROM kind WHERE id > ? ORDER BY id",
	[KIND_WRITE] =
		"INSERT OR REPLACE INTO kind (" KIND_COLUMNS ") VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
	[KIND_RETIRE] = "DELETE FROM kind WHERE seen < ?",
	[CALL_WRITE] = "INSERT OR IGNORE INTO call (id, abi, nr, name, moves_data) "
		       "VALUES (?, ?, ?, ?, ?)",
	[INTERVAL_READ] = "SELECT " INTERVAL_COLUMNS " FROM interval WHERE level = ?1 AND "
			  "run BETWEEN ?2 AND ?3 AND start_mono_ns >= ?4 AND start_mono_ns < ?5 "
			  "ORDER BY run, start_mono_ns",
	[INTERVAL_OLDEST] = "SELECT " INTERVAL_COLUMNS
			    " FROM interval WHERE level = ? ORDER BY run, start_mono_ns LIMIT 1",
	[INTERVAL_AT] = "SELECT " INTERVAL_COLUMNS
			" FROM interval WHERE level = ? AND run = ? AND start_mono_ns <= ? "
			"ORDER BY start_mono_ns DESC LIMIT 1",
	[INTERVAL_WRITE] = "INSERT OR REPLACE INTO interval (" INTERVAL_COLUMNS
			   ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[INTERVAL_REMOVE] = "DELETE FROM interval WHERE level = ? AND run = ? AND "
			    "start_mono_ns = ?",
	[INTERVAL_READ_BACK] = "SELECT " INTERVAL_COLUMNS " FROM interval WHERE level = ?1 AND "
			       "run BETWEEN ?2 AND ?3 AND start_mono_ns >= ?4 AND "
			       "start_mono_ns < ?5 ORDER BY run DESC, start_mono_ns DESC",
	[INTERVAL_LAST_ID] = "SELECT max((SELECT coalesce(max(id), 0) FROM interval), "
			     "(SELECT coalesce(max(interval), 0) FROM cell))",
	[INTERVAL_FIRST_ID] = "SELECT coalesce(min(id), 0) FROM interval",
	[INTERVAL_COUNT] = "SELECT level, count(*), min(start_ns) FROM interval GROUP BY level",
	[CELL_NEXT_OWNER] =
		"SELECT interval FROM cell WHERE interval > ? ORDER BY interval LIMIT 1",
	CONTENT(CELL, "cell", CELL_COLUMNS, "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?"),
	CONTENT(SHARE, "share", "kind, processes, user_ns", "?, ?, ?, ?"),
	CONTENT(LOSS, "loss", "name, count", "?, ?, ?"),
	[BASELINE_KIND_READ] =
		"SELECT " KIND_COLUMNS " FROM baseline_kind WHERE baseline = ? ORDER BY id",
	[BASELINE_KIND_WRITE] = "INSERT INTO baseline_kind (" KIND_COLUMNS
				", baseline) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[BASELINE_KIND_REMOVE] = "DELETE FROM baseline_kind WHERE baseline = ?",
	[BASELINE_READ] = "SELECT " BASELINE_COLUMNS " FROM baseline ORDER BY id",
	[BASELINE_WRITE] = "INSERT INTO baseline (" BASELINE_COLUMNS ") VALUES (?, ?, ?, ?, ?, ?, "
			   "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[BASELINE_REMOVE] = "DELETE FROM baseline WHERE id = ?",
	[META_READ] = "SELECT value, checksum FROM meta WHERE name = ?",
	[META_WRITE] = "INSERT OR REPLACE INTO meta (value, checksum, name) VALUES (?, ?, ?)",
	[PAGE_COUNT] = "PRAGMA page_count",
	[PAGE_FREE] = "PRAGMA freelist_count",
	[SCHEMA_VERSION] = "PRAGMA user_version",
	[APPLICATION_ID] = "PRAGMA application_id",
};
