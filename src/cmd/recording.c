/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps what is recorded, and knows when to print it and where. */
#include "cmd/recording.h"

#include <fcntl.h>
#include <limits.h>

#include "base/clock.h"
#include "base/text.h"
#include "cmd/call_printer.h"

#define DEFAULT_RECORD_BYTES ((size_t)64 << 20)

/* Whatever programs do, it does not write for ever. */
#define MAX_SAVES 100
#define SAVE_NS   NS_PER_SEC /* from one to the next at least, during which it only records */

struct recording {
	const struct options *options;
	struct collector *collector;
	struct output *output;
	struct recorder *recorder; /* owned */
	uint64_t start_ns, horizon_ns;
	bool is_asked;

	uint64_t met;      /* since what was saved last: what --save-on waits for */
	uint64_t met_ns;   /* when the first of them ended; UINT64_MAX: nothing is met */
	uint64_t signals;  /* of which met tells already */
	uint64_t skipped;  /* so many came when no more was saved */
	uint64_t pause_ns; /* nothing is saved before */
	unsigned int saves;
};

int recording_new(const struct options *o, struct collector *collector, struct output *output,
		  struct recording **ret, struct diag *d)
{
	struct recording *r __cleanup(recording_freep) = calloc(1, sizeof(*r));

	if (!r || recorder_new(o->calls.record.bytes ?: DEFAULT_RECORD_BYTES, &r->recorder))
		return diag_oom(d);
	r->options = o;
	r->collector = collector;
	r->output = output;
	r->met_ns = UINT64_MAX;
	*ret = steal_ptr(&r);
	return 0;
}

void recording_free(struct recording *r)
{
	if (!r)
		return;
	recorder_free(r->recorder);
	free(r);
}

void recording_begin(struct recording *r)
{
	r->start_ns = clock_mono_ns();
}

/* --- what comes ----------------------------------------------------------------------------------- */

int recording_add(void *recording, const struct call_record *record)
{
	struct recording *r = recording;

	/* No call: whatever is missing at the end of a thread is in the sum. */
	if (record->flags & CALL_NONE)
		return 0;
	if (save_triggers_meet(&r->options->calls.record.save_on, record)) {
		r->met++;
		r->met_ns = min_u64(r->met_ns, record->end_ns);
	}
	/* None is longer than it may be; if one were, it would be lost. */
	recorder_add(r->recorder, record);
	return 0;
}

void recording_mark(struct recording *r, uint64_t horizon_ns)
{
	uint64_t signals = collector_signals(r->collector);

	if (r->options->calls.record.save_on.signal && signals > r->signals) {
		r->met += signals - r->signals;
		r->met_ns = min_u64(r->met_ns, horizon_ns);
	}
	r->signals = signals;
	/* A record appears a little after its call has ended. */
	recorder_mark(r->recorder, horizon_ns - NS_PER_MS);
	r->horizon_ns = horizon_ns;
	if (r->met && r->saves == MAX_SAVES) {
		r->skipped += r->met;
		r->met = 0;
		r->met_ns = UINT64_MAX;
	}
}

void recording_ask(struct recording *r)
{
	r->is_asked = true;
}

bool recording_is_due(const struct recording *r, uint64_t now_ns)
{
	return r->is_asked || (r->met && now_ns >= r->pause_ns);
}

/* --- printing ------------------------------------------------------------------------------------- */

/*
 * Prints the recording where the options say: what is wanted from before a moment, and all since.
 * The name distinguishes it from others.
 */
static int recording_print(const struct recording *r, const struct options *o,
			   struct output *output, uint64_t moment_ns, const char *name,
			   const struct snapshot *snapshot, struct diag *d)
{
	const struct record_options *how = &o->calls.record;
	const struct recorded_part part = {
		.from_ns =
			how->last_ns ? above(min_u64(moment_ns, r->horizon_ns), how->last_ns) : 0,
		.count = how->last_count ?: UINT64_MAX,
		.moment_ns = moment_ns,
	};
	struct call_printer *printer __cleanup(call_printer_freep) = NULL;
	struct call_totals totals;
	int err = call_printer_new(o, r->collector, output, &printer, d);

	if (err)
		return err;
	call_printer_begin(printer, r->start_ns, 0);
	err = call_printer_replay(printer, r->recorder, &part);
	if (err)
		return diag_oom(d);
	call_printer_show_sleepers(printer, r->horizon_ns - NS_PER_SEC, false);
	err = collector_call_totals(r->collector, &totals);
	if (err)
		return diag_set(d, DIAG_FAILED, -err, "cannot read the totals: %s", strerror(-err));
	err = call_printer_flush(printer, d);
	if (!err)
		call_printer_conclude(printer, name, snapshot, &totals);
	return err;
}

/* FILE, FILE.2 and so on. */
static int save(struct recording *r, struct diag *d)
{
	struct output output __cleanup(output_done) = { 0 };
	struct options options = *r->options;
	char path[PATH_MAX], name[PATH_MAX + 4];
	int err;

	snprintf(path, sizeof(path), r->saves ? "%s.%u" : "%s", r->options->output.path,
		 r->saves + 1);
	snprintf(name, sizeof(name), "%s: ", path);
	options.output.path = path;
	r->saves++;
	err = output_open(&output, &options, d);
	return err ?: recording_print(r, &options, &output, r->met_ns, name, NULL, d);
}

/* Saves, and goes on whatever comes of it: the next time may be better. */
static void save_or_say(struct recording *r)
{
	struct diag why;

	if (save(r, &why))
		fprintf(stderr, "bpftruss: %s\n", why.text);
	r->met = 0;
	r->met_ns = UINT64_MAX;
	r->pause_ns = clock_mono_ns() + SAVE_NS;
}

int recording_answer(struct recording *r, struct diag *d)
{
	r->is_asked = false;
	if (calls_are_saved(r->options)) {
		if (r->saves < MAX_SAVES)
			save_or_say(r);
		return 0;
	}
	return recording_print(r, r->options, r->output, UINT64_MAX, "", NULL, d);
}

/* Says what became of all calls, of which only a part was saved. */
static int saving_conclude(const struct recording *r, const struct snapshot *snapshot,
			   struct diag *d)
{
	uint64_t counted = calls_counted(snapshot, r->options->output.only);
	uint64_t recorded = recorder_counts(r->recorder)->recorded;
	struct call_totals totals;

	if (collector_call_totals(r->collector, &totals))
		return diag_set(d, DIAG_FAILED, EIO, "cannot read the totals");
	if (r->skipped)
		fprintf(stderr,
			"bpftruss: --save-on was met %" PRIu64
			" more time%s; no more than %d files "
			"are written\n",
			r->skipped, plural(r->skipped), MAX_SAVES);
	fprintf(stderr, "bpftruss: saved %u time%s; %" PRIu64 " call%s recorded", r->saves,
		plural(r->saves), recorded, plural(recorded));
	if (totals.left_out)
		fprintf(stderr, " + %" PRIu64 " left out", (uint64_t)totals.left_out);
	fprintf(stderr, " + %" PRIu64 " lost = %" PRIu64 " counted\n",
		above(counted, recorded + totals.left_out), counted);
	return 0;
}

int recording_conclude(struct recording *r, const struct snapshot *snapshot, struct diag *d)
{
	if (!calls_are_saved(r->options))
		return recording_print(r, r->options, r->output, UINT64_MAX, "", snapshot, d);
	if (r->met)
		save_or_say(r);
	return saving_conclude(r, snapshot, d);
}
