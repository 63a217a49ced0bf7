/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs `bpftruss -c`: counts until told to stop, reports at the end and in between. */
#include "base/clock.h"
#include "calls/exemplars.h"
#include "cmd/live_line.h"
#include "cmd/reporting.h"
#include "cmd/session.h"
#include "collect/descriptor_links.h"
#include "collect/flight_stacks.h"
#include "collect/futex_facts.h"
#include "collect/in_flight.h"
#include "json/documents.h"
#include "model/diff.h"

struct run {
	struct session session;
	struct output output;
	struct exemplars *exemplars; /* owned; NULL: none are wanted */
	uint64_t life_ns;            /* CLOCK_MONOTONIC when life is shown next; 0: never */
	struct live_line live;
	uint64_t intervals; /* reported so far */
	uint64_t unnamed;   /* frames, as last said */
	uint64_t refused;   /* names, as last said */
};

static void run_done(struct run *run)
{
	session_done(&run->session);
	exemplars_free(run->exemplars);
	output_done(&run->output);
}

/* How long a report waits for names, and with servers that may be asked for them. */
#define NAMES_NS       (60 * NS_PER_SEC)
#define NAMES_FETCH_NS (150 * NS_PER_SEC)

/* Says how many places have no name, or no room: once, and again when they are more. */
static void print_unnamed(struct run *run)
{
	struct name_counts counts;
	uint64_t unnamed;

	collector_count_names(run->session.collector, &counts);
	unnamed = counts.waiting + counts.failed;
	if (unnamed > run->unnamed)
		fprintf(stderr,
			"bpftruss: %llu frames have no names, or not all: their files could not be "
			"read, or not in time\n",
			(unsigned long long)unnamed);
	if (counts.refused > run->refused)
		fprintf(stderr,
			"bpftruss: %llu times there was no room for a name: up to that many frames "
			"have none\n",
			(unsigned long long)counts.refused);
	run->unnamed = unnamed;
	run->refused = counts.refused;
}

static int wait_for_names(struct run *run, const struct options *o, struct diag *d)
{
	uint64_t limit_ns = o->collector.debuginfod ? NAMES_FETCH_NS : NAMES_NS;
	int err;

	if (!o->collector.stacks)
		return 0;
	/* A user who has asked twice for the end gets it. */
	err = session_wait_names(&run->session, run->session.impatient ? 0 : limit_ns, &run->live,
				 d);
	if (!err)
		print_unnamed(run);
	return err;
}

/* --- the slowest calls ---------------------------------------------------------------------------- */

/* The time between two looks at the rings: they must not fill up. */
#define LOOK_NS (50 * NS_PER_MS)

static int exemplars_begin(struct run *run, const struct options *o, struct diag *d)
{
	static const struct descriptor_source source = {
		.read_link = descriptor_link_read,
		.read_socket = socket_describe,
	};
	const struct exemplars_options options = {
		.most = o->exemplars,
		.max_bytes = EXEMPLARS_BYTES,
		.mono_to_real_ns = clock_real_ns() - (int64_t)clock_mono_ns(),
		.source = &source,
		.read_inode = descriptor_inode_read,
	};

	if (!options.most)
		return 0;
	return exemplars_new(&options, &run->exemplars) ? diag_oom(d) : 0;
}

static int take_exemplar(void *context, const struct call_record *record)
{
	exemplars_add(context, record);
	return 0;
}

/* Takes what has been sent so far, if anybody wants it. */
static int take_exemplars(struct run *run, struct diag *d)
{
	struct collector *collector = run->session.collector;
	struct call_totals totals;
	int err;

	if (!run->exemplars)
		return 0;
	err = collector_take_calls(collector, clock_mono_ns(), take_exemplar, run->exemplars)
		      ?: collector_call_totals(collector, &totals);
	if (err)
		return diag_set(d, DIAG_FAILED, -err, "cannot take the slowest calls: %s",
				strerror(-err));
	exemplars_set_lost(run->exemplars, totals.lost);
	return 0;
}

/* --- reports -------------------------------------------------------------------------------------- */

/* Makes the next report: of all so far, or of what came since the last interval. */
static int next_report(struct run *run, const struct options *o, enum session_event event,
		       struct diag *d)
{
	struct snapshot *now __cleanup(snapshot_freep) = NULL;
	struct snapshot *since __cleanup(snapshot_freep) = NULL;
	bool interval = o->interval_ns && event != SESSION_ASKED;
	int err;

	/* Before the reading, so that no call of the next interval is compared with those of this one. */
	if (interval && run->exemplars)
		collector_begin_slowest(run->session.collector);
	err = interval ? session_read(&run->session, &now, d)
		       : collector_read(run->session.collector, &now, d);
	/* After the reading, so that no row lacks its own; what ended since then is told by its time. */
	if (!err)
		err = take_exemplars(run, d);
	if (!err)
		err = wait_for_names(run, o, d);
	if (err)
		return err;
	if (interval && run->session.last)
		err = snapshot_diff(run->session.last, now, &since);
	if (err)
		return diag_set(d, DIAG_FAILED, -err, "cannot subtract two readings: %s",
				strerror(-err));
	(since ?: now)->exemplars = run->exemplars;
	if (run->exemplars)
		exemplars_set_until(run->exemplars, now->end_mono_ns);
	err = output_report(&run->output, o, since ?: now, d);
	if (!err && interval && run->exemplars && exemplars_begin_anew(run->exemplars))
		err = diag_oom(d);
	if (err || !interval)
		return err;
	run->intervals++;
	session_keep(&run->session, steal_ptr(&now));
	return 0;
}

