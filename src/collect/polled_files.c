/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads lists and sets of descriptors, eight bytes at a time: struct pollfd has as many. */
#include "collect/polled_files.h"

#include <poll.h>

#include "base/text.h"
#include "syscalls/arguments.h"

/* The descriptors in a set. */
#define MAX_SELECTED 1024

/* The sets of select, and the arguments of it that they are. */
static const uint32_t set_events[] = { 0, POLLIN, POLLOUT, POLLPRI };

static bool has_argument(const struct listed_thread *thread, size_t index, const char *type)
{
	const struct call_arguments *call = call_arguments(thread->abi, thread->nr);

	return thread->state == LISTED_IN_CALL && thread->sp && call->count > index &&
	       call->arguments[index].kind == ARG_STRUCT &&
	       !strcmp(call->arguments[index].type, type);
}

static bool has_list(const struct listed_thread *thread)
{
	return has_argument(thread, 0, "pollfd");
}

/* Words of 32-bit programs are the same on a little-endian machine. */
static bool has_sets(const struct listed_thread *thread)
{
	return has_argument(thread, 1, "fd_set");
}

void polled_files_want(struct thread_memory *memory)
{
	const struct listed_thread *thread = memory->thread;

	if (has_list(thread))
		thread_memory_want(memory, thread->arguments[0],
				   (uint32_t)thread->arguments[1] * sizeof(struct pollfd));
	for (size_t i = 1; has_sets(thread) && i < ARRAY_SIZE(set_events); i++) {
		if (thread->arguments[i])
			thread_memory_want(memory, thread->arguments[i], MAX_SELECTED / 8);
	}
}

static void file_add(struct flight *flight, int fd, uint32_t events)
{
	for (uint32_t i = 0; i < flight->nr_files; i++) {
		if (flight->files[i].fd != fd)
			continue;
		flight->files[i].events |= events;
		return;
	}
	if (flight->nr_files < MAX_FLIGHT_FILES_OF_CALL)
		flight->files[flight->nr_files++] = (struct flight_file){ fd, events };
	else
		flight->more_files++;
}

/* A negative number is passed over by poll. */
static void list_read(const struct thread_memory *memory, struct flight *flight)
{
	uint32_t count = (uint32_t)flight->thread.arguments[1];
	uint64_t value;
	struct pollfd polled;

	for (uint32_t i = 0; i < count; i++) {
		if (!thread_memory_read(memory, flight->thread.arguments[0] + i * sizeof(polled),
					&value)) {
			flight->more_files += count - i;
			return;
		}
		memcpy(&polled, &value, sizeof(polled));
		if (polled.fd >= 0)
			file_add(flight, polled.fd, (uint16_t)polled.events);
	}
}

static void sets_read(const struct thread_memory *memory, struct flight *flight)
{
	const __u64 *arguments = flight->thread.arguments;
	uint32_t count = (uint32_t)min_u64((uint32_t)arguments[0], MAX_SELECTED);
	uint64_t words[ARRAY_SIZE(set_events)] = { 0 };
	uint32_t events;

	for (uint32_t fd = 0; fd < count; fd++) {
		events = 0;
		for (size_t i = 1; i < ARRAY_SIZE(set_events); i++) {
			if (fd % 64 == 0 &&
			    (!arguments[i] ||
			     !thread_memory_read(memory, arguments[i] + fd / 8, &words[i])))
				words[i] = 0;
			if (words[i] >> fd % 64 & 1)
				events |= set_events[i];
		}
		if (events)
			file_add(flight, (int)fd, events);
	}
}

void polled_files_read(const struct thread_memory *memory, struct flight *flight)
{
	if (!memory->is_still)
		return;
	if (has_list(&flight->thread))
		list_read(memory, flight);
	else if (has_sets(&flight->thread))
		sets_read(memory, flight);
}
