/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the rows of interval. */
#include "store/interval.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "store/checksum.h"
#include "store/content.h"
#include "store/db.h"

/* The columns in their order, all numbers; the row's own checksum follows. */
#define NR_FIELD (sizeof(struct interval) / sizeof(int64_t))

static const int64_t *fields(const struct interval *interval)
{
	return (const int64_t *)interval;
}

static uint32_t interval_checksum(const struct interval *interval)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < NR_FIELD; i++)
		sum = checksum_number(sum, (uint64_t)fields(interval)[i]);
	return sum;
}

void interval_list_done(struct interval_list *list)
{
	free(list->items);
	*list = (struct interval_list){ 0 };
}

int interval_from_row(sqlite3_stmt *row, struct interval *ret)
{
	int64_t *into = (int64_t *)ret;

	for (size_t i = 0; i < NR_FIELD; i++)
		into[i] = sqlite3_column_int64(row, (int)i);
	if ((uint64_t)sqlite3_column_int64(row, NR_FIELD) != interval_checksum(ret) ||
	    ret->level < 0 || ret->level >= NR_HISTORY_LEVEL)
		return -EUCLEAN;
	return 0;
}

int interval_list_add(struct interval_list *list, const struct interval *interval)
{
	struct interval *grown = list->items;

	/* Doubles at each power of 2. */
	if ((list->count & (list->count - 1)) == 0)
		grown = reallocarray(list->items, list->count ? 2 * list->count : 1,
				     sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	list->items = grown;
	grown[list->count++] = *interval;
	return 0;
}

static int read_level(struct db *db, enum statement which, const struct interval_range *range,
		      int64_t level, struct interval_list *list, size_t *damaged)
{
	const int64_t parameters[] = { level, range->run, range->run ?: INT64_MAX,
				       range->from_mono_ns, range->to_mono_ns };
	struct interval interval;
	sqlite3_stmt *row;
	int err = db_statement(db, which, &row), more = 0;

	err = err ?: db_bind(row, parameters, ARRAY_SIZE(parameters));
	while (!err && (more = db_next(row)) == 1) {
		err = interval_from_row(row, &interval);
		*damaged += err == -EUCLEAN;
		if (err == -EUCLEAN)
			err = 0;
		else
			err = interval_list_add(list, &interval);
	}
	if (err && more == 1)
		sqlite3_reset(row);
	return err ?: more;
}

int intervals_read(struct db *db, const struct interval_range *range, struct interval_list *ret,
		   size_t *ret_damaged)
{
	size_t damaged = 0;
	int err = 0;

	for (int64_t level = range->first_level; level <= range->last_level && !err; level++)
		err = read_level(db, INTERVAL_READ, range, level, ret, &damaged);
	if (err) {
		interval_list_done(ret);
		return err;
	}
	if (ret_damaged)
		*ret_damaged = damaged;
	return 0;
}

void intervals_salvage(struct db *db, const struct interval_range *range, struct interval_list *ret,
		       size_t *ret_damaged)
{
	struct interval_range rest = *range;

	/* From the front up to what cannot be read, then from the back down to it. */
	if (!read_level(db, INTERVAL_READ, range, range->first_level, ret, ret_damaged))
		return;
	if (ret->count)
		rest.from_mono_ns = ret->items[ret->count - 1].start_mono_ns + 1;
	read_level(db, INTERVAL_READ_BACK, &rest, range->first_level, ret, ret_damaged);
}

static int interval_read_one(sqlite3_stmt *row, struct interval *ret)
{
	int more = db_next(row), err;

	if (more != 1)
		return more;
	err = interval_from_row(row, ret);
	sqlite3_reset(row);
	return err ?: 1;
}

int interval_read_oldest(struct db *db, int64_t level, struct interval *ret)
{
	sqlite3_stmt *row;
	int err = db_statement(db, INTERVAL_OLDEST, &row);

	err = err ?: db_bind(row, &level, 1);
	return err ?: interval_read_one(row, ret);
}

int interval_read_at(struct db *db, int64_t level, int64_t run, int64_t mono_ns,
		     struct interval *ret)
{
	const int64_t parameters[] = { level, run, mono_ns };
	sqlite3_stmt *row;
	int err = db_statement(db, INTERVAL_AT, &row);

	err = err ?: db_bind(row, parameters, ARRAY_SIZE(parameters));
	return err ?: interval_read_one(row, ret);
}

int interval_write(struct db *db, const struct interval *interval)
{
	sqlite3_stmt *insert;
	int err = db_statement(db, INTERVAL_WRITE, &insert);

	err = err ?: db_bind(insert, fields(interval), NR_FIELD);
	err = err
		      ?: db_errno(sqlite3_bind_int64(insert, NR_FIELD + 1,
						     interval_checksum(interval)));
	return err ?: db_run(insert);
}

int interval_remove_row(struct db *db, const struct interval *interval)
{
	sqlite3_stmt *remove;
	int err = db_statement(db, INTERVAL_REMOVE, &remove);

	err = err ?: db_bind(remove, fields(interval), 3);
	return err ?: db_run(remove);
}

int interval_remove(struct db *db, const struct interval *interval)
{
	int err = content_remove(db, CONTENT_INTERVAL, interval->id);

	return err ?: interval_remove_row(db, interval);
}

int interval_compare(const void *a, const void *b)
{
	const struct interval *x = a, *y = b;
	int order = (x->run > y->run) - (x->run < y->run);

	order = order
			?: (x->start_mono_ns > y->start_mono_ns) -
				   (x->start_mono_ns < y->start_mono_ns);
	return order ?: (x->level < y->level) - (x->level > y->level);
}
