/* SPDX-License-Identifier: BSD-2-Clause */
/* Tells how the daemon is doing, for its status and its metrics. */
#include "daemon/service.h"

#include "daemon/log.h"
#include "daemon/push.h"

static uint64_t resident_bytes(void)
{
	FILE *file __cleanup(fclosep) = fopen("/proc/self/statm", "re");
	unsigned long long size, resident = 0;

	if (!file || fscanf(file, "%llu %llu", &size, &resident) != 2)
		return 0;
	return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* The tables of stacks and paths are there only if these are taken. */
static void status_tables(const struct collector_cost *cost, struct daemon_status *ret)
{
	const struct {
		const char *name;
		const struct table_fill *fill;
	} tables[] = { { "threads", &cost->records },  { "rows", &cost->slots },
		       { "histograms", &cost->lines }, { "errnos", &cost->tallies },
		       { "foreign", &cost->foreign },  { "stacks", &cost->stacks },
		       { "paths", &cost->paths } };

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		if (tables[i].fill->capacity)
			ret->tables[ret->nr_tables++] =
				(struct status_table){ tables[i].name, tables[i].fill->used,
						       tables[i].fill->capacity,
						       tables[i].fill->peak, tables[i].fill->most };
	}
}

/* Whether so many tenths of it are used, or of what its greatest user may have: as much as is left. */
static bool table_is_full(const struct status_table *table, unsigned int tenths)
{
	uint64_t left = table->capacity > table->used ? table->capacity - table->used : 0;

	return table->used * 10 > table->capacity * tenths || table->most * 10 > left * tenths;
}

/* Warns before any call loses its process, and again only when it was better meanwhile. */
void service_watch_tables(struct service *s)
{
	struct daemon_status tables = { 0 };
	struct collector_cost cost;

	if (collector_cost(s->counts->collector, &cost))
		return;
	status_tables(&cost, &tables);
	for (size_t i = 0; i < tables.nr_tables; i++) {
		const struct status_table *table = &tables.tables[i];

		if (!s->warned[i] && table_is_full(table, 9)) {
			log_line(LOG_WARNING,
				 "the table of %s is nearly full: %" PRIu64 " of %" PRIu64
				 ", up to %" PRIu64
				 " of them for one user; beyond it calls lose their %s: see "
				 "[tables] in bpftruss.conf(5)",
				 table->name, table->used, table->capacity, table->most,
				 strcmp(table->name, "paths") ? "process" : "path or file");
			s->warned[i] = true;
		}
		if (!table_is_full(table, 8))
			s->warned[i] = false;
	}
}

static void status_cost(const struct service *s, struct daemon_status *ret)
{
	const struct budget *budget = s->budget;
	struct collector_cost cost;

	collector_count_names(s->counts->collector, &ret->names);
	ret->has_names = s->config->collector.stacks;
	if (!collector_cost(s->counts->collector, &cost)) {
		ret->has_call_ns = cost.call_samples > 0;
		ret->call_ns = (uint64_t)cost.call_ns;
		ret->programs_ns = cost.programs_ns;
		ret->samples = cost.call_samples;
		ret->kernel_bytes = collector_kernel_bytes(s->counts->collector);
		ret->max_table_bytes = cost.max_table_bytes;
		ret->threads = cost.threads;
		ret->processes = cost.processes;
		status_tables(&cost, ret);
	}
	ret->own_cpu_ns = budget_own_ns();
	ret->resident_bytes = resident_bytes();
	ret->has_percent = budget->used_percent >= 0;
	ret->own_percent = budget->own_percent;
	ret->answers_percent = budget->answers_percent;
	ret->used_percent = budget->used_percent;
	ret->budget_percent = budget->limit_percent;
	ret->budget_step = budget->step;
}

static void status_past(const struct service *s, struct daemon_status *ret)
{
	const struct recent *recent = &s->counts->recent;
	struct history_size size = { 0 };

	ret->history_trouble = s->counts->history_trouble;
	ret->has_history = s->counts->history && !history_size(s->counts->history, &size);
	ret->history_bytes = size.bytes;
	for (int i = 0; i < NR_HISTORY_LEVEL; i++)
		ret->history_intervals += size.intervals[i];
	ret->history_appended = size.appended;
	ret->history_failed = size.failed;
	ret->history_first_ns = size.first_ns;
	ret->interval_ns = s->config->interval_ns;
	ret->recent_start_ns =
		recent->nr_parts ? recent->parts[0].counts->start_ns : s->counts->last->start_ns;
	ret->recent_bytes = recent->bytes;
}

void service_status(const struct service *s, struct daemon_status *ret)
{
	const struct ipc_server_counts *clients = ipc_server_counts(s->local);
	const struct snapshot *last = s->counts->last;

	memset(ret, 0, sizeof(*ret));
	ret->host = last->host;
	ret->kernel = last->kernel;
	ret->start_ns = last->start_ns;
	ret->now_ns = clock_real_ns();
	/* The last reading may be some time ago. */
	ret->uptime_ns = last->elapsed_ns + clock_mono_ns() - last->end_mono_ns;
	ret->targets = s->targets;
	ret->rows = last->nr_rows;
	ret->losses = &last->losses;
	status_cost(s, ret);
	status_past(s, ret);
	call_log_status(s->calls, &ret->recorder);
	ret->recorder.is_paused = s->budget->step >= STEP_NO_CALLS;
	push_status(s->push, &ret->otlp);
	ret->clients = clients->clients;
	ret->requests = clients->requests;
	ret->refused = clients->refused;
	ret->malformed = clients->malformed;
	ret->scrapes = s->scrapes;
	ret->scrape_ns = s->scrape_ns;
}
