/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps the slowest calls of each process and kind, of those records that the programs have sent: a record is
 * sent when a call took longer than any before of its thread and kind. So the slowest call of all is always
 * among them unless its record was lost; the others that are kept are the slowest of what was sent. Invariant:
 * no more memory is used than was allowed; what is forgotten for that is counted, and is not the slowest of all
 * processes, as long as there is room for one process of each call.
 */
#pragma once

#include "calls/decode.h"
#include "calls/descriptors.h"

#define EXEMPLARS_MAX   5 /* of one process and kind */
#define EXEMPLARS_BYTES ((size_t)16 << 20)

struct exemplar {
	struct call_record *record; /* owned, with its pieces */
	char *name; /* owned: of the file of its first descriptor; NULL: it has none, or nobody knows */
};

struct exemplars_options {
	size_t most;             /* of one process and kind, up to EXEMPLARS_MAX */
	size_t max_bytes;        /* EXEMPLARS_BYTES, but for tests */
	int64_t mono_to_real_ns; /* what CLOCK_REALTIME is ahead of CLOCK_MONOTONIC */
	const struct descriptor_source *source; /* of names; borrowed */

	/* The inode of a descriptor, by which it is known to be still that of the call. 0 or -errno. */
	int (*read_inode)(void *context, uint32_t pid, int fd, uint64_t *ret);
};

struct exemplars;

/* 0 or -ENOMEM. */
int exemplars_new(const struct exemplars_options *options, struct exemplars **ret);
void exemplars_free(struct exemplars *exemplars);
CLEANUP_OF(exemplars, exemplars_free)

/* Copies a record if it is among the slowest. Without memory it is forgotten, and counted as that. */
void exemplars_add(struct exemplars *exemplars, const struct call_record *record);

/* Whose call it is. */
struct exemplar_kind {
	uint32_t pid; /* 0: of any process */
	enum syscall_abi abi;
	int nr;
};

/*
 * Finds the exemplars of a process and kind that took no longer than max_ns, the slowest first; for
 * any process, only those that took exactly as long. Valid until the next exemplars_add(). Returns
 * how many.
 */
size_t exemplars_find(const struct exemplars *exemplars, const struct exemplar_kind *kind,
		      uint64_t max_ns, const struct exemplar *ret[EXEMPLARS_MAX]);

/* An interval ends (CLOCK_MONOTONIC): until exemplars_begin_anew() later calls are not found. */
void exemplars_set_until(struct exemplars *exemplars, uint64_t until_ns);

/* Forgets the calls of the interval that has ended, uncounted. 0 or -ENOMEM. */
int exemplars_begin_anew(struct exemplars *exemplars);

/* How many are wanted of a row. */
size_t exemplars_most(const struct exemplars *exemplars);

/* CLOCK_REALTIME of the end of a call. */
int64_t exemplar_real_ns(const struct exemplars *exemplars, const struct exemplar *exemplar);

/* A decoder that knows the name of one exemplar, until the next call. */
struct call_decoder *exemplars_decoder(struct exemplars *exemplars,
				       const struct exemplar *exemplar);

struct exemplar_counts {
	uint64_t lost;      /* records: the kernel had no room for them; told by the caller */
	uint64_t forgotten; /* for want of room here */
};

void exemplars_set_lost(struct exemplars *exemplars, uint64_t lost);
struct exemplar_counts exemplars_count(const struct exemplars *exemplars);

/* Memory in use. */
size_t exemplars_bytes(const struct exemplars *exemplars);
