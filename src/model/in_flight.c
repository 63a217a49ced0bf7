/* SPDX-License-Identifier: BSD-2-Clause */
/* Sorts and folds what threads do at one moment. */
#include "model/in_flight.h"

#include <fcntl.h>

#include "base/text.h"
#include "syscalls/arguments.h"

static void flight_done(struct flight *flight)
{
	for (size_t i = 0; i < flight->nr_facts; i++)
		free(flight->facts[i].value);
	for (size_t i = 0; i < ARRAY_SIZE(flight->pointed); i++)
		free(flight->pointed[i].bytes);
	free(flight->members);
	free(flight->kernel);
	free(flight->module);
}

void in_flight_done(struct in_flight *list)
{
	for (size_t i = 0; i < list->count; i++)
		flight_done(&list->items[i]);
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

/* Threads of one kind call from the same place. Of futexes, each of which may be another, see below. */
static int compare_kinds(const struct flight *first, const struct flight *second)
{
	const struct listed_thread *a = &first->thread, *b = &second->thread;
	int order = compare_u64(a->pid, b->pid)
			    ?: compare_u64(a->state, b->state)
			    ?: compare_u64(a->abi, b->abi)
			    ?: compare_u64((uint64_t)a->nr, (uint64_t)b->nr)
			    ?: compare_u64(a->ip, b->ip);

	if (order || first_kind(a) == ARG_FUTEX)
		return order;
	return compare_u64(wait_object(a), wait_object(b));
}

/* Threads that have no stack may differ in what they do. */
static int compare_stacks(const struct flight *a, const struct flight *b)
{
	return compare_kinds(a, b) ?: compare_u64(a->stack_id, b->stack_id);
}

static int compare_waits(const struct flight *a, const struct flight *b)
{
	return compare_stacks(a, b)
		       ?: compare_u64(wait_object(&a->thread), wait_object(&b->thread))
		       ?: compare_u64(a->nr_files, b->nr_files)
		       ?: compare_u64(a->more_files, b->more_files)
		       ?: memcmp(a->files, b->files, sizeof(a->files));
}

static int compare_ages(const struct flight *first, const struct flight *second)
{
	const struct listed_thread *a = &first->thread, *b = &second->thread;

	return compare_u64(a->state, b->state)
		       ?: compare_u64(b->age_ns, a->age_ns)
		       ?: compare_u64(a->pid, b->pid)
		       ?: compare_u64(a->tid, b->tid);
}

static int by_kind(const void *a, const void *b)
{
	return compare_kinds(a, b) ?: compare_ages(a, b);
}

static int by_wait(const void *a, const void *b)
{
	return compare_waits(a, b) ?: compare_ages(a, b);
}

static int by_age(const void *a, const void *b)
{
	return compare_ages(a, b);
}

static int by_tid(const void *a, const void *b)
{
	const struct flight_member *first = a, *second = b;

	return compare_u64(first->tid, second->tid);
}

/* A kind is wanted if its first thread is among the first ones of all kinds. */
int in_flight_sort(struct in_flight *list, size_t top)
{
	size_t *kinds __cleanup(freep) = calloc(list->count ?: 1, sizeof(*kinds));
	size_t kind = 0, due = 0;

	if (!kinds)
		return -ENOMEM;
	if (!list->count)
		return 0;
	qsort(list->items, list->count, sizeof(*list->items), by_kind);
	for (size_t i = 0; i < list->count; i++) {
		list->items[i].is_due = !i || compare_kinds(&list->items[i - 1], &list->items[i]);
		kind += list->items[i].is_due;
		list->items[i].stack_id = kind - 1;
	}
	qsort(list->items, list->count, sizeof(*list->items), by_age);
	/* The first of its kind is also the first here. */
	for (size_t i = 0; i < list->count; i++) {
		struct flight *flight = &list->items[i];

		flight->is_due = flight->is_due && due < top;
		due += flight->is_due;
		kinds[flight->stack_id] |= flight->is_due;
		flight->is_wanted = kinds[flight->stack_id];
		flight->stack_id = 0;
	}
	return 0;
}

static void member_add(struct flight *flight, uint32_t tid, const char *comm)
{
	struct flight_member *member;

	if (flight->nr_members == MAX_FLIGHT_MEMBERS ||
	    !array_grow(&flight->members, flight->nr_members, sizeof(*flight->members)))
		return;
	member = &flight->members[flight->nr_members++];
	member->tid = tid;
	memcpy(member->comm, comm, sizeof(member->comm));
}

/* Adds a younger one, which is gone then, and whoever waits like it. */
static void flight_merge(struct flight *flight, struct flight *other)
{
	flight->others += 1 + other->others;
	member_add(flight, other->thread.tid, other->thread.comm);
	for (size_t i = 0; i < other->nr_members; i++)
		member_add(flight, other->members[i].tid, other->members[i].comm);
	flight_done(other);
}

/* Keeps the first of each run of items that are the same. */
static void fold_same(struct in_flight *list)
{
	size_t kept = 0;

	for (size_t i = 1; i < list->count; i++) {
		struct flight *last = &list->items[kept];

		if (compare_waits(last, &list->items[i]))
			list->items[++kept] = list->items[i];
		else
			flight_merge(last, &list->items[i]);
	}
	list->count = kept + 1;
}

static bool waits_alone(const struct flight *flight)
{
	return !flight->others && first_kind(&flight->thread) == ARG_FUTEX &&
	       flight->futex.kind == FUTEX_OF_ANYTHING;
}

/*
 * Idle workers have a futex each: futexes with a single waiter and one stack are one item, too. Mutexes
 * are not, whose holders may differ.
 */
static void fold_alone(struct in_flight *list)
{
	struct flight *alone = NULL;
	size_t kept = 0;

	for (size_t i = 0; i < list->count; i++) {
		struct flight flight = list->items[i];

		if (!waits_alone(&flight)) {
			list->items[kept++] = flight;
		} else if (!alone || compare_stacks(alone, &flight)) {
			alone = &list->items[kept++];
			*alone = flight;
		} else {
			if (compare_ages(&flight, alone) < 0) {
				struct flight younger = *alone;

				flight.others = younger.others;
				flight.members = steal_ptr(&younger.members);
				flight.nr_members = younger.nr_members;
				younger.others = younger.nr_members = 0;
				*alone = flight;
				flight = younger;
			}
			flight_merge(alone, &flight);
			alone->apart = true;
		}
	}
	list->count = kept;
}

void in_flight_fold(struct in_flight *list, size_t top)
{
	list->shown = min_u64(list->count, top);
	if (!list->count)
		return;
	qsort(list->items, list->count, sizeof(*list->items), by_wait);
	fold_same(list);
	fold_alone(list);
	qsort(list->items, list->count, sizeof(*list->items), by_age);
	list->shown = min_u64(list->count, top);
	for (size_t i = 0; i < list->count; i++) {
		struct flight *flight = &list->items[i];

		flight->is_due = i < list->shown && !flight->was_looked;
		if (flight->nr_members)
			qsort(flight->members, flight->nr_members, sizeof(*flight->members),
			      by_tid);
	}
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
