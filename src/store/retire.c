/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the removal of what is old. Intervals go together with all others in the same roll-up, so
 * that a moment is there whole or not at all; of what is left nothing is lost but detail, until the
 * coarsest level goes. Little goes at a time: a clock that is wrong for a while costs little.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "store/content.h"
#include "store/history_private.h"
#include "store/meta.h"

/* An append adds at most one roll-up a level: with twice as many going, what is due goes. */
#define RETIRE_BY_AGE 2

/* Roll-ups of the coarsest level that go at a time for want of room. */
#define RETIRE_BY_SIZE 16

/* Pages given back to the file system at a time. */
#define VACUUM_PAGES 2048

/* Appends from one look for unused kinds to the next. */
#define RETIRE_KINDS_EACH 64

/* What is left to the log. */
#define LOG_BYTES (4ULL << 20)

/*
 * How long ago an interval ended: by the monotonic clock as far as it goes, by the wall clock as it
 * was when the run began, so that setting it during a run makes nothing older.
 */
static uint64_t age_ns(struct db *db, const struct run *run, const struct interval *now,
		       const struct interval *interval)
{
	const struct run *then = run_find(db, interval->run);
	int64_t age = now->end_mono_ns - run->start_mono_ns + run->start_ns - interval->end_ns;
	int64_t age_mono = now->end_mono_ns - interval->end_mono_ns;

	if (then && !strcmp(then->boot_id, run->boot_id))
		age = age_mono;
	return age > 0 ? (uint64_t)age : 0;
}

int retired_read(struct db *db, struct retired *ret)
{
	int err = meta_read(db, "retired_start_ns", &ret->start_ns);

	err = err ?: meta_read(db, "retired_run", &ret->end.run);
	err = err ?: meta_read(db, "retired_mono_ns", &ret->end.mono_ns);
	return err ?: meta_read(db, "retired_end_ns", &ret->end.real_ns);
}

static int retired_note(struct db *db, const struct interval *interval)
{
	struct retired retired;
	int err = retired_read(db, &retired);

	if (!err && !retired.end.run)
		err = meta_write(db, "retired_start_ns", interval->start_ns);
	err = err ?: meta_write(db, "retired_run", interval->run);
	err = err ?: meta_write(db, "retired_mono_ns", interval->end_mono_ns);
	return err ?: meta_write(db, "retired_end_ns", interval->end_ns);
}

/* Removes intervals of levels up to a last that lie inside one. */
static int remove_inside(struct db *db, const struct interval *outer, int64_t last_level)
{
	const struct interval_range range = { 0, last_level, outer->run, outer->start_mono_ns,
					      outer->end_mono_ns };
	struct interval_list list __cleanup(interval_list_done) = { 0 };
	int err = intervals_read(db, &range, &list, NULL);

	for (size_t i = 0; i < list.count && !err; i++)
		err = interval_remove(db, &list.items[i]);
	return err;
}

/* The roll-up that an interval is in: 1, or 0 when there is none. */
static int find_parent(struct db *db, const struct interval *child, struct interval *ret)
{
	int found = interval_read_at(db, child->level + 1, child->run, child->start_mono_ns, ret);

	if (found == 1 && ret->end_mono_ns < child->end_mono_ns)
		found = 0;
	return found == -EUCLEAN ? 0 : found;
}

/* The oldest of a finer level, with its neighbours: 1 if it went, 0 if it is not due. */
static int retire_finer(struct history *history, const struct run *run, const struct interval *now,
			int64_t level)
{
	uint64_t keep_ns = history->options.keep_ns[level];
	struct interval oldest, parent;
	int found = interval_read_oldest(history->db, level, &oldest), err;

	if (found == -EUCLEAN)
		return interval_remove_row(history->db, &oldest) ?: 1;
	if (found != 1)
		return found;
	found = find_parent(history->db, &oldest, &parent);
	if (found < 0)
		return found;
	if (age_ns(history->db, run, now, found ? &parent : &oldest) <= keep_ns)
		return 0;
	/* Without a roll-up it is too new to have one, or too damaged. */
	if (!found)
		return oldest.flags & INTERVAL_DAMAGED ? interval_remove(history->db, &oldest) ?: 1
						       : 0;
	err = remove_inside(history->db, &parent, level);
	return err ?: 1;
}

/* The oldest interval that is in no other: 1, or 0 when there is none. */
static int find_oldest(struct db *db, struct interval *ret)
{
	struct interval oldest;
	int any = 0, found;

	for (int64_t level = NR_HISTORY_LEVEL - 1; level >= 0; level--) {
		found = interval_read_oldest(db, level, &oldest);
		if (found < 0)
			return found;
		if (found &&
		    (!any || oldest.run < ret->run ||
		     (oldest.run == ret->run && oldest.start_mono_ns < ret->start_mono_ns))) {
			*ret = oldest;
			any = 1;
		}
	}
	return any;
}

