/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns roll-ups. An interval of a level is the sum of consecutive ones of the level below, all of
 * one run, that end in the same period of the day and have no hole between them: so a roll-up hides
 * no gap, and whatever ends in it ends in one period.
 */
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "store/content.h"
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
static bool joins(const struct interval *a, const struct interval *b, int64_t level)
{
	return a->end_mono_ns == b->start_mono_ns &&
	       rollup_period(a, level + 1) == rollup_period(b, level + 1) &&
	       !((a->flags | b->flags) & INTERVAL_DAMAGED);
}

static struct content_check content_of(const struct interval *interval)
{
	return (struct content_check){ interval->nr_cells, interval->nr_shares, interval->nr_losses,
				       interval->content };
}

int interval_verify(struct db *db, const struct interval *interval)
{
	struct content_check expected = content_of(interval);

	if (interval->flags & INTERVAL_DAMAGED)
		return -EUCLEAN;
	return content_verify(db, CONTENT_INTERVAL, interval->id, &db->kinds, &expected);
}

/* The sum of intervals as one of the next level. */
static int rollup_write(struct db *db, struct sum *sum, int64_t *last_id)
{
	struct interval parent = sum->first;
	struct content_check check;
	int err;

	parent.level++;
	parent.id = ++*last_id;
	parent.end_mono_ns = sum->last.end_mono_ns;
	parent.end_ns = sum->last.end_ns;
	parent.threads_unknown = sum->last.threads_unknown;
	err = content_write(db, CONTENT_INTERVAL, parent.id, sum, &check);
	if (err)
		return err;
	parent.nr_cells = check.nr_cells;
	parent.nr_shares = check.nr_shares;
	parent.nr_losses = check.nr_losses;
	parent.content = check.checksum;
	return interval_write(db, &parent);
}

/* Adds up intervals until one is damaged, which is marked. *ret is how many were looked at. */
static int rollup_some(struct db *db, struct interval *first, size_t count, int64_t *last_id,
		       size_t *ret)
{
	struct sum sum __cleanup(sum_done) = { 0 };
	size_t at = 0;
	int err = 0;

	for (; at < count; at++) {
		err = interval_verify(db, &first[at]);
		err = err
			      ?: content_add(db, CONTENT_INTERVAL, first[at].id, &db->kinds, NULL,
					     &sum);
		if (err)
			break;
		sum_add_interval(&sum, &first[at]);
	}
	if (err == -EUCLEAN) {
		first[at].flags |= INTERVAL_DAMAGED;
		err = interval_write(db, &first[at++]);
	}
	if (!err && sum.nr_intervals)
		err = rollup_write(db, &sum, last_id);
	*ret = at;
	return err;
}

static int rollup_group(struct db *db, struct interval *first, size_t count, int64_t *last_id)
{
	size_t done;
	int err = 0;

	for (; count && !err; first += done, count -= done)
		err = rollup_some(db, first, count, last_id, &done);
	return err;
}

/* From where on nothing is in a roll-up yet. One whose row is damaged is made again. */
static int rollup_start(struct db *db, int64_t level, int64_t run, int64_t *ret)
{
	struct interval parent;
	int found = interval_read_at(db, level + 1, run, INT64_MAX, &parent);

	if (found < 0 && found != -EUCLEAN)
		return found;
	*ret = found == 1 ? parent.end_mono_ns : found ? parent.start_mono_ns : INT64_MIN;
	return 0;
}

/* Closes groups of a list; *next becomes what will come next on the level above. */
static int rollup_list(struct db *db, struct interval_list *list, const struct interval **next,
		       int64_t *last_id)
{
	size_t first = 0;
	int err = 0;

	for (size_t i = 0; i < list->count && !err; i++) {
		const struct interval *after = i + 1 < list->count ? &list->items[i + 1] : *next;

		if (after && joins(&list->items[i], after, list->items[i].level))
			continue;
		err = rollup_group(db, &list->items[first], i + 1 - first, last_id);
		first = i + 1;
	}
	if (first < list->count)
		*next = &list->items[first];
	return err;
}

int rollup_close(struct db *db, int64_t run, const struct interval *next, int64_t *last_id)
{
	struct interval open;
	int err = 0;

	for (int64_t level = 0; level + 1 < NR_HISTORY_LEVEL && !err; level++) {
		struct interval_range range = { level, level, run, 0, INT64_MAX };
		struct interval_list list __cleanup(interval_list_done) = { 0 };

		err = rollup_start(db, level, run, &range.from_mono_ns);
		err = err ?: intervals_read(db, &range, &list, NULL);
		err = err ?: rollup_list(db, &list, &next, last_id);
		/* The list goes, what comes next stays. */
		if (next) {
			open = *next;
			next = &open;
		}
	}
	return err;
}

static bool is_covered(const struct interval_list *parents, const struct interval *child)
{
	for (size_t i = 0; i < parents->count; i++) {
		const struct interval *parent = &parents->items[i];

		if (parent->run == child->run && parent->start_mono_ns <= child->start_mono_ns &&
		    parent->end_mono_ns >= child->end_mono_ns)
			return true;
	}
	return false;
}

static bool same_group(const struct interval *a, const struct interval *b)
{
	return a->run == b->run && joins(a, b, a->level);
}

static int repair_level(struct db *db, int64_t level, int64_t *last_id)
{
	struct interval_range finer = { level, level, 0, INT64_MIN, INT64_MAX };
	struct interval_range coarser = { level + 1, level + 1, 0, INT64_MIN, INT64_MAX };
	struct interval_list list __cleanup(interval_list_done) = { 0 };
	struct interval_list parents __cleanup(interval_list_done) = { 0 };
	size_t kept = 0, first = 0;
	int err = intervals_read(db, &finer, &list, NULL);

	err = err ?: intervals_read(db, &coarser, &parents, NULL);
	for (size_t i = 0; i < list.count && !err; i++) {
		if (!is_covered(&parents, &list.items[i]))
			list.items[kept++] = list.items[i];
	}
	for (size_t i = 0; i < kept && !err; i++) {
		if (i + 1 < kept && same_group(&list.items[i], &list.items[i + 1]))
			continue;
		err = rollup_group(db, &list.items[first], i + 1 - first, last_id);
		first = i + 1;
	}
	return err;
}

int rollup_repair(struct db *db, int64_t *last_id)
{
	int err = 0;

	for (int64_t level = 0; level + 1 < NR_HISTORY_LEVEL && !err; level++)
		err = repair_level(db, level, last_id);
	return err;
}
