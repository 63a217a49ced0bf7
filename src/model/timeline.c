/* SPDX-License-Identifier: BSD-2-Clause */
/* Ends timelines, and names their gaps. */
#include "model/timeline.h"

#include <stdlib.h>

const char *const gap_reason_names[NR_GAP_REASON] = {
	[GAP_NOT_RUNNING] = "not_running",
	[GAP_NOT_WRITTEN] = "not_written",
	[GAP_DAMAGED] = "damaged",
	[GAP_RETIRED] = "retired",
};

void timeline_done(struct timeline *timeline)
{
	for (size_t i = 0; i < timeline->nr_steps; i++)
		snapshot_free(timeline->steps[i].sum);
	free(timeline->steps);
	free(timeline->gaps);
	*timeline = (struct timeline){ 0 };
}
