/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Answers GET /metrics. docs/METRICS.md names every metric; this keeps the numbers between scrapes
 * and writes them.
 *
 * It is fed with intervals, not with sums since the start: a process that moves to another unit or
 * takes another name would carry all its past from one counter to another. Each difference of two
 * readings counts where its processes are at its end, so no exported counter ever shrinks, and
 *
 *   sum(bpftruss_syscalls_total) + bpftruss_retired_syscalls_total
 *
 * is the number of calls in all intervals, exactly.
 */
#pragma once

#include "model/snapshot.h"
#include "json/status.h"
#include "syscalls/syscall_set.h"

/* The syntaxes, which differ in the names of families, in metadata and in the end. */
enum metrics_format {
	METRICS_PROMETHEUS_TEXT, /* 0.0.4 */
	METRICS_OPENMETRICS,     /* 1.0.0 */
	NR_METRICS_FORMAT,
};

/* The format that an Accept header names first; Prometheus text if neither. */
enum metrics_format metrics_negotiate(const char *accept);

/* The Content-Type of a format: a constant. */
const char *metrics_content_type(enum metrics_format format);

/* Chooses which processes share a counter; its word is the name of the label. */
enum metrics_group {
	METRICS_BY_UNIT,
	METRICS_BY_CGROUP,
	METRICS_BY_COMM,
	METRICS_BY_PID,
	METRICS_BY_CONTAINER,
	METRICS_BY_POD,
	NR_METRICS_GROUP,
};

/* With at most METRICS_OWN_SERIES about the daemon itself, a host has 500 series. */
#define DEFAULT_METRICS_TOP        10
#define DEFAULT_METRICS_MAX_SERIES 400
#define METRICS_OWN_SERIES         100

/* The calls whose latencies tell of a disk that is slow. */
#define DEFAULT_METRICS_HISTOGRAMS "fsync,fdatasync"

/* A limit below this is raised to it: room for what has no room of its own. */
#define METRICS_MIN_SERIES 64

/* How long the series of an owner outlive it at least. */
#define METRICS_KEEP_GONE_NS (300 * 1000000000ULL)

/* All zero: the defaults. */
struct metrics_options {
	enum metrics_group group;
	unsigned int top;        /* owners with series of their own; 0: the default */
	unsigned int max_series; /* of all that is not about the daemon itself; 0: the default */
	struct syscall_set *histograms; /* calls with latencies; borrowed; NULL: the default */
	uint64_t keep_gone_ns;          /* how long they outlive their owner, if longer than that */
};

struct metrics;

/* The options are copied. Returns 0 or -ENOMEM. */
int metrics_new(const struct metrics_options *options, struct metrics **ret);
void metrics_free(struct metrics *metrics);
CLEANUP_OF(metrics, metrics_free)

/*
 * Counts one interval: the first reading itself, then what snapshot_diff() makes of each and the
 * one before. Calls in flight are those at its end. Returns 0, or -ENOMEM: nothing of it was
 * counted then, and the next interval has to begin where this one did.
 */
int metrics_add(struct metrics *metrics, const struct snapshot *interval);

/*
 * Writes all series as of the last interval, and what the daemon says of itself. Returns 0, or -EIO
 * when the stream failed.
 */
int metrics_write(const struct metrics *metrics, const struct daemon_status *self,
		  enum metrics_format format, FILE *out);
