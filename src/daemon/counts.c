/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes readings, and hands them on. Invariant: the last part of recent ends at the last
 * reading, so every call is in exactly one difference.
 */
#include "daemon/counts.h"

#include "daemon/log.h"
#include "model/diff.h"

void counts_answer_done(struct counts_answer *answer)
{
	snapshot_free(answer->owned);
}

void counts_done(struct counts *c)
{
	recent_done(&c->recent);
	snapshot_free(c->last);
	snapshot_free(c->earlier);
	collector_free(c->collector);
	errands_free(c->errands);
	history_close(c->history);
}

/* All that was counted is in a difference: the first reading is one from nothing. */
static int counts_begin(struct counts *c)
{
	const struct process_filter all = { 0 };
	struct snapshot *first;

	c->told = (struct losses){ 0 };
	c->tick_mark = c->kept_mark = c->last->end_mono_ns - c->last->elapsed_ns;
	c->kept_ns = c->last->start_ns;
	if (metrics_add(c->metrics, c->last) || snapshot_filter(c->last, &all, &first))
		return -ENOMEM;
	return recent_add(&c->recent, first, MARK_PASSING)
		       ?: collector_set_base(c->collector, c->last);
}

static int counts_attach(const struct counts *c, struct collector_options options,
			 struct collector **ret, struct diag *d)
{
	options.errands = c->errands;
	return collector_open(&options, ret, d);
}

int counts_open(struct counts *c, const struct daemon_config *config, struct diag *d)
{
	struct target_options how = { .follow = config->follow };
	int err = errands_new(&c->errands);

	if (err)
		return diag_set(d, DIAG_FAILED, -err, "cannot wait for children: %s",
				strerror(-err));
	err = counts_attach(c, config->collector, &c->collector, d);
	c->state_dir = config->state_dir;
	recent_init(&c->recent, config->recent_bytes);
	for (size_t i = 0; i < config->collector.nr_pids && !err; i++)
		err = collector_add_target(c->collector, config->collector.pids[i], &how, d);
	if (err)
		return err;
	err = collector_start(c->collector, d) ?: collector_read(c->collector, &c->last, d);
	if (err)
		return err;
	return counts_begin(c) ? diag_oom(d) : 0;
}

/* Said once, not every minute. */
static void history_troubled(struct counts *c, const struct diag *d)
{
	if (strcmp(c->history_trouble, d->text))
		events_tell(c->events,
			    &(struct otlp_event){ .priority = LOG_ERR,
						  .name = "bpftruss.gap",
						  .since_ns = c->kept_ns },
			    "the history misses an interval: %s", d->text);
	snprintf(c->history_trouble, sizeof(c->history_trouble), "%s", d->text);
}

static void history_recovered(struct counts *c)
{
	if (c->history_trouble[0])
		events_tell(c->events,
			    &(struct otlp_event){ .priority = LOG_NOTICE, .name = "bpftruss.gap" },
			    "the history can be written again");
	c->history_trouble[0] = 0;
}

static void history_tell_aside(struct counts *c)
{
	char *aside __cleanup(freep) = history_set_aside(c->history);

	if (aside)
		log_line(LOG_WARNING,
			 "the history was damaged: its file is now %s; "
			 "'sqlite3 %s .recover | sqlite3 recovered.db' saves what can be read",
			 aside, aside);
}

/* Whoever hears of events learns since when nothing was counted. */
static void history_tell_gap(struct counts *c, int64_t since_ns)
{
	const int64_t gap_ns = c->kept_ns - since_ns;

	if (c->events && since_ns && gap_ns > 0)
		events_tell(c->events,
			    &(struct otlp_event){ .priority = LOG_NOTICE,
						  .name = "bpftruss.gap",
						  .since_ns = since_ns },
			    "the history has a gap of %" PRIu64 " s, in which no daemon ran",
			    (uint64_t)(gap_ns / (int64_t)NS_PER_SEC));
}

