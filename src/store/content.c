/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the rows that belong to an interval or a baseline, and their checksum: the sum of those of
 * all rows, whatever their order.
 */
#include "store/content.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "model/losses.h"
#include "store/cell.h"
#include "store/checksum.h"
#include "store/db.h"
#include "syscalls/classes.h"
#include "syscalls/names.h"

/* A statement of interval tables, and behind it the one of baseline tables. */
#define OF(owner, which) ((enum statement)((which) + (int)(owner)))

/* What a reading of rows has seen of them, and where they are added; without a sum, nowhere. */
struct reading {
	const struct kinds *kinds;
	const bool *wanted;
	struct sum *sum;
	struct content_check check;
};

/* Names a call for people. Those without a name have no row: there may be 2^32. */
static int call_write(struct db *db, enum syscall_abi abi, int64_t nr)
{
	const char *name = NULL;
	sqlite3_stmt *insert;
	int64_t numbers[] = { cell_call(abi, nr), 0, nr };
	int err;

	if (nr == ROW_NR_OTHER)
		name = "[other]";
	else if (nr >= 0 && nr <= INT32_MAX)
		name = syscall_find_name(abi, (int)nr);
	if (!name)
		return 0;
	err = db_statement(db, CALL_WRITE, &insert);
	err = err ?: db_bind(insert, numbers, ARRAY_SIZE(numbers));
	err = err ?: db_bind_text(insert, 2, abi_name(abi));
	err = err ?: db_bind_text(insert, 4, name);
	err = err
		      ?: db_errno(sqlite3_bind_int64(
				 insert, 5,
				 nr != ROW_NR_OTHER &&
					 syscall_has_trait(abi, (int)nr, TRAIT_MOVES_DATA)));
	return err ?: db_run(insert);
}

/* An interval's kinds are in use; a baseline has copies of its own. */
static int touch_kind(struct db *db, enum content_owner owner, int64_t id, int64_t kind_id)
{
	struct kind *kind;

	if (owner != CONTENT_INTERVAL)
		return 0;
	kind = kinds_find(&db->kinds, kind_id);
	return kind ? kind_touch(db, kind, id) : -EBADMSG;
}

static int write_cells(struct db *db, enum content_owner owner, int64_t id,
		       const struct snapshot *rows, struct content_check *check)
{
	struct cell_buffers buffers __cleanup(cell_buffers_done) = { 0 };
	sqlite3_stmt *insert = NULL;
	int err = 0;

	for (size_t i = 0; i < rows->nr_rows && !err; i++) {
		const struct row *row = rows->rows[i];
		struct cell cell;

		err = cell_from_row(&cell, (int64_t)(row->boot_ns - KIND_FIRST), row, &buffers);
		err = err ?: touch_kind(db, owner, id, cell.kind);
		err = err ?: call_write(db, row->abi, row->nr);
		err = err ?: db_statement(db, OF(owner, CELL_WRITE), &insert);
		err = err ?: cell_bind(insert, id, &cell);
		err = err ?: db_run(insert);
		if (err)
			break;
		check->checksum += cell_checksum(0, &cell);
		check->nr_cells++;
	}
	return err;
}

static void check_share(struct content_check *check, const struct share *share)
{
	uint32_t sum = checksum_number(0, (uint64_t)share->kind);

	sum = checksum_number(sum, share->processes);
	check->checksum += checksum_number(sum, share->user_ns);
	check->nr_shares++;
}

static int write_shares(struct db *db, enum content_owner owner, int64_t id, const struct sum *sum,
			struct content_check *check)
{
	sqlite3_stmt *insert;
	int err = 0;

	for (size_t i = 0; i < sum->nr_shares && !err; i++) {
		const struct share *share = &sum->shares[i];
		const int64_t numbers[] = { id, share->kind, (int64_t)share->processes,
					    (int64_t)share->user_ns };

		err = touch_kind(db, owner, id, share->kind);
		err = err ?: db_statement(db, OF(owner, SHARE_WRITE), &insert);
		err = err ?: db_bind(insert, numbers, ARRAY_SIZE(numbers));
		err = err ?: db_run(insert);
		check_share(check, share);
	}
	return err;
}

static void check_loss(struct content_check *check, const char *name, uint64_t count)
{
	check->checksum += checksum_text(checksum_number(0, count), name);
	check->nr_losses++;
}

static int write_losses(struct db *db, enum content_owner owner, int64_t id,
			const struct losses *losses, struct content_check *check)
{
	sqlite3_stmt *insert;
	int err = 0;

	for (int i = 0; i < NR_MODEL_LOSS && !err; i++) {
		if (!losses->count[i])
			continue;
		err = db_statement(db, OF(owner, LOSS_WRITE), &insert);
		err = err ?: db_bind(insert, &id, 1);
		err = err ?: db_bind_text(insert, 2, loss_texts[i].name);
		err = err ?: db_errno(sqlite3_bind_int64(insert, 3, (int64_t)losses->count[i]));
		err = err ?: db_run(insert);
		check_loss(check, loss_texts[i].name, losses->count[i]);
	}
	return err;
}

