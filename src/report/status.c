/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes a daemon's status, and its list of baselines, as JSON. */
#include "report/status.h"

#include <math.h>

#include "report/json.h"

static void put_tables(struct json_writer *to, const struct daemon_status *s)
{
	json_put_object(to, "tables");
	for (size_t i = 0; i < s->nr_tables; i++) {
		const struct status_table *table = &s->tables[i];

		json_put_object(to, table->name);
		json_put_number(to, "used", table->used);
		json_put_number(to, "capacity", table->capacity);
		json_put_number_if(to, "peak", table->peak > 0, table->peak);
		json_put_end(to);
	}
	json_put_end(to);
}

static void put_counting(struct json_writer *to, const struct daemon_status *s)
{
	json_put_object(to, "counting");
	json_put_text(to, "targets", s->targets ?: "");
	json_put_number(to, "processes", s->processes);
	json_put_number(to, "threads", s->threads);
	json_put_number(to, "rows", s->rows);
	put_tables(to, s);
	json_put_number_if(to, "kernel_bytes", s->kernel_bytes > 0, s->kernel_bytes);
	json_put_number_if(to, "max_table_bytes", s->max_table_bytes > 0, s->max_table_bytes);
	json_put_end(to);
}

static void put_names(struct json_writer *to, const struct status_names *names)
{
	if (!names->has) {
		json_put_null(to, "names");
		return;
	}
	json_put_object(to, "names");
	json_put_number(to, "places", names->places);
	json_put_number(to, "bytes", names->bytes);
	json_put_number(to, "waiting", names->waiting);
	json_put_number(to, "failed", names->failed);
	json_put_number(to, "refused", names->refused);
	json_put_end(to);
}

static void put_cost(struct json_writer *to, const struct daemon_status *s)
{
	static const char *const steps[] = { "normal", "no_stacks", "no_errnos" };

	json_put_object(to, "cost");
	json_put_number_if(to, "call_ns", s->has_call_ns, s->call_ns);
	json_put_number(to, "samples", s->samples);
	json_put_number(to, "own_cpu_ns", s->own_cpu_ns);
	json_put_number(to, "resident_bytes", s->resident_bytes);
	json_put_real(to, "own_percent", s->has_percent ? s->own_percent : NAN);
	json_put_real(to, "answers_percent", s->has_percent ? s->answers_percent : NAN);
	json_put_real(to, "used_percent", s->has_percent ? s->used_percent : NAN);
	json_put_real(to, "budget_percent", s->budget_percent > 0 ? s->budget_percent : NAN);
	json_put_word(to, "step", steps[s->budget_step]);
	json_put_end(to);
}

static void put_history(struct json_writer *to, const struct daemon_status *s)
{
	if (!s->has_history && !*s->history_trouble) {
		json_put_null(to, "history");
		return;
	}
	json_put_object(to, "history");
	json_put_text(to, "trouble", *s->history_trouble ? s->history_trouble : NULL);
	json_put_number(to, "bytes", s->history_bytes);
	json_put_number(to, "intervals", s->history_intervals);
	json_put_number(to, "failed", s->history_failed);
	if (s->history_first_ns)
		json_put_time(to, "first", s->history_first_ns);
	else
		json_put_null(to, "first");
	json_put_number(to, "interval_ns", s->interval_ns);
	json_put_end(to);
}

static void put_rest(struct json_writer *to, const struct daemon_status *s)
{
	json_put_object(to, "recent");
	json_put_time(to, "first", s->recent_start_ns);
	json_put_number(to, "bytes", s->recent_bytes);
	json_put_end(to);
	json_put_object(to, "clients");
	json_put_number(to, "connected", s->clients);
	json_put_number(to, "requests", s->requests);
	json_put_number(to, "refused", s->refused);
	json_put_number(to, "malformed", s->malformed);
	json_put_end(to);
}

int report_status_json(const struct daemon_status *s, FILE *out)
{
	struct json_writer to;

	json_begin(&to, out);
	json_put_document(&to, NULL);
	json_put_text(&to, "host", s->host ?: "");
	json_put_text(&to, "kernel", s->kernel ?: "");
	json_put_time(&to, "start", s->start_ns);
	json_put_time(&to, "now", s->now_ns);
	json_put_number(&to, "uptime_ns", s->uptime_ns);
	json_put_bool(&to, "exact", losses_none(s->losses));
	json_put_losses(&to, s->losses);
	put_counting(&to, s);
	put_names(&to, &s->names);
	put_cost(&to, s);
	put_history(&to, s);
	put_rest(&to, s);
	return json_end(&to);
}

int report_baselines_json(const struct baseline *list, size_t count, FILE *out)
{
	struct json_writer to;

	json_begin(&to, out);
	json_put_object(&to, NULL);
	json_put_number(&to, "schema", JSON_SCHEMA);
	json_put_list(&to, "baselines");
	for (size_t i = 0; i < count; i++) {
		json_put_object(&to, NULL);
		json_put_word(&to, "name", list[i].name);
		json_put_time(&to, "saved", list[i].saved_ns);
		json_put_time(&to, "start", list[i].start_ns);
		json_put_time(&to, "end", list[i].end_ns);
		json_put_number(&to, "covered_ns", list[i].covered_ns);
		json_put_end(&to);
	}
	return json_end(&to);
}
