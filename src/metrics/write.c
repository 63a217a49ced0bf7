/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes what /metrics says: the families, their order and their help. Invariant: every family is
 * written once, with all its samples behind its head.
 */
#include "metrics/metrics.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "metrics/state.h"
#include "syscalls/errnos.h"

/* One scrape. */
struct scrape {
	struct exposition to;
	const struct metrics *metrics;
	const struct daemon_status *self;
	const char *key; /* name of the label of an owner */
};

/* The calls of an owner, the rest last; NULL from the first index on that is out of range. */
static const struct metrics_call *owner_call(const struct metrics_owner *owner, size_t index)
{
	if (index < owner->calls.count)
		return owner->calls.all[index];
	return index == owner->calls.count ? &owner->rest : NULL;
}

static struct label_set call_labels(const struct scrape *s, const struct metrics_owner *owner,
				    const struct metrics_call *call)
{
	return (struct label_set){
		{ { s->key, owner->label }, { "syscall", call->label }, { NULL, NULL } }
	};
}

/* --- by owner and call --- */

typedef void call_writer(const struct scrape *s, const struct family *family,
			 const struct label_set *labels, const struct metrics_call *call);

static bool call_exists(const struct metrics_call *call)
{
	return call->calls || call->was_in_flight;
}

static void write_calls(const struct scrape *s, const struct family *family,
			const struct label_set *labels, const struct metrics_call *call)
{
	if (call_exists(call))
		exposition_sample(&s->to, family, labels, call->calls);
}

static void write_errors(const struct scrape *s, const struct family *family,
			 const struct label_set *labels, const struct metrics_call *call)
{
	struct label_set with_errno = *labels;
	char name[ERRNO_LABEL_MAX];

	with_errno.labels[2] = (struct label){ "errno", name };
	for (size_t i = 0; i < call->nr_errnos; i++) {
		errno_label(call->errnos[i].err, name, sizeof(name));
		exposition_sample(&s->to, family, &with_errno, call->errnos[i].count);
	}
	with_errno.labels[2].value = METRICS_OTHER;
	if (call->other_errors)
		exposition_sample(&s->to, family, &with_errno, call->other_errors);
}

static void write_interrupted(const struct scrape *s, const struct family *family,
			      const struct label_set *labels, const struct metrics_call *call)
{
	if (call->interrupted)
		exposition_sample(&s->to, family, labels, call->interrupted);
}

static void write_durations(const struct scrape *s, const struct family *family,
			    const struct label_set *labels, const struct metrics_call *call)
{
	if (call_exists(call))
		exposition_histogram(&s->to, family, labels, call->buckets, call->wall_ns);
}

static void write_in_flight(const struct scrape *s, const struct family *family,
			    const struct label_set *labels, const struct metrics_call *call)
{
	if (call->was_in_flight)
		exposition_sample(&s->to, family, labels, call->in_flight);
}

static const struct {
	struct family family;
	call_writer *write;
} call_families[] = {
	{ { FAMILY_COUNTER, "bpftruss_syscalls", "System calls that have ended" }, write_calls },
	{ { FAMILY_COUNTER, "bpftruss_syscall_errors",
	    "System calls that failed, by errno; errno other are those whose errno found no room" },
	  write_errors },
	{ { FAMILY_COUNTER, "bpftruss_syscall_interruptions",
	    "System calls that a signal interrupted and the kernel was to restart" },
	  write_interrupted },
	{ { FAMILY_HISTOGRAM, "bpftruss_syscall_duration_seconds",
	    "Wall time of the system calls whose start and end were seen" },
	  write_durations },
	{ { FAMILY_GAUGE, "bpftruss_syscalls_in_flight", "System calls that run now" },
	  write_in_flight },
};

