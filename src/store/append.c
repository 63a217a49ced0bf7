/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lets a history grow. An interval, the roll-ups that it completes and what it makes old are one
 * transaction; one that fails leaves nothing but a hole before the next.
 */
#include "store/history.h"
#include "store/history_private.h"

/* More than a clock is slewed in an hour. */
#define CLOCK_SET_NS (int64_t)(2 * NS_PER_SEC)

/* Writes the row of a run that has none yet, and ends the run before it. */
static int begin_run(struct db *db, struct run *run)
{
	int64_t before = 0;
	int err = run->id ? 0 : db_number(db, "SELECT max(id) FROM run", DB_NO_NUMBERS, &before);

	if (err || run->id)
		return err;
	err = run_write(db, run);
	if (err)
		return err;
	if (!before)
		return db_meta_write(db, "begin_ns", run->start_ns);
	return rollup_close(db, before, NULL)
		       ?: db_change(db,
				    "DELETE FROM run WHERE id < ?1 AND NOT EXISTS (SELECT 1 FROM "
				    "interval WHERE level IN (0, 1, 2) AND interval.run = run.id)",
				    DB_NUMBERS(before));
}

static int change_begin(struct history *history, void *closure)
{
	(void)closure;
	return begin_run(history->db, &history->run);
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
	int err = refuse_read_only(history, d);

	if (err)
		return err;
	if (run_set(&history->run, host, since_ns, (int64_t)since_mono_ns))
		return diag_oom(d);
	/* On failure the first interval tries again. */
	return history_run(history, change_begin, NULL, true, "write", d);
}

static int64_t start_mono_ns(const struct snapshot *snapshot)
{
	return (int64_t)(snapshot->end_mono_ns - snapshot->elapsed_ns);
}

static struct interval interval_of(const struct run *run, const struct snapshot *snapshot)
{
	struct interval interval = {
		.run = run->id,
		.start_mono_ns = start_mono_ns(snapshot),
		.end_mono_ns = (int64_t)snapshot->end_mono_ns,
		.start_ns = snapshot->start_ns,
		.end_ns = snapshot->end_ns,
		.flags = (snapshot->has_runq ? INTERVAL_HAS_RUNQ : 0) |
			 (snapshot->caller_pidns ? INTERVAL_CALLER_PIDNS : 0),
		.threads_unknown = (int64_t)snapshot->threads_unknown,
	};
	int64_t length_ns = interval.end_mono_ns - interval.start_mono_ns;
	int64_t off_ns = interval.end_ns - interval.start_ns - length_ns;

	/* The clock was set inside it: so no span has days that were not. */
	if (off_ns > CLOCK_SET_NS || off_ns < -CLOCK_SET_NS)
		interval.start_ns = interval.end_ns - length_ns;
	return interval;
}

static int write_interval(struct db *db, struct interval *interval, const struct snapshot *snapshot)
{
	struct sum sum __cleanup(sum_done) = { 0 };

	return sum_add_snapshot(&sum, db, snapshot)
		       ?: interval_write(db, interval)
		       ?: content_write(db, interval->id, &sum);
}

static int change_append(struct history *history, void *closure)
{
	const struct snapshot *snapshot = closure;
	struct run *run = &history->run;
	struct interval interval;
	int err = begin_run(history->db, run);

	if (err)
		return err;
	interval = interval_of(run, snapshot);
	return rollup_close(history->db, run->id, &interval)
		       ?: retire_due(history, run, &interval)
		       ?: write_interval(history->db, &interval, snapshot);
}

/* Whether a snapshot belongs to the run: counting may begin without a word, or go on after a boot. */
static bool run_goes_on(const struct run *run, const struct snapshot *snapshot)
{
	return run->boot_id && !strcmp(run->boot_id, snapshot->boot_id ?: "");
}

int append_tail(struct history *history, const struct snapshot *snapshot)
{
	struct run fresh __cleanup(run_done) = { 0 }, *run = &history->run;
	struct interval interval;
	int err = 0;

	if (!run_goes_on(run, snapshot)) {
		run = &fresh;
		err = run_set(run, snapshot, snapshot->start_ns, start_mono_ns(snapshot));
	}
	err = err ?: begin_run(history->db, run);
	if (err)
		return err;
	interval = interval_of(run, snapshot);
	return write_interval(history->db, &interval, snapshot);
}

int append_check(const struct history *history, const struct snapshot *snapshot, struct diag *d)
{
	int err = refuse_read_only(history, d);

	if (err)
		return err;
	if (!snapshot->elapsed_ns || snapshot->elapsed_ns > snapshot->end_mono_ns ||
	    snapshot->end_mono_ns > INT64_MAX)
		return diag_set(d, DIAG_FAILED, EINVAL, "history: an interval without length");
	if (snapshot->slower_than_ns)
		return diag_set(d, DIAG_FAILED, EINVAL,
				"history: an interval must have all calls, not the slow ones only");
	if (run_goes_on(&history->run, snapshot) &&
	    start_mono_ns(snapshot) < history->run.end_mono_ns)
		return diag_set(d, DIAG_FAILED, EINVAL,
				"history: an interval begins before the last one ended");
	return 0;
}

int history_append(struct history *history, const struct snapshot *interval, struct diag *d)
{
	int err = append_check(history, interval, d);

	if (err)
		return err;
	if (!run_goes_on(&history->run, interval) &&
	    run_set(&history->run, interval, interval->start_ns, start_mono_ns(interval)))
		return diag_oom(d);
	err = history_run(history, change_append, (void *)interval, true, "write", d);
	if (err) {
		history->failed++;
		if (!history->unwritten.end_ns)
			history->unwritten.start_ns = interval->start_ns;
		history->unwritten.end_ns = interval->end_ns;
		return err;
	}
	history->run.end_ns = interval->end_ns;
	history->run.end_mono_ns = (int64_t)interval->end_mono_ns;
	history->unwritten.end_ns = 0;
	history->appended++;
	return 0;
}
