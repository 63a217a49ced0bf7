/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two snapshots side by side, of any two hosts and times: what changed, by how much, and whether
 * the latencies differ by more than chance. Rates are per second of each snapshot's own time.
 */
#ifndef BPFTRUSS_COMPARE_H
#define BPFTRUSS_COMPARE_H

#include "model/group.h"
#include "model/snapshot.h"

enum compare_word {
	COMPARE_TOO_FEW,   /* too few timed calls on one side to tell */
	COMPARE_NO_CHANGE, /* what differs may well be chance, or is too little to matter */
	COMPARE_FASTER,
	COMPARE_SLOWER,
	COMPARE_DIFFERS, /* another shape, neither faster nor slower throughout */
	COMPARE_NEW,     /* only in b */
	COMPARE_GONE,    /* only in a */
	NR_COMPARE_WORD,
};

extern const char *const compare_words[NR_COMPARE_WORD];

/* One group on one side. */
struct compare_side {
	bool present;
	struct group group; /* owned; process points into the snapshot */
	double calls_per_s, errors_per_s;
	double seconds_per_s; /* wall time of calls a second */
	uint64_t mean_ns, p50_ns, p99_ns;
};

struct comparison {
	struct compare_side a, b;
	enum compare_word word;
	double distance;    /* of the two distributions: 0 the same, 1 nothing in common */
	double probability; /* that chance alone makes them so distant */
};

struct comparison_list {
	struct comparison *items; /* owned; what changed most in seconds_per_s first */
	size_t count;
	unsigned int keys;
};

/* Groups both by the same keys of enum group_key. Returns 0 or -ENOMEM. */
int snapshot_compare(const struct snapshot *a, const struct snapshot *b, unsigned int keys,
		     struct comparison_list *ret);

void comparison_list_done(struct comparison_list *list);

#endif
