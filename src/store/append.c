/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the growth of a history. An interval, the roll-ups that it completes and what it makes old
 * are one transaction; one that fails leaves nothing but a hole before the next.
 */
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "store/content.h"
#include "store/history_private.h"

/* More than a clock is slewed in an hour. */
#define CLOCK_SET_NS (int64_t)(2 * NS_PER_SEC)

void append_place_run(const struct history *history, struct run *run)
{
	const struct run_list *runs = &history->db->runs;
	int64_t id = runs->count ? runs->items[runs->count - 1].id : 0;

	if (history->last.run > id)
		id = history->last.run;
	run->id = id + 1;
	run->after_run = history->last.run;
	run->after_mono_ns = history->last.mono_ns;
	run->after_ns = history->last.real_ns;
}

/* Writes the run that counting is in, and ends the one before it. */
static int write_run(struct history *history, struct run *run)
{
	int err;

	append_place_run(history, run);
	err = runs_retire(history->db, run->id - 1);
	err = err ?: run_write(history->db, run);
	if (!err && history->last.run)
		err = rollup_close(history->db, history->last.run, NULL, &history->last_id);
	return err;
}

static int change_begin(struct history *history, void *closure)
{
	(void)closure;
	return write_run(history, &history->run);
}

static int refuse_read_only(const struct history *history, struct diag *d)
{
	return history->options.read_only
		       ? diag_set(d, DIAG_FAILED, EROFS,
				  "history: %.250s was opened for reading only", history->path)
		       : 0;
}

int history_begin(struct history *history, const struct snapshot *host, int64_t since_ns,
		  uint64_t since_mono_ns, struct diag *d)
{
	struct run run;
	int err = refuse_read_only(history, d);

	if (err)
		return err;
	if (run_init(&run, host, since_ns, (int64_t)since_mono_ns))
		return diag_oom(d);
	run_done(&history->run);
	history->run = run;
	history->counting = true;
	/* On failure the first interval tries again. */
	return history_change(history, change_begin, NULL, "write", d);
}

struct append {
	const struct snapshot *snapshot;
	struct interval interval;
};

/* The clock was set inside it: its length behind its end, so that no span has days that were not. */
static void interval_straighten(struct interval *interval)
{
	int64_t length_ns = interval->end_mono_ns - interval->start_mono_ns;
	int64_t off_ns = interval->end_ns - interval->start_ns - length_ns;

	if (off_ns > CLOCK_SET_NS || off_ns < -CLOCK_SET_NS)
		interval->start_ns = interval->end_ns - length_ns;
}

struct interval append_interval(const struct history *history, const struct run *run,
				const struct snapshot *snapshot)
{
	struct interval interval = {
		.run = run->id,
		.start_mono_ns = (int64_t)(snapshot->end_mono_ns - snapshot->elapsed_ns),
		.end_mono_ns = (int64_t)snapshot->end_mono_ns,
		.start_ns = snapshot->start_ns,
		.end_ns = snapshot->end_ns,
		.after_mono_ns = run->start_mono_ns,
		.flags = (snapshot->has_runq ? INTERVAL_HAS_RUNQ : 0) |
			 (snapshot->caller_pidns ? INTERVAL_CALLER_PIDNS : 0),
		.threads_unknown = (int64_t)snapshot->threads_unknown,
	};

	if (history->last.run == run->id)
		interval.after_mono_ns = history->last.mono_ns;
	interval_straighten(&interval);
	return interval;
}

static int write_interval(struct history *history, struct append *append)
{
	struct sum sum __cleanup(sum_done) = { 0 };
	struct interval *interval = &append->interval;
	struct kind_source source = {
		.kinds = &history->db->kinds,
		.db = history->db,
		.interval = ++history->last_id,
	};
	struct content_check check;
	int err = sum_add_snapshot(&sum, &source, append->snapshot);

	interval->id = source.interval;
	err = err ?: content_write(history->db, CONTENT_INTERVAL, interval->id, &sum, &check);
	if (err)
		return err;
	interval->nr_cells = check.nr_cells;
	interval->nr_shares = check.nr_shares;
	interval->nr_losses = check.nr_losses;
	interval->content = check.checksum;
	return interval_write(history->db, interval);
}

static int change_append(struct history *history, void *closure)
{
	struct append *append = closure;
	int err = history->run.id ? 0 : write_run(history, &history->run);

	append->interval = append_interval(history, &history->run, append->snapshot);
	err = err
		      ?: rollup_close(history->db, history->run.id, &append->interval,
				      &history->last_id);
	err = err ?: retire_due(history, &history->run, &append->interval);
	return err ?: write_interval(history, append);
}

bool append_goes_on(const struct history *history, const struct snapshot *snapshot)
{
	return history->counting && !strcmp(history->run.boot_id, snapshot->boot_id ?: "");
}

int append_check(const struct history *history, const struct snapshot *snapshot, struct diag *d)
{
	uint64_t start_ns = snapshot->end_mono_ns - snapshot->elapsed_ns;

	if (!snapshot->elapsed_ns || snapshot->elapsed_ns > snapshot->end_mono_ns ||
	    snapshot->end_mono_ns > INT64_MAX)
		return diag_set(d, DIAG_FAILED, EINVAL, "history: an interval without length");
	if (snapshot->slower_than_ns)
		return diag_set(d, DIAG_FAILED, EINVAL,
				"history: an interval must have all calls, not the slow ones only");
	if (append_goes_on(history, snapshot) && history->run.id &&
	    start_ns < (uint64_t)(history->last.run == history->run.id
					  ? history->last.mono_ns
					  : history->run.start_mono_ns))
		return diag_set(d, DIAG_FAILED, EINVAL,
				"history: an interval begins before the last one ended");
	return 0;
}

/* Counting may begin without a word, or go on after a boot. */
static int follow_run(struct history *history, const struct snapshot *snapshot, struct diag *d)
{
	struct run run;

	if (append_goes_on(history, snapshot))
		return 0;
	if (run_init(&run, snapshot, snapshot->start_ns,
		     (int64_t)(snapshot->end_mono_ns - snapshot->elapsed_ns)))
		return diag_oom(d);
	run_done(&history->run);
	history->run = run;
	history->counting = true;
	return 0;
}

static void note_failure(struct history *history, const struct snapshot *snapshot)
{
	history->failed++;
	if (!history->has_unwritten)
		history->unwritten = (struct timeline_gap){ snapshot->start_ns, snapshot->end_ns,
							    GAP_NOT_WRITTEN };
	history->unwritten.end_ns = snapshot->end_ns;
	history->has_unwritten = true;
}

int history_append(struct history *history, const struct snapshot *interval, struct diag *d)
{
	struct append append = { .snapshot = interval };
	int err = refuse_read_only(history, d);

	err = err ?: follow_run(history, interval, d);
	err = err ?: append_check(history, interval, d);
	if (err)
		return err;
	err = history_change(history, change_append, &append, "write", d);
	if (err) {
		note_failure(history, interval);
		return err;
	}
	history->last = (struct history_end){ append.interval.run, append.interval.end_mono_ns,
					      append.interval.end_ns };
	history->has_unwritten = false;
	history->appended++;
	return 0;
}
