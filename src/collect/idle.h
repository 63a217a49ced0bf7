/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps the counters of threads that sleep, added up by process: a reading takes them from here
 * instead of the kernel's tables. A thread comes in with the second reading in a row that finds it
 * asleep since the same switch, and leaves as soon as anything in its record has changed.
 */
#pragma once

#include "bpftruss/abi.h"

#include "model/builder.h"

struct idle;

/*
 * Makes one for so many records, that keeps some max_bytes at most, of which no user has more than is
 * left; the other threads are read each time. 0 or -ENOMEM.
 */
int idle_new(struct idle **ret, uint32_t nr_records, size_t max_bytes);
void idle_free(struct idle *idle);

enum idle_state {
	IDLE_KNOWN,     /* what is kept of it still holds */
	IDLE_CANDIDATE, /* it may be added once it was read */
	IDLE_AWAKE,     /* nothing is kept of it any more */
};

/* Looks at the record of an index. Returns an enum idle_state, or -ENOMEM or -EINVAL. */
int idle_look(struct idle *idle, uint32_t index, const struct task_record *record);

/*
 * Takes over the rows of a snapshot of the candidate that was looked at last, alone, as of now_ns, if
 * nothing has happened to its record since. is_unknown: whether nobody can tell if it is in a call.
 * Returns 1 when it did, 0 when it left the snapshot as it is, or -ENOMEM.
 */
int idle_add(struct idle *idle, uint32_t index, const struct task_record *record,
	     struct snapshot *snapshot, uint64_t now_ns, bool is_unknown);

/* Adds all that it keeps to a builder, as of now_ns. Returns 0 or -ENOMEM. */
int idle_read(struct idle *idle, uint64_t now_ns, struct builder *builder);

/* Counts its threads of which nobody can tell whether they are in a call. */
uint64_t idle_threads_unknown(const struct idle *idle);
