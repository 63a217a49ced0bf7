/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Adds up intervals to roll-ups. An interval of a level is the sum of consecutive ones of the level
 * below, all of one run, that end in the same period of the day and have no hole between them: so a
 * roll-up hides no gap, and whatever ends in it ends in one period.
 */
#include "base/mem.h"
#include "store/history_private.h"
#include "store/sum.h"

const int64_t history_period_ns[NR_HISTORY_LEVEL] = {
	0,
	10 * 60 * (int64_t)NS_PER_SEC,
	60 * 60 * (int64_t)NS_PER_SEC,
};

/* Periods are numbered from 1970; one includes its end, not its start. */
int64_t rollup_period(const struct interval *interval, int64_t level)
{
	int64_t period_ns = history_period_ns[level], last_ns = interval->end_ns - 1;

	return last_ns / period_ns - (last_ns % period_ns < 0);
}

/* Whether b goes on where a ends, in the same roll-up. */
static bool joins(const struct interval *a, const struct interval *b)
{
	return a->end_mono_ns == b->start_mono_ns &&
	       rollup_period(a, a->level + 1) == rollup_period(b, a->level + 1);
}

/* The sum of intervals as one of the next level. */
static int rollup_write(struct db *db, const struct interval *first, size_t count)
{
	struct sum sum __cleanup(sum_done) = { 0 };
	struct interval parent;
	int err = 0;

	for (size_t i = 0; i < count && !err; i++) {
		err = content_add(db, first[i].id, &sum);
		sum_add_interval(&sum, &first[i]);
	}
	if (err)
		return err;
	parent = sum.first;
	parent.level++;
	parent.end_mono_ns = sum.last.end_mono_ns;
	parent.end_ns = sum.last.end_ns;
	parent.threads_unknown = sum.last.threads_unknown;
	return interval_write(db, &parent) ?: content_write(db, parent.id, &sum);
}

/* The intervals of a run that no roll-up of a level has yet. */
static int read_open(struct db *db, int64_t level, int64_t run, struct interval_list *ret)
{
	sqlite3_stmt *rows __cleanup(db_resetp) = NULL;
	int err = db_query(db,
			   INTERVAL_SELECT
			   "WHERE i.level = ?1 AND i.run = ?2 AND i.start_mono_ns >= "
			   "coalesce((SELECT end_mono_ns FROM interval WHERE level = ?1 + 1 AND "
			   "run = ?2 ORDER BY start_mono_ns DESC LIMIT 1), -1) "
			   "ORDER BY i.start_mono_ns",
			   DB_NUMBERS(level, run), &rows);

	return err ?: intervals_read(rows, ret);
}

int rollup_close(struct db *db, int64_t run, const struct interval *next)
{
	struct interval after = next ? *next : (struct interval){ 0 };
	int err = 0;

	for (int64_t level = 0; level + 1 < NR_HISTORY_LEVEL && !err; level++) {
		struct interval_list list __cleanup(interval_list_done) = { 0 };
		size_t first = 0;

		err = read_open(db, level, run, &list);
		for (size_t i = 0; i < list.count && !err; i++) {
			const struct interval *follower = i + 1 < list.count ? &list.items[i + 1]
							  : next             ? &after
									     : NULL;

			if (follower && joins(&list.items[i], follower))
				continue;
			err = rollup_write(db, &list.items[first], i + 1 - first);
			first = i + 1;
		}
		/* The open part comes next on the level above. */
		if (first < list.count)
			after = list.items[first];
	}
	return err;
}