/* Shows what was counted so far, where somebody looks on. */
static int show_life(struct run *run, struct diag *d)
{
	struct snapshot *now __cleanup(snapshot_freep) = NULL;
	uint64_t start_ns = clock_mono_ns();
	int err = collector_read(run->session.collector, &now, d);

	if (!err)
		run->life_ns = clock_mono_ns() +
			       live_line_show(&run->live, now, clock_mono_ns() - start_ns);
	return err;
}

/* Returns when to wake up next without an event. */
static void set_beat(struct run *run)
{
	uint64_t now_ns = clock_mono_ns(), life_ns = max_u64(run->life_ns, now_ns + 1) - now_ns;

	if (run->exemplars)
		session_beat(&run->session, LOOK_NS);
	else
		session_beat(&run->session, run->live.is_on ? life_ns : 0);
}

static int beat(struct run *run, struct diag *d)
{
	int err = take_exemplars(run, d);

	return err || !run->live.is_on || clock_mono_ns() < run->life_ns ? err : show_life(run, d);
}

static int run_reports(struct run *run, const struct options *o, struct diag *d)
{
	enum session_event event;
	int err;

	live_line_begin(&run->live, o);
	run->life_ns = clock_mono_ns() + NS_PER_SEC / 4;
	do {
		set_beat(run);
		err = session_wait(&run->session, &event, d);
		if (!err && event == SESSION_BEAT) {
			err = beat(run, d);
			continue;
		}
		live_line_erase(&run->live);
		if (!err && event == SESSION_OVER)
			collector_stop(run->session.collector);
		if (!err)
			err = next_report(run, o, event, d);
	} while (!err && event != SESSION_OVER &&
		 !(o->count_limit && run->intervals >= o->count_limit));
	return err;
}

/* Items of --in-flight that are shown. */
#define IN_FLIGHT_SHOWN 20

/* Answers --in-flight: attaches, looks once, and leaves. */
static int look_in_flight(struct run *run, const struct options *o, struct diag *d)
{
	struct in_flight list __cleanup(in_flight_done) = { 0 };
	struct flight_stacks *stacks __cleanup(flight_stacks_freep) = NULL;
	size_t top = o->in_flight_top ?: IN_FLIGHT_SHOWN;
	FILE *out = run->output.stream;
	int err = session_attach(&run->session, d);

	if (!err)
		err = collector_list_calls(run->session.collector, &list, d);
	if (err)
		return err;
	/* This comes first, as threads that go on have no stack any more. */
	if (in_flight_sort(&list, top) || flight_stacks_take(&list, &stacks))
		return diag_oom(d);
	/* Looking takes time, in which nobody is to pay for being counted. */
	collector_free(steal_ptr(&run->session.collector));
	in_flight_look(&list);
	if (flight_stacks_name(stacks, &list))
		return diag_oom(d);
	in_flight_fold(&list, top);
	in_flight_look(&list);
	futex_facts_add(&list);
	err = o->report.format == FORMAT_JSON ? report_in_flight_json(&list, out)
					      : report_in_flight(&list, out);
	if (!err && fflush(out))
		err = -errno;
	return err ? diag_set(d, DIAG_FAILED, -err, "cannot write the report: %s", strerror(-err))
		   : 0;
}

static int count_run(const struct options *o, struct diag *d)
{
	struct run run __cleanup(run_done) = { 0 };
	int err;

	session_init(&run.session, o);
	err = output_open(&run.output, o, d);
	run.output.is_series = o->interval_ns;
	if (!err)
		err = exemplars_begin(&run, o, d);
	if (!err)
		err = session_open(&run.session, d);
	if (!err && o->in_flight)
		return look_in_flight(&run, o, d) ?: STATUS_OK;
	if (!err)
		err = session_begin(&run.session, d) ?: session_release(&run.session, d);
	if (err)
		return err;
	session_start(&run.session, o->duration_ns, o->interval_ns);
	err = run_reports(&run, o, d);
	if (err)
		return err;
	if (!run.session.command.pid)
		return STATUS_OK;
	if (run.session.impatient)
		return 128 + run.session.impatient;
	/* This detaches first, since the command may run for long. */
	collector_free(steal_ptr(&run.session.collector));
	return session_wait_command(&run.session);
}

const struct verb count_verb = {
	"",
	VERB_COUNT,
	count_run,
	"count system calls of processes or of a command",
	"usage: bpftruss -c [options] -p PID[,PID...]\n"
	"       bpftruss -c [options] COMMAND [ARG...]",
	"Without -c, single calls are printed: see 'bpftruss --help', which also lists the verbs.",
	"Ctrl-C or the end of the last process prints the report: on stdout, or on stderr if a\n"
	"command was run, whose exit status is passed on.\n\n"
	"  bpftruss -c -p 1234                    the calls of a running process\n"
	"  bpftruss -c -p $(pgrep -d, apache2)    the same for all workers of a server\n"
	"  bpftruss -c -f make                    a command and all its children\n"
	"  bpftruss -c -t open,%network curl URL  only some calls\n"
	"  bpftruss -c --json -d 10 -p 1234       ten seconds, as JSON with tail latencies",
};
