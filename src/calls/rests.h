/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps the bytes of buffers that had no room in the records of their calls, until these are shown. They
 * come before the record of their call, but not always in order. Invariant: no more than RESTS_BYTES are kept.
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

/* Keeps a copy of a record that is CALL_REST, if there is room. */
void rests_add(struct rests *rests, const struct call_record *rest);

struct rest_bytes {
	const uint8_t *bytes; /* valid until the call is forgotten */
	size_t size;
	bool is_cut; /* there were more behind them */
};

/* Finds the bytes at an offset of a buffer, which is a part of an argument of a call; false: there are none. */
bool rests_find(const struct rests *rests, const struct call_record *call, unsigned int argument,
		unsigned int part, uint64_t offset, struct rest_bytes *ret);

/* Forgets the bytes of a call, and of all calls of its thread before it. */
void rests_forget(struct rests *rests, const struct call_record *call);
