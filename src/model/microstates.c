/* SPDX-License-Identifier: BSD-2-Clause */
/* Splits the time of threads into microstates. */
#include "model/microstates.h"

#include <string.h>

#include "base/text.h"
#include "syscalls/names.h"

void microstates_add(struct microstates *into, const struct microstates *from)
{
	into->user_ns += from->user_ns;
	into->system_ns += from->system_ns;
	into->runq_ns += from->runq_ns;
	into->lock_ns += from->lock_ns;
	into->sleep_ns += from->sleep_ns;
}

uint64_t microstates_total_ns(const struct microstates *states)
{
	return states->user_ns + states->system_ns + states->runq_ns + states->lock_ns +
	       states->sleep_ns;
}

/* The part of CPU time that was the program's. */
static uint64_t usage_user_ns(const struct usage *usage, uint64_t outside_ns)
{
	uint64_t ticks_ns = usage->utime_ns + usage->stime_ns;

	if (!ticks_ns)
		return min_u64(outside_ns, usage->cpu_ns);
	return (uint64_t)((double)usage->cpu_ns * ((double)usage->utime_ns / (double)ticks_ns));
}

void process_microstates(const struct process *process, uint64_t lock_ns, struct microstates *ret)
{
	const struct usage *usage = &process->usage;
	uint64_t left_ns = usage->threads_ns - min_u64(usage->cpu_ns, usage->threads_ns);
	uint64_t user_ns = min_u64(usage_user_ns(usage, process->user_ns), usage->cpu_ns);

	*ret = (struct microstates){ .user_ns = user_ns, .system_ns = usage->cpu_ns - user_ns };
	ret->runq_ns = min_u64(usage->runq_ns, left_ns);
	left_ns -= ret->runq_ns;
	ret->lock_ns = min_u64(lock_ns, left_ns);
	ret->sleep_ns = left_ns - ret->lock_ns;
}

/*
 * Time in calls that have ended, plus growth of that in calls that have not. Below 0 it is that of
 * a call whose end told no time.
 */
static uint64_t total_ns(uint64_t ended_ns, int64_t open_ns)
{
	/* It may wrap in a foreign snapshot. */
	int64_t sum = (int64_t)(ended_ns + (uint64_t)open_ns);

	return sum > 0 ? (uint64_t)sum : 0;
}

static bool row_is_of_lock(const struct row *row)
{
	const char *name =
		row->nr == ROW_NR_OTHER ? NULL : syscall_find_name(row->abi, (int)row->nr);

	return name && !strncmp(name, "futex", strlen("futex"));
}

void row_microstates(const struct snapshot *snapshot, const struct row *row,
		     struct microstates *ret)
{
	uint64_t wall_ns = total_ns(row->wall_ns, row->open_wall_ns);
	uint64_t off_ns = min_u64(total_ns(row->off_ns, row->open_off_ns), wall_ns);
	uint64_t runq_ns = min_u64(row->runq_ns, off_ns);
	/* Early calls were asleep when counting began, and none of them has returned since. */
	uint64_t early_ns = min_u64(snapshot->elapsed_ns, snapshot_oldest_ns(snapshot, row));
	uint64_t sleep_ns = off_ns - runq_ns + row->in_flight_early * early_ns;

	*ret = (struct microstates){ .system_ns = wall_ns - off_ns, .runq_ns = runq_ns };
	*(row_is_of_lock(row) ? &ret->lock_ns : &ret->sleep_ns) = sleep_ns;
}

uint64_t row_lock_ns(const struct snapshot *snapshot, const struct row *row)
{
	struct microstates states;

	row_microstates(snapshot, row, &states);
	return states.lock_ns;
}

bool snapshot_microstates(const struct snapshot *snapshot, struct microstates *ret)
{
	bool complete = !snapshot->selected && !snapshot->slower_than_ns;
	static const struct process nobody;
	struct microstates states;
	size_t row, end = snapshot_rows_of(snapshot, 0, &nobody);

	*ret = (struct microstates){ 0 };
	for (size_t i = 0; i < snapshot->nr_processes; i++) {
		const struct process *process = &snapshot->processes[i];
		uint64_t lock_ns = 0;

		row = end;
		end += snapshot_rows_of(snapshot, row, process);
		for (; row < end && complete; row++)
			lock_ns += row_lock_ns(snapshot, snapshot->rows[row]);
		process_microstates(process, lock_ns, &states);
		microstates_add(ret, &states);
	}
	return complete;
}
