/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Adds up intervals to roll-ups. An interval of a level is the sum of consecutive ones of the level
 * below, all of one run, that end in the same period of the day and have no hole between them: so a
 * roll-up hides no gap, and whatever ends in it ends in one period.
 */
#include "base/text.h"
#include "store/history_private.h"

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

/* --- what is old ------------------------------------------------------------------------------ */

/*
 * Removes what is old. Intervals go together with all others in the same roll-up, so that a moment
 * is there whole or not at all; of what is left nothing is lost but detail, until the coarsest level
 * goes. Little goes at a time: a clock that is wrong for a while costs little.
 */

/* An append adds at most one roll-up a level: with twice as many going, what is due goes. */
#define RETIRE_BY_AGE 2

/* Roll-ups of the coarsest level that go at a time for want of room. */
#define RETIRE_BY_SIZE 16

/* Pages given back to the file system at a time. */
#define VACUUM_PAGES "2048"

/* Appends from one look for unused kinds to the next. */
#define RETIRE_KINDS_EACH 64

/* Leaves at most this much of the limit to the log. */
#define LOG_BYTES (4ULL << 20)

/* Removes an interval that is in no other, and notes since when there were any. */
static int retire_outer(struct db *db, const struct interval *oldest)
{
	int64_t since_ns = 0;
	int err = db_meta_read(db, "retired_start_ns", &since_ns);

	if (!err && !since_ns)
		err = db_meta_write(db, "retired_start_ns", oldest->start_ns);
	return err ?: interval_remove_inside(db, oldest, oldest->level);
}

/*
 * The oldest of a level, or, of a finer one, the roll-up that it begins, if that ended longer ago
 * than is kept: by the monotonic clock as far as it goes, by the wall clock as it was when the run
 * began, so that setting it during a run makes nothing older. 1, 0 or -errno.
 */
static int read_due(struct history *history, const struct run *run, const struct interval *now,
		    int64_t level, struct interval *ret)
{
	int64_t real_ns = run->start_ns + now->end_mono_ns - run->start_mono_ns;
	int64_t last = NR_HISTORY_LEVEL - 1, outer = level < last ? level + 1 : last;

	return interval_read(
		history->db,
		INTERVAL_SELECT
		"JOIN interval c ON c.run = i.run AND c.start_mono_ns = i.start_mono_ns "
		"WHERE i.level = ?2 AND c.id = (SELECT id FROM interval WHERE level = ?1 "
		"ORDER BY run, start_mono_ns LIMIT 1) AND "
		"CASE WHEN r.boot_id = (SELECT boot_id FROM run WHERE id = ?3) "
		"THEN ?4 - i.end_mono_ns ELSE ?5 - i.end_ns END > ?6",
		DB_NUMBERS(level, outer, run->id, now->end_mono_ns, real_ns,
			   (int64_t)history->options.keep_ns[level]),
		ret);
}

/* Nothing of a finer level is lost. */
static int retire_by_age(struct history *history, const struct run *run, const struct interval *now)
{
	struct interval due;
	int found, err = 0;

	for (int64_t i = 0; i < NR_HISTORY_LEVEL * RETIRE_BY_AGE && !err; i++) {
		int64_t level = i / RETIRE_BY_AGE;

		found = read_due(history, run, now, level, &due);
		if (found < 0)
			return found;
		if (found)
			err = level < due.level ? interval_remove_inside(history->db, &due, level)
						: retire_outer(history->db, &due);
	}
	return err;
}

/* Pages that are in use, and that the file has. */
static int count_pages(struct db *db, int64_t *used, int64_t *all)
{
	int64_t unused = 0;
	int err = db_number(db, "PRAGMA page_count", DB_NO_NUMBERS, all)
			  ?: db_number(db, "PRAGMA freelist_count", DB_NO_NUMBERS, &unused);

	*used = *all - unused;
	return err;
}

static int retire_by_size(struct history *history, const struct interval *now)
{
	/* Pages that the file may have. Baselines count, and are never removed. */
	uint64_t max_bytes = history->options.max_bytes;
	uint64_t other_bytes = place_baseline_bytes(history) + min_u64(max_bytes / 8, LOG_BYTES);
	int64_t limit = (int64_t)above(max_bytes, other_bytes) / 4096, used = 0, all = 0;
	struct interval oldest;
	int err = count_pages(history->db, &used, &all), found;

	for (int i = 0; i < RETIRE_BY_SIZE && !err && used > limit; i++) {
		found = interval_read(history->db,
				      INTERVAL_SELECT "ORDER BY i.run, i.start_mono_ns, "
						      "i.level DESC LIMIT 1",
				      DB_NO_NUMBERS, &oldest);
		if (found != 1 || (oldest.run == now->run && !oldest.level))
			return found < 0 ? found : 0;
		err = retire_outer(history->db, &oldest) ?: count_pages(history->db, &used, &all);
	}
	if (err || all <= limit)
		return err;
	return db_execute(history->db, "PRAGMA incremental_vacuum(" VACUUM_PAGES ")");
}

int retire_due(struct history *history, const struct run *run, const struct interval *now)
{
	int err = history->appended % RETIRE_KINDS_EACH ? 0 : kinds_retire(history->db);

	return err ?: retire_by_age(history, run, now) ?: retire_by_size(history, now);
}
