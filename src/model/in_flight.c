/* SPDX-License-Identifier: BSD-2-Clause */
/* Sorts and folds what threads do at one moment. */
#include "model/in_flight.h"

#include <fcntl.h>

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

/* A thread outside calls, or in one without arguments, has an argument that nobody looks at. */
static enum argument_kind first_kind(const struct listed_thread *thread)
{
	const struct call_arguments *call;

	if (thread->state != LISTED_IN_CALL)
		return ARG_UNUSED;
	call = call_arguments(thread->abi, thread->nr);
	return call->count ? call->arguments[0].kind : ARG_UNUSED;
}

/* Finds what a call waits for: a file, a futex or a child, but no buffer. */
static uint64_t wait_object(const struct listed_thread *thread)
{
	switch (first_kind(thread)) {
	case ARG_FD:
	case ARG_FUTEX:
	case ARG_PID:
		return thread->arguments[0];
	default:
		return 0;
	}
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
	return !flight->others && first_kind(&flight->thread) == ARG_FUTEX;
}

/* Idle workers have a futex each: futexes with a single waiter are one item, too. */
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

static bool is_int(enum argument_kind kind)
{
	return kind == ARG_INT || kind == ARG_FD || kind == ARG_DIRFD || kind == ARG_SIGNAL ||
	       kind == ARG_PID || kind == ARG_UID || kind == ARG_MS || kind == ARG_ENUM;
}

/* Writes numbers as such and flags by name; everything else is an address or bits. */
static void value_write(const struct argument *argument, const uint64_t *values, size_t index,
			char *buf, size_t size)
{
	const struct flag_set *set = argument_set(argument, values);
	uint64_t value = values[index];

	if (set)
		flag_set_write(set, value, argument->kind == ARG_ENUM, buf, size);
	else if (argument->kind == ARG_DIRFD && (int)value == AT_FDCWD)
		snprintf(buf, size, "AT_FDCWD");
	else if (is_int(argument->kind))
		snprintf(buf, size, "%d", (int)value);
	else if (argument->kind == ARG_LONG || argument->kind == ARG_OFFSET)
		snprintf(buf, size, "%" PRId64, (int64_t)value);
	else if (argument->kind == ARG_UINT)
		snprintf(buf, size, "%u", (unsigned int)value);
	else if (argument->kind == ARG_SIZE)
		snprintf(buf, size, "%" PRIu64, value);
	else if (argument->kind == ARG_MODE)
		mode_write((unsigned int)value, buf, size);
	else
		snprintf(buf, size, "%#" PRIx64, value);
}

void flight_arguments(const struct flight *flight, char *buf, size_t size)
{
	const struct listed_thread *thread = &flight->thread;
	const struct call_arguments *call = call_arguments(thread->abi, thread->nr);
	uint64_t values[CALL_ARGUMENTS];
	char text[FLAGS_MAX];
	size_t used = 0;

	for (size_t i = 0; i < CALL_ARGUMENTS; i++)
		values[i] = thread->arguments[i];
	*buf = 0;
	for (size_t i = 0; i < call->count && used < size; i++) {
		const struct argument *argument = &call->arguments[i];

		if (argument->kind == ARG_UNUSED)
			continue;
		value_write(argument, values, i, text, sizeof(text));
		used += (size_t)snprintf(buf + used, size - used, "%s%s", used ? ", " : "", text);
	}
}
