/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns questions. Each moment is taken from exactly one interval: a roll-up where all that is in it
 * falls into one step, else what it was made of, if that is still there without a hole.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/content.h"
#include "store/gaps.h"
#include "store/history_private.h"
#include "store/tail.h"

/* Rows of all steps together, of some 500 bytes each: more, and as text, are too much memory. */
#define MAX_ROWS 24000

/* Steps are numbered from 0; these are outside. */
#define STEP_NONE SIZE_MAX

struct span {
	struct history *history;
	const struct history_question *question;
	int64_t from_ns, to_ns, step_ns;
	int64_t first_ns; /* when the first interval began */
	size_t nr_steps;
	struct sum *steps;         /* owned */
	struct tail tail;          /* owned */
	bool *wanted;              /* owned: of each kind */
	struct interval_list list; /* owned: by run, start, the longest first */
	struct history_end end;    /* of what was looked at last */
	struct gaps gaps;          /* owned */
	size_t nr_rows;
	struct diag *d;
	bool refused; /* d says why */
};

static void span_done(struct span *span)
{
	for (size_t i = 0; span->steps && i < span->nr_steps; i++)
		sum_done(&span->steps[i]);
	free(span->steps);
	free(span->wanted);
	interval_list_done(&span->list);
	tail_done(&span->tail);
	gaps_done(&span->gaps);
}

/* The run of an interval; NULL as with run_find(). */
static const struct run *span_run(const struct span *span, const struct interval *interval)
{
	return interval->id == TAIL_ID && span->tail.kinds
		       ? &span->tail.run
		       : run_find(span->history->db, interval->run);
}

/* A sentence for the user; not an error of the database, which would be mended. */
static int span_refuse(struct span *span, int err, const char *sentence)
{
	span->refused = true;
	return diag_set(span->d, DIAG_USAGE, err, "%s", sentence);
}

/* A kind by itself, for the filter to look at. */
static int kind_matches(const struct kind *kind, const struct process_filter *filter, bool *ret)
{
	struct snapshot *snapshot __cleanup(snapshot_freep) = calloc(1, sizeof(*snapshot));
	struct process process = kind_process(kind);

	if (!snapshot || kind_name(kind, snapshot))
		return -ENOMEM;
	*ret = process_filter_has(filter, snapshot, &process);
	return 0;
}

static int choose_kinds(struct span *span)
{
	const struct process_filter *filter = &span->question->filter;
	const struct kinds *kinds = &span->history->db->kinds;
	int err = 0;

	if (!filter->nr_selectors)
		return 0;
	span->wanted = calloc(kinds->count + 1, sizeof(*span->wanted));
	if (!span->wanted)
		return -ENOMEM;
	for (size_t i = 0; i < kinds->count && !err; i++) {
		/* What found no room may be anybody's. */
		if (kinds->items[i]->sort != KIND_NOBODY)
			err = kind_matches(kinds->items[i], filter, &span->wanted[i]);
	}
	return err;
}

/* Intervals of runs that are known, the tail as the last, and of the boot that is asked for. */
static int read_list(struct span *span, size_t *ret_damaged)
{
	const struct interval_range range = { 0, NR_HISTORY_LEVEL - 1, 0, INT64_MIN, INT64_MAX };
	struct interval_list *list = &span->list;
	size_t kept = 0;
	int err = intervals_read(span->history->db, &range, list, ret_damaged);

	if (!err && span->tail.kinds)
		err = interval_list_add(list, &span->tail.interval);
	if (err)
		return err;
	for (size_t i = 0; i < list->count; i++) {
		const struct run *run = span_run(span, &list->items[i]);

		if (run &&
		    (!span->question->boot_id || !strcmp(run->boot_id, span->question->boot_id)))
			list->items[kept++] = list->items[i];
	}
	list->count = kept;
	if (kept)
		qsort(list->items, kept, sizeof(*list->items), interval_compare);
	return 0;
}

/* A rest that is shorter than this part of a step makes no step of its own. */
#define REST_PART 10

/* How many steps there are; where no end was asked for, a short rest is part of the last one. */
static size_t count_steps(const struct span *span)
{
	int64_t span_ns = span->to_ns - span->from_ns;
	size_t count = (size_t)((span_ns - 1) / span->step_ns) + 1;
	int64_t rest_ns = span_ns - (int64_t)(count - 1) * span->step_ns;

	if (!span->question->to_ns && count > 1 && rest_ns < span->step_ns / REST_PART)
		count--;
	return count;
}

