/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tells how a daemon is doing: as JSON for whoever asks it, and that JSON as text for people. And
 * what `doctor` found out about a host.
 */
#pragma once

#include "base/diag.h"
#include "model/snapshot.h"

#define STATUS_MAX_TABLES 8

/* Tells how full a table of the kernel's is, and was at most. */
struct status_table {
	const char *name; /* a constant */
	uint64_t used, capacity, peak;
	uint64_t most; /* that one user has; 0: nobody is to leave room for others */
};

/* Texts are borrowed; times of day are CLOCK_REALTIME in ns. */
/* The state of the recorder of single calls. */
struct recorder_status {
	bool is_on;
	bool is_paused;    /* to stay in the budget */
	uint64_t bytes;    /* of its memory */
	uint64_t reach_ns; /* all that is recorded of so long is there */
	/* Calls since the start; recorded has those that were overwritten. */
	uint64_t recorded, overwritten, left_out, lost;
	uint64_t saved, save_failed, save_removed; /* files */
};

/* The state of what is pushed to a collector; times are CLOCK_REALTIME in ns. */
struct otlp_status {
	const char *endpoint; /* NULL: nothing is pushed */
	const char *trouble;  /* why the last try failed; "": it did not */
	uint64_t sent;        /* requests that were taken */
	uint64_t failed;      /* tries that are made again */
	uint64_t
		refused; /* requests that will not be made again, as the collector wants none of them */
	uint64_t rejected; /* points and records of requests that were taken in part */
	uint64_t dropped;  /* requests for which there was no room in the queue */
	uint64_t queued, queued_bytes, max_bytes;
	int64_t sent_ns; /* when the last one was taken; 0: none was */
};

struct daemon_status {
	const char *host, *kernel;
	int64_t start_ns, now_ns;
	uint64_t uptime_ns; /* monotonic */

	const char *targets; /* in words */
	uint64_t processes, threads, rows;
	const struct losses *losses; /* since the start */
	struct status_table tables[STATUS_MAX_TABLES];
	size_t nr_tables;
	uint64_t kernel_bytes;    /* of all tables; 0: not known */
	uint64_t max_table_bytes; /* what they may take; 0: not known */

	bool has_names; /* stacks are taken */
	struct name_counts names;

	/* The cost of the daemon and its programs. */
	bool has_call_ns;
	uint64_t call_ns;    /* of the programs, for each traced call; a mean of samples */
	uint64_t samples;    /* that it is a mean of */
	uint64_t own_cpu_ns; /* of the daemon itself, since its start */
	uint64_t resident_bytes;
	bool has_percent;
	double own_percent, used_percent; /* of one CPU, over the last span; used: programs too */
	double answers_percent;           /* of own: for clients, which is in no budget */
	double budget_percent;            /* 0: none */
	unsigned int
		budget_step; /* 0: all is counted; 1: no single calls; 2: no stacks; 3: no errnos */
	uint64_t programs_ns; /* of the programs; known with has_call_ns */

	bool has_history;
	const char *history_trouble; /* "": none */
	uint64_t history_bytes, history_intervals;
	uint64_t history_appended, history_failed; /* intervals since the start */
	int64_t history_first_ns;                  /* 0: nothing is in it */
	uint64_t interval_ns;

	int64_t recent_start_ns; /* --since knows processes back to here */
	uint64_t recent_bytes;

	struct recorder_status recorder;
	struct otlp_status otlp;

	uint64_t clients, requests, refused, malformed;
	uint64_t scrapes, scrape_ns; /* texts of /metrics so far, what the last one took */
};

/* Returns 0 or a negative errno, as all of these. */
int report_status_json(const struct daemon_status *status, FILE *out);

/* Prints that JSON as text. -EINVAL with d filled when it is something else. */
int report_status_text(const char *json, size_t size, FILE *out, struct diag *d);

/* Baselines as {"schema": 1, "baselines": […]}, and that as a table. */
int report_baselines_json(const struct baseline *list, size_t count, FILE *out);
int report_baselines_text(const char *json, size_t size, FILE *out, struct diag *d);

/* --- doctor ------------------------------------------------------------------------------------- */

/* A line a finding, its remedy below it. */
void report_findings(const struct finding *findings, size_t count, FILE *out);

/* The same as one JSON object. */
int report_findings_json(const struct finding *findings, size_t count, FILE *out);