static void history_reopen(struct counts *c)
{
	struct history_size size = { 0 };
	struct diag d;

	if (history_open(c->state_dir, c->keep, &c->history, &d)) {
		history_troubled(c, &d);
		backoff_failed(&c->history_wait);
		return;
	}
	/* Asked before the first interval of ours: times of day would not tell, as clocks are set. */
	if (c->kept_mark == c->last->end_mono_ns - c->last->elapsed_ns) {
		c->history_is_older = !history_size(c->history, &size) && size.first_ns;
		history_tell_gap(c, size.last_ns);
	}
	backoff_done(&c->history_wait);
	history_tell_aside(c);
	/* Open it stays: opening is work, and the next interval tries again. */
	if (history_begin(c->history, c->last, c->kept_ns, c->kept_mark, &d))
		history_troubled(c, &d);
	else
		history_recovered(c);
}

void counts_open_history(struct counts *c, const struct daemon_config *config)
{
	const bool begins = !c->keep;
	struct diag d;

	c->keep = config->no_history ? NULL : &config->keep;
	/* Later on it may be that of a disk which is not there. */
	if (begins && c->keep && history_make_place(c->state_dir, &d))
		history_troubled(c, &d);
	if (!c->keep) {
		history_close(steal_ptr(&c->history));
		backoff_done(&c->history_wait);
		c->history_trouble[0] = 0;
	} else if (c->history) {
		history_set_options(c->history, c->keep);
	} else {
		history_reopen(c);
	}
}

/* Nothing is known any more of any span that ends before now. */
static void counts_forget(struct counts *c)
{
	recent_clear(&c->recent);
	/* New counts go into the history all the same, after a gap for the lost ones. */
	c->tick_mark = c->last->end_mono_ns;
}

/* Subtracts the reading before from the last one, if that is still to be done. 0 or -ENOMEM. */
static int counts_subtract(struct counts *c)
{
	struct snapshot *difference = NULL;
	int err = c->earlier ? snapshot_diff(c->earlier, c->last, &difference) : 0;

	if (err == -EINVAL) {
		events_tell(c->events,
			    &(struct otlp_event){ .priority = LOG_ERR, .name = "bpftruss.gap" },
			    "two readings contradict each other: spans that begin before now are "
			    "not known any more, and /metrics lacks this one; what was counted "
			    "since the start is right");
		counts_forget(c);
	} else if (err) {
		return err;
	}
	if (difference && metrics_add(c->metrics, difference)) {
		snapshot_free(difference);
		return -ENOMEM;
	}
	/* It has freed what it could not keep. */
	if (difference && recent_add(&c->recent, difference, c->mark))
		counts_forget(c);
	snapshot_free(steal_ptr(&c->earlier));
	return 0;
}

void counts_settle(struct counts *c)
{
	/*
	 * On failure, the next reading tries again and reports it, and so does the next call here.
	 */
	if (!counts_subtract(c) && recent_limit(&c->recent))
		counts_forget(c);
}

static int counts_read(struct counts *c, enum recent_mark mark, struct diag *d)
{
	struct snapshot *now;
	int err;

	if (counts_subtract(c))
		return diag_oom(d);
	err = collector_read(c->collector, &now, d);
	if (err)
		return err;
	if (collector_set_base(c->collector, now)) {
		snapshot_free(now);
		return diag_oom(d);
	}
	c->earlier = c->last;
	c->last = now;
	c->mark = mark;
	return 0;
}

int counts_refresh(struct counts *c, enum recent_mark mark, struct diag *d)
{
	int err = counts_read(c, mark, d);

	return !err && counts_subtract(c) ? diag_oom(d) : err;
}

static int counts_append(struct counts *c, struct diag *d)
{
	struct snapshot *interval __cleanup(snapshot_freep) = NULL;
	size_t first;
	int err;

	if (!recent_find(&c->recent, c->tick_mark, &first))
		return diag_set(d, DIAG_FAILED, ENODATA, "its counts are not known");
	if (recent_sum(&c->recent, first, c->last, &interval))
		return diag_oom(d);
	losses_forget_splits(&interval->losses);
	err = history_append(c->history, interval, d);
	history_tell_aside(c);
	if (err)
		return err;
	c->kept_mark = interval->end_mono_ns;
	c->kept_ns = interval->end_ns;
	return 0;
}

