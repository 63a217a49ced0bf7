/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lists counted threads by an iterator in the kernel, and looks into /proc for those that are
 * shown. No process is stopped, so the findings count only if the thread is still in that call
 * afterwards.
 */
#include "collect/in_flight.h"

#include <bpf/bpf.h>

#include "base/clock.h"
#include "base/process.h"
#include "base/text.h"
#include "collect/call_facts.h"
#include "collect/collector_private.h"

int collector_list_calls(const struct collector *c, struct in_flight *ret, struct diag *d)
{
	int fd __cleanup(closep) = bpf_iter_create(bpf_link__fd(c->skel->links.list_calls));
	struct listed_thread listed;
	ssize_t got = -1;
	int err = fd < 0 ? -errno : 0;

	ret->real_ns = clock_real_ns();
	while (!err) {
		got = read(fd, &listed, sizeof(listed));
		if (got < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (got != sizeof(listed))
			break;
		err = in_flight_add(ret, &listed);
	}
	if (!err && got < 0)
		err = -errno;
	if (err)
		return diag_set(d, DIAG_FAILED, -err, "cannot list the calls in flight: %s",
				strerror(-err));
	return 0;
}

/* Reads a small file of /proc/PID; the text has a NUL and no line end. */
static size_t small_file_read(int process, const char *name, char *buf, size_t size)
{
	FILE *file __cleanup(fclosep) = process_file(process, name);
	size_t got = file ? fread(buf, 1, size - 1, file) : 0;

	if (got && buf[got - 1] == '\n')
		got--;
	buf[got] = 0;
	return got;
}

void process_describe(uint32_t pid, char *buf, size_t size)
{
	int process __cleanup(closep) = process_open(pid);
	char comm[32];

	if (process >= 0 && small_file_read(process, "comm", comm, sizeof(comm)))
		snprintf(buf, size, "%u (%s)", pid, comm);
	else
		snprintf(buf, size, "%u", pid);
}

/* "[<0>] futex_wait+0x60/0x90" a line: keeps the names. */
static char *kernel_stack_read(int process, const char *path)
{
	FILE *file __cleanup(fclosep) = process_file(process, path);
	char line[256], name[128], *text = NULL;
	size_t size = 0;
	FILE *out = file ? open_memstream(&text, &size) : NULL;

	if (!out)
		return NULL;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "[<%*[^>]>] %127[^+ \n]", name) == 1)
			fprintf(out, "%s\n", name);
	}
	if (fclose(out) || !size) {
		free(text);
		return NULL;
	}
	return text;
}

/* Whether the thread is in the call that was listed: in one with these arguments, and this stack. */
static bool flight_still_there(const struct flight *flight, int process)
{
	const struct listed_thread *thread = &flight->thread;
	struct process_call call;

	if (!process_call_read(process, thread->tid, &call))
		return false;
	/* Kernels that show no registers do not show these either. */
	return !thread->sp || (call.sp == thread->sp &&
			       !memcmp(call.arguments, thread->arguments, sizeof(call.arguments)));
}

static void flight_forget(struct flight *flight)
{
	while (flight->nr_facts)
		free(flight->facts[--flight->nr_facts].value);
	free(flight->kernel);
	flight->kernel = NULL;
	flight->wchan[0] = 0;
}

static void flight_look(struct flight *flight, struct wanted_ends *ends)
{
	const struct listed_thread *thread = &flight->thread;
	int process __cleanup(closep) = process_open(thread->pid);
	char path[64], comm[32];
	size_t wanted = ends->count;

	flight->was_looked = true;
	snprintf(path, sizeof(path), "task/%u", thread->tid);
	flight->gone = process < 0 || faccessat(process, path, F_OK, 0) != 0;
	if (flight->gone)
		return;
	small_file_read(process, "comm", comm, sizeof(comm));
	memcpy(flight->comm, comm, sizeof(flight->comm));
	if (thread->state != LISTED_IN_CALL)
		return;
	snprintf(path, sizeof(path), "task/%u/stack", thread->tid);
	flight->kernel = kernel_stack_read(process, path);
	snprintf(path, sizeof(path), "task/%u/wchan", thread->tid);
	small_file_read(process, path, flight->wchan, sizeof(flight->wchan));
	if (!strcmp(flight->wchan, "0"))
		flight->wchan[0] = 0;
	call_facts_add(flight, process, ends);
	flight->moved = !flight_still_there(flight, process);
	if (!flight->moved)
		return;
	flight_forget(flight);
	ends->count = wanted;
}

void in_flight_look(struct in_flight *list)
{
	struct wanted_ends *ends __cleanup(freep) = calloc(1, sizeof(*ends));

	for (size_t i = 0; i < list->count && ends; i++) {
		if (list->items[i].is_due)
			flight_look(&list->items[i], ends);
		list->items[i].is_due = false;
	}
	if (ends)
		wanted_ends_find(ends);
}
