/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the JSON object of an interval: bpftruss(8), Top. */
#include <errno.h>

#include "base/mem.h"
#include "report/json_values.h"
#include "report/rates.h"
#include "syscalls/names.h"

static int add_oldest(json_t *to, const struct rate *line)
{
	char name[SYSCALL_NAME_MAX] = "";
	bool flying = line->in_flight > 0;
	int err = 0;

	if (flying)
		syscall_name(line->oldest_abi, (int)line->oldest_nr, name, sizeof(name));
	err |= json_object_set_new(to, "in_flight", json_number(line->in_flight));
	err |= json_object_set_new(to, "oldest_in_flight_ns",
				   json_number_if(flying, line->oldest_ns));
	err |= json_object_set_new(to, "oldest_is_minimum",
				   json_boolean(flying && line->oldest_early));
	err |= json_object_set_new(to, "oldest_syscall", flying ? json_string(name) : json_null());
	return err;
}

static int add_usage(json_t *to, const struct usage *usage)
{
	int err = 0;

	err |= json_object_set_new(to, "minor_faults", json_number(usage->minor_faults));
	err |= json_object_set_new(to, "major_faults", json_number(usage->major_faults));
	err |= json_object_set_new(to, "voluntary_switches",
				   json_number(usage->voluntary_switches));
	err |= json_object_set_new(to, "involuntary_switches",
				   json_number(usage->involuntary_switches));
	return err;
}

/* What lines and their sum have in common. */
static int add_numbers(json_t *to, const struct rates *rates, const struct rate *line)
{
	const struct microstates *states = &line->states;
	int err = 0;

	err |= json_object_set_new(to, "processes", json_number(line->nr_processes));
	err |= json_object_set_new(to, "threads", json_number(line->threads));
	err |= json_object_set_new(to, "calls", json_number(line->calls));
	err |= json_object_set_new(to, "errors", json_number(line->errors));
	err |= json_object_set_new(to, "threads_ns", json_number(microstates_total_ns(states)));
	err |= json_object_set_new(to, "usr_ns", json_number(states->user_ns));
	err |= json_object_set_new(to, "sys_ns", json_number(states->system_ns));
	err |= json_object_set_new(to, "runq_ns",
				   json_number_if(rates->diff->has_runq, states->runq_ns));
	err |= json_object_set_new(to, "lock_ns", json_number(states->lock_ns));
	err |= json_object_set_new(to, "sleep_ns", json_number(states->sleep_ns));
	err |= add_usage(to, &line->usage);
	err |= json_object_set_new(to, "max_ns", json_number_if(line->worst_ns, line->worst_ns));
	return err | add_oldest(to, line);
}

/* Who it is; what is not the same for all processes of a line is null. */
static json_t *line_json(const struct rates *rates, const struct rate *line)
{
	const struct process *process = line->process;
	bool by_unit = rates->by == RATE_BY_UNIT, by_comm = rates->by == RATE_BY_COMM;
	json_t *to = json_object();
	json_t *comm = process ? json_untrusted(process->comm, PROCESS_COMM_SIZE)
			       : json_string("[overflow]");
	int err = 0;

	err |= json_object_set_new(to, "pid", json_number_if(line->pid, line->pid));
	err |= json_object_set(to, "comm", by_unit && process ? json_null() : comm);
	err |= json_object_set_new(
		to, "unit",
		by_comm || !process ? json_null() : json_untrusted(line->unit, line->unit_length));
	err |= json_object_set_new(to, "user",
				   line->user ? json_untrusted_text(line->user) : json_null());
	err |= add_numbers(to, rates, line);
	json_decref(comm);
	return json_unless(err, to);
}

static json_t *lines_json(const struct rates *rates, size_t limit)
{
	size_t count = limit && limit < rates->nr_lines ? limit : rates->nr_lines;
	json_t *lines = json_array();
	int err = 0;

	for (size_t i = 0; i < count && !err; i++)
		err = json_array_append_new(lines, line_json(rates, &rates->lines[i]));
	return json_unless(err, lines);
}

static json_t *total_json(const struct rates *rates)
{
	json_t *to = json_object();

	return json_unless(add_numbers(to, rates, &rates->total), to);
}

static json_t *rates_json(const struct rates *rates, size_t limit)
{
	json_t *to = json_object();
	int err = json_add_head(to, rates->diff);

	err |= json_object_set_new(to, "counting_ns", json_number(rates->counting_ns));
	err |= json_object_set_new(to, "by", json_string(rate_by_names[rates->by]));
	err |= json_object_set_new(to, "exact", json_boolean(losses_none(&rates->losses)));
	err |= json_object_set_new(to, "losses", json_losses(&rates->losses));
	err |= json_object_set_new(to, "total", total_json(rates));
	err |= json_object_set_new(to, "lines", lines_json(rates, limit));
	return json_unless(err, to);
}

int report_rates_json(const struct rates *rates, size_t limit, FILE *out)
{
	json_t *json __cleanup(json_freep) = rates_json(rates, limit);

	return json ? json_write_line(json, out) : -ENOMEM;
}
