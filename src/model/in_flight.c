/* SPDX-License-Identifier: BSD-2-Clause */
/* Sorts and folds what threads do at one moment. */
#include "model/in_flight.h"

#include "base/text.h"
#include "syscalls/arguments.h"

void in_flight_done(struct in_flight *list)
{
	for (size_t i = 0; i < list->count; i++) {
		struct flight *flight = &list->items[i];

		for (size_t j = 0; j < flight->nr_facts; j++)
			free(flight->facts[j].value);
		free(flight->kernel);
		free(flight->module);
	}
	free(list->items);
	stack_table_free(list->stacks);
	*list = (struct in_flight){ 0 };
}

int in_flight_add(struct in_flight *list, const struct listed_thread *thread)
{
	if (!array_grow(&list->items, list->count, sizeof(*list->items)))
		return -ENOMEM;
	list->items[list->count++] = (struct flight){ .thread = *thread };
	list->threads++;
	return 0;
}

/* What tells two waits in the same call apart: a file, a futex or a child, but no buffer. */
static uint64_t wait_object(const struct listed_thread *thread)
{
	const char *kinds;

	if (thread->state != LISTED_IN_CALL)
		return 0;
	kinds = call_arguments(thread->abi, thread->nr);
	return *kinds && strchr("fuc", *kinds) ? thread->arguments[0] : 0;
}

static int compare_waits(const struct listed_thread *a, const struct listed_thread *b)
{
	return compare_u64(a->pid, b->pid)
		       ?: compare_u64(a->state, b->state)
		       ?: compare_u64(a->abi, b->abi)
		       ?: compare_u64((uint64_t)a->nr, (uint64_t)b->nr)
		       ?: compare_u64(wait_object(a), wait_object(b));
}

static int compare_ages(const struct listed_thread *a, const struct listed_thread *b)
{
	return compare_u64(a->state, b->state)
		       ?: compare_u64(b->age_ns, a->age_ns)
		       ?: compare_u64(a->pid, b->pid)
		       ?: compare_u64(a->tid, b->tid);
}

static int by_wait(const void *a, const void *b)
{
	const struct flight *first = a, *second = b;

	return compare_waits(&first->thread, &second->thread)
		       ?: compare_ages(&first->thread, &second->thread);
}

static int by_age(const void *a, const void *b)
{
	const struct flight *first = a, *second = b;

	return compare_ages(&first->thread, &second->thread);
}

/* Keeps the first of each run of items that are the same. */
static void fold_same(struct in_flight *list)
{
	size_t kept = 0;

	for (size_t i = 1; i < list->count; i++) {
		struct flight *last = &list->items[kept];

		if (compare_waits(&last->thread, &list->items[i].thread))
			list->items[++kept] = list->items[i];
		else
			last->others++;
	}
	list->count = kept + 1;
}

static bool waits_alone(const struct flight *flight)
{
	const struct listed_thread *thread = &flight->thread;

	return !flight->others && thread->state == LISTED_IN_CALL &&
	       *call_arguments(thread->abi, thread->nr) == ARGUMENT_FUTEX;
}

/* Idle workers have a futex each: those that nobody shares are one item, too. */
static void fold_alone(struct in_flight *list)
{
	struct flight *alone = NULL;
	size_t kept = 0;

	for (size_t i = 0; i < list->count; i++) {
		struct flight flight = list->items[i];

		if (!waits_alone(&flight)) {
			list->items[kept++] = flight;
		} else if (!alone || alone->thread.pid != flight.thread.pid ||
			   alone->thread.abi != flight.thread.abi ||
			   alone->thread.nr != flight.thread.nr) {
			alone = &list->items[kept++];
			*alone = flight;
		} else {
			if (compare_ages(&flight.thread, &alone->thread) < 0)
				alone->thread = flight.thread;
			alone->others++;
			alone->apart = true;
		}
	}
	list->count = kept;
}

void in_flight_fold(struct in_flight *list)
{
	if (!list->count)
		return;
	qsort(list->items, list->count, sizeof(*list->items), by_wait);
	fold_same(list);
	fold_alone(list);
	qsort(list->items, list->count, sizeof(*list->items), by_age);
}

void flight_add_fact(struct flight *flight, const char *key, char *value)
{
	if (!value || flight->nr_facts == MAX_FLIGHT_FACTS) {
		free(value);
		return;
	}
	flight->facts[flight->nr_facts++] = (struct flight_fact){ key, value };
}

void flight_arguments(const struct flight *flight, char *buf, size_t size)
{
	const struct listed_thread *thread = &flight->thread;
	const char *kinds = call_arguments(thread->abi, thread->nr);
	size_t used = 0;

	*buf = 0;
	for (size_t i = 0; kinds[i] && used < size; i++) {
		uint64_t value = thread->arguments[i];
		const char *comma = i ? ", " : "";

		if (kinds[i] == ARGUMENT_DIRFD && (int)value == -100)
			used += (size_t)snprintf(buf + used, size - used, "%sAT_FDCWD", comma);
		else if (strchr("nfdcm", kinds[i]))
			used += (size_t)snprintf(buf + used, size - used, "%s%d", comma,
						 (int)value);
		else if (kinds[i] == ARGUMENT_SIZE)
			used += (size_t)snprintf(buf + used, size - used, "%s%" PRIu64, comma,
						 value);
		else
			used += (size_t)snprintf(buf + used, size - used, "%s%#" PRIx64, comma,
						 value);
	}
}
