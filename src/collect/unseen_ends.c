/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the safety net below on_exit: where the kernel skipped that program, nobody has ended the
 * record of a task, and we would wait for its end for ever. Records of processes that are gone are
 * ended here. A thread of a process that lives is not looked for: one in an exec has, for a while,
 * no id of its own.
 */
#include "base/clock.h"
#include "collect/collector.h"
#include "collect/collector_private.h"
#include "collect/process_end.h"

/* Looking at one record takes some microseconds. */
#define LOOK_PAUSE_MS 1000
#define LOOK_RECORDS  256

/* What record_end() does, but for an open call: whether it ended is not known. */
static void record_end_unseen(struct collector *c, struct task_record *record)
{
	struct truss_bpf__data_membership *data = c->skel->data_membership;

	uint64_t now_ns = clock_mono_ns();

	/* When it ended nobody knows: its clock stops now. */
	if (!(record->clock & CLOCK_STOPPED) && record->clock < now_ns)
		record->clock = (now_ns - record->clock) | CLOCK_STOPPED;
	record->switch_ns = now_ns;
	__atomic_store_n(&record->task, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&record->state, RECORD_ENDED, __ATOMIC_RELEASE);
	__atomic_add_fetch(&data->membership.ended, 1, __ATOMIC_RELEASE);
	__atomic_sub_fetch(&data->membership.live, 1, __ATOMIC_RELEASE);
	c->unseen_ends++;
}

static void record_look(struct collector *c, struct task_record *record)
{
	uint32_t pid = record->pid;

	/* 0: of no namespace that is ours. */
	if (__atomic_load_n(&record->state, __ATOMIC_ACQUIRE) != RECORD_LIVE || !pid ||
	    !process_has_ended((pid_t)pid))
		return;
	/* Its end may have been seen since; after it nothing of the task can. */
	if (__atomic_load_n(&record->state, __ATOMIC_ACQUIRE) == RECORD_LIVE && record->pid == pid)
		record_end_unseen(c, record);
}

void unseen_ends_look(struct collector *c)
{
	uint32_t used = records_used(c);
	uint64_t now_ns = clock_mono_ns();
	struct task_record *record;

	if (!collector_live(c) || now_ns - c->last_look_ns < LOOK_PAUSE_MS * NS_PER_MS)
		return;
	c->last_look_ns = now_ns;
	for (uint32_t i = 0; i < LOOK_RECORDS && i + 1 < used; i++) {
		if (++c->looked_at >= used)
			c->looked_at = 1;
		record = record_at(c, c->looked_at);
		if (record)
			record_look(c, record);
	}
}

int unseen_ends_patience_ms(const struct collector *c)
{
	return collector_live(c) ? LOOK_PAUSE_MS : -1;
}
