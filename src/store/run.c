/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the rows of run. */
#include "store/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/checksum.h"
#include "store/db.h"

void run_done(struct run *run)
{
	free(run->host);
	free(run->boot_id);
	free(run->kernel);
	*run = (struct run){ 0 };
}

void run_list_done(struct run_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		run_done(&list->items[i]);
	free(list->items);
	*list = (struct run_list){ 0 };
}

int run_init(struct run *run, const struct snapshot *host, int64_t start_ns, int64_t start_mono_ns)
{
	struct run made = {
		.host = strdup(host->host ?: ""),
		.boot_id = strdup(host->boot_id ?: ""),
		.kernel = strdup(host->kernel ?: ""),
		.start_ns = start_ns,
		.start_mono_ns = start_mono_ns,
	};

	if (!made.host || !made.boot_id || !made.kernel) {
		run_done(&made);
		return -ENOMEM;
	}
	*run = made;
	return 0;
}

static uint32_t run_checksum(const struct run *run)
{
	const int64_t numbers[] = { run->id,        run->start_ns,      run->start_mono_ns,
				    run->after_run, run->after_mono_ns, run->after_ns };
	uint32_t sum = 0;

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		sum = checksum_number(sum, (uint64_t)numbers[i]);
	sum = checksum_text(sum, run->host);
	sum = checksum_text(sum, run->boot_id);
	return checksum_text(sum, run->kernel);
}

const struct run *run_find(const struct db *db, int64_t id)
{
	for (size_t i = db->runs.count; i-- > 0;) {
		if (db->runs.items[i].id == id)
			return &db->runs.items[i];
	}
	return NULL;
}

/* -EBADMSG when the row is damaged. */
static int run_read(sqlite3_stmt *row, struct run *run)
{
	int64_t *const numbers[] = { &run->id,        &run->start_ns,      &run->start_mono_ns,
				     &run->after_run, &run->after_mono_ns, &run->after_ns };
	char **const texts[] = { &run->host, &run->boot_id, &run->kernel };
	int err = 0, column = 0;

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		*numbers[i] = sqlite3_column_int64(row, column++);
	for (size_t i = 0; i < ARRAY_SIZE(texts) && !err; i++) {
		err = db_column_text(row, column++, texts[i]);
		if (!err && !*texts[i])
			err = -EBADMSG;
	}
	if (!err && (uint64_t)sqlite3_column_int64(row, column) != run_checksum(run))
		err = -EBADMSG;
	if (err)
		run_done(run);
	return err;
}

/* Those after an id. */
static int runs_read(struct db *db, int64_t after)
{
	sqlite3_stmt *row;
	int err = db_statement(db, RUN_READ, &row), more;

	err = err ?: db_bind(row, &after, 1);
	if (err)
		return err;
	while ((more = db_next(row)) == 1) {
		struct run run = { 0 };
		struct run *grown;

		err = run_read(row, &run);
		if (err == -EBADMSG)
			continue;
		grown = err ? NULL
			    : reallocarray(db->runs.items, db->runs.count + 1, sizeof(*grown));
		if (!grown) {
			run_done(&run);
			sqlite3_reset(row);
			return -ENOMEM;
		}
		db->runs.items = grown;
		grown[db->runs.count++] = run;
	}
	db->runs.loaded = more == 0;
	return more;
}

int runs_load(struct db *db)
{
	return runs_read(db, INT64_MIN);
}

void runs_salvage(struct db *db)
{
	int64_t after = 0;
	int tries = 0, err;

	do {
		err = runs_read(db, after);
		if (db->runs.count && db->runs.items[db->runs.count - 1].id > after)
			after = db->runs.items[db->runs.count - 1].id;
		else
			after++;
	} while (err && ++tries < SALVAGE_TRIES);
	db->runs.loaded = true;
}

int run_write(struct db *db, const struct run *run)
{
	const int64_t numbers[] = { run->id,        run->start_ns,      run->start_mono_ns,
				    run->after_run, run->after_mono_ns, run->after_ns };
	const char *const texts[] = { run->host, run->boot_id, run->kernel };
	int index = ARRAY_SIZE(numbers);
	sqlite3_stmt *insert;
	int err = db_statement(db, RUN_WRITE, &insert);

	if (!err)
		err = db_bind(insert, numbers, ARRAY_SIZE(numbers));
	for (size_t i = 0; i < ARRAY_SIZE(texts) && !err; i++)
		err = db_bind_text(insert, ++index, texts[i]);
	if (!err)
		err = db_errno(sqlite3_bind_int64(insert, ++index, run_checksum(run)));
	if (!err)
		err = db_run(insert);
	/* It is read again with the others. */
	run_list_done(&db->runs);
	return err ?: runs_load(db);
}

int runs_retire(struct db *db, int64_t before)
{
	sqlite3_stmt *remove;
	int err = db_statement(db, RUN_RETIRE, &remove);

	err = err ?: db_bind(remove, &before, 1);
	return err ?: db_run(remove);
}
