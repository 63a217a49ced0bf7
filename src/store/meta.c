/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the rows of meta. */
#include "store/meta.h"

#include "store/checksum.h"
#include "store/db.h"

static int64_t meta_checksum(const char *name, int64_t value)
{
	return checksum_text(checksum_number(0, (uint64_t)value), name);
}

int meta_read(struct db *db, const char *name, int64_t *ret)
{
	sqlite3_stmt *row;
	int err = db_statement(db, META_READ, &row), more;

	err = err ?: db_bind_text(row, 1, name);
	if (err)
		return err;
	*ret = 0;
	more = db_next(row);
	if (more == 1 &&
	    sqlite3_column_int64(row, 1) == meta_checksum(name, sqlite3_column_int64(row, 0)))
		*ret = sqlite3_column_int64(row, 0);
	sqlite3_reset(row);
	return more < 0 ? more : 0;
}

int meta_write(struct db *db, const char *name, int64_t value)
{
	const int64_t numbers[] = { value, meta_checksum(name, value) };
	sqlite3_stmt *insert;
	int err = db_statement(db, META_WRITE, &insert);

	err = err ?: db_bind(insert, numbers, 2);
	err = err ?: db_bind_text(insert, 3, name);
	return err ?: db_run(insert);
}
