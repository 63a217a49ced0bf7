/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes what /metrics says. Invariants: every family is written once, with all its samples behind its
 * head, and a sample is one line, whatever is in a label. Numbers are written from integers, so that
 * they do not depend on the locale and lose no digit.
 */
#include <strings.h>

#include "base/clock.h"
#include "metrics/state.h"
#include "syscalls/names.h"

/* --- syntax ------------------------------------------------------------------------------------- */

enum family_type {
	FAMILY_COUNTER,
	FAMILY_GAUGE,
	FAMILY_HISTOGRAM,
	FAMILY_INFO, /* a gauge that is always 1 */
	NR_FAMILY_TYPE,
};

static const struct {
	const char *name;   /* in OpenMetrics */
	const char *before; /* in Prometheus text, which has no info */
	const char *suffix; /* of the sample */
} types[NR_FAMILY_TYPE] = {
	[FAMILY_COUNTER] = { "counter", "counter", "_total" },
	[FAMILY_GAUGE] = { "gauge", "gauge", "" },
	[FAMILY_HISTOGRAM] = { "histogram", "histogram", "" },
	[FAMILY_INFO] = { "info", "gauge", "_info" },
};

/*
 * The name has no _total and _info, but ends in the unit, if there is one: seconds, bytes. The help is
 * one sentence without a full stop, backslash or line end.
 */
struct family {
	enum family_type type;
	const char *name, *help;
};

/* Several of them end with one without a name. */
struct label {
	const char *name;
	const char *value; /* valid UTF-8 */
};

#define LABELS(...) ((const struct label[]){ __VA_ARGS__, { NULL, NULL } })

/* Describes one scrape. */
struct scrape {
	FILE *out;
	enum metrics_format format;
	const struct metrics *metrics;
	const struct daemon_status *self;
	const char *key; /* name of the label of an owner */
};

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

/* Finds a type in a list; NULL: it is not there, or has q=0, which means never. */
static const char *accept_find(const char *accept, const char *type)
{
	const char *found = strcasestr(accept, type), *at = found;

	while (at && *(at += strcspn(at, ";,")) == ';') {
		at += 1 + strspn(at + 1, " \t");
		if (strncasecmp(at, "q=", 2) != 0)
			continue;
		if (strchr(";, \t", at[2 + strspn(at + 2, "0.")]))
			return NULL;
	}
	return found;
}

enum metrics_format metrics_negotiate(const char *accept)
{
	const char *open = accept_find(accept, "application/openmetrics-text");
	const char *text = accept_find(accept, "text/plain");

	return open && (!text || open < text) ? METRICS_OPENMETRICS : METRICS_PROMETHEUS_TEXT;
}

const char *metrics_content_type(enum metrics_format format)
{
	return format == METRICS_OPENMETRICS
		       ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
		       : "text/plain; version=0.0.4; charset=utf-8";
}

static bool name_ends_in(const char *name, const char *suffix)
{
	const size_t length = strlen(name), end = strlen(suffix);

	return length > end && !strcmp(name + length - end, suffix);
}

/* HELP, TYPE and UNIT. */
static void put_family(const struct scrape *s, const struct family *family)
{
	bool open = s->format == METRICS_OPENMETRICS;
	const char *suffix = open ? "" : types[family->type].suffix;

	fprintf(s->out, "# HELP %s%s %s\n", family->name, suffix, family->help);
	fprintf(s->out, "# TYPE %s%s %s\n", family->name, suffix,
		open ? types[family->type].name : types[family->type].before);
	if (open &&
	    (name_ends_in(family->name, "_seconds") || name_ends_in(family->name, "_bytes")))
		fprintf(s->out, "# UNIT %s %s\n", family->name, strrchr(family->name, '_') + 1);
}

/* Name and labels; le is NULL but for buckets. */
static void put_series(const struct scrape *s, const char *name, const char *suffix,
		       const struct label *labels, const char *le)
{
	char before = '{';

	fprintf(s->out, "%s%s", name, suffix);
	for (; labels && labels->name; labels++, before = ',') {
		fprintf(s->out, "%c%s=\"", before, labels->name);
		for (const char *at = labels->value; *at; at++) {
			if (strchr("\n\"\\", *at))
				fputc('\\', s->out);
			fputc(*at == '\n' ? 'n' : *at, s->out);
		}
		fputc('"', s->out);
	}
	if (le)
		fprintf(s->out, "%cle=\"%s\"", before, le);
	fputs(le || before == ',' ? "} " : " ", s->out);
}

