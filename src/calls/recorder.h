/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps the newest records of calls in a memory of a fixed size, in which each overwrites the oldest ones.
 * Invariants: records are whole, and in the order in which they were added; those that were added are either
 * there or counted as overwritten; adding one copies it and does nothing else.
 */
#pragma once

#include "base/mem.h"
#include "bpftruss/call_abi.h"

/* Longer records are refused. None is made: see struct open_call. */
#define RECORDER_RECORD_MAX 16384
#define RECORDER_BYTES_MIN  (4 * (size_t)RECORDER_RECORD_MAX)

struct recorder_counts {
	uint64_t recorded;
	uint64_t overwritten; /* of them */
	uint64_t gone_ns;     /* all that ended later (CLOCK_MONOTONIC) and was added is there */
};

struct recorder;

/* Its memory has so many bytes, RECORDER_BYTES_MIN at least. 0 or -ENOMEM. */
int recorder_new(size_t bytes, struct recorder **ret);
void recorder_free(struct recorder *recorder);
CLEANUP_OF(recorder, recorder_free)

/* Copies a record. 0, or -EINVAL if its size makes no sense. */
int recorder_add(struct recorder *recorder, const struct call_record *record);

/* All calls that ended by then have been added: a mark among the records, unless there are none since the last. */
void recorder_mark(struct recorder *recorder, uint64_t horizon_ns);

const struct recorder_counts *recorder_counts(const struct recorder *recorder);

/* A record or a mark. */
struct recorder_entry {
	const struct call_record *record; /* NULL: a mark. Valid until something is added */
	uint64_t horizon_ns;              /* of a mark */
};

/* What stands at a position, which is 0 at first and moves on. False: there is no more. */
bool recorder_next(const struct recorder *recorder, uint64_t *position, struct recorder_entry *ret);
