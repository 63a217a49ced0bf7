/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes an interval of `bpftruss top` as a JSON object: bpftruss-top(8). */
#include "json/documents.h"
#include "json/json.h"
#include "model/label.h"
#include "syscalls/names.h"

/* The call of a line of calls, or the one that the line has been in for longest. */
static void oldest_name(const struct rate *line, char *name, size_t size)
{
	const struct row row = { .abi = line->oldest_abi, .nr = line->oldest_nr };

	row_call_name(&row, name, size);
}

/* Writes what lines and their sum have in common. */
static void put_numbers(struct json_writer *to, const struct rates *rates, const struct rate *line)
{
	char name[SYSCALL_NAME_MAX] = "";
	bool flying = line->in_flight > 0;

	json_put_number(to, "processes", line->nr_processes);
	json_put_number(to, "threads", line->threads);
	json_put_number(to, "calls", line->calls);
	json_put_number(to, "errors", line->errors);
	json_put_microstates(to, &line->states, rates->diff->has_runq, true);
	json_put_number(to, "minor_faults", line->usage.minor_faults);
	json_put_number(to, "major_faults", line->usage.major_faults);
	json_put_number(to, "voluntary_switches", line->usage.voluntary_switches);
	json_put_number(to, "involuntary_switches", line->usage.involuntary_switches);
	json_put_number_if(to, "max_ns", line->worst_ns > 0, line->worst_ns);
	json_put_number(to, "in_flight", line->in_flight);
	json_put_number_if(to, "oldest_in_flight_ns", flying, line->oldest_ns);
	json_put_bool(to, "oldest_is_minimum", flying && line->oldest_early);
	if (flying)
		oldest_name(line, name, sizeof(name));
	json_put_text(to, "oldest_syscall", flying ? name : NULL);
}

/* NULL is null. */
static void put_name(struct json_writer *to, const char *key, const char *name, size_t size)
{
	if (name)
		json_put_bytes(to, key, name, size);
	else
		json_put_null(to, key);
}

/* Writes whose line it is; a value that its processes do not share, or that it has not, is null. */
static void put_line(struct json_writer *to, const struct rates *rates, const struct rate *line)
{
	const struct process *process = line->process;
	const bool is_group = rates->by != RATE_BY_PID && rates->by != RATE_BY_TID;
	const bool has_unit = process && (!is_group || rates->by == RATE_BY_UNIT);
	const bool has_container = process && (!is_group || rates->by == RATE_BY_CONTAINER);
	const bool has_pod = process && (!is_group || rates->by == RATE_BY_POD);
	char name[SYSCALL_NAME_MAX];

	json_put_object(to, NULL);
	json_put_number_if(to, "pid", line->pid != 0, line->pid);
	if (rates->by == RATE_BY_TID) {
		json_put_number_if(to, "tid", line->tid != 0, line->tid);
		put_name(to, "thread", line->thread ? line->thread->its.comm : NULL,
			 PROCESS_COMM_SIZE);
	}
	if (rates->by == RATE_BY_SYSCALL) {
		oldest_name(line, name, sizeof(name));
		json_put_word(to, "abi", abi_name(line->oldest_abi));
		json_put_word(to, "syscall", name);
	}
	if (rate_has_argument(line)) {
		put_name(to, rate_by_names[rates->by], line->argument, line->argument_length);
		if (!line->argument)
			json_put_word(to, "missing", json_argument_reason(line->argument_key));
		json_put_number_if(to, "bytes", rates->by == RATE_BY_FILE, line->bytes);
	}
	if (!process && rates->by != RATE_BY_SYSCALL && !rate_has_argument(line))
		json_put_word(to, "comm", "[overflow]");
	else if (process && (!is_group || rates->by == RATE_BY_COMM))
		json_put_bytes(to, "comm", process->comm, PROCESS_COMM_SIZE);
	else
		json_put_null(to, "comm");
	put_name(to, "unit", has_unit ? line->unit : NULL, line->unit_length);
	json_put_container(to, has_container ? &line->container : NULL);
	json_put_pod(to, has_pod ? &line->container : NULL);
	json_put_text(to, "user", line->user);
	put_numbers(to, rates, line);
	json_put_end(to);
}

int report_rates_json(const struct rates *rates, size_t limit, FILE *out)
{
	size_t count = limit && limit < rates->nr_lines ? limit : rates->nr_lines;
	struct json_writer to;

	json_begin(&to, out);
	json_put_document(&to, NULL);
	json_put_origin(&to, rates->diff);
	json_put_number(&to, "counting_ns", rates->counting_ns);
	json_put_word(&to, "by", rate_by_names[rates->by]);
	json_put_bool(&to, "exact", losses_none(&rates->losses));
	json_put_losses(&to, &rates->losses);
	json_put_object(&to, "total");
	put_numbers(&to, rates, &rates->total);
	json_put_end(&to);
	json_put_list(&to, "lines");
	for (size_t i = 0; i < count; i++)
		put_line(&to, rates, &rates->lines[i]);
	return json_end(&to);
}