int content_write(struct db *db, enum content_owner owner, int64_t id, struct sum *sum,
		  struct content_check *ret)
{
	struct snapshot *rows __cleanup(snapshot_freep) = calloc(1, sizeof(*rows));
	struct content_check check = { 0 };
	int err = 0;

	if (!rows || (sum->builder && builder_finish(sum->builder, rows)))
		return -ENOMEM;
	err = write_cells(db, owner, id, rows, &check);
	err = err ?: write_shares(db, owner, id, sum, &check);
	err = err ?: write_losses(db, owner, id, &sum->losses, &check);
	if (!err)
		*ret = check;
	return err;
}

static int read_cell(sqlite3_stmt *columns, struct reading *reading)
{
	struct cell cell;
	struct row row;
	int err;

	cell_from_columns(columns, &cell);
	if (!reading->sum) {
		reading->check.checksum += cell_checksum(0, &cell);
		reading->check.nr_cells++;
		return kinds_find(reading->kinds, cell.kind) ? 0 : -EUCLEAN;
	}
	if (!kinds_want(reading->kinds, reading->wanted, cell.kind))
		return 0;
	err = cell_to_row(&cell, &row);
	if (err)
		return err == -EBADMSG ? -EUCLEAN : err;
	err = sum_add_row(reading->sum, cell.kind, &row);
	row_done(&row);
	return err;
}

static int read_share(sqlite3_stmt *columns, struct reading *reading)
{
	const struct share share = {
		.kind = sqlite3_column_int64(columns, 0),
		.processes = (uint64_t)sqlite3_column_int64(columns, 1),
		.user_ns = (uint64_t)sqlite3_column_int64(columns, 2),
	};

	if (!reading->sum) {
		check_share(&reading->check, &share);
		return kinds_find(reading->kinds, share.kind) ? 0 : -EUCLEAN;
	}
	return kinds_want(reading->kinds, reading->wanted, share.kind)
		       ? sum_add_share(reading->sum, &share)
		       : 0;
}

static int read_loss(sqlite3_stmt *columns, struct reading *reading)
{
	__cleanup(freep) char *name = NULL;
	uint64_t count = (uint64_t)sqlite3_column_int64(columns, 1);
	int err = db_column_text(columns, 0, &name);

	if (err)
		return err == -EBADMSG ? -EUCLEAN : err;
	if (!reading->sum)
		check_loss(&reading->check, name, count);
	for (int i = 0; i < NR_MODEL_LOSS && name && reading->sum; i++) {
		if (!strcmp(loss_texts[i].name, name))
			reading->sum->losses.count[i] += count;
	}
	return 0;
}

static const struct {
	enum statement read;
	int (*take)(sqlite3_stmt *columns, struct reading *reading);
} tables[] = {
	{ CELL_READ, read_cell },
	{ SHARE_READ, read_share },
	{ LOSS_READ, read_loss },
};

static int content_read(struct db *db, enum content_owner owner, int64_t id,
			struct reading *reading)
{
	sqlite3_stmt *columns;
	int err = 0, more = 0;

	for (size_t i = 0; i < ARRAY_SIZE(tables) && !err; i++) {
		err = db_statement(db, OF(owner, tables[i].read), &columns);
		err = err ?: db_bind(columns, &id, 1);
		while (!err && (more = db_next(columns)) == 1)
			err = tables[i].take(columns, reading);
		if (err && more == 1)
			sqlite3_reset(columns);
		err = err ?: more;
	}
	return err;
}

int content_verify(struct db *db, enum content_owner owner, int64_t id, const struct kinds *kinds,
		   const struct content_check *expected)
{
	struct reading reading = { .kinds = kinds };
	int err = content_read(db, owner, id, &reading);

	if (err)
		return err;
	return memcmp(&reading.check, expected, sizeof(*expected)) ? -EUCLEAN : 0;
}

int content_add(struct db *db, enum content_owner owner, int64_t id, const struct kinds *kinds,
		const bool *wanted, struct sum *sum)
{
	struct reading reading = { .kinds = kinds, .wanted = wanted, .sum = sum };

	return content_read(db, owner, id, &reading);
}

int content_remove(struct db *db, enum content_owner owner, int64_t id)
{
	static const enum statement removals[] = { CELL_REMOVE, SHARE_REMOVE, LOSS_REMOVE };
	sqlite3_stmt *remove;
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(removals) && !err; i++) {
		err = db_statement(db, OF(owner, removals[i]), &remove);
		err = err ?: db_bind(remove, &id, 1);
		err = err ?: db_run(remove);
	}
	return err;
}
