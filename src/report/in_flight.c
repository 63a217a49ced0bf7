/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints what threads are doing: the answer of --in-flight as text. Names are escaped here. */
#include "model/in_flight.h"

#include "base/clock.h"
#include "base/text.h"
#include "model/label.h"
#include "report/report.h"
#include "syscalls/names.h"

static void print_bytes(const char *bytes, size_t size, FILE *out)
{
	char *text __cleanup(freep) = malloc(TEXT_ESCAPED_MAX(size));

	if (!text)
		return;
	text_escape_visible(bytes, size, text);
	fputs(text, out);
}

static void print_who(const struct flight *flight, FILE *out)
{
	const struct listed_thread *thread = &flight->thread;

	print_bytes(*flight->comm ? flight->comm : thread->comm, sizeof(flight->comm), out);
	fprintf(out, " %u", thread->pid);
	if (thread->tid == thread->pid)
		return;
	fprintf(out, ", thread %u (", thread->tid);
	print_bytes(thread->comm, sizeof(thread->comm), out);
	fputc(')', out);
}

/* Only a call that began while it was counted has an exact age. */
static void print_call(const struct in_flight *list, const struct flight *flight, FILE *out)
{
	const struct listed_thread *thread = &flight->thread;
	char name[SYSCALL_NAME_MAX], age[AGE_MAX], since[CLOCK_LOCAL_SIZE];

	syscall_name(thread->abi, thread->nr, name, sizeof(name));
	format_long_age(thread->age_ns, age, sizeof(age));
	clock_local(list->real_ns - (int64_t)thread->age_ns, since, sizeof(since));
	if (thread->is_exact)
		fprintf(out, ": %s for %s, since %s", name, age, since);
	else
		fprintf(out, ": %s for >= %s, asleep since %s or before", name, age, since);
}

static const char *const states[NR_LISTED_STATE] = {
	[LISTED_OUTSIDE] = "in no system call",
	[LISTED_STOPPED] = "stopped by a signal or a tracer",
	[LISTED_AWAKE] = "running, or waiting for a CPU",
};

static void print_kernel_stack(const struct flight *flight, FILE *out)
{
	const char *line = flight->kernel;

	if (!line && *flight->wchan)
		fprintf(out, "    %-13s %s\n", "kernel:", flight->wchan);
	if (!line)
		return;
	fprintf(out, "    %-13s ", "kernel:");
	for (; *line; line += strcspn(line, "\n") + 1) {
		if (line != flight->kernel)
			fputs(" < ", out);
		print_bytes(line, strcspn(line, "\n"), out);
	}
	fputc('\n', out);
}

/* The outermost frames of a long stack say little. */
#define FRAMES_SHOWN 30

static void print_user_stack(const struct stack *stack, FILE *out)
{
	const char *title = "user:", *end = view_end_name(stack->end);

	for (size_t i = 0; i < stack->nr_frames && i < FRAMES_SHOWN; i++) {
		char *label __cleanup(freep) = frame_label(&stack->frames[i], FRAME_EXACT);

		fprintf(out, "    %-13s ", title);
		print_bytes(label ?: "", label ? strlen(label) : 0, out);
		fputc('\n', out);
		title = "";
	}
	if (stack->nr_frames > FRAMES_SHOWN)
		fprintf(out, "    %-13s [%zu more frame%s]\n", "", stack->nr_frames - FRAMES_SHOWN,
			plural(stack->nr_frames - FRAMES_SHOWN));
	if (end)
		fprintf(out, "    %-13s %s\n", "", end);
}

/* A name is only worth telling if it is another one. */
#define MEMBERS_SHOWN 10

static void print_members(const struct flight *flight, FILE *out)
{
	size_t shown = min_u64(flight->nr_members, MEMBERS_SHOWN);

	for (size_t i = 0; i < shown; i++) {
		const struct flight_member *member = &flight->members[i];

		fprintf(out, i ? ", %u" : "    others:       %u", member->tid);
		if (!strncmp(member->comm, flight->thread.comm, sizeof(member->comm)))
			continue;
		fputs(" (", out);
		print_bytes(member->comm, sizeof(member->comm), out);
		fputc(')', out);
	}
	if (shown && flight->others > shown)
		fprintf(out, " and %" PRIu64 " more", flight->others - shown);
	if (shown)
		fputc('\n', out);
}

static void print_details(const struct flight *flight, FILE *out)
{
	char buf[FLIGHT_ARGUMENTS_MAX], name[SYSCALL_NAME_MAX];
	const struct listed_thread *thread = &flight->thread;

	syscall_name(thread->abi, thread->nr, name, sizeof(name));
	flight_arguments(flight, buf, sizeof(buf));
	if (thread->sp)
		fprintf(out, "    %-13s %s(%s)\n", "call:", name, buf);
	for (size_t i = 0; i < flight->nr_facts; i++) {
		snprintf(buf, sizeof(buf), "%s:", flight->facts[i].key);
		for (char *c = buf; *c; c++)
			*c = *c == '_' ? ' ' : *c;
		fprintf(out, "    %-13s ", buf);
		print_bytes(flight->facts[i].value, strlen(flight->facts[i].value), out);
		fputc('\n', out);
	}
	print_kernel_stack(flight, out);
	if (flight->stack) {
		print_user_stack(flight->stack, out);
	} else if (flight->module) {
		fprintf(out, "    %-13s ", "called from:");
		print_bytes(flight->module, strlen(flight->module), out);
		fprintf(out, "+%#" PRIx64 "\n", flight->offset);
	}
}

static void print_others(const struct flight *flight, FILE *out)
{
	bool is_known = flight->thread.state != LISTED_IN_CALL || flight->stack_id;

	if (flight->others)
		fprintf(out, "; %" PRIu64 " thread%s like it%s%s", flight->others,
			plural(flight->others), flight->apart ? ", each at another futex" : "",
			is_known ? "" : ", whose stacks are not known");
}

static void print_flight(const struct in_flight *list, const struct flight *flight, FILE *out)
{
	bool in_call = flight->thread.state == LISTED_IN_CALL;

	print_who(flight, out);
	if (in_call)
		print_call(list, flight, out);
	else
		fprintf(out, ": %s", states[flight->thread.state]);
	print_others(flight, out);
	if (flight->gone)
		fputs("; the thread has ended since", out);
	else if (flight->moved)
		fputs("; the call has ended since", out);
	fputc('\n', out);
	print_members(flight, out);
	if (in_call && !flight->gone && !flight->moved)
		print_details(flight, out);
}

int report_in_flight(const struct in_flight *list, FILE *out)
{
	uint64_t left_out = 0;

	for (size_t i = 0; i < list->shown; i++)
		print_flight(list, &list->items[i], out);
	if (list->stacks_left_out)
		fprintf(out, "no user stack of %" PRIu64 " thread%s: there is room for fewer\n",
			list->stacks_left_out, plural(list->stacks_left_out));
	for (size_t i = list->shown; i < list->count; i++)
		left_out += 1 + list->items[i].others;
	if (left_out)
		fprintf(out,
			"%" PRIu64 " more thread%s, in %zu kind%s of waits; --top shows more\n",
			left_out, plural(left_out), list->count - list->shown,
			plural(list->count - list->shown));
	return ferror(out) ? -EIO : 0;
}
