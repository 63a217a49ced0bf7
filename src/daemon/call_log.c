/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies records out of the rings, looks at each once, and hands out pieces of what is there. */
#include "daemon/call_log.h"

#include "base/clock.h"
#include "base/text.h"
#include "daemon/log.h"

/*
 * The time between two looks at the rings: a ring holds some hundred thousand calls a second for
 * that long.
 */
#define LOOK_NS (20 * NS_PER_MS)

/* The number of bytes copied for a client at a time. */
#define PIECE_BYTES ((size_t)1 << 20)

int call_log_open(struct call_log *log, const struct daemon_config *config,
		  struct collector *collector, const char *socket, struct diag *d)
{
	*log = (struct call_log){ .config = config, .collector = collector };
	saves_init(&log->saves, config->state_dir, socket);
	if (!config->recorder.is_on)
		return 0;
	log->bytes = config->recorder.bytes;
	log->is_partial = config->recorder.calls != NULL;
	log->start_ns = clock_mono_ns();
	log->met_ns = UINT64_MAX;
	return recorder_new(config->recorder.bytes, &log->recorder) ? diag_oom(d) : 0;
}

void call_log_done(struct call_log *log)
{
	saves_done(&log->saves);
	recorder_free(log->recorder);
}

/* --- what comes ------------------------------------------------------------------------------- */

static void call_log_meet(struct call_log *log, uint64_t events, uint64_t at_ns)
{
	log->met += events;
	log->met_ns = min_u64(log->met_ns, at_ns);
}

/* Takes a record; a call_taker. */
static int call_log_add(void *closure, const struct call_record *record)
{
	struct call_log *log = closure;

	/* No call: whatever is missing at the end of a thread is in the sum. */
	if (record->flags & CALL_NONE)
		return 0;
	log->taken++;
	/* The child reports the calls of others, not its own. */
	if (log->saves.child.pid && record->pid == (uint32_t)log->saves.child.pid) {
		log->own++;
		return 0;
	}
	if (save_triggers_meet(&log->config->recorder.save_on, record))
		call_log_meet(log, 1, record->end_ns);
	/* None is longer than it may be; if one were, it would be lost. */
	recorder_add(log->recorder, record);
	return 0;
}

static void call_log_see_signals(struct call_log *log, uint64_t now_ns)
{
	uint64_t signals = collector_signals(log->collector);

	if (log->config->recorder.save_on.signal && signals > log->signals)
		call_log_meet(log, signals - log->signals, now_ns);
	log->signals = signals;
}

static void call_log_save(struct call_log *log, uint64_t now_ns)
{
	const struct recorder_config *config = &log->config->recorder;
	char reason[64];

	saves_follow(&log->saves, config->save_bytes);
	if (!log->met || !saves_are_idle(&log->saves, now_ns))
		return;
	snprintf(reason, sizeof(reason), "save-on was met %" PRIu64 " time%s", log->met,
		 plural(log->met));
	saves_begin(&log->saves, above(now_ns, log->met_ns) + config->save_last_ns,
		    config->save_bytes, reason);
	log->met = 0;
	log->met_ns = UINT64_MAX;
}

int call_log_look(struct call_log *log, struct diag *d)
{
	uint64_t now_ns = clock_mono_ns();
	int err;

	if (!log->recorder || now_ns < log->look_ns)
		return 0;
	log->look_ns = now_ns + LOOK_NS;
	err = collector_take_calls(log->collector, now_ns, call_log_add, log);
	if (err)
		return diag_set(d, DIAG_FAILED, -err, "cannot take calls: %s", strerror(-err));
	/* A record appears a little after its call has ended. */
	recorder_mark(log->recorder, now_ns - NS_PER_MS);
	call_log_see_signals(log, now_ns);
	call_log_save(log, now_ns);
	return 0;
}

int call_log_patience_ms(const struct call_log *log)
{
	return log->recorder ? clock_until_ms(log->look_ns) : -1;
}

