/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps the counters of threads that sleep, added up by process: a reading takes them from here
 * instead of the kernel's tables. A thread is in it from the second reading on that finds its record as
 * the one before did.
 */
#ifndef BPFTRUSS_IDLE_H
#define BPFTRUSS_IDLE_H

#include "bpftruss/abi.h"

#include "model/builder.h"

struct idle;

/* The rows of its threads take at most max_bytes; all others are read each time. 0 or -ENOMEM. */
int idle_new(struct idle **ret, size_t max_bytes);

/* NULL is fine. */
void idle_free(struct idle *idle);

/*
 * Looks at the record of an index. IDLE_KNOWN: what is kept of it still holds. IDLE_CANDIDATE: it is
 * as the last reading found it, and may be added once it was read. IDLE_AWAKE: neither; nothing is kept
 * of it any more.
 */
enum idle_state {
	IDLE_AWAKE,
	IDLE_CANDIDATE,
	IDLE_KNOWN,
};

/* Returns an enum idle_state or -ENOMEM. */
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

/* Number of its threads of which nobody can tell whether they are in a call. */
uint64_t idle_threads_unknown(const struct idle *idle);

#endif