/* Writes every digit of seconds, which come in ns. */
static void put_value(const struct scrape *s, bool is_time, uint64_t value)
{
	unsigned int digits = 9, rest = (unsigned int)(value % NS_PER_SEC);

	fprintf(s->out, "%" PRIu64, is_time ? (uint64_t)(value / NS_PER_SEC) : value);
	while (rest && rest % 10 == 0) {
		rest /= 10;
		digits--;
	}
	if (is_time && rest)
		fprintf(s->out, ".%0*u", (int)digits, rest);
	fputc('\n', s->out);
}

/* Writes one line, of the family's usual sample. */
static void put_sample(const struct scrape *s, const struct family *family,
		       const struct label *labels, uint64_t value)
{
	put_series(s, family->name, types[family->type].suffix, labels, NULL);
	put_value(s, name_ends_in(family->name, "_seconds"), value);
}

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
	[CALL_CALLS] = { FAMILY_COUNTER, "bpftruss_syscalls", "System calls that have ended" },
	[CALL_ERRORS] = { FAMILY_COUNTER, "bpftruss_syscall_errors",
			  "System calls that failed, by errno; errno other are those whose errno "
			  "found no room" },
	[CALL_INTERRUPTED] = { FAMILY_COUNTER, "bpftruss_syscall_interruptions",
			       "System calls that a signal interrupted and the kernel was to "
			       "restart" },
	[CALL_DURATIONS] = { FAMILY_HISTOGRAM, "bpftruss_syscall_duration_seconds",
			     "Wall time of the system calls whose start and end were seen" },
	[CALL_IN_FLIGHT] = { FAMILY_GAUGE, "bpftruss_syscalls_in_flight",
			     "System calls that run now" },
};

/* Its buckets, the last of them without a bound, are cumulative. */
static void write_durations(const struct scrape *s, const struct label *labels,
			    const struct metrics_call *call)
{
	const char *name = call_families[CALL_DURATIONS].name;
	uint64_t below = 0;

	for (size_t i = 0; i <= NR_METRICS_BOUND; i++) {
		below += call->buckets[i];
		put_series(s, name, "_bucket", labels,
			   i < NR_METRICS_BOUND ? metrics_bounds[i].seconds : "+Inf");
		put_value(s, false, below);
	}
	put_series(s, name, "_sum", labels, NULL);
	put_value(s, true, call->sum.wall_ns);
	put_series(s, name, "_count", labels, NULL);
	put_value(s, false, below);
}

static void write_call(const struct scrape *s, size_t which, const struct metrics_owner *owner,
		       const struct metrics_call *call)
{
	const struct family *family = &call_families[which];
	const struct label *labels = LABELS({ s->key, owner->label }, { "syscall", call->label });
	const struct row *sum = &call->sum;
	const bool is_seen = sum->calls || call->was_in_flight;
	char name[ERRNO_LABEL_MAX];

	if (which == CALL_CALLS && is_seen)
		put_sample(s, family, labels, sum->calls);
	else if (which == CALL_INTERRUPTED && sum->interrupted)
		put_sample(s, family, labels, sum->interrupted);
	else if (which == CALL_DURATIONS && is_seen && call->has_histogram)
		write_durations(s, labels, call);
	else if (which == CALL_IN_FLIGHT && call->was_in_flight)
		put_sample(s, family, labels, sum->in_flight);
	if (which != CALL_ERRORS)
		return;
	for (size_t i = 0; i < sum->nr_errnos; i++) {
		errno_label(sum->errnos[i].err, name, sizeof(name));
		put_sample(s, family, LABELS(labels[0], labels[1], { "errno", name }),
			   sum->errnos[i].count);
	}
	if (sum->errors)
		put_sample(s, family, LABELS(labels[0], labels[1], { "errno", METRICS_OTHER }),
			   sum->errors);
}

static void write_calls(const struct scrape *s)
{
	for (size_t which = 0; which < NR_CALL_FAMILY; which++) {
		const struct metrics_call *call;

		if (which == CALL_DURATIONS && !s->metrics->has_histograms)
			continue;
		put_family(s, &call_families[which]);
		for (size_t i = 0; i < s->metrics->owners.count; i++) {
			struct metrics_owner *owner = s->metrics->owners.all[i];

			for (size_t j = 0; (call = metrics_call_at(owner, j)); j++)
				write_call(s, which, owner, call);
		}
	}
}

/* --- by owner ----------------------------------------------------------------------------------- */

