/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Answers questions. Each moment is taken from exactly one interval: a roll-up where all that is in
 * it falls into one step, else what it was made of, if that is still there.
 */
#include "store/history.h"
#include "store/history_private.h"

/* Rows of all steps together, of some 500 bytes each: more, and as text, are too much memory. */
#define MAX_ROWS 24000

/* Intervals from one look at that to the next. */
#define COUNT_EACH 32

/* Steps are numbered from 0; these are outside. */
#define STEP_NONE SIZE_MAX

/* The end of an interval. */
struct end {
	int64_t run; /* 0: there is none */
	int64_t mono_ns, real_ns;
};

struct span {
	struct history *history;
	const struct history_question *question;
	int64_t from_ns, to_ns, step_ns;
	int64_t first_ns; /* when the first interval began */
	size_t nr_steps;
	struct sum *steps;         /* owned */
	struct kind_set kinds;     /* owned: those that are wanted */
	struct interval_list list; /* owned: by run, start, the longest first */
	struct end end;            /* of what was looked at last */
	struct timeline_gap *gaps; /* owned: cut to from_ns and to_ns */
	size_t nr_gaps;
	struct diag *d;
};

static void span_done(struct span *span)
{
	for (size_t i = 0; span->steps && i < span->nr_steps; i++)
		sum_done(&span->steps[i]);
	free(span->steps);
	free(span->kinds.entries);
	interval_list_done(&span->list);
	free(span->gaps);
}

/* Adds a gap, unless nothing of it is inside. Returns 0 or -ENOMEM. */
static int gap_add(struct span *span, int64_t start_ns, int64_t end_ns, enum gap_reason reason)
{
	start_ns = start_ns < span->from_ns ? span->from_ns : start_ns;
	end_ns = end_ns > span->to_ns ? span->to_ns : end_ns;
	if (end_ns <= start_ns)
		return 0;
	if (!array_grow(&span->gaps, span->nr_gaps, sizeof(*span->gaps)))
		return -ENOMEM;
	span->gaps[span->nr_gaps++] = (struct timeline_gap){ start_ns, end_ns, reason };
	return 0;
}

/* Whether a gap has something of a time. */
static bool gap_meets(const struct span *span, int64_t start_ns, int64_t end_ns)
{
	for (size_t i = 0; i < span->nr_gaps; i++) {
		if (span->gaps[i].start_ns < end_ns && span->gaps[i].end_ns > start_ns)
			return true;
	}
	return false;
}

/*
 * Adds what lies between the last interval and the next one. Between runs nobody counted; a hole inside a
 * run was counted, but could not be written. Returns 0 or -ENOMEM.
 */
static int gap_before(struct span *span, const struct interval *next)
{
	const struct end *end = &span->end;
	int64_t mono_ns = end->mono_ns;
	int err = 0;

	if (end->run != next->run) {
		if (end->run)
			err = gap_add(span, end->real_ns, next->run_start_ns, GAP_NOT_RUNNING);
		mono_ns = next->run_start_mono_ns;
	}
	if (err || next->start_mono_ns <= mono_ns)
		return err;
	/* Inside a run each monotonic time is one of the day, as of the interval that follows. */
	return gap_add(span, next->start_ns - (next->start_mono_ns - mono_ns), next->start_ns,
		       GAP_NOT_WRITTEN);
}

