/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps the owners of series between scrapes, what they did by system call, and how many series
 * that makes.
 */
#pragma once

#include "metrics/metrics.h"
#include "model/label.h"

/* Untrusted names are cut to this many bytes; longer ones that begin alike are one owner. */
#define METRICS_NAME_BYTES 256
#define METRICS_NAME_MAX   TEXT_ESCAPED_MAX(METRICS_NAME_BYTES)

#define METRICS_MAX_INFOS 4

/* The property of a process that a label shows. */
enum metrics_value {
	VALUE_UNIT,
	VALUE_CGROUP,
	VALUE_UNIT_CGROUP, /* the path as far as the unit */
	VALUE_COMM,
	VALUE_PID,
	VALUE_CONTAINER, /* in short */
	VALUE_CONTAINER_ID,
	VALUE_RUNTIME,
	VALUE_POD,
	VALUE_QOS,
};

struct metrics_name {
	const char *label;
	enum metrics_value what;
};

struct metrics_grouping {
	struct metrics_name owner;
	struct metrics_name infos[METRICS_MAX_INFOS]; /* without a label: none */
};

extern const struct metrics_grouping metrics_groupings[NR_METRICS_GROUP];

#define METRICS_OTHER        "other"        /* what has no series of its own */
#define METRICS_UNATTRIBUTED "unattributed" /* calls of which nobody knows the process */
#define METRICS_UNKNOWN_CALL "unknown"      /* numbers without a name */

/* Elements that begin with their label, by which they are sorted; owned. */
struct labels {
	void **all;
	size_t count;
};

/* Upper bounds of the buckets of histograms: up to 2^shift - 1 ns. */
#define NR_METRICS_BOUND 13

/* The microstates of threads; each is a series of an owner. */
enum metrics_state {
	STATE_CPU,
	STATE_RUNQ,
	STATE_SLEEP,
	NR_METRICS_STATE,
};

/* Series of a call that most calls do not need. */
enum metrics_extra {
	EXTRA_INTERRUPTED,
	EXTRA_IN_FLIGHT,
	EXTRA_ERRORS, /* without an errno of their own */
	NR_METRICS_EXTRA,
};

extern const struct metrics_bound {
	unsigned int shift;
	const char *seconds; /* the label le */
} metrics_bounds[NR_METRICS_BOUND];

/* The counters of one owner and one system call. */
struct metrics_call {
	char label[ROW_LABEL_MAX];
	struct row sum; /* owned; only errnos with a series are in it, its errors are all others */
	bool was_in_flight; /* ever: then the gauge stays */
	bool has_histogram;
	bool has_room[NR_METRICS_EXTRA]; /* otherwise the rest counts it */
	uint64_t buckets[NR_METRICS_BOUND + 1];
};

/* An owner has series: the processes of one unit, cgroup, name or pid. */
struct metrics_owner {
	char label[METRICS_NAME_MAX];
	char *infos[METRICS_MAX_INFOS]; /* owned; NULL: none */
	uint64_t boot_ns;               /* by pid: whose */
	uint64_t seen_ns;               /* CLOCK_MONOTONIC when it was last alive */
	int64_t start_ns;               /* CLOCK_REALTIME since which it is counted */
	size_t series;                  /* that it may have at most now */
	uint64_t oldest_ns;             /* age of its oldest call in flight that does not wait */
	bool had_oldest;                /* ever */
	uint64_t states_ns[NR_METRICS_STATE];
	struct labels calls;
	struct metrics_call rest; /* all further calls; there from the start */
};

struct metrics {
	struct metrics_options options; /* with the defaults filled in */
	struct labels owners;
	struct metrics_owner *other, *unattributed; /* of those; always there */
	size_t series;                              /* sum of those of the owners */
	uint64_t dropped;                           /* times that there was no room for a series */
	uint64_t retired_calls;                     /* of owners that are gone */
	uint64_t intervals;
	int64_t start_ns;    /* CLOCK_REALTIME since which there is anything */
	bool has_histograms; /* any call has one */
	bool has_runq;       /* the kernel knows it; otherwise it is in the time asleep */
	struct losses losses;
	struct syscall_set *latencies; /* owned; NULL: the options have one */
	struct syscall_set *idle;      /* calls that may wait for somebody else; owned */
};

/* The calls of an owner, the rest last; NULL from the first index on that is out of range. */
struct metrics_call *metrics_call_at(struct metrics_owner *owner, size_t index);
