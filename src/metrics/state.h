/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is kept between scrapes: owners of series, what they did by system call, and how many series that
 * makes. Room is made before anything is counted, so counting cannot fail halfway.
 */
#ifndef BPFTRUSS_METRICS_STATE_H
#define BPFTRUSS_METRICS_STATE_H

#include "metrics/metrics.h"
#include "report/label.h"

/* Untrusted names are cut to this many bytes; longer ones that begin alike are one owner. */
#define METRICS_NAME_BYTES 256
#define METRICS_NAME_MAX   TEXT_ESCAPED_MAX(METRICS_NAME_BYTES)

#define METRICS_MAX_INFOS 2

/* The name of an owner, and the labels of its info. */
enum metrics_name {
	METRICS_NAME_NONE,
	METRICS_NAME_UNIT,
	METRICS_NAME_UNIT_CGROUP, /* the path as far as the unit */
	METRICS_NAME_CGROUP,
	METRICS_NAME_COMM,
	METRICS_NAME_PID,
	NR_METRICS_NAME,
};

struct metrics_grouping {
	const char *label;
	enum metrics_name name;
	struct {
		const char *label;
		enum metrics_name name;
	} infos[METRICS_MAX_INFOS];
};

extern const struct metrics_grouping metrics_groupings[NR_METRICS_GROUP];

/* A name of a process as a label value; false when it has none. */
bool metrics_process_name(const struct snapshot *snapshot, const struct process *process,
			  enum metrics_name name, char out[METRICS_NAME_MAX]);

/* Labels that no owner of this name may take; calls of one that is called so go to `other`. */
bool metrics_name_is_reserved(const char *label);

#define METRICS_OTHER        "other"        /* what has no series of its own */
#define METRICS_UNATTRIBUTED "unattributed" /* calls of which nobody knows the process */
#define METRICS_UNKNOWN_CALL "unknown"      /* numbers without a name */

/* Elements that begin with their label, by which they are sorted; owned. */
struct labels {
	void **all;
	size_t count;
};

/* NULL when absent. */
void *labels_find(const struct labels *labels, const char *label);

/* The counters of one owner and one system call. */
struct metrics_call {
	char label[ROW_LABEL_MAX];
	uint64_t calls;
	uint64_t interrupted;
	uint64_t wall_ns;
	uint64_t buckets[NR_EXPOSITION_BOUND + 1];
	struct errno_count *errnos; /* owned, by errno; only those that have a series */
	size_t nr_errnos;
	uint64_t other_errors; /* all further ones, and those without an errno */
	uint64_t in_flight;
	bool was_in_flight; /* ever: then the gauge stays */
};

/* An owner has series: the processes of one unit, cgroup, name or pid. */
struct metrics_owner {
	char label[METRICS_NAME_MAX];
	char *infos[METRICS_MAX_INFOS]; /* owned; NULL: none */
	uint64_t boot_ns;               /* by pid: whose */
	uint64_t seen_ns;               /* CLOCK_MONOTONIC when it was last alive */
	size_t series;                  /* that it may have at most now */
	uint64_t oldest_ns;             /* age of its oldest call in flight that does not wait */
	bool had_oldest;                /* ever */
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
	struct losses losses;
};

/* 0; -ENOSPC: no place or no room for its series; -ENOMEM. The label must be a new one. */
int metrics_add_owner(struct metrics *metrics, const char *label, struct metrics_owner **ret);

/* Takes its series away. */
void metrics_retire_owner(struct metrics *metrics, struct metrics_owner *owner);

/*
 * The counters of a row's call, made when new, with room for its errnos as far as there is any; the
 * rest of the owner when there is none for the call. Returns 0 or -ENOMEM.
 */
int metrics_take_row(struct metrics *metrics, struct metrics_owner *owner, const struct row *row,
		     struct metrics_call **ret);

/* Counts a row, in the room there is. */
void metrics_call_add(struct metrics_call *call, const struct row *row);

#endif
