/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What GET /metrics gives. docs/METRICS.md names every metric; this keeps the numbers between
 * scrapes and writes them.
 *
 * It is fed with intervals, not with sums since the start: a process that moves to another unit or
 * takes another name would carry all its past from one counter to another. Each difference of two
 * readings counts where its processes are at its end, so no exported counter ever shrinks, and
 *
 *   sum(bpftruss_syscalls_total) + bpftruss_retired_syscalls_total
 *
 * is the number of calls in all intervals, exactly.
 */
#ifndef BPFTRUSS_METRICS_H
#define BPFTRUSS_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "model/snapshot.h"

enum metrics_format {
	METRICS_PROMETHEUS_TEXT, /* 0.0.4 */
	METRICS_OPENMETRICS,     /* 1.0.0 */
	NR_METRICS_FORMAT,
};

/* What shares a counter; its word is the name of the label. */
enum metrics_group {
	METRICS_BY_UNIT,
	METRICS_BY_CGROUP,
	METRICS_BY_COMM,
	METRICS_BY_PID,
	NR_METRICS_GROUP,
};

#define DEFAULT_METRICS_TOP        20
#define DEFAULT_METRICS_MAX_SERIES 10000

/* A limit below this is raised to it: room for what has no room of its own. */
#define METRICS_MIN_SERIES 64

/* How long the series of a target outlive it. */
#define METRICS_KEEP_GONE_NS (300 * 1000000000ULL)

/* All zero: the defaults, without histograms. */
struct metrics_options {
	enum metrics_group group;
	unsigned int top;        /* targets with series of their own; 0: the default */
	unsigned int max_series; /* of all that is not about the daemon itself; 0: the default */
	bool histograms;
};

#define METRICS_MAX_TABLES 8

/* About the daemon itself, as of the scrape. */
struct metrics_self {
	const char *version;
	bool attached; /* the programs are in the kernel and count */
	struct {
		const char *name; /* a constant */
		uint64_t entries, capacity;
	} tables[METRICS_MAX_TABLES];
	size_t nr_tables;
	uint64_t budget_step; /* 0: everything is counted */
	bool has_program_run; /* the kernel measures its programs, or we estimate */
	uint64_t program_run_ns;
	bool has_store;
	uint64_t store_bytes;
	uint64_t store_intervals; /* appended since the start of the daemon */
	uint64_t store_failed;    /* of the others, which are gaps */
	uint64_t scrapes;         /* before this one */
	uint64_t scrape_ns;       /* what the last one took */
	uint64_t start_ns;        /* CLOCK_REALTIME at the start of the daemon */
	uint64_t cpu_ns;          /* user and system */
	uint64_t resident_bytes;
};

struct metrics;

/* The group of a word: unit, cgroup, comm, pid. Returns 0 or -EINVAL. */
int metrics_group_find(const char *word, enum metrics_group *ret);

/* The options are copied. Returns 0 or -ENOMEM. */
int metrics_new(const struct metrics_options *options, struct metrics **ret);

/* NULL is fine. */
void metrics_free(struct metrics *metrics);

static inline void metrics_freep(struct metrics **metrics)
{
	metrics_free(*metrics);
}

/*
 * Counts one interval: the first reading itself, then what snapshot_diff() makes of each and the
 * one before. Calls in flight are those at its end. Returns 0, or -ENOMEM: nothing of it was
 * counted then, and the next interval has to begin where this one did.
 */
int metrics_add(struct metrics *metrics, const struct snapshot *interval);

/* Writes all series as of the last interval. Returns 0, or -EIO when the stream failed. */
int report_metrics(const struct metrics *metrics, const struct metrics_self *self,
		   enum metrics_format format, FILE *out);

/* OpenMetrics if an Accept header has version 1.0.0 of it, or any; Prometheus text otherwise. */
enum metrics_format metrics_negotiate(const char *accept);

/* The Content-Type of a format: a constant. */
const char *metrics_content_type(enum metrics_format format);

#endif