/* --- what became of them ---------------------------------------------------------------------- */

/* Adds up the calls of all collectors, but for those of which the next look will tell. */
static void call_log_totals(const struct call_log *log, struct call_totals *ret)
{
	if (collector_call_totals(log->collector, ret))
		*ret = (struct call_totals){ 0 };
	ret->left_out += log->before.left_out + log->own;
	ret->lost += log->before.lost;
}

void call_log_change_collector(struct call_log *log, struct collector *next)
{
	struct call_totals totals = { 0 };

	if (log->recorder) {
		collector_take_last_calls(log->collector, call_log_add, log);
		/* Calls of a thread are numbered from 1 again. */
		recorder_break(log->recorder);
		collector_call_totals(log->collector, &totals);
		log->before.left_out += totals.left_out;
		log->before.lost += totals.lost + above(totals.sent, log->taken);
		log->taken = log->signals = 0;
	}
	log->collector = next;
}

void call_log_tell(struct call_log *log)
{
	struct call_totals totals;
	uint64_t lost;

	if (!log->recorder)
		return;
	call_log_totals(log, &totals);
	lost = above(totals.lost, log->told_lost);
	if (lost && !log->is_losing)
		log_line(LOG_WARNING,
			 "the recorder misses calls: there was no room for %" PRIu64
			 " of them in the last seconds; record-calls can choose fewer",
			 lost);
	else if (!lost && log->is_losing)
		log_line(LOG_NOTICE, "the recorder misses no more calls");
	log->is_losing = lost > 0;
	log->told_lost = totals.lost;
}

void call_log_status(const struct call_log *log, struct recorder_status *ret)
{
	const struct recorder_counts *counts =
		log->recorder ? recorder_counts(log->recorder) : NULL;
	struct call_totals totals;

	*ret = (struct recorder_status){ .is_on = counts };
	if (!counts)
		return;
	call_log_totals(log, &totals);
	ret->bytes = log->bytes;
	ret->reach_ns = above(clock_mono_ns(), max_u64(counts->gone_ns, log->start_ns));
	ret->recorded = counts->recorded;
	ret->overwritten = counts->overwritten;
	ret->left_out = totals.left_out;
	ret->lost = totals.lost;
	ret->saved = log->saves.written;
	ret->save_failed = log->saves.failed;
	ret->save_removed = log->saves.removed;
}

/* --- what clients get ------------------------------------------------------------------------- */

int call_log_write(struct call_log *log, uint64_t position, bool is_paused, FILE *out,
		   struct diag *d)
{
	struct recording_head head = { .version = BPFTRUSS_VERSION,
				       .record_bytes = sizeof(struct call_record) };
	void *bytes __cleanup(freep) = NULL;
	struct call_totals totals;
	size_t size;
	int err = 0;

	if (!log->recorder)
		return diag_set(
			d, DIAG_FAILED, ENODATA,
			"the daemon does not record calls: set 'record = yes' in [recorder] "
			"of its configuration");
	bytes = malloc(PIECE_BYTES);
	if (!bytes)
		return diag_oom(d);
	/* Whoever begins to ask gets all that has ended by now. */
	if (!position) {
		log->look_ns = 0;
		err = call_log_look(log, d);
	}
	if (err)
		return err;
	call_log_totals(log, &totals);
	size = recorder_copy(log->recorder, &position, bytes, PIECE_BYTES);
	head.is_partial = log->is_partial;
	head.is_paused = is_paused;
	head.next = position;
	head.end = recorder_end(log->recorder);
	head.now_ns = clock_mono_ns();
	head.counts = *recorder_counts(log->recorder);
	head.left_out = totals.left_out;
	head.lost = totals.lost;
	if (fwrite(&head, sizeof(head), 1, out) != 1 || fwrite(bytes, 1, size, out) != size)
		return diag_oom(d);
	return 0;
}
