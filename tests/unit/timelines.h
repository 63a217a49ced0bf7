/* SPDX-License-Identifier: BSD-2-Clause */
/* Serves the tests of timelines: a server across midnight, with gaps; and a day of a database. */
#pragma once

#include "tables.h"

/* 2026-11-19 23:50:00 UTC */
#define TIMELINE_FROM 1795132200LL

static inline struct snapshot *step_take(uint64_t scale, uint64_t seconds, int64_t start_seconds)
{
	struct builder *builder = builder_make();
	struct snapshot *snapshot;

	web_process(builder, 100, "nginx", 33, 7, 0);
	web_rows(builder, 100, scale);
	snapshot = snapshot_take(builder);
	for (size_t i = 0; i < snapshot->nr_rows; i++)
		snapshot->rows[i]->in_flight = 0;
	snapshot->start_ns = start_seconds * (int64_t)SEC;
	snapshot->end_ns = snapshot->start_ns + (int64_t)(seconds * SEC);
	snapshot->elapsed_ns = seconds * SEC;
	return snapshot;
}

static inline void step_add(struct timeline *timeline, int64_t start, int64_t end, uint64_t seconds,
			    uint64_t scale)
{
	struct timeline_step *step;

	timeline->steps =
		reallocarray(timeline->steps, timeline->nr_steps + 1, sizeof(*timeline->steps));
	step = &timeline->steps[timeline->nr_steps++];
	*step = (struct timeline_step){
		.start_ns = (TIMELINE_FROM + start) * (int64_t)SEC,
		.end_ns = (TIMELINE_FROM + end) * (int64_t)SEC,
		.covered_ns = seconds * SEC,
		.sum = scale ? step_take(scale, seconds, TIMELINE_FROM + start) : NULL,
	};
}

static inline void gap_add(struct timeline *timeline, int64_t start, int64_t end,
			   enum gap_reason reason)
{
	timeline->gaps =
		reallocarray(timeline->gaps, timeline->nr_gaps + 1, sizeof(*timeline->gaps));
	timeline->gaps[timeline->nr_gaps++] = (struct timeline_gap){
		.start_ns = (TIMELINE_FROM + start) * (int64_t)SEC,
		.end_ns = (TIMELINE_FROM + end) * (int64_t)SEC,
		.reason = reason,
	};
}

/* Across midnight: a gap of two steps and of parts of the next ones, one with no reason given. */
static inline struct timeline timeline_make(void)
{
	struct timeline timeline = { 0 };

	gap_add(&timeline, -300, 0, GAP_RETIRED);
	step_add(&timeline, 0, 300, 300, 10);
	step_add(&timeline, 300, 600, 300, 12);
	step_add(&timeline, 600, 720, 120, 100);
	step_add(&timeline, 900, 1200, 0, 0);
	step_add(&timeline, 1200, 1500, 0, 0);
	step_add(&timeline, 1600, 1800, 200, 1);
	step_add(&timeline, 1800, 2100, 0, 0);
	step_add(&timeline, 2100, 2400, 300, 7);
	gap_add(&timeline, 720, 1600, GAP_NOT_RUNNING);
	gap_add(&timeline, 2400, 90000, GAP_NOT_WRITTEN);
	timeline.steps[2].sum->losses.count[LOSS_TASK_TABLE_FULL] = 3;
	timeline.steps[7].sum->losses.count[LOSS_TASK_TABLE_FULL] = 4;
	return timeline;
}

/* A day of a database, in steps of five minutes: how many calls, and how long they take, comes and goes. */
static inline struct snapshot *day_step_take(uint64_t at, uint64_t *seed)
{
	static const char *const calls[] = { "fsync",  "pread64", "pwrite64",
					     "openat", "read",    "write" };
	/* Busy at noon, and a disk that is slow for two hours. */
	const uint64_t busy = at < 144 ? at : 288 - at, slow = at > 190 && at < 215 ? 6 : 1;
	struct builder *builder = builder_make();
	struct snapshot *snapshot;
	struct row row;

	web_process(builder, 1, "postgres", 33, 7, 0);
	web_process(builder, 2, "nginx", 33, 8, 0);
	for (uint64_t i = 0; i < ARRAY_SIZE(calls) && (at < 20 || at > 30); i++) {
		row_init_named(&row, 1 + (i & 1), ABI_OF_TESTS, calls[i]);
		for (uint64_t j = 0; j < 20; j++) {
			const uint64_t fast =
				40 * USEC + random_below(seed, 30 * USEC) + random_ns(seed, 16);
			const uint64_t disk = (4 + i) * MSEC + random_ns(seed, 24);

			row_add_calls(&row, 1 + busy * random_below(seed, 9),
				      j % 3 ? fast : disk * slow, 0, 0);
		}
		builder_take_row(builder, &row);
	}
	snapshot = snapshot_take(builder);
	names_add(&snapshot->cgroups, &snapshot->nr_cgroups, 7, "/system.slice/postgresql.service");
	names_add(&snapshot->cgroups, &snapshot->nr_cgroups, 8, "/system.slice/nginx.service");
	snapshot->start_ns = (TIMELINE_FROM + (int64_t)at * 300) * (int64_t)SEC;
	snapshot->end_ns = snapshot->start_ns + (int64_t)(300 * SEC);
	snapshot->elapsed_ns = 300 * SEC;
	return snapshot;
}

static inline struct timeline day_make(void)
{
	struct timeline timeline = { 0 };
	uint64_t seed = 7;

	for (uint64_t at = 0; at < 288; at++) {
		const int64_t start = (int64_t)at * 300;

		if (at >= 100 && at < 112)
			continue;
		step_add(&timeline, start, start + 300, 300, 0);
		timeline.steps[timeline.nr_steps - 1].sum = day_step_take(at, &seed);
	}
	gap_add(&timeline, 100 * 300, 112 * 300, GAP_NOT_RUNNING);
	gap_add(&timeline, 250 * 300 + 100, 250 * 300 + 104, GAP_NOT_RUNNING);
	return timeline;
}