static int retire_outer(struct db *db, const struct interval *oldest)
{
	int err = retired_note(db, oldest);

	return err ?: remove_inside(db, oldest, oldest->level);
}

static int retire_by_age(struct history *history, const struct run *run, const struct interval *now)
{
	const int64_t last = NR_HISTORY_LEVEL - 1;
	struct interval oldest;
	int went = 1;

	for (int64_t level = 0; level < last; level++) {
		went = 1;
		for (int i = 0; i < RETIRE_BY_AGE && went == 1; i++)
			went = retire_finer(history, run, now, level);
		if (went < 0)
			return went;
	}
	for (int i = 0; i < RETIRE_BY_AGE; i++) {
		went = interval_read_oldest(history->db, last, &oldest);
		if (went == -EUCLEAN)
			went = interval_remove_row(history->db, &oldest);
		else if (went == 1 &&
			 age_ns(history->db, run, now, &oldest) > history->options.keep_ns[last])
			went = retire_outer(history->db, &oldest);
		else
			break;
		if (went < 0)
			return went;
	}
	return went < 0 ? went : 0;
}

/* Pages that are in use, and that the file has. */
static int count_pages(struct db *db, int64_t *used, int64_t *all)
{
	int64_t unused;
	int err = db_number(db, PAGE_COUNT, all);

	err = err ?: db_number(db, PAGE_FREE, &unused);
	if (!err)
		*used = *all - unused;
	return err;
}

static int retire_by_size(struct history *history, const struct interval *now)
{
	uint64_t log_bytes = history->options.max_bytes / 8;
	int64_t limit, used, all;
	struct interval oldest;
	char sql[64];
	int err = count_pages(history->db, &used, &all), found;

	log_bytes = log_bytes < LOG_BYTES ? log_bytes : LOG_BYTES;
	limit = (int64_t)(history->options.max_bytes - log_bytes - place_baseline_bytes(history)) /
		4096;
	for (int i = 0; i < RETIRE_BY_SIZE && !err && used > limit; i++) {
		found = find_oldest(history->db, &oldest);
		if (found != 1 || (oldest.run == now->run && !oldest.level))
			return found < 0 && found != -EUCLEAN ? found : 0;
		err = retire_outer(history->db, &oldest);
		err = err ?: count_pages(history->db, &used, &all);
	}
	if (err || all <= limit)
		return err;
	snprintf(sql, sizeof(sql), "PRAGMA incremental_vacuum(%d)", VACUUM_PAGES);
	return db_execute(history->db, sql);
}

/* Kinds that only retired intervals had; it takes a look at all intervals, so not each time. */
static int retire_kinds(struct history *history)
{
	int64_t first = 0;
	int err;

	if (history->appended % RETIRE_KINDS_EACH)
		return 0;
	err = db_number(history->db, INTERVAL_FIRST_ID, &first);
	return err ?: kinds_retire(history->db, first);
}

int retire_due(struct history *history, const struct run *run, const struct interval *now)
{
	int err = retire_kinds(history);

	err = err ?: retire_by_age(history, run, now);
	return err ?: retire_by_size(history, now);
}

static int compare_id(const void *a, const void *b)
{
	const struct interval *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

/* The next interval that has cells after this one: 1, 0 or -errno. */
static int next_owner(struct db *db, int64_t *id)
{
	sqlite3_stmt *row;
	int err = db_statement(db, CELL_NEXT_OWNER, &row), more;

	err = err ?: db_bind(row, id, 1);
	if (err)
		return err;
	more = db_next(row);
	if (more == 1)
		*id = sqlite3_column_int64(row, 0);
	sqlite3_reset(row);
	return more;
}

int retire_orphans(struct db *db)
{
	const struct interval_range range = { 0, NR_HISTORY_LEVEL - 1, 0, INT64_MIN, INT64_MAX };
	struct interval_list list __cleanup(interval_list_done) = { 0 };
	int64_t id = INT64_MIN;
	int err = intervals_read(db, &range, &list, NULL), more;

	if (err)
		return err;
	if (list.count)
		qsort(list.items, list.count, sizeof(*list.items), compare_id);
	while ((more = next_owner(db, &id)) == 1) {
		const struct interval key = { .id = id };

		if (list.count && bsearch(&key, list.items, list.count, sizeof(key), compare_id))
			continue;
		err = content_remove(db, CONTENT_INTERVAL, id);
		if (err)
			return err;
	}
	return more;
}