/* 73 years: sums of it and the times of clocks do not overflow. */
#define MAX_STEP_NS (INT64_MAX / 4)

/* What is not said is the first and the last there is; steps then begin at round times. */
static int set_bounds(struct span *span)
{
	const struct history_question *question = span->question;
	int64_t last_ns = INT64_MIN, step_ns = (int64_t)question->step_ns, first_ns, span_ns;

	span->first_ns = INT64_MAX;
	for (size_t i = 0; i < span->list.count; i++) {
		const struct interval *interval = &span->list.items[i];
		int64_t start_ns = interval->start_ns < interval->end_ns ? interval->start_ns
									 : interval->end_ns - 1;

		span->first_ns = start_ns < span->first_ns ? start_ns : span->first_ns;
		last_ns = interval->end_ns > last_ns ? interval->end_ns : last_ns;
	}
	if (question->step_ns > MAX_STEP_NS)
		return span_refuse(span, EINVAL, "a step of that length is too long");
	first_ns = span->first_ns;
	if (step_ns && !question->from_ns && span->list.count)
		first_ns -= (first_ns % step_ns + step_ns) % step_ns;
	span->from_ns = question->from_ns ?: first_ns;
	span->to_ns = question->to_ns ?: last_ns;
	if (!span->list.count && (!question->from_ns || !question->to_ns))
		span->to_ns = span->from_ns = 0;
	if (span->to_ns <= span->from_ns) {
		span->nr_steps = 0;
		return 0;
	}
	if (__builtin_sub_overflow(span->to_ns, span->from_ns, &span_ns))
		return span_refuse(span, EINVAL, "a span of that length is too long");
	span->step_ns = step_ns ?: span_ns;
	if ((span_ns - 1) / span->step_ns >= TIMELINE_MAX_STEPS)
		return span_refuse(span, E2BIG,
				   "more than 10000 steps: take longer steps or a shorter span");
	span->nr_steps = count_steps(span);
	return 0;
}

/* The step in which a moment lies; a step includes its end, not its start. */
static size_t step_of(const struct span *span, int64_t end_ns)
{
	size_t step;

	if (end_ns <= span->from_ns || end_ns > span->to_ns)
		return STEP_NONE;
	step = (size_t)((end_ns - span->from_ns - 1) / span->step_ns);
	return step < span->nr_steps ? step : span->nr_steps - 1;
}

/* Whether all that an interval was made of ends in one step, or outside as a whole. */
static bool is_in_one_step(const struct span *span, const struct interval *interval)
{
	int64_t period_ns, low_ns, high_ns;

	if (!interval->level)
		return true;
	period_ns = history_period_ns[interval->level];
	low_ns = rollup_period(interval, interval->level) * period_ns;
	high_ns = low_ns + period_ns;
	if (high_ns <= span->from_ns || low_ns >= span->to_ns)
		return true;
	return step_of(span, low_ns + 1) != STEP_NONE &&
	       step_of(span, low_ns + 1) == step_of(span, high_ns);
}

/* The index behind all that begins inside an interval. */
static size_t subtree_end(const struct interval_list *list, size_t at)
{
	const struct interval *outer = &list->items[at];
	size_t end = at + 1;

	while (end < list->count && list->items[end].run == outer->run &&
	       list->items[end].start_mono_ns < outer->end_mono_ns)
		end++;
	return end;
}

/* Whether the next finer intervals cover one without a hole. */
static bool is_split(const struct interval_list *list, size_t at, size_t end)
{
	const struct interval *outer = &list->items[at];
	int64_t mono_ns = outer->start_mono_ns;

	for (size_t i = at + 1; i < end; i++) {
		const struct interval *inner = &list->items[i];

		if (inner->level != outer->level - 1)
			continue;
		if (inner->start_mono_ns != mono_ns)
			return false;
		mono_ns = inner->end_mono_ns;
	}
	return mono_ns == outer->end_mono_ns;
}

/* Adds an interval to its step: -EUCLEAN, with nothing added, when it is damaged. */
static int span_add(struct span *span, const struct interval *interval)
{
	struct db *db = span->history->db;
	size_t step = step_of(span, interval->end_ns);
	int err;

	if (step == STEP_NONE)
		return 0;
	if (interval->id == TAIL_ID) {
		err = tail_add(&span->tail, span->wanted, &span->steps[step]);
	} else {
		err = interval_verify(db, interval);
		err = err
			      ?: content_add(db, CONTENT_INTERVAL, interval->id, &db->kinds,
					     span->wanted, &span->steps[step]);
	}
	if (err)
		return err;
	sum_add_interval(&span->steps[step], interval);
	return 0;
}

