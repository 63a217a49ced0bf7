/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps the newest records of calls in a buffer of a fixed size, in which each overwrites the
 * oldest ones. Invariants: records are whole, and in the order in which they were added; each is
 * either there or counted as overwritten; adding one only copies it.
 */
#pragma once

#include "base/mem.h"
#include "bpftruss/call_abi.h"

/* Longer records are refused; there are none, see struct open_call. */
#define RECORDER_RECORD_MAX 16384
#define RECORDER_BYTES_MIN  (4 * (size_t)RECORDER_RECORD_MAX)

struct recorder_counts {
	uint64_t recorded;
	uint64_t overwritten; /* of them */
	uint64_t gone_ns;     /* all that ended later (CLOCK_MONOTONIC) and was added is there */
};

struct recorder;

/* The buffer has this many bytes, at least RECORDER_BYTES_MIN. Returns 0 or -ENOMEM. */
int recorder_new(size_t bytes, struct recorder **ret);
void recorder_free(struct recorder *recorder);
CLEANUP_OF(recorder, recorder_free)

/* Copies a record. 0, or -EINVAL if its size makes no sense. */
int recorder_add(struct recorder *recorder, const struct call_record *record);

/* Adds a mark unless it would follow another one: all calls that ended by then have been added. */
void recorder_mark(struct recorder *recorder, uint64_t horizon_ns);

/* Borrowed; up to date as long as the recorder lives. */
const struct recorder_counts *recorder_counts(const struct recorder *recorder);

/* A record or a mark. */
struct recorder_entry {
	const struct call_record *record; /* NULL: a mark. Valid until something is added */
	uint64_t horizon_ns;              /* of a mark */
};

/* Reads the entry at a position, at first 0, and moves it on. False: there are no more. */
bool recorder_next(const struct recorder *recorder, uint64_t *position, struct recorder_entry *ret);
