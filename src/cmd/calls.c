/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs `bpftruss` without -c: prints each call that ends, as truss does, without stopping any
 * process. It says where calls of a thread are missing, and at the end how many in all.
 */
#include "base/clock.h"
#include "cmd/call_printer.h"
#include "cmd/recording.h"
#include "cmd/session.h"

/* The time between two looks at the rings: they must not fill up, and nobody should wait. */
#define LOOK_NS (5 * NS_PER_MS)

/* The time between two looks for calls that sleep. */
#define SLEEPERS_NS (NS_PER_SEC / 4)

/* How long calls wait for the names of their stacks. */
#define NAMES_NS (2 * NS_PER_SEC)

struct view {
	struct session session;
	struct output output;
	struct call_printer *printer; /* owned; NULL: it records */
	struct recording *recording;  /* owned; NULL: it prints */
	uint64_t sleepers_ns;         /* CLOCK_MONOTONIC of the last look at who sleeps */
	uint64_t unnamed_ns;          /* since when calls wait for names; 0: they do not */
};

static void view_done(struct view *view)
{
	session_done(&view->session);
	call_printer_free(view->printer);
	recording_free(view->recording);
	output_done(&view->output);
}

static int take(void *context, const struct call_record *record)
{
	return call_printer_add(context, record);
}

/* Whether the stacks of calls that wait to be shown have their names, or have had their time. */
static bool names_have_come(struct view *view, uint64_t now_ns)
{
	struct collector *collector = view->session.collector;

	if (!collector_stacks(collector))
		return true;
	if (!view->unnamed_ns)
		collector_name_stacks(collector);
	if (!collector_stacks_are_named(collector)) {
		view->unnamed_ns = view->unnamed_ns ?: now_ns;
		if (now_ns - view->unnamed_ns < NAMES_NS)
			return false;
	}
	view->unnamed_ns = 0;
	return true;
}

/* Takes the calls that have ended so far, and then their stacks, which were sent before them. */
static int calls_take(struct view *view, uint64_t horizon_ns, bool is_last, struct diag *d)
{
	struct collector *collector = view->session.collector;
	call_taker *taker = view->recording ? recording_add : take;
	void *context = view->recording ? (void *)view->recording : view->printer;
	int err = is_last ? collector_take_last_calls(collector, taker, context)
			  : collector_take_calls(collector, horizon_ns, taker, context);

	if (!err && collector_stacks(collector))
		err = collector_reclaim(collector);

	if (err == -ENOMEM)
		return diag_oom(d);
	return err ? diag_set(d, DIAG_FAILED, -err, "cannot take calls: %s", strerror(-err)) : 0;
}

/* Takes the calls that have ended so far, and prints the recording if that is due. */
static int look_and_record(struct view *view, bool is_last, struct diag *d)
{
	struct collector *collector = view->session.collector;
	uint64_t horizon_ns = clock_mono_ns();
	int err = calls_take(view, horizon_ns, is_last, d);

	if (err)
		return err;
	/* The last target may have ended since events were taken: one of them tells how. */
	if (is_last)
		collector_reclaim(collector);
	recording_mark(view->recording, horizon_ns);
	/* Most stacks should have their names by the time they are wanted. */
	if (collector_stacks(collector) && horizon_ns - view->sleepers_ns > SLEEPERS_NS) {
		view->sleepers_ns = horizon_ns;
		collector_name_stacks(collector);
	}
	if (is_last || !recording_is_due(view->recording, horizon_ns) ||
	    !names_have_come(view, horizon_ns))
		return 0;
	return recording_answer(view->recording, d);
}

/* Takes and shows the calls that have ended so far. */
static int look(struct view *view, bool is_last, struct diag *d)
{
	uint64_t horizon_ns = clock_mono_ns();
	int err;

	if (view->recording)
		return look_and_record(view, is_last, d);
	err = calls_take(view, horizon_ns, is_last, d);
	if (err)
		return err;
	if (is_last || names_have_come(view, horizon_ns))
		call_printer_show(view->printer, is_last ? UINT64_MAX : horizon_ns);
	if (!is_last && horizon_ns - view->sleepers_ns > SLEEPERS_NS) {
		view->sleepers_ns = horizon_ns;
		call_printer_show_sleepers(view->printer, horizon_ns - NS_PER_SEC, true);
	}
	return call_printer_flush(view->printer, d);
}