static void write_call_family(const struct scrape *s, const struct family *family,
			      call_writer *write)
{
	if (family->type == FAMILY_HISTOGRAM && !s->metrics->options.histograms)
		return;
	exposition_family(&s->to, family);
	for (size_t i = 0; i < s->metrics->owners.count; i++) {
		const struct metrics_owner *owner = s->metrics->owners.all[i];
		const struct metrics_call *call;

		for (size_t j = 0; (call = owner_call(owner, j)); j++) {
			struct label_set labels = call_labels(s, owner, call);

			write(s, family, &labels, call);
		}
	}
}

/* --- by owner --- */

static void write_oldest(const struct scrape *s)
{
	static const struct family family = {
		FAMILY_GAUGE, "bpftruss_syscall_oldest_in_flight_seconds",
		"Age of the oldest system call that runs now and is none that waits for work"
	};

	exposition_family(&s->to, &family);
	for (size_t i = 0; i < s->metrics->owners.count; i++) {
		const struct metrics_owner *owner = s->metrics->owners.all[i];
		const struct label_set labels = { { { s->key, owner->label } } };

		if (owner->had_oldest)
			exposition_sample(&s->to, &family, &labels, owner->oldest_ns);
	}
}

static void write_owners(const struct scrape *s)
{
	static const struct family family = { FAMILY_INFO, "bpftruss_target",
					      "What else is known of a target" };
	const struct metrics_grouping *grouping = &metrics_groupings[s->metrics->options.group];

	if (!grouping->infos[0].label)
		return;
	exposition_family(&s->to, &family);
	for (size_t i = 0; i < s->metrics->owners.count; i++) {
		const struct metrics_owner *owner = s->metrics->owners.all[i];
		struct label_set labels = { { { s->key, owner->label } } };

		for (size_t j = 0; j < METRICS_MAX_INFOS && owner->infos[j]; j++)
			labels.labels[1 + j] =
				(struct label){ grouping->infos[j].label, owner->infos[j] };
		if (owner->infos[0])
			exposition_sample(&s->to, &family, &labels, 1);
	}
}

/* --- losses --- */

static void write_losses(const struct scrape *s)
{
	static const struct family family = {
		FAMILY_COUNTER, "bpftruss_lost_updates",
		"Things that could not be counted in full, by reason; anything but 0 is a finding"
	};

	exposition_family(&s->to, &family);
	for (int i = 0; i <= LOSS_KIND_FOLDED; i++) {
		const struct label_set labels = { { { "reason", loss_texts[i].name } } };

		exposition_sample(&s->to, &family, &labels, s->metrics->losses.count[i]);
	}
}

static void write_missed(const struct scrape *s)
{
	static const struct family family = { FAMILY_COUNTER, "bpftruss_prog_missed",
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

	exposition_family(&s->to, &family);
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		const struct label_set labels = { { { "program", programs[i].program } } };

		exposition_sample(&s->to, &family, &labels,
				  s->metrics->losses.count[programs[i].loss]);
	}
}

/* --- about the daemon itself --- */

static void write_build(const struct scrape *s)
{
	static const struct family family = { FAMILY_INFO, "bpftruss_build",
					      "The version of bpftruss" };
	const struct label_set labels = { { { "version", BPFTRUSS_VERSION } } };

	exposition_family(&s->to, &family);
	exposition_sample(&s->to, &family, &labels, 1);
}

static void write_table_family(const struct scrape *s, const struct family *family, size_t member)
{
	exposition_family(&s->to, family);
	for (size_t i = 0; i < s->self->nr_tables; i++) {
		const struct status_table *table = &s->self->tables[i];
		const struct label_set labels = { { { "table", table->name } } };

		exposition_sample(&s->to, family, &labels,
				  *(const uint64_t *)((const char *)table + member));
	}
}

static void write_tables(const struct scrape *s)
{
	static const struct family entries = { FAMILY_GAUGE, "bpftruss_map_entries",
					       "Entries in use of a table in the kernel" };
	static const struct family capacity = { FAMILY_GAUGE, "bpftruss_map_capacity",
						"Entries that a table in the kernel has" };

	write_table_family(s, &entries, offsetof(struct status_table, used));
	write_table_family(s, &capacity, offsetof(struct status_table, capacity));
}