static void write_oldest(const struct scrape *s)
{
	static const struct family oldest = {
		FAMILY_GAUGE, "bpftruss_syscall_oldest_in_flight_seconds",
		"Age of the oldest system call that runs now and waits for no work, peer or lock"
	};
	const struct labels *owners = &s->metrics->owners;

	put_family(s, &oldest);
	for (size_t i = 0; i < owners->count; i++) {
		const struct metrics_owner *owner = owners->all[i];

		if (owner->had_oldest)
			put_sample(s, &oldest, LABELS({ s->key, owner->label }), owner->oldest_ns);
	}
}

static void write_states(const struct scrape *s)
{
	static const char *const names[NR_METRICS_STATE] = { "cpu", "runq", "sleep" };
	static const struct family times = { FAMILY_COUNTER, "bpftruss_thread_seconds",
					     "What threads did with their time: on a CPU, waiting "
					     "for one, or asleep" };
	const struct labels *owners = &s->metrics->owners;

	put_family(s, &times);
	for (size_t i = 0; i < owners->count; i++) {
		const struct metrics_owner *owner = owners->all[i];

		for (int state = 0; state < NR_METRICS_STATE; state++) {
			if (owner->states_ns[state] &&
			    (state != STATE_RUNQ || s->metrics->has_runq))
				put_sample(
					s, &times,
					LABELS({ s->key, owner->label }, { "state", names[state] }),
					owner->states_ns[state]);
		}
	}
}

/* Those that tell nothing are left out. */
static void write_infos(const struct scrape *s)
{
	static const struct family target = { FAMILY_INFO, "bpftruss_target",
					      "What else is known of a target" };
	const struct metrics_name *infos = metrics_groupings[s->metrics->options.group].infos;
	const struct labels *owners = &s->metrics->owners;

	if (infos[0].label)
		put_family(s, &target);
	for (size_t i = 0; i < owners->count && infos[0].label; i++) {
		const struct metrics_owner *owner = owners->all[i];
		struct label labels[METRICS_MAX_INFOS + 2] = { { s->key, owner->label } };
		size_t count = 1;

		for (size_t j = 0; j < METRICS_MAX_INFOS; j++) {
			if (owner->infos[j])
				labels[count++] = (struct label){ infos[j].label, owner->infos[j] };
		}
		if (count > 1)
			put_sample(s, &target, labels, 1);
	}
}

/* --- losses ------------------------------------------------------------------------------------- */

static void write_losses(const struct scrape *s)
{
	static const struct family lost = {
		FAMILY_COUNTER, "bpftruss_lost_updates",
		"Things that could not be counted in full, by reason; anything but 0 is a finding"
	};
	static const struct family missed = { FAMILY_COUNTER, "bpftruss_prog_missed",
					      "Runs of a program that the kernel skipped" };
	static const struct {
		enum model_loss loss;
		const char *program;
	} programs[] = {
		{ LOSS_ENTER_MISSED, "sys_enter" },
		{ LOSS_LEAVE_MISSED, "sys_exit" },
		{ LOSS_SWITCH_MISSED, "sched_switch" },
		{ LOSS_LIFECYCLE_MISSED, "lifecycle" },
	};
	const uint64_t *counts = s->metrics->losses.count;

	put_family(s, &lost);
	for (int i = 0; i <= LOSS_KIND_FOLDED; i++)
		put_sample(s, &lost, LABELS({ "reason", loss_texts[i].name }), counts[i]);
	put_family(s, &missed);
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
		put_sample(s, &missed, LABELS({ "program", programs[i].program }),
			   counts[programs[i].loss]);
}

/* --- about the daemon itself -------------------------------------------------------------------- */

/* A number without labels. */
struct number {
	enum family_type type;
	const char *name, *help;
	uint64_t value;
	bool is_absent;
};

static void write_numbers(const struct scrape *s, const struct number *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct family family = { numbers[i].type, numbers[i].name, numbers[i].help };

		if (numbers[i].is_absent)
			continue;
		put_family(s, &family);
		put_sample(s, &family, NULL, numbers[i].value);
	}
}

static void write_series_numbers(const struct scrape *s)
{
	const struct metrics *m = s->metrics;
	const struct number numbers[] = {
		{ FAMILY_COUNTER, "bpftruss_retired_syscalls",
		  "System calls of targets whose series have ended", m->retired_calls, false },
		{ FAMILY_COUNTER, "bpftruss_series_dropped",
		  "Times that there was no room for one more series, so that other took the "
		  "calls",
		  m->dropped, false },
		{ FAMILY_GAUGE, "bpftruss_series_reserved",
		  "Series that have room now, whether they are written or not", m->series, false },
		{ FAMILY_GAUGE, "bpftruss_series_limit", "Series that may have room",
		  m->options.max_series, false },
		{ FAMILY_COUNTER, "bpftruss_intervals", "Readings that were counted", m->intervals,
		  false },
	};

	write_numbers(s, numbers, ARRAY_SIZE(numbers));
}

