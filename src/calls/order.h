/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Puts the records of several rings, one per CPU, into one order, and finds out which are missing.
 * Invariants: the records of a thread are handed on in the order of their numbers; for each of them
 * the number of calls missing before it is known, or is marked as unknown; memory is bounded.
 */
#pragma once

#include "base/mem.h"
#include "bpftruss/call_abi.h"

/* Counts the calls of a thread between the previous record and this one. */
struct order_gap {
	uint64_t missing;  /* neither left out nor seen */
	uint64_t left_out; /* by conditions */
	bool is_unknown;   /* too many threads: the record before was forgotten, so both are 0 */
};

/* Takes a record, which is valid until it returns. It must not add any. */
typedef void order_take(void *context, const struct call_record *record,
			const struct order_gap *gap);

struct order_counts {
	uint64_t taken; /* records handed on */
	uint64_t
		early; /* of them, before their time, for want of memory: threads may be out of order */
	uint64_t
		late; /* dropped, since later calls of their thread were handed on; they are missing */
	uint64_t missing; /* sum of all gaps */
	uint64_t unknown; /* gaps of which nothing is known */
	uint64_t evicted; /* threads that were forgotten for others */
};

struct order;

/*
 * Keeps at most about limit_bytes of records, but at least a few chunks of ORDER_CHUNK. Beyond
 * that, records are handed on early. Returns 0 or -ENOMEM.
 */
#define ORDER_CHUNK   (1UL << 20)
#define ORDER_DEFAULT (64 * ORDER_CHUNK)
int order_new(size_t limit_bytes, order_take *take, void *context, struct order **ret);
void order_free(struct order *order);
CLEANUP_OF(order, order_free)

/*
 * Copies a record. Those of one ring should come in its order, for speed alone. 0; -EINVAL: its size makes
 * no sense; -ENOMEM: it was dropped, and is missing.
 */
int order_add(struct order *order, const struct call_record *record);

/*
 * Hands on all records that ended by this time, in the order of their ends. Every ring must have
 * been read beyond it: a record that comes after a later one of its thread only shows as a gap.
 */
void order_release(struct order *order, uint64_t horizon_ns);

/* Borrowed; up to date as long as the order lives. */
const struct order_counts *order_counts(const struct order *order);

/* Memory that records take at this moment. */
size_t order_bytes(const struct order *order);