static void write_number(const struct scrape *s, enum family_type type, const char *name,
			 const char *help, uint64_t value)
{
	const struct family family = { type, name, help };

	exposition_family(&s->to, &family);
	exposition_sample(&s->to, &family, NULL, value);
}

static void write_series_numbers(const struct scrape *s)
{
	const struct metrics *m = s->metrics;

	write_number(s, FAMILY_COUNTER, "bpftruss_retired_syscalls",
		     "System calls of targets whose series have ended", m->retired_calls);
	write_number(s, FAMILY_COUNTER, "bpftruss_series_dropped",
		     "Times that there was no room for one more series, so that other took the "
		     "calls",
		     m->dropped);
	write_number(s, FAMILY_GAUGE, "bpftruss_series_reserved",
		     "Series that have room now, whether they are written or not", m->series);
	write_number(s, FAMILY_GAUGE, "bpftruss_series_limit", "Series that may have room",
		     m->options.max_series);
	write_number(s, FAMILY_COUNTER, "bpftruss_intervals", "Readings that were counted",
		     m->intervals);
}

static void write_history_numbers(const struct scrape *s)
{
	if (!s->self->has_history)
		return;
	write_number(s, FAMILY_GAUGE, "bpftruss_store_bytes", "Size of the history",
		     s->self->history_bytes);
	write_number(s, FAMILY_COUNTER, "bpftruss_store_intervals",
		     "Intervals written to the history", s->self->history_appended);
	write_number(s, FAMILY_COUNTER, "bpftruss_store_failures",
		     "Intervals that could not be written to the history", s->self->history_failed);
}

/* The names that all Prometheus clients give these. */
static void write_process_numbers(const struct scrape *s)
{
	write_number(s, FAMILY_COUNTER, "process_cpu_seconds",
		     "CPU time of the daemon, in user space and in the kernel",
		     s->self->own_cpu_ns);
	write_number(s, FAMILY_GAUGE, "process_resident_memory_bytes",
		     "Resident memory of the daemon", s->self->resident_bytes);
	write_number(s, FAMILY_GAUGE, "process_start_time_seconds",
		     "When the daemon was started, since the epoch", (uint64_t)s->self->start_ns);
}

static void write_own_numbers(const struct scrape *s)
{
	const struct daemon_status *self = s->self;

	/* A process that answers counts. */
	write_number(s, FAMILY_GAUGE, "bpftruss_attached",
		     "Whether the programs are in the kernel and count", 1);
	write_number(s, FAMILY_GAUGE, "bpftruss_budget_step",
		     "How far counting was cut down to stay in its budget; 0 is not at all",
		     self->budget_step);
	if (self->has_call_ns)
		write_number(s, FAMILY_COUNTER, "bpftruss_prog_run_seconds",
			     "CPU time of the programs in the kernel, estimated",
			     self->programs_ns);
	write_history_numbers(s);
	write_number(s, FAMILY_COUNTER, "bpftruss_scrapes", "Scrapes before this one",
		     self->scrapes);
	if (self->scrapes)
		write_number(s, FAMILY_GAUGE, "bpftruss_scrape_duration_seconds",
			     "How long it took to write the scrape before this one",
			     self->scrape_ns);
	write_process_numbers(s);
}

int metrics_write(const struct metrics *metrics, const struct daemon_status *self,
		  enum metrics_format format, FILE *out)
{
	const struct scrape scrape = {
		.to = { out, format },
		.metrics = metrics,
		.self = self,
		.key = metrics_groupings[metrics->options.group].label,
	};

	for (size_t i = 0; i < ARRAY_SIZE(call_families); i++)
		write_call_family(&scrape, &call_families[i].family, call_families[i].write);
	write_oldest(&scrape);
	write_owners(&scrape);
	write_losses(&scrape);
	write_missed(&scrape);
	write_series_numbers(&scrape);
	write_build(&scrape);
	write_tables(&scrape);
	write_own_numbers(&scrape);
	exposition_end(&scrape.to);
	return ferror(out) ? -EIO : 0;
}
