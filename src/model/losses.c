/* SPDX-License-Identifier: BSD-2-Clause */
/* Says what each loss is called and means; the counting is done elsewhere. */
#include "model/losses.h"

#include <inttypes.h>
#include <stdio.h>

const struct loss_text loss_texts[NR_MODEL_LOSS] = {
	[LOSS_TASK_UNTRACKED] = { "untracked_tasks", "threads not counted at all",
				  "the kernel had no memory for them", true },
	[LOSS_TASK_TABLE_FULL] = { "task_table_full", "calls counted without process and time",
				   "thread table full: --max-tasks", false },
	[LOSS_SLOT_TABLE_FULL] = { "slot_table_full", "calls counted without process and time",
				   "row table full: --max-rows", false },
	[LOSS_ERRNO_TABLE_FULL] = { "errno_table_full", "errors counted without their errno",
				    "errno table full: --max-errnos", false },
	[LOSS_BUCKET_WRAPPED] = { "bucket_wrapped", "histogram buckets short of 2^32 calls",
				  "errno table full: --max-errnos", false },
	[LOSS_EXIT_MISSED] = { "exit_missed", "calls counted without time",
			       "their end was not seen", false },
	[LOSS_TIME_CLAMPED] = { "time_clamped", "times that did not add up",
				"a clock went back; they were cut to what is possible", false },
	[LOSS_FOREIGN_TABLE_FULL] = { "foreign_table_full",
				      "calls of other ABIs, unknown numbers, or beyond 63 kinds in "
				      "a thread counted without process and time",
				      "more than a fifth of --max-rows, or than 64 unknown numbers "
				      "in a thread",
				      false },
	[LOSS_THREAD_LATE] = { "late_threads", "threads whose first calls may be missing",
			       "the kernel was busy when they were made", true },
	[LOSS_ERRNO_OFF] = { "errnos_off", "errors counted without their errno",
			     "errnos were off, to cost less", false },
	[LOSS_STACK_TABLE_FULL] = { "stack_table_full", "calls without their stack",
				    "errno table full: --max-errnos", false },
	[LOSS_ARG0_TABLE_FULL] = { "arg0_table_full", "calls counted without their first argument",
				   "row table full: --max-rows; or more than 4096 in a "
				   "thread",
				   false },
	[LOSS_SWITCH_UNSEEN] = { "switch_unseen", "context switches not seen",
				 "CPU time may stand as time asleep, or the other way round",
				 false },
	[LOSS_LOOKUP_BUSY] = { "lookup_busy", "calls, at most, missing or misread",
			       "the kernel was busy with what is kept of their threads", true },
	[LOSS_USER_TIME] = { "user_time_unknown",
			     "threads without user CPU time and calls in flight",
			     "thread table full: --max-tasks", false },
	[LOSS_HIST_TABLE_FULL] = { "hist_table_full", "calls counted without their time",
				   "row table full: --max-rows", false },
	[LOSS_ENTER_MISSED] = { "enter_missed", "calls, at most, missing or misread host-wide",
				"the kernel skipped the sys_enter program", true },
	[LOSS_LEAVE_MISSED] = { "leave_missed", "calls, at most, without time host-wide",
				"the kernel skipped the sys_exit program", true },
	[LOSS_SWITCH_MISSED] = { "switch_missed", "context switches not seen host-wide",
				 "time asleep may stand as CPU time", false },
	[LOSS_LIFECYCLE_MISSED] = { "lifecycle_missed", "forks, execs or exits not seen host-wide",
				    "children may be missing", true },
	[LOSS_CHANGE_MISSED] = { "change_missed",
				 "renames or moves between cgroups not seen host-wide",
				 "a process may stand under an earlier name or unit", false },
	[LOSS_NUMBER_FOLDED] = { "numbers_folded", "calls counted without their number",
				 "more unknown numbers, or rows of ended processes, than fit",
				 false },
	[LOSS_KIND_FOLDED] = { "kinds_folded",
			       "ended processes counted without name, user and unit",
			       "the memory for more names, users and units was spent", false },
	[LOSS_TORN_READ] = { "torn_reads", "rows read while they changed",
			     "the next reading heals them", false },
};

void losses_text(const struct losses *losses, char *buf, size_t size)
{
	size_t used = 0;

	snprintf(buf, size, "exact: no call is missing");
	for (int i = 0; i < NR_MODEL_LOSS && used < size; i++) {
		if (losses->count[i])
			used += (size_t)snprintf(buf + used, size - used, "%s%" PRIu64 " %s (%s)",
						 used ? "; " : "not exact: ", losses->count[i],
						 loss_texts[i].what, loss_texts[i].why);
	}
}

bool losses_none(const struct losses *losses)
{
	for (int i = 0; i < NR_MODEL_LOSS; i++) {
		if (losses->count[i])
			return false;
	}
	return true;
}

void losses_merge(struct losses *into, const struct losses *from)
{
	for (int i = 0; i < NR_MODEL_LOSS; i++)
		into->count[i] += from->count[i];
}

void losses_subtract(struct losses *from, const struct losses *earlier)
{
	uint64_t torn = from->count[LOSS_TORN_READ] + earlier->count[LOSS_TORN_READ];

	for (int i = 0; i < NR_MODEL_LOSS; i++)
		from->count[i] -= earlier->count[i];
	from->count[LOSS_TORN_READ] = torn;
}