static void span_pass(struct span *span, const struct interval *interval)
{
	span->end = (struct history_end){ interval->run, interval->end_mono_ns, interval->end_ns };
}

/* What lies before an interval; before the first one that is the start of its run. */
static int gap_before(struct span *span, const struct interval *interval)
{
	const struct run *run = span_run(span, interval);

	if (!run)
		return -EBADMSG;
	if (!span->end.run)
		span->end = (struct history_end){ run->id, run->start_mono_ns, run->start_ns };
	return gaps_between(&span->gaps, &span->end, interval, run);
}

/* Only who writes can put a damaged file aside; to others all in it that is damaged is a gap. */
static bool is_gap(const struct span *span, int err)
{
	return err == -EUCLEAN || (err == -EBADMSG && span->history->options.read_only);
}

/* An interval that is taken as it is: its numbers, or a gap in their place. */
static int visit_whole(struct span *span, const struct interval *interval)
{
	int err = gap_before(span, interval);

	err = err ?: span_add(span, interval);
	if (is_gap(span, err))
		err = gaps_add(&span->gaps,
			       interval->start_ns < interval->end_ns ? interval->start_ns
								     : interval->end_ns - 1,
			       interval->end_ns, GAP_DAMAGED);
	span_pass(span, interval);
	return err;
}

/* Three levels deep at most. */
static int visit(struct span *span, size_t at, size_t end)
{
	const struct interval *outer = &span->list.items[at];
	int err = 0;

	if (!is_split(&span->list, at, end))
		return visit_whole(span, outer);
	if (is_in_one_step(span, outer)) {
		err = gap_before(span, outer);
		err = err ?: span_add(span, outer);
		if (!is_gap(span, err)) {
			span_pass(span, outer);
			return err;
		}
		/* What it was made of may be in order. */
		err = 0;
	}
	for (size_t i = at + 1; i < end && !err;) {
		size_t next = subtree_end(&span->list, i);

		err = visit(span, i, next);
		i = next;
	}
	return err;
}

/* What was there before all that is there now. */
static int begin_with_retired(struct span *span)
{
	struct retired retired;
	int err = retired_read(span->history->db, &retired);

	if (err || !retired.end.run || span->question->boot_id)
		return err;
	span->end = retired.end;
	return gaps_add(&span->gaps, retired.start_ns, retired.end.real_ns, GAP_RETIRED);
}

/* What comes after all that is there: appends that failed, rows that cannot be read. */
static int end_with_unwritten(struct span *span, size_t nr_damaged)
{
	const struct history *history = span->history;
	int err = 0;

	/* Before a tail it is a hole like any other. */
	if (history->has_unwritten && !span->tail.kinds)
		err = gaps_add(&span->gaps, history->unwritten.start_ns, history->unwritten.end_ns,
			       GAP_NOT_WRITTEN);
	if (!err && nr_damaged && !span->tail.kinds && span->end.run &&
	    span->end.run <= history->last.run && history->last.mono_ns > span->end.mono_ns)
		err = gaps_add(&span->gaps, span->end.real_ns, history->last.real_ns, GAP_DAMAGED);
	return err;
}

static int count_rows(struct span *span)
{
	span->nr_rows = 0;
	for (size_t i = 0; i < span->nr_steps; i++)
		span->nr_rows += span->steps[i].builder ? builder_rows(span->steps[i].builder) : 0;
	if (span->nr_rows <= MAX_ROWS)
		return 0;
	return span_refuse(span, E2BIG,
			   "too much for one answer: take longer steps, a shorter span, fewer "
			   "processes with -n, -u, -U or -g, or a table in place of JSON");
}

static int visit_all(struct span *span)
{
	size_t nr_damaged = 0;
	int err = read_list(span, &nr_damaged);

	err = err ?: set_bounds(span);
	span->gaps.from_ns = span->from_ns;
	span->gaps.to_ns = span->to_ns;
	if (err || !span->nr_steps)
		return err;
	span->steps = calloc(span->nr_steps, sizeof(*span->steps));
	if (!span->steps)
		return -ENOMEM;
	for (size_t i = 0; i < span->nr_steps; i++)
		span->steps[i].by_call = span->question->by_call;
	err = begin_with_retired(span);
	for (size_t i = 0; i < span->list.count && !err;) {
		size_t next = subtree_end(&span->list, i);

		err = visit(span, i, next);
		/* Only where much may have been added. */
		if (!err && next - i > 1)
			err = count_rows(span);
		i = next;
	}
	err = err ?: count_rows(span);
	return err ?: end_with_unwritten(span, nr_damaged);
}

