/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes what threads are doing as a JSON object: bpftruss-json(5). */
#include "json/documents.h"
#include "json/json.h"
#include "json/stack.h"
#include "syscalls/names.h"

static const char *const states[NR_LISTED_STATE] = {
	[LISTED_IN_CALL] = "in_call",
	[LISTED_OUTSIDE] = "outside",
	[LISTED_STOPPED] = "stopped",
	[LISTED_AWAKE] = "running",
};

static void put_call(struct json_writer *to, const struct flight *flight)
{
	const struct listed_thread *thread = &flight->thread;
	char name[SYSCALL_NAME_MAX];

	syscall_name(thread->abi, thread->nr, name, sizeof(name));
	json_put_word(to, "syscall", name);
	json_put_word(to, "abi", abi_name(thread->abi));
	json_put_number(to, "nr", (uint64_t)thread->nr);
	json_put_number(to, "age_ns", thread->age_ns);
	json_put_bool(to, "age_is_minimum", !thread->is_exact);
	json_put_list(to, "arguments");
	for (size_t i = 0; thread->sp && i < CALL_ARGUMENTS; i++)
		json_put_number(to, NULL, thread->arguments[i]);
	json_put_end(to);
	json_put_list(to, "facts");
	for (size_t i = 0; i < flight->nr_facts; i++) {
		json_put_object(to, NULL);
		json_put_word(to, "what", flight->facts[i].key);
		json_put_text(to, "value", flight->facts[i].value);
		json_put_end(to);
	}
	json_put_end(to);
	json_put_text(to, "wchan", *flight->wchan ? flight->wchan : NULL);
	json_put_list(to, "kernel_stack");
	for (const char *line = flight->kernel; line && *line; line += strcspn(line, "\n") + 1)
		json_put_bytes(to, NULL, line, strcspn(line, "\n"));
	json_put_end(to);
	if (flight->stack) {
		json_put_object(to, "user_stack");
		json_put_stack(to, flight->stack);
		json_put_end(to);
	} else {
		json_put_null(to, "user_stack");
	}
	json_put_text(to, "caller", flight->module);
	json_put_number_if(to, "caller_offset", flight->module, flight->offset);
}

static void put_members(struct json_writer *to, const struct flight *flight)
{
	json_put_list(to, "others");
	for (size_t i = 0; i < flight->nr_members; i++) {
		json_put_object(to, NULL);
		json_put_number(to, "tid", flight->members[i].tid);
		json_put_bytes(to, "thread", flight->members[i].comm,
			       sizeof(flight->members[i].comm));
		json_put_end(to);
	}
	json_put_end(to);
	json_put_number(to, "others_left_out", flight->others - flight->nr_members);
}

static void put_flight(struct json_writer *to, const struct flight *flight)
{
	const struct listed_thread *thread = &flight->thread;

	json_put_object(to, NULL);
	json_put_number(to, "pid", thread->pid);
	json_put_bytes(to, "comm", flight->comm, sizeof(flight->comm));
	json_put_number(to, "tid", thread->tid);
	json_put_bytes(to, "thread", thread->comm, sizeof(thread->comm));
	json_put_word(to, "state", flight->gone ? "ended" : states[thread->state]);
	json_put_number(to, "threads", 1 + flight->others);
	json_put_bool(to, "apart", flight->apart);
	put_members(to, flight);
	if (thread->state == LISTED_IN_CALL) {
		json_put_bool(to, "ended_since", flight->gone || flight->moved);
		put_call(to, flight);
	}
	json_put_end(to);
}

int report_in_flight_json(const struct in_flight *list, FILE *out)
{
	struct json_writer to;

	json_begin(&to, out);
	json_put_document(&to, NULL);
	json_put_time(&to, "time", list->real_ns);
	json_put_number(&to, "threads", list->threads);
	json_put_number(&to, "kinds", list->count);
	json_put_number(&to, "stacks_left_out", list->stacks_left_out);
	json_put_list(&to, "in_flight");
	for (size_t i = 0; i < list->shown; i++)
		put_flight(&to, &list->items[i]);
	json_put_end(&to);
	json_put_end(&to);
	return json_end(&to);
}
