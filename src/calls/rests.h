/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps the bytes of buffers that had no room in the records of their calls, until these are shown. They
 * come before the record of their call, but not always in order. Invariant: they take no more memory than RESTS_BYTES.
 */
#pragma once

#include "base/mem.h"
#include "bpftruss/call_abi.h"

#define RESTS_BYTES ((size_t)64 << 20)

struct rests;

/* 0 or -ENOMEM. */
int rests_new(struct rests **ret);
void rests_free(struct rests *rests);
CLEANUP_OF(rests, rests_free)

/* Keeps a copy of a record that is CALL_REST. Without room, the oldest ones of the thread with most of them go. */
void rests_add(struct rests *rests, const struct call_record *rest);

struct rest_bytes {
	const uint8_t *bytes; /* valid until the call is forgotten */
	size_t size;
	bool is_cut; /* there were more behind them */
};

/* Finds the bytes at an offset of a buffer, which is a part of an argument of a call; false: there are none. */
bool rests_find(const struct rests *rests, const struct call_record *call, unsigned int argument,
		unsigned int part, uint64_t offset, struct rest_bytes *ret);

/*
 * Forgets the bytes of a call, and all that were read before its end in its thread, or in a thread that had the
 * record before and has ended.
 */
void rests_forget(struct rests *rests, const struct call_record *call);
