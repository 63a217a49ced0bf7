/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two snapshots side by side, of any two hosts and times: what changed, by how much, and whether
 * the latencies differ by more than chance. Rates are per second of each snapshot's own time.
 */
#pragma once

#include "model/group.h"

/* The first ones are as in enum hist_word. */
enum compare_word {
	COMPARE_TOO_FEW = HIST_TOO_FEW, /* too few timed calls on one side to tell */
	COMPARE_NO_CHANGE =
		HIST_NO_CHANGE, /* what differs may well be chance, or too little to matter */
	COMPARE_FASTER = HIST_FASTER,
	COMPARE_SLOWER = HIST_SLOWER,
	COMPARE_DIFFERS = HIST_DIFFERS, /* another shape, neither faster nor slower throughout */
	COMPARE_NEW,                    /* only in b */
	COMPARE_GONE,                   /* only in a */
	NR_COMPARE_WORD,
};

extern const char *const compare_words[NR_COMPARE_WORD];

/* Holds one group on one side. An absent one is a group of zeroes. */
struct compare_side {
	bool present;
	struct group group; /* owned; process points into the snapshot */
	/* NAN when the snapshot does not say how long was counted. */
	double calls_per_s, errors_per_s;
	double seconds_per_s;             /* wall time of calls a second */
	uint64_t mean_ns, p50_ns, p99_ns; /* 0 unless some of its calls were timed */
};

struct comparison {
	struct compare_side a, b;
	enum compare_word word;
	double distance;    /* of the two distributions: 0 the same, 1 nothing in common */
	double probability; /* at most: that chance alone makes them so distant */
	int tail;           /* 1: p99 rose beyond noise, -1: it fell, 0: neither */
	size_t place;       /* in the order of the keys */
	size_t rank;        /* in the order of a report */
};

struct comparison_list {
	struct comparison *items; /* owned; what changed most in seconds_per_s first */
	size_t count;
	struct comparison total;     /* owned; of all groups */
	double seconds_a, seconds_b; /* how long was counted; 0: unknown */
	unsigned int keys;
};

/*
 * Groups both by the same keys of enum group_key, the rows that the test has (NULL: all), and
 * matches groups by what their keys say: names of programs, units and users, ABI and number; never
 * by ids, which differ between boots and hosts. pids and tids are matched as numbers, for what that
 * is worth, and the name with them. Groups without a call that ended are left out.
 * Returns 0 or -ENOMEM.
 */
int snapshot_compare(const struct snapshot *a, const struct snapshot *b, unsigned int keys,
		     const struct row_test *test, struct comparison_list *ret);

void comparison_list_done(struct comparison_list *list);

enum regression_kind {
	REGRESSION_CALLS,  /* a second */
	REGRESSION_ERRORS, /* a second */
	REGRESSION_TIME,   /* wall time of calls a second */
	REGRESSION_P99,
	NR_REGRESSION_KIND,
};

/* calls, errors, time, p99. */
extern const char *const regression_names[NR_REGRESSION_KIND];

/* Calls that wait for work take as long as there is none: their time and p99 are no regressions. */
struct regression_rule {
	double limit; /* 0.2: a rise by more than 20% */
	bool waiting; /* the list is of such calls */
};

/* The rises of one comparison, where they are regressions; 0 elsewhere; INFINITY from nothing. */
struct regressions {
	double rise[NR_REGRESSION_KIND];
};

/*
 * Whether anything of a comparison became worse by more than the limit: the question of
 * `compare --fail-over`. p99 counts when it is beyond noise, rates when more than chance makes them
 * differ, time when calls or latencies differ by more than chance, and groups only when on one side
 * they have more than a thousandth of all calls or of their time.
 */
bool comparison_regressions(const struct comparison_list *list, const struct comparison *item,
			    const struct regression_rule *rule, struct regressions *ret);
