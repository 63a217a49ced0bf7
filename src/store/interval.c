/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads and writes the rows of interval, run and kind, and says which processes are of one kind. */
#include "store/sum.h"

#include "base/text.h"

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
		err = db_bind_text(insert, 3 + i, texts[i]);
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

/* --- kinds ------------------------------------------------------------------------------------ */

/* Intervals after which a kind's row is written again; removal waits as many longer. */
#define SEEN_SLACK "1440"

struct kind kind_of(const struct snapshot *snapshot, const struct process *process)
{
	struct process others = process_of_other_kinds();
	struct kind kind = { .id = KIND_NOBODY, .uid = UID_NONE };

	if (!process || (!process->pid && !process->boot_ns))
		return kind;
	kind.id = !process->pid && process_same_kind(process, &others) ? KIND_OTHERS : 0;
	memcpy(kind.comm, process->comm, strnlen(process->comm, sizeof(process->comm)));
	kind.uid = process->uid;
	kind.user = snapshot_user(snapshot, process);
	kind.cgroup = snapshot_cgroup(snapshot, process->cgroup_id);
	return kind;
}

static int bind_value(sqlite3_stmt *statement, const struct kind *kind)
{
	return db_bind_text(statement, 2, kind->comm)
		       ?: db_bind_text(statement, 3, kind->user)
		       ?: db_bind_text(statement, 4, kind->cgroup);
}

int kind_find(struct db *db, struct kind *kind)
{
	sqlite3_stmt *row __cleanup(db_resetp) = NULL;
	int err = db_query(db,
			   "SELECT id FROM kind WHERE uid = ?1 AND comm = ?2 AND user IS ?3 AND "
			   "cgroup IS ?4 ORDER BY id LIMIT 1",
			   DB_NUMBERS(kind->uid), &row)
			  ?: bind_value(row, kind);

	if (err || kind->id)
		return err;
	err = db_next(row);
	if (err == 1)
		kind->id = sqlite3_column_int64(row, 0);
	return err < 0 ? err : 0;
}

static int kind_add(struct db *db, struct kind *kind)
{
	sqlite3_stmt *insert;
	int err = db_query(db,
			   "INSERT INTO kind (uid, comm, user, cgroup, seen) VALUES (?, ?, ?, ?, 0)",
			   DB_NUMBERS(kind->uid), &insert)
			  ?: bind_value(insert, kind)
			  ?: db_run(insert);

	if (err)
		return err;
	kind->id = sqlite3_last_insert_rowid(db->handle);
	return 0;
}

int kinds_room(struct db *db, int64_t *ret)
{
	return db_number(db, "SELECT ?1 - count(*) FROM kind WHERE id > ?2",
			 DB_NUMBERS(KINDS_MAX, KIND_OTHERS), ret);
}

int kind_take(struct db *db, struct kind *kind, int64_t *room)
{
	int err = kind_find(db, kind);

	if (err || kind->id)
		return err;
	if (*room > 0) {
		--*room;
		return kind_add(db, kind);
	}
	kind->id = KIND_OTHERS;
	return 0;
}

int kinds_touch(struct db *db, int64_t interval)
{
	return db_change(db,
			 "UPDATE kind SET seen = ?1 WHERE seen <= ?1 - " SEEN_SLACK
			 " AND id IN (SELECT kind FROM share WHERE interval = ?1)",
			 DB_NUMBERS(interval));
}

int kinds_retire(struct db *db)
{
	return db_change(db,
			 "DELETE FROM kind WHERE id > ? AND "
			 "seen < (SELECT min(id) FROM interval) - " SEEN_SLACK,
			 DB_NUMBERS(KIND_OTHERS));
}

/* The name of kinds whose own is folded. */
#define NAME_OF_ALL "[all]"

/* Columns: id, uid, comm, user, cgroup. Fields that are folded are left unknown. */
static int kind_from_row(sqlite3_stmt *row, unsigned int folded, struct snapshot *names,
			 struct process *ret)
{
	uint64_t serial = KIND_FIRST + (uint64_t)sqlite3_column_int64(row, 0);
	uint32_t uid = (uint32_t)sqlite3_column_int64(row, 1);
	const void *comm = sqlite3_column_blob(row, 2);
	size_t size = (size_t)sqlite3_column_bytes(row, 2);
	__cleanup(freep) char *user = NULL, *cgroup = NULL;
	int err = db_column_text(row, 3, &user) ?: db_column_text(row, 4, &cgroup);