static bool view_is_full(const struct view *view)
{
	return view->printer && call_printer_is_full(view->printer);
}

static int view_run(struct view *view, struct diag *d)
{
	const struct live_line no_line = { 0 };
	enum session_event event;
	int err;

	do {
		session_beat(&view->session, LOOK_NS);
		err = session_wait(&view->session, &event, d);
		if (!err && event == SESSION_OVER)
			collector_stop(view->session.collector);
		if (!err && event == SESSION_ASKED && view->recording)
			recording_ask(view->recording);
		if (!err)
			err = look(view, false, d);
	} while (!err && event != SESSION_OVER && !view_is_full(view));
	collector_stop(view->session.collector);
	if (!err && collector_stacks(view->session.collector))
		err = session_wait_names(&view->session, NAMES_NS, &no_line, d);
	return err ?: look(view, true, d);
}

/* Compares the calls shown with those counted; -C also prints the table. */
static int view_conclude(struct view *view, const struct options *o, struct diag *d)
{
	struct snapshot *snapshot __cleanup(snapshot_freep) = NULL;
	struct call_totals totals;
	int err = collector_read(view->session.collector, &snapshot, d);

	if (err)
		return err;
	err = collector_call_totals(view->session.collector, &totals);
	if (err)
		return diag_set(d, DIAG_FAILED, -err, "cannot read the totals: %s", strerror(-err));
	if (view->recording) {
		err = recording_conclude(view->recording, snapshot, d);
	} else {
		call_printer_conclude(view->printer, "", snapshot, &totals);
		err = call_printer_flush(view->printer, d);
	}
	return err || !o->count ? err : output_report(&view->output, o, snapshot, d);
}

static int calls_run(const struct options *o, struct diag *d)
{
	struct view view __cleanup(view_done) = { 0 };
	int err;

	session_init(&view.session, o);
	err = output_open(&view.output, o, d);
	if (!err)
		err = session_open(&view.session, d);
	if (!err && calls_are_recorded(o))
		err = recording_new(o, view.session.collector, &view.output, &view.recording, d);
	else if (!err)
		err = call_printer_new(o, view.session.collector, &view.output, &view.printer, d);
	if (!err)
		err = session_begin(&view.session, d);
	if (err)
		return err;
	if (view.recording)
		recording_begin(view.recording);
	else
		call_printer_begin(view.printer, clock_mono_ns(),
				   (uint32_t)view.session.command.pid);
	err = session_release(&view.session, d);
	if (err)
		return err;
	session_start(&view.session, o->duration_ns, 0);
	err = view_run(&view, d) ?: view_conclude(&view, o, d);
	if (err)
		return err;
	if (!view.session.command.pid)
		return STATUS_OK;
	if (view.session.impatient)
		return 128 + view.session.impatient;
	/* This detaches first, since the command may run for long. */
	collector_free(steal_ptr(&view.session.collector));
	return session_wait_command(&view.session);
}

const struct verb calls_verb = {
	"",
	VERB_CALLS,
	calls_run,
	"print the system calls of processes or of a command",
	"usage: bpftruss [options] -p PID[,PID...]\n"
	"       bpftruss [options] COMMAND [ARG...]\n"
	"       bpftruss -c [options] ...            'bpftruss -c --help' lists those of -c\n"
	"       bpftruss VERB [options]",
	"Verbs (see 'bpftruss VERB --help'); the options below are for single calls:",
	"Each call is a line, printed when it has ended: on stdout, or on stderr if a command is "
	"run,\n"
	"whose exit status is passed on. Calls that could not be shown are stated.\n\n"
	"  bpftruss -p 1234                        the calls of a running process\n"
	"  bpftruss -f -o FILE make                a command and all its children, into a file\n"
	"  bpftruss -t open --failed -n apache2    files that Apache does not find\n"
	"  bpftruss --slower-than 10ms -k -p 1234  slow calls, and the code that makes them\n"
	"  bpftruss --last 10s -p 1234             what it did last, printed by Ctrl-C\n"
	"  bpftruss -c -p 1234                     count them: see 'bpftruss -c --help'",
};