/* The time of a step, as asked for. */
static struct timeline_step empty_step(const struct span *span, size_t at)
{
	int64_t start_ns = span->from_ns + (int64_t)at * span->step_ns;

	return (struct timeline_step){
		.start_ns = start_ns,
		.end_ns = at + 1 < span->nr_steps ? start_ns + span->step_ns : span->to_ns,
	};
}

/* Steps before there was a history, of which no gap tells either. */
static size_t count_before(const struct span *span)
{
	size_t at = 0;

	for (; at < span->nr_steps; at++) {
		struct timeline_step step = empty_step(span, at);

		if (step.end_ns > span->first_ns ||
		    gaps_meet(&span->gaps, step.start_ns, step.end_ns))
			break;
	}
	return at;
}

static int finish_step(struct span *span, size_t at, struct timeline_step *ret)
{
	struct sum *sum = &span->steps[at];
	struct db *db = span->history->db;
	const struct run *run = span_run(span, &sum->last);

	*ret = empty_step(span, at);
	if (!sum->nr_intervals)
		return 0;
	/* Where the clock was set back meanwhile, the length still is what was counted. */
	if (sum->start_ns >= sum->end_ns)
		sum->start_ns = sum->end_ns - (int64_t)sum->covered_ns;
	ret->start_ns = sum->start_ns;
	ret->end_ns = sum->end_ns;
	ret->covered_ns = sum->covered_ns;
	return run ? sum_finish(sum, &db->kinds, run, &ret->sum) : -EBADMSG;
}

/*
 * An interval that is longer than a step is in the step in which it ends; those before, which it
 * covers, are not empty. Starts stay in order where the clock was set back, too.
 */
static void timeline_add(struct timeline *timeline, const struct timeline_step *step)
{
	struct timeline_step *steps = timeline->steps;
	struct timeline_step added = *step;

	while (added.sum && timeline->nr_steps && !steps[timeline->nr_steps - 1].sum &&
	       steps[timeline->nr_steps - 1].start_ns >= added.start_ns)
		timeline->nr_steps--;
	if (timeline->nr_steps && steps[timeline->nr_steps - 1].start_ns > added.start_ns)
		added.start_ns = steps[timeline->nr_steps - 1].start_ns;
	steps[timeline->nr_steps++] = added;
}

static int finish_all(struct span *span, struct timeline *ret)
{
	struct timeline_step step;
	int err = 0;

	ret->steps = calloc(span->nr_steps + 1, sizeof(*ret->steps));
	if (!ret->steps)
		return -ENOMEM;
	for (size_t at = count_before(span); at < span->nr_steps && !err; at++) {
		err = finish_step(span, at, &step);
		if (!err)
			timeline_add(ret, &step);
	}
	gaps_sort(&span->gaps);
	ret->gaps = steal_ptr(&span->gaps.items);
	ret->nr_gaps = span->gaps.count;
	return err;
}

struct ask {
	const struct history_question *question;
	struct timeline *timeline;
	struct diag *d;
	int refused; /* the error, which is no error of the database */
};

static int read_span(struct history *history, void *closure)
{
	struct ask *ask = closure;
	struct span span __cleanup(span_done) = {
		.history = history,
		.question = ask->question,
		.d = ask->d,
	};
	struct timeline timeline = { 0 };
	int err = ask->question->tail ? tail_open(history, ask->question->tail, &span.tail) : 0;

	err = err ?: choose_kinds(&span);
	err = err ?: visit_all(&span);
	if (span.refused) {
		ask->refused = err;
		return 0;
	}
	err = err ?: finish_all(&span, &timeline);
	if (err)
		timeline_done(&timeline);
	else
		*ask->timeline = timeline;
	return err;
}

int history_ask(struct history *history, const struct history_question *question,
		struct timeline *ret, struct diag *d)
{
	struct ask ask = { question, ret, d, 0 };
	int err = question->tail ? append_check(history, question->tail, d) : 0;

	if (err)
		return err;
	if (question->filter.nr_pids)
		return diag_set(d, DIAG_USAGE, EINVAL,
				"the history keeps names, users and cgroups, not pids: use -n, -u, "
				"-U or -g");
	err = history_read(history, read_span, &ask, "read", d);
	return err ?: ask.refused;
}
