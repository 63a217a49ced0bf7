/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tells all series of the metrics, one family after the other. Invariant: a family is told once, and all its
 * samples after it, so that a syntax may write as it goes.
 */
#include "metrics/series.h"

#include "syscalls/names.h"

/*
 * Steps of four from about 1 us to about 17 s. Powers of two in ns are bounds of hist_bucket.h, so
 * no call has to be placed by guess; there a call of exactly that time is in the bucket above, so the
 * last that is in a bucket takes 1 ns less.
 */
const struct metrics_bound metrics_bounds[NR_METRICS_BOUND] = {
	{ 10, "1.023e-06" },    { 12, "4.095e-06" },   { 14, "1.6383e-05" },  { 16, "6.5535e-05" },
	{ 18, "0.000262143" },  { 20, "0.001048575" }, { 22, "0.004194303" }, { 24, "0.016777215" },
	{ 26, "0.067108863" },  { 28, "0.268435455" }, { 30, "1.073741823" }, { 32, "4.294967295" },
	{ 34, "17.179869183" },
};

/* --- by owner and call -------------------------------------------------------------------------- */

enum {
	CALL_CALLS,
	CALL_ERRORS,
	CALL_INTERRUPTED,
	CALL_DURATIONS,
	CALL_IN_FLIGHT,
	NR_CALL_FAMILY,
};

static const struct family call_families[NR_CALL_FAMILY] = {
	[CALL_CALLS] = { FAMILY_COUNTER, "bpftruss.syscalls", "{call}",
			 "System calls that have ended" },
	[CALL_ERRORS] = { FAMILY_COUNTER, "bpftruss.syscall.errors", "{error}",
			  "System calls that failed, by errno; errno other are those whose errno "
			  "found no room" },
	[CALL_INTERRUPTED] = { FAMILY_COUNTER, "bpftruss.syscall.interruptions", "{call}",
			       "System calls that a signal interrupted and the kernel was to "
			       "restart" },
	[CALL_DURATIONS] = { FAMILY_HISTOGRAM, "bpftruss.syscall.duration", "s",
			     "Wall time of the system calls whose start and end were seen" },
	[CALL_IN_FLIGHT] = { FAMILY_GAUGE, "bpftruss.syscalls_in_flight", "{call}",
			     "System calls that run now" },
};

static void tell_call(const struct series *s, size_t which, const struct metrics_owner *owner,
		      const struct metrics_call *call)
{
	const struct family *family = &call_families[which];
	const struct label *labels = LABELS({ s->key, owner->label }, { "syscall", call->label });
	const struct row *sum = &call->sum;
	const bool is_seen = sum->calls || call->was_in_flight;
	char name[ERRNO_LABEL_MAX];

	if (which == CALL_CALLS && is_seen)
		s->to->sample(s, family, labels, sum->calls);
	else if (which == CALL_INTERRUPTED && sum->interrupted)
		s->to->sample(s, family, labels, sum->interrupted);
	else if (which == CALL_DURATIONS && is_seen && call->has_histogram)
		s->to->durations(s, family, labels, call);
	else if (which == CALL_IN_FLIGHT && call->was_in_flight)
		s->to->sample(s, family, labels, sum->in_flight);
	if (which != CALL_ERRORS)
		return;
	for (size_t i = 0; i < sum->nr_errnos; i++) {
		errno_label(sum->errnos[i].err, name, sizeof(name));
		s->to->sample(s, family, LABELS(labels[0], labels[1], { "errno", name }),
			      sum->errnos[i].count);
	}
	if (sum->errors)
		s->to->sample(s, family, LABELS(labels[0], labels[1], { "errno", METRICS_OTHER }),
			      sum->errors);
}

static void tell_calls(const struct series *s)
{
	for (size_t which = 0; which < NR_CALL_FAMILY; which++) {
		const struct metrics_call *call;

		if (which == CALL_DURATIONS && !s->metrics->has_histograms)
			continue;
		s->to->family(s, &call_families[which]);
		for (size_t i = s->first; i < s->end; i++) {
			struct metrics_owner *owner = s->metrics->owners.all[i];

			for (size_t j = 0; (call = metrics_call_at(owner, j)); j++)
				tell_call(s, which, owner, call);
		}
	}
}

/* --- by owner ----------------------------------------------------------------------------------- */

static void tell_oldest(const struct series *s)
{
	static const struct family oldest = {
		FAMILY_GAUGE, "bpftruss.syscall.oldest_in_flight", "s",
		"Age of the oldest system call that runs now and waits for no work, peer or lock"
	};
	const struct labels *owners = &s->metrics->owners;

	s->to->family(s, &oldest);
	for (size_t i = s->first; i < s->end; i++) {
		const struct metrics_owner *owner = owners->all[i];

		if (owner->had_oldest)
			s->to->sample(s, &oldest, LABELS({ s->key, owner->label }),
				      owner->oldest_ns);
	}
}