/* Each loss is told when it begins, and when an interval is without it again. */
static void losses_tell(struct counts *c)
{
	struct losses grown = c->last->losses;

	losses_subtract(&grown, &c->told);
	for (size_t i = 0; i < NR_MODEL_LOSS; i++) {
		const struct loss_text *text = &loss_texts[i];
		bool losing = grown.count[i] > 0;
		char what[128];

		text_plural(text->what, grown.count[i], what, sizeof(what));
		if (losing && !c->losing[i])
			events_tell(c->events,
				    &(struct otlp_event){ .priority = LOG_WARNING,
							  .name = "bpftruss.loss",
							  .reason = text->name,
							  .count = grown.count[i] },
				    "%s: the interval that ended %s: %" PRIu64 " %s (%s)",
				    text->name, loss_is_of_splits(i) ? "has" : "is not exact",
				    grown.count[i], what, text->why);
		else if (!losing && c->losing[i])
			events_tell(c->events,
				    &(struct otlp_event){ .priority = LOG_NOTICE,
							  .name = "bpftruss.loss",
							  .reason = text->name },
				    "%s: no more in the interval that ended", text->name);
		c->losing[i] = losing;
	}
	c->told = c->last->losses;
}

int counts_tick(struct counts *c, struct diag *d)
{
	struct diag why;
	int err;

	/* The disk may be there again. */
	if (c->keep && !c->history && !backoff_waits(&c->history_wait))
		history_reopen(c);
	err = counts_refresh(c, MARK_TICK, d);

	if (err) {
		/* If it was read, no interval ends there. */
		c->mark = MARK_PASSING;
		return err;
	}
	if (c->history) {
		if (counts_append(c, &why))
			history_troubled(c, &why);
		else
			history_recovered(c);
	}
	c->tick_mark = c->last->end_mono_ns;
	losses_tell(c);
	return 0;
}

int counts_replace(struct counts *c, const struct collector_options *options, bool *replaced,
		   struct collector **ret_old, struct diag *d)
{
	struct collector *larger __cleanup(collector_freep) = NULL;
	struct snapshot *first;
	struct diag why;
	int err = counts_attach(c, *options, &larger, d);

	*replaced = !err;
	if (err)
		return err;
	/* The last reading of the old one is whole: it has stopped. */
	collector_stop(c->collector);
	if (counts_tick(c, &why))
		events_tell(c->events,
			    &(struct otlp_event){ .priority = LOG_ERR, .name = "bpftruss.gap" },
			    "the last interval before counting began anew is lost: %s", why.text);
	err = collector_start(larger, d) ?: collector_read(larger, &first, d);
	if (err)
		return err;
	recent_clear(&c->recent);
	snapshot_free(steal_ptr(&c->earlier));
	snapshot_free(c->last);
	*ret_old = c->collector;
	c->collector = steal_ptr(&larger);
	c->last = first;
	c->history_is_older = true;
	if (counts_begin(c))
		return diag_oom(d);
	if (c->history && history_begin(c->history, c->last, c->kept_ns, c->kept_mark, &why))
		history_troubled(c, &why);
	return 0;
}

static int answer_filtered(const struct snapshot *snapshot, const struct process_filter *filter,
			   struct counts_answer *ret, struct diag *d)
{
	ret->owned = NULL;
	ret->snapshot = snapshot;
	if (!filter->nr_pids && !filter->nr_selectors)
		return 0;
	if (snapshot_filter(snapshot, filter, &ret->owned))
		return diag_oom(d);
	ret->snapshot = ret->owned;
	return 0;
}

static int answer_recent(struct counts *c, size_t first, const struct process_filter *filter,
			 struct counts_answer *ret, struct diag *d)
{
	struct snapshot *sum __cleanup(snapshot_freep) = NULL;
	int err;

	if (recent_sum(&c->recent, first, c->last, &sum))
		return diag_oom(d);
	err = answer_filtered(sum, filter, ret, d);
	if (!err && !ret->owned)
		ret->owned = steal_ptr(&sum);
	return err;
}