/* Orders by time. */
static int compare_gaps(const void *a, const void *b)
{
	const struct timeline_gap *x = a, *y = b;

	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* Intervals of the boot that is asked for; of those that start together the longest comes first. */
static int read_list(struct span *span)
{
	sqlite3_stmt *rows __cleanup(db_resetp) = NULL;
	int err = db_query(span->history->db,
			   INTERVAL_SELECT "WHERE ?1 IS NULL OR r.boot_id = ?1 "
					   "ORDER BY i.run, i.start_mono_ns, i.level DESC",
			   DB_NO_NUMBERS, &rows)
			  ?: db_bind_text(rows, 1, span->question->boot_id);

	return err ?: intervals_read(rows, &span->list);
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

/* A bound that is not said is the first or the last there is; steps then begin at round times. */
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
		return diag_set(span->d, DIAG_USAGE, EINVAL, "a step of that length is too long");
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
		return diag_set(span->d, DIAG_USAGE, EINVAL, "a span of that length is too long");
	span->step_ns = step_ns ?: span_ns;
	if ((span_ns - 1) / span->step_ns >= TIMELINE_MAX_STEPS)
		return diag_set(span->d, DIAG_USAGE, E2BIG,
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

/* Whether what an interval was made of is still there: it comes behind it in the list. */
static bool is_split(const struct interval_list *list, size_t at)
{
	const struct interval *outer = &list->items[at], *next = outer + 1;

	return at + 1 < list->count && next->run == outer->run &&
	       next->start_mono_ns < outer->end_mono_ns;
}

/* Adds an interval to its step, and what lies before it to the gaps. */
static int span_add(struct span *span, const struct interval *interval)
{
	size_t step = step_of(span, interval->end_ns);
	int err = gap_before(span, interval);

	span->end = (struct end){ interval->run, interval->end_mono_ns, interval->end_ns };
	if (err || step == STEP_NONE)
		return err;
	sum_add_interval(&span->steps[step], interval);
	return content_add(span->history->db, interval->id, &span->steps[step]);
}

/* Adds gaps for what was there before the first interval of now. */
static int begin_with_lost(struct span *span)
{
	struct db *db = span->history->db;
	const struct interval *first = span->list.items;
	int64_t retired_ns = 0, damaged_ns = 0, begin_ns = INT64_MAX;
	int err = db_meta_read(db, "retired_start_ns", &retired_ns)
			  ?: db_meta_read(db, "damaged_start_ns", &damaged_ns)
			  ?: db_meta_read(db, "begin_ns", &begin_ns);

	if (err || span->question->boot_id)
		return err;
	if (damaged_ns)
		err = gap_add(span, damaged_ns, begin_ns, GAP_DAMAGED);
	if (err || !retired_ns)
		return err;
	if (!first)
		return gap_add(span, retired_ns, INT64_MAX, GAP_RETIRED);
	span->end = (struct end){ first->run, first->start_mono_ns, first->start_ns };
	return gap_add(span, retired_ns, first->start_ns, GAP_RETIRED);
}

static int count_rows(struct span *span)
{
	size_t nr_rows = 0;

	for (size_t i = 0; i < span->nr_steps; i++)
		nr_rows += span->steps[i].builder ? builder_rows(span->steps[i].builder) : 0;
	if (nr_rows <= MAX_ROWS)
		return 0;
	return diag_set(
		span->d, DIAG_USAGE, E2BIG,
		"too much for one answer: take longer steps, a shorter span, fewer "
		"processes with -n, -u, -U or -g, fewer keys with --by, or a table in place "
		"of JSON");
}

/* Takes each moment once. */
static int visit_all(struct span *span)
{
	const struct interval_list *list = &span->list;
	const struct timeline_gap *unwritten = &span->history->unwritten;
	const struct interval *taken = NULL;
	int err = begin_with_lost(span);

	for (size_t i = 0; i < list->count && !err; i++) {
		const struct interval *interval = &list->items[i];

		if (taken && interval->run == taken->run &&
		    interval->start_mono_ns < taken->end_mono_ns)
			continue;
		if (is_split(list, i) && !is_in_one_step(span, interval))
			continue;
		taken = interval;
		err = span_add(span, interval);
		if (!err && i % COUNT_EACH == 0)
			err = count_rows(span);
	}
	err = err ?: count_rows(span);
	/* Before a tail, they are a gap like any other. */
	if (err || span->question->tail)
		return err;
	return gap_add(span, unwritten->start_ns, unwritten->end_ns, GAP_NOT_WRITTEN);
}

static int fill_steps(struct span *span)
{
	int err = read_list(span) ?: set_bounds(span);

	if (err || !span->nr_steps)
		return err;
	span->steps = calloc(span->nr_steps, sizeof(*span->steps));
	if (!span->steps)
		return -ENOMEM;
	for (size_t i = 0; i < span->nr_steps; i++)
		span->steps[i].kinds = &span->kinds;
	return visit_all(span);
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

		if (step.end_ns > span->first_ns || gap_meets(span, step.start_ns, step.end_ns))
			break;
	}
	return at;
}

static int finish_step(struct span *span, size_t at, struct timeline_step *ret)
{
	struct sum *sum = &span->steps[at];

	*ret = empty_step(span, at);
	if (!sum->nr_intervals)
		return 0;
	/* Where the clock was set back meanwhile, the length still is what was counted. */
	if (sum->start_ns >= sum->end_ns)
		sum->start_ns = sum->end_ns - (int64_t)sum->covered_ns;
	ret->start_ns = sum->start_ns;
	ret->end_ns = sum->end_ns;
	ret->covered_ns = sum->covered_ns;
	return sum_finish(sum, span->history->db, &ret->sum);
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
	if (span->nr_gaps)
		qsort(span->gaps, span->nr_gaps, sizeof(*span->gaps), compare_gaps);
	ret->gaps = steal_ptr(&span->gaps);
	ret->nr_gaps = span->nr_gaps;
	return err;
}

struct ask {
	const struct history_question *question;
	struct timeline *timeline;
	struct diag *d;
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
	int err = ask->question->tail ? append_tail(history, ask->question->tail) : 0;

	err = err
		      ?: kind_set_fill(history->db, &ask->question->filter, ask->question->folded,
				       &span.kinds)
		      ?: fill_steps(&span)
		      ?: finish_all(&span, &timeline);
	if (err)
		timeline_done(&timeline);
	else
		*ask->timeline = timeline;
	return err;
}

int history_ask(struct history *history, const struct history_question *question,
		struct timeline *ret, struct diag *d)
{
	struct ask ask = { question, ret, d };
	int err = question->tail ? append_check(history, question->tail, d) : 0;

	if (err)
		return err;
	if (question->filter.nr_pids)
		return diag_set(d, DIAG_USAGE, EINVAL,
				"the history keeps names, users and cgroups, not pids: use -n, -u, "
				"-U or -g");
	return history_run(history, read_span, &ask, false, "read", d);
}
