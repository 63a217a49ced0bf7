/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tests of timelines share: one with gaps of several reasons. */
#ifndef TESTS_TIMELINES_H
#define TESTS_TIMELINES_H

#include "tables.h"

#include "report/report.h"

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
	assert_non_null(timeline->steps);
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
	assert_non_null(timeline->gaps);
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

#endif