static void tell_states(const struct series *s)
{
	static const char *const names[NR_METRICS_STATE] = { "cpu", "runq", "sleep" };
	static const struct family times = { FAMILY_COUNTER, "bpftruss.thread", "s",
					     "What threads did with their time: on a CPU, waiting "
					     "for one, or asleep" };
	const struct labels *owners = &s->metrics->owners;

	s->to->family(s, &times);
	for (size_t i = s->first; i < s->end; i++) {
		const struct metrics_owner *owner = owners->all[i];

		for (int state = 0; state < NR_METRICS_STATE; state++) {
			if (owner->states_ns[state] &&
			    (state != STATE_RUNQ || s->metrics->has_runq))
				s->to->sample(
					s, &times,
					LABELS({ s->key, owner->label }, { "state", names[state] }),
					owner->states_ns[state]);
		}
	}
}

/* An owner of which nothing else is known has no sample. */
void series_tell_infos(const struct series *s)
{
	static const struct family target = { FAMILY_INFO, "bpftruss.target", "",
					      "What else is known of a target" };
	const struct metrics_name *infos = metrics_groupings[s->metrics->options.group].infos;
	const struct labels *owners = &s->metrics->owners;

	if (infos[0].label)
		s->to->family(s, &target);
	for (size_t i = s->first; i < s->end && infos[0].label; i++) {
		const struct metrics_owner *owner = owners->all[i];
		struct label labels[METRICS_MAX_INFOS + 2] = { { s->key, owner->label } };
		size_t count = 1;

		for (size_t j = 0; j < METRICS_MAX_INFOS; j++) {
			if (owner->infos[j])
				labels[count++] = (struct label){ infos[j].label, owner->infos[j] };
		}
		if (count > 1)
			s->to->sample(s, &target, labels, 1);
	}
}

/* --- losses ------------------------------------------------------------------------------------- */

static void tell_losses(const struct series *s)
{
	static const struct family lost = {
		FAMILY_COUNTER, "bpftruss.lost_updates", "{update}",
		"Things that could not be counted in full, by reason; anything but 0 is a finding"
	};
	static const struct family missed = { FAMILY_COUNTER, "bpftruss.prog_missed", "{run}",
					      "Runs of a program that the kernel skipped" };
	static const struct {
		enum model_loss loss;
		const char *program;
	} programs[] = {
		{ LOSS_ENTER_MISSED, "sys_enter" },     { LOSS_LEAVE_MISSED, "sys_exit" },
		{ LOSS_SWITCH_MISSED, "sched_switch" }, { LOSS_LIFECYCLE_MISSED, "lifecycle" },
		{ LOSS_CHANGE_MISSED, "change" },
	};
	const uint64_t *counts = s->metrics->losses.count;

	s->to->family(s, &lost);
	for (int i = 0; i <= LOSS_KIND_FOLDED; i++)
		s->to->sample(s, &lost, LABELS({ "reason", loss_texts[i].name }), counts[i]);
	s->to->family(s, &missed);
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
		s->to->sample(s, &missed, LABELS({ "program", programs[i].program }),
			      counts[programs[i].loss]);
}

/* --- about the daemon itself -------------------------------------------------------------------- */

/* A number without labels. */
struct number {
	enum family_type type;
	const char *name, *unit, *help;
	uint64_t value;
	bool is_absent;
};

static void tell_numbers(const struct series *s, const struct number *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct family family = { numbers[i].type, numbers[i].name, numbers[i].unit,
					       numbers[i].help };

		if (numbers[i].is_absent)
			continue;
		s->to->family(s, &family);
		s->to->sample(s, &family, NULL, numbers[i].value);
	}
}

static void tell_series_numbers(const struct series *s)
{
	const struct metrics *m = s->metrics;
	const struct number numbers[] = {
		{ FAMILY_COUNTER, "bpftruss.retired_syscalls", "{call}",
		  "System calls of targets whose series have ended", m->retired_calls, false },
		{ FAMILY_COUNTER, "bpftruss.series_dropped", "{time}",
		  "Times that there was no room for one more series, so that other took the "
		  "calls",
		  m->dropped, false },
		{ FAMILY_GAUGE, "bpftruss.series_reserved", "{series}",
		  "Series that have room now, whether they are written or not", m->series, false },
		{ FAMILY_GAUGE, "bpftruss.series_limit", "{series}", "Series that may have room",
		  m->options.max_series, false },
		{ FAMILY_COUNTER, "bpftruss.intervals", "{interval}", "Readings that were counted",
		  m->intervals, false },
	};

	tell_numbers(s, numbers, ARRAY_SIZE(numbers));
}