static void write_tables(const struct scrape *s)
{
	static const struct family build = { FAMILY_INFO, "bpftruss_build",
					     "The version of bpftruss" };
	static const struct {
		struct family family;
		size_t offset; /* in a table */
	} numbers[] = { { { FAMILY_GAUGE, "bpftruss_map_entries",
			    "Entries in use of a table in the kernel" },
			  offsetof(struct status_table, used) },
			{ { FAMILY_GAUGE, "bpftruss_map_peak_entries",
			    "The most entries that were in use at a time" },
			  offsetof(struct status_table, peak) },
			{ { FAMILY_GAUGE, "bpftruss_map_capacity",
			    "Entries that a table in the kernel has" },
			  offsetof(struct status_table, capacity) } };
	const struct status_table *tables = s->self->tables;

	put_family(s, &build);
	put_sample(s, &build, LABELS({ "version", BPFTRUSS_VERSION }), 1);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		put_family(s, &numbers[i].family);
		for (size_t j = 0; j < s->self->nr_tables; j++)
			put_sample(
				s, &numbers[i].family, LABELS({ "table", tables[j].name }),
				*(const uint64_t *)((const char *)&tables[j] + numbers[i].offset));
	}
}

static void write_own_numbers(const struct scrape *s)
{
	const struct daemon_status *self = s->self;
	const bool no_history = !self->has_history;
	const struct number numbers[] = {
		/* A process that answers counts. */
		{ FAMILY_GAUGE, "bpftruss_attached",
		  "Whether the programs are in the kernel and count", 1, false },
		{ FAMILY_GAUGE, "bpftruss_budget_step",
		  "How far counting was cut down to stay in its budget; 0 is not at all",
		  self->budget_step, false },
		{ FAMILY_COUNTER, "bpftruss_prog_run_seconds",
		  "CPU time of the programs in the kernel, estimated", self->programs_ns,
		  !self->has_call_ns },
		{ FAMILY_GAUGE, "bpftruss_kernel_memory_bytes",
		  "Memory of all tables in the kernel", self->kernel_bytes, !self->kernel_bytes },
		{ FAMILY_GAUGE, "bpftruss_store_bytes", "Size of the history", self->history_bytes,
		  no_history },
		{ FAMILY_COUNTER, "bpftruss_store_intervals", "Intervals written to the history",
		  self->history_appended, no_history },
		{ FAMILY_COUNTER, "bpftruss_store_failures",
		  "Intervals that could not be written to the history", self->history_failed,
		  no_history },
		{ FAMILY_COUNTER, "bpftruss_scrapes", "Scrapes before this one", self->scrapes,
		  false },
		{ FAMILY_GAUGE, "bpftruss_scrape_duration_seconds",
		  "How long it took to write the scrape before this one", self->scrape_ns,
		  !self->scrapes },
		/* The names that all Prometheus clients give these. */
		{ FAMILY_COUNTER, "process_cpu_seconds",
		  "CPU time of the daemon, in user space and in the kernel", self->own_cpu_ns,
		  false },
		{ FAMILY_GAUGE, "process_resident_memory_bytes", "Resident memory of the daemon",
		  self->resident_bytes, false },
		{ FAMILY_GAUGE, "process_start_time_seconds",
		  "When the daemon was started, since the epoch", (uint64_t)self->start_ns, false },
	};

	write_numbers(s, numbers, ARRAY_SIZE(numbers));
}

int metrics_write(const struct metrics *metrics, const struct daemon_status *self,
		  enum metrics_format format, FILE *out)
{
	const char *key = metrics_groupings[metrics->options.group].owner.label;
	const struct scrape scrape = { out, format, metrics, self, key };

	write_calls(&scrape);
	write_oldest(&scrape);
	write_states(&scrape);
	write_infos(&scrape);
	write_losses(&scrape);
	write_series_numbers(&scrape);
	write_tables(&scrape);
	write_own_numbers(&scrape);
	if (format == METRICS_OPENMETRICS)
		fputs("# EOF\n", out);
	return ferror(out) ? -EIO : 0;
}