int counts_need_history(const struct counts *c, struct diag *d)
{
	if (c->history)
		return 0;
	return diag_set(d, DIAG_FAILED, ENODATA, "no history is kept%s%s",
			c->history_trouble[0] ? ": " : "", c->history_trouble);
}

int counts_ask_history(struct counts *c, struct history_question *question, struct timeline *ret,
		       struct diag *d)
{
	struct snapshot *tail __cleanup(snapshot_freep) = NULL;
	int err = counts_need_history(c, d);
	size_t first;

	if (err)
		return err;
	if (counts_subtract(c))
		return diag_oom(d);
	/* Adds what came since its last interval, if anything, and if that is known. */
	if (recent_find(&c->recent, c->tick_mark, &first) && first < c->recent.nr_parts &&
	    recent_sum(&c->recent, first, c->last, &tail))
		return diag_oom(d);
	if (tail)
		losses_forget_splits(&tail->losses);
	question->tail = tail;
	return history_ask(c->history, question, ret, d);
}

int counts_ask_span(struct counts *c, struct history_question *question, struct counts_answer *ret,
		    struct diag *d)
{
	struct timeline timeline __cleanup(timeline_done) = { 0 };
	int err = counts_ask_history(c, question, &timeline, d);

	if (err)
		return err;
	if (!timeline.nr_steps || !timeline.steps[0].sum)
		return diag_set(d, DIAG_FAILED, ENODATA, "nothing was counted in that time");
	ret->snapshot = ret->owned = steal_ptr(&timeline.steps[0].sum);
	return 0;
}

static int answer_from_history(struct counts *c, const struct counts_question *question,
			       struct counts_answer *ret, struct diag *d)
{
	struct history_question asked = { .filter = question->filter, .folded = question->folded };

	if (question->since == SINCE_BOOT)
		asked.boot_id = c->last->boot_id;
	else
		asked.from_ns = (int64_t)question->ns < c->last->end_ns
					? c->last->end_ns - (int64_t)question->ns
					: 1;
	return counts_ask_span(c, &asked, ret, d);
}

static int answer_since_mark(struct counts *c, const struct counts_question *question,
			     struct counts_answer *ret, struct diag *d)
{
	size_t first;

	if (strcmp(question->boot_id ?: "", c->last->boot_id) ||
	    !recent_find(&c->recent, question->ns, &first))
		return diag_set(d, DIAG_FAILED, ENODATA,
				"the daemon no longer knows that snapshot: it was restarted "
				"since, or took it too long ago; use a span, as in --since 10m");
	return answer_recent(c, first, &question->filter, ret, d);
}

static int answer_since_ago(struct counts *c, const struct counts_question *question,
			    struct counts_answer *ret, struct diag *d)
{
	uint64_t now = c->last->end_mono_ns;
	size_t first;

	if (question->ns <= now && recent_find_before(&c->recent, now - question->ns, &first))
		return answer_recent(c, first, &question->filter, ret, d);
	/* The daemon is younger than that, and nobody else has been there, or knew of pids. */
	if ((!c->recent.has_forgotten || question->ns >= c->last->elapsed_ns) &&
	    (!c->history || !c->history_is_older || question->filter.nr_pids))
		return answer_filtered(c->last, &question->filter, ret, d);
	return answer_from_history(c, question, ret, d);
}

int counts_ask(struct counts *c, const struct counts_question *question, struct counts_answer *ret,
	       struct diag *d)
{
	int err = question->since == SINCE_START ? counts_read(c, question->leaves, d)
						 : counts_refresh(c, question->leaves, d);

	if (err)
		return err;
	switch (question->since) {
	case SINCE_AGO:
		return answer_since_ago(c, question, ret, d);
	case SINCE_BOOT:
		return answer_from_history(c, question, ret, d);
	case SINCE_MARK:
		return answer_since_mark(c, question, ret, d);
	default:
		return answer_filtered(c->last, &question->filter, ret, d);
	}
}
