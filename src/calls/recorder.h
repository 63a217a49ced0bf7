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

/* Calls of all threads are numbered anew from here on: a mark whose horizon is RECORDER_BREAK. */
#define RECORDER_BREAK UINT64_MAX
void recorder_break(struct recorder *recorder);

const struct recorder_counts *recorder_counts(const struct recorder *recorder);

/* Notes that this many other calls were recorded and are gone; the last ended at that time. */
void recorder_note_gone(struct recorder *recorder, uint64_t count, uint64_t gone_ns);

/* When the oldest record ended; 0: there is none. */
uint64_t recorder_start(const struct recorder *recorder);

/* A record or a mark. */
struct recorder_entry {
	const struct call_record *record; /* NULL: a mark. Valid until something is added */
	uint64_t horizon_ns;              /* of a mark */
};

/* Reads the entry at a position, at first 0, and moves it on. False: there are no more. */
bool recorder_next(const struct recorder *recorder, uint64_t *position, struct recorder_entry *ret);

/* --- copies: a recording that goes to another process --------------------------------------------- */

/* Returns the position of the next entry. Positions only grow. */
uint64_t recorder_end(const struct recorder *recorder);

/* Copies entries from a position on, as many as fit, and moves it behind them. Returns their bytes. */
size_t recorder_copy(const struct recorder *recorder, uint64_t *position, void *bytes, size_t size);

/*
 * Adds the entries of such a copy, of which nobody vouches for anything; it begins at a multiple of 8. 0, or
 * -EINVAL: it is none, or has been cut; what is before that was added.
 */
int recorder_add_copy(struct recorder *recorder, const void *bytes, size_t size);

/* Stands in front of a copy. */
struct recording_head {
	char version[24];      /* of the program that made it */
	uint32_t record_bytes; /* of a record without pieces: it tells of another form */
	uint16_t is_partial;   /* some calls were not to be recorded */
	uint16_t is_paused;    /* nothing is recorded now, to cost less */
	uint64_t next, end;    /* positions: behind the copy, and behind the newest entry */
	uint64_t now_ns;       /* CLOCK_MONOTONIC */
	struct recorder_counts counts;
	uint64_t left_out, lost; /* calls that never got into the memory */
};