static void tell_tables(const struct series *s)
{
	static const struct family build = { FAMILY_INFO, "bpftruss.build", "",
					     "The version of bpftruss" };
	static const struct {
		struct family family;
		size_t offset; /* in a table */
	} numbers[] = { { { FAMILY_GAUGE, "bpftruss.map_entries", "{entry}",
			    "Entries in use of a table in the kernel" },
			  offsetof(struct status_table, used) },
			{ { FAMILY_GAUGE, "bpftruss.map_peak_entries", "{entry}",
			    "The most entries that were in use at a time" },
			  offsetof(struct status_table, peak) },
			{ { FAMILY_GAUGE, "bpftruss.map_capacity", "{entry}",
			    "Entries that a table in the kernel has" },
			  offsetof(struct status_table, capacity) } };
	const struct status_table *tables = s->self->tables;

	s->to->family(s, &build);
	s->to->sample(s, &build, LABELS({ "version", BPFTRUSS_VERSION }), 1);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		s->to->family(s, &numbers[i].family);
		for (size_t j = 0; j < s->self->nr_tables; j++)
			s->to->sample(
				s, &numbers[i].family, LABELS({ "table", tables[j].name }),
				*(const uint64_t *)((const char *)&tables[j] + numbers[i].offset));
	}
}

static void tell_push_numbers(const struct series *s)
{
	const struct otlp_status *otlp = &s->self->otlp;
	const struct number numbers[] = {
		{ FAMILY_COUNTER, "bpftruss.otlp_sent", "{request}",
		  "Requests that the collector took", otlp->sent, false },
		{ FAMILY_COUNTER, "bpftruss.otlp_failed", "{try}",
		  "Tries to send a request that are made again", otlp->failed, false },
		{ FAMILY_COUNTER, "bpftruss.otlp_refused", "{request}",
		  "Requests that the collector does not want", otlp->refused, false },
		{ FAMILY_COUNTER, "bpftruss.otlp_rejected", "{point}",
		  "Points and records of requests that the collector took in part", otlp->rejected,
		  false },
		{ FAMILY_COUNTER, "bpftruss.otlp_dropped", "{request}",
		  "Requests for which there was no room in the queue", otlp->dropped, false },
		{ FAMILY_GAUGE, "bpftruss.otlp_queue", "By", "Size of what waits to be sent",
		  otlp->queued_bytes, false },
	};

	if (otlp->endpoint)
		tell_numbers(s, numbers, ARRAY_SIZE(numbers));
}

static void tell_own_numbers(const struct series *s)
{
	const struct daemon_status *self = s->self;
	const bool no_history = !self->has_history;
	const struct number numbers[] = {
		/* A process that answers counts. */
		{ FAMILY_GAUGE, "bpftruss.attached", "",
		  "Whether the programs are in the kernel and count", 1, false },
		{ FAMILY_GAUGE, "bpftruss.budget_step", "",
		  "How far counting was cut down to stay in its budget; 0 is not at all",
		  self->budget_step, false },
		{ FAMILY_COUNTER, "bpftruss.prog_run", "s",
		  "CPU time of the programs in the kernel, estimated", self->programs_ns,
		  !self->has_call_ns },
		{ FAMILY_GAUGE, "bpftruss.kernel_memory", "By",
		  "Memory of all tables in the kernel", self->kernel_bytes, !self->kernel_bytes },
		{ FAMILY_GAUGE, "bpftruss.store", "By", "Size of the history", self->history_bytes,
		  no_history },
		{ FAMILY_COUNTER, "bpftruss.store_intervals", "{interval}",
		  "Intervals written to the history", self->history_appended, no_history },
		{ FAMILY_COUNTER, "bpftruss.store_failures", "{interval}",
		  "Intervals that could not be written to the history", self->history_failed,
		  no_history },
		{ FAMILY_COUNTER, "bpftruss.scrapes", "{scrape}", "Scrapes before this one",
		  self->scrapes, false },
		{ FAMILY_GAUGE, "bpftruss.scrape_duration", "s",
		  "How long it took to write the scrape before this one", self->scrape_ns,
		  !self->scrapes },
		/* The names that all Prometheus clients give these. */
		{ FAMILY_COUNTER, "process.cpu", "s",
		  "CPU time of the daemon, in user space and in the kernel", self->own_cpu_ns,
		  false },
		{ FAMILY_GAUGE, "process.resident_memory", "By", "Resident memory of the daemon",
		  self->resident_bytes, false },
		{ FAMILY_GAUGE, "process.start_time", "s",
		  "When the daemon was started, since the epoch", (uint64_t)self->start_ns, false },
	};

	tell_numbers(s, numbers, ARRAY_SIZE(numbers));
}

void series_tell_owners(const struct series *s)
{
	tell_calls(s);
	tell_oldest(s);
	tell_states(s);
}

void series_tell_daemon(const struct series *s)
{
	tell_losses(s);
	tell_series_numbers(s);
	tell_tables(s);
	tell_push_numbers(s);
	tell_own_numbers(s);
}
