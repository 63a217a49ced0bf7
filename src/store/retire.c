/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Removes what is old. Intervals go together with all others in the same roll-up, so that a moment
 * is there whole or not at all; of what is left nothing is lost but detail, until the coarsest level
 * goes. Little goes at a time: a clock that is wrong for a while costs little.
 */
#include <stdio.h>

#include "base/mem.h"
#include "store/history_private.h"
#include "store/kind.h"

/* An append adds at most one roll-up a level: with twice as many going, what is due goes. */
#define RETIRE_BY_AGE 2

/* Roll-ups of the coarsest level that go at a time for want of room. */
#define RETIRE_BY_SIZE 16

/* Pages given back to the file system at a time. */
#define VACUUM_PAGES "2048"

/* Appends from one look for unused kinds to the next. */
#define RETIRE_KINDS_EACH 64

/* What is left to the log. */
#define LOG_BYTES (4ULL << 20)

/*
 * Whether an interval ended longer ago than a time: by the monotonic clock as far as it goes, by the
 * wall clock as it was when the run began, so that setting it during a run makes nothing older.
 * 1, 0 or -errno.
 */
static int is_older(struct db *db, const struct run *run, const struct interval *now,
		    const struct interval *interval, uint64_t keep_ns)
{
	int64_t age = now->end_mono_ns - run->start_mono_ns + run->start_ns - interval->end_ns;
	int64_t same_boot = 0;
	int err = db_number(db,
			    "SELECT a.boot_id = b.boot_id FROM run a, run b WHERE a.id = ? AND "
			    "b.id = ?",
			    DB_NUMBERS(interval->run, run->id), &same_boot);

	if (err)
		return err;
	if (same_boot)
		age = now->end_mono_ns - interval->end_mono_ns;
	return age > 0 && (uint64_t)age > keep_ns;
}

/* The oldest of a level: 1, or 0 when there is none. */
static int read_oldest(struct db *db, int64_t level, struct interval *ret)
{
	return interval_read(
		db, INTERVAL_SELECT "WHERE i.level = ? ORDER BY i.run, i.start_mono_ns LIMIT 1",
		DB_NUMBERS(level), ret);
}

/* The roll-up that an interval is in: 1, or 0 when it is too new to be in one. */
static int read_parent(struct db *db, const struct interval *child, struct interval *ret)
{
	return interval_read(
		db,
		INTERVAL_SELECT "WHERE i.level = ?1 AND i.run = ?2 AND i.start_mono_ns = "
				"(SELECT max(start_mono_ns) FROM interval WHERE level = ?1 AND "
				"run = ?2 AND start_mono_ns <= ?3) AND i.end_mono_ns >= ?4",
		DB_NUMBERS(child->level + 1, child->run, child->start_mono_ns, child->end_mono_ns),
		ret);
}

/* Removes the oldest of a finer level, with its neighbours: 1 if it went, 0 if it is not due. */
static int retire_finer(struct history *history, const struct run *run, const struct interval *now,
			int64_t level)
{
	struct interval oldest, parent;
	int found = read_oldest(history->db, level, &oldest);

	if (found == 1)
		found = read_parent(history->db, &oldest, &parent);
	if (found == 1)
		found = is_older(history->db, run, now, &parent, history->options.keep_ns[level]);
	if (found != 1)
		return found;
	return interval_remove_inside(history->db, &parent, level) ?: 1;
}

/* Removes an interval that is in no other, and notes since when there were any. */
static int retire_outer(struct db *db, const struct interval *oldest)
{
	int64_t since_ns = 0;
	int err = db_meta_read(db, "retired_start_ns", &since_ns);

	if (!err && !since_ns)
		err = db_meta_write(db, "retired_start_ns", oldest->start_ns);
	return err ?: interval_remove_inside(db, oldest, oldest->level);
}

static int retire_coarsest(struct history *history, const struct run *run,
			   const struct interval *now)
{
	const int64_t level = NR_HISTORY_LEVEL - 1;
	struct interval oldest;
	int found = read_oldest(history->db, level, &oldest);

	if (found == 1)
		found = is_older(history->db, run, now, &oldest, history->options.keep_ns[level]);
	if (found != 1)
		return found;
	return retire_outer(history->db, &oldest) ?: 1;
}

static int retire_by_age(struct history *history, const struct run *run, const struct interval *now)
{
	int went = 1;

	for (int64_t level = 0; level < NR_HISTORY_LEVEL && went >= 0; level++) {
		went = 1;
		for (int i = 0; i < RETIRE_BY_AGE && went == 1; i++)
			went = level + 1 < NR_HISTORY_LEVEL ? retire_finer(history, run, now, level)
							    : retire_coarsest(history, run, now);
	}
	return went < 0 ? went : 0;
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

/* Pages that the file may have. Baselines count, and are never removed. */
static int64_t page_limit(const struct history *history)
{
	uint64_t max_bytes = history->options.max_bytes, log_bytes = max_bytes / 8;
	uint64_t other_bytes = place_baseline_bytes(history);

	other_bytes += log_bytes < LOG_BYTES ? log_bytes : LOG_BYTES;
	return max_bytes > other_bytes ? (int64_t)(max_bytes - other_bytes) / 4096 : 0;
}

static int retire_by_size(struct history *history, const struct interval *now)
{
	int64_t limit = page_limit(history), used = 0, all = 0;
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
