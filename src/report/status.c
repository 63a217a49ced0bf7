/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the keys of a daemon's status, and of its list of baselines. */
#include "report/status.h"

#include <errno.h>

#include "base/mem.h"
#include "report/json_values.h"

static json_t *tables_json(const struct daemon_status *s)
{
	json_t *to = json_object();
	int err = 0;

	for (size_t i = 0; i < s->nr_tables; i++) {
		json_t *table = json_object();

		err |= json_object_set_new(table, "used", json_number(s->tables[i].used));
		err |= json_object_set_new(table, "capacity", json_number(s->tables[i].capacity));
		err |= json_object_set_new(
			table, "peak", json_number_if(s->tables[i].peak > 0, s->tables[i].peak));
		err |= json_object_set_new(to, s->tables[i].name, table);
	}
	return json_unless(err, to);
}

static json_t *counting_json(const struct daemon_status *s)
{
	json_t *to = json_object();
	int err = 0;

	err |= json_object_set_new(to, "targets", json_untrusted_text(s->targets));
	err |= json_object_set_new(to, "processes", json_number(s->processes));
	err |= json_object_set_new(to, "threads", json_number(s->threads));
	err |= json_object_set_new(to, "rows", json_number(s->rows));
	err |= json_object_set_new(to, "tables", tables_json(s));
	err |= json_object_set_new(to, "kernel_bytes",
				   json_number_if(s->kernel_bytes > 0, s->kernel_bytes));
	err |= json_object_set_new(to, "max_table_bytes",
				   json_number_if(s->max_table_bytes > 0, s->max_table_bytes));
	return json_unless(err, to);
}

static json_t *percent_if(bool known, double percent)
{
	return known ? json_real(percent) : json_null();
}

static json_t *cost_json(const struct daemon_status *s)
{
	static const char *const steps[] = { "normal", "no_stacks", "no_errnos" };
	json_t *to = json_object();
	int err = 0;

	err |= json_object_set_new(to, "call_ns", json_number_if(s->has_call_ns, s->call_ns));
	err |= json_object_set_new(to, "samples", json_number(s->samples));
	err |= json_object_set_new(to, "own_cpu_ns", json_number(s->own_cpu_ns));
	err |= json_object_set_new(to, "resident_bytes", json_number(s->resident_bytes));
	err |= json_object_set_new(to, "own_percent", percent_if(s->has_percent, s->own_percent));
	err |= json_object_set_new(to, "answers_percent",
				   percent_if(s->has_percent, s->answers_percent));
	err |= json_object_set_new(to, "used_percent", percent_if(s->has_percent, s->used_percent));
	err |= json_object_set_new(to, "budget_percent",
				   percent_if(s->budget_percent > 0, s->budget_percent));
	err |= json_object_set_new(to, "step", json_string(steps[s->budget_step]));
	return json_unless(err, to);
}

static json_t *history_json(const struct daemon_status *s)
{
	json_t *to = json_object();
	int err = 0;

	if (!s->has_history && !*s->history_trouble) {
		json_decref(to);
		return json_null();
	}
	err |= json_object_set_new(to, "trouble",
				   *s->history_trouble ? json_untrusted_text(s->history_trouble)
						       : json_null());
	err |= json_object_set_new(to, "bytes", json_number(s->history_bytes));
	err |= json_object_set_new(to, "intervals", json_number(s->history_intervals));
	err |= json_object_set_new(to, "failed", json_number(s->history_failed));
	err |= json_object_set_new(
		to, "first", s->history_first_ns ? json_time(s->history_first_ns) : json_null());
	err |= json_object_set_new(to, "interval_ns", json_number(s->interval_ns));
	return json_unless(err, to);
}

static json_t *recent_json(const struct daemon_status *s)
{
	json_t *to = json_object();
	int err = 0;

	err |= json_object_set_new(to, "first", json_time(s->recent_start_ns));
	err |= json_object_set_new(to, "bytes", json_number(s->recent_bytes));
	return json_unless(err, to);
}

static json_t *clients_json(const struct daemon_status *s)
{
	json_t *to = json_object();
	int err = 0;

	err |= json_object_set_new(to, "connected", json_number(s->clients));
	err |= json_object_set_new(to, "requests", json_number(s->requests));
	err |= json_object_set_new(to, "refused", json_number(s->refused));
	err |= json_object_set_new(to, "malformed", json_number(s->malformed));
	return json_unless(err, to);
}

static json_t *names_json(const struct status_names *names)
{
	json_t *to = json_object();
	int err = 0;

	if (!names->has) {
		json_decref(to);
		return json_null();
	}
	err |= json_object_set_new(to, "places", json_number(names->places));
	err |= json_object_set_new(to, "bytes", json_number(names->bytes));
	err |= json_object_set_new(to, "waiting", json_number(names->waiting));
	err |= json_object_set_new(to, "failed", json_number(names->failed));
	err |= json_object_set_new(to, "refused", json_number(names->refused));
	return json_unless(err, to);
}

static json_t *status_json(const struct daemon_status *s)
{
	json_t *to = json_object();
	int err = 0;

	err |= json_object_set_new(to, "schema", json_integer(JSON_SCHEMA));
	err |= json_object_set_new(to, "version", json_string(BPFTRUSS_VERSION));
	err |= json_object_set_new(to, "host", json_untrusted_text(s->host));
	err |= json_object_set_new(to, "kernel", json_untrusted_text(s->kernel));
	err |= json_object_set_new(to, "start", json_time(s->start_ns));
	err |= json_object_set_new(to, "now", json_time(s->now_ns));
	err |= json_object_set_new(to, "uptime_ns", json_number(s->uptime_ns));
	err |= json_object_set_new(to, "exact", json_boolean(losses_none(s->losses)));
	err |= json_object_set_new(to, "losses", json_losses(s->losses));
	err |= json_object_set_new(to, "counting", counting_json(s));
	err |= json_object_set_new(to, "names", names_json(&s->names));
	err |= json_object_set_new(to, "cost", cost_json(s));
	err |= json_object_set_new(to, "history", history_json(s));
	err |= json_object_set_new(to, "recent", recent_json(s));
	err |= json_object_set_new(to, "clients", clients_json(s));
	return json_unless(err, to);
}

int report_status_json(const struct daemon_status *s, FILE *out)
{
	json_t *json __cleanup(json_freep) = status_json(s);

	return json ? json_write_line(json, out) : -ENOMEM;
}

static json_t *baseline_json(const struct baseline *baseline)
{
	json_t *to = json_object();
	int err = 0;

	err |= json_object_set_new(to, "name", json_string(baseline->name));
	err |= json_object_set_new(to, "saved", json_time(baseline->saved_ns));
	err |= json_object_set_new(to, "start", json_time(baseline->start_ns));
	err |= json_object_set_new(to, "end", json_time(baseline->end_ns));
	err |= json_object_set_new(to, "covered_ns", json_number(baseline->covered_ns));
	return json_unless(err, to);
}

int report_baselines_json(const struct baseline *list, size_t count, FILE *out)
{
	json_t *to __cleanup(json_freep) = json_object();
	json_t *baselines = json_array();
	int err = 0;

	for (size_t i = 0; i < count; i++)
		err |= json_array_append_new(baselines, baseline_json(&list[i]));
	err |= json_object_set_new(to, "schema", json_integer(JSON_SCHEMA));
	err |= json_object_set_new(to, "baselines", baselines);
	return err ? -ENOMEM : json_write_line(to, out);
}