	if (err)
		return err;
	if (size > sizeof(ret->comm) || (size && !comm))
		return -EUCLEAN;
	memset(ret->comm, 0, sizeof(ret->comm));
	if (folded & KIND_FIELD_COMM)
		strcpy(ret->comm, NAME_OF_ALL);
	else if (size)
		memcpy(ret->comm, comm, size);
	ret->uid = folded & KIND_FIELD_USER ? UID_NONE : uid;
	ret->any_user = ret->uid != uid && !(folded & KIND_FIELD_COMM);
	if (user && !(folded & KIND_FIELD_USER))
		err = id_names_add(&names->users, &names->nr_users, uid, user);
	ret->cgroup_id = cgroup && !(folded & KIND_FIELD_CGROUP) ? serial : 0;
	if (ret->cgroup_id && !err)
		err = id_names_add(&names->cgroups, &names->nr_cgroups, serial, cgroup);
	return err;
}

int kind_read(struct db *db, int64_t id, unsigned int folded, struct snapshot *names,
	      struct process *ret)
{
	sqlite3_stmt *row __cleanup(db_resetp) = NULL;
	int err = db_query(db, "SELECT id, uid, comm, user, cgroup FROM kind WHERE id = ?",
			   DB_NUMBERS(id), &row);

	if (err)
		return err;
	if (id == KIND_ALL) {
		ret->uid = UID_NONE;
		strcpy(ret->comm, NAME_OF_ALL);
		return 0;
	}
	err = db_next(row);
	return err == 1 ? kind_from_row(row, folded, names, ret) : err ?: -EUCLEAN;
}

/* A kind by itself, for the filter to look at: 1, 0 or -errno. */
static int kind_matches(sqlite3_stmt *row, const struct filter_globs *globs)
{
	struct snapshot *names __cleanup(snapshot_freep) = calloc(1, sizeof(*names));
	struct process process = { 0 };
	int err = names ? kind_from_row(row, 0, names, &process) : -ENOMEM;

	return err ?: filter_has(globs, names, &process);
}

static int entry_add(struct kind_set *set, int64_t id, int64_t into)
{
	if (!array_grow(&set->entries, set->count, sizeof(*set->entries)))
		return -ENOMEM;
	set->entries[set->count++] = (struct kind_entry){ id, into };
	return 0;
}

/*
 * Columns as of kind_from_row(), then the first of the kinds that have the same in what is kept. A
 * program may have the name of KIND_OTHERS.
 */
static int query_kinds(struct db *db, unsigned int folded, sqlite3_stmt **ret)
{
	return db_query(db,
			"SELECT id, uid, comm, user, cgroup, min(id) OVER (PARTITION BY "
			"iif(?2, NULL, comm), iif(?2, NULL, id = ?5), iif(?3, NULL, uid), "
			"iif(?3, NULL, user), iif(?4, NULL, cgroup)) "
			"FROM kind WHERE id > ?1 ORDER BY id",
			DB_NUMBERS(KIND_NOBODY, folded & KIND_FIELD_COMM, folded & KIND_FIELD_USER,
				   folded & KIND_FIELD_CGROUP, KIND_OTHERS),
			ret);
}

/* Adds the kinds that the filter has; NULL: all. */
static int entries_fill(struct db *db, const struct filter_globs *globs, struct kind_set *ret)
{
	sqlite3_stmt *row __cleanup(db_resetp) = NULL;
	int err = query_kinds(db, ret->folded, &row), more = 0, matches = 1;

	while (!err && (more = db_next(row)) == 1) {
		int64_t id = sqlite3_column_int64(row, 0);

		matches = globs ? kind_matches(row, globs) : 1;
		if (matches < 0)
			return matches;
		if (matches)
			err = entry_add(ret, id, ret->folded ? sqlite3_column_int64(row, 5) : id);
	}
	return err ?: more;
}

int kind_set_fill(struct db *db, const struct process_filter *filter, unsigned int folded,
		  struct kind_set *ret)
{
	struct filter_globs *globs __cleanup(freep) = NULL;
	int err;

	ret->folded = folded;
	if (!filter->nr_selectors && (!folded || folded == KIND_FIELDS))
		return 0;
	if (filter->nr_selectors && filter_globs_new(filter, &globs))
		return -ENOMEM;
	ret->entries = calloc(1, sizeof(*ret->entries));
	if (!ret->entries)
		return -ENOMEM;
	/* Calls that found no room may be anybody's. */
	err = filter->nr_selectors ? 0 : entry_add(ret, KIND_NOBODY, KIND_NOBODY);
	return err ?: entries_fill(db, globs, ret);
}

int64_t kind_set_find(const struct kind_set *set, int64_t id)
{
	const struct kind_entry *entry = NULL;

	if (!set)
		return id;
	if (set->entries)
		entry = bsearch(&id, set->entries, set->count, sizeof(*entry), compare_first_u64);
	if (set->entries && !entry)
		return KIND_NONE;
	if (set->folded == KIND_FIELDS)
		return KIND_ALL;
	return entry ? entry->into : id;
}
