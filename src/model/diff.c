/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns subtraction of snapshots: counters only grow, so every difference is exact. */
#include "model/diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static int diff_rows(const struct snapshot *earlier, const struct snapshot *later,
		     struct snapshot *out)
{
	out->rows = calloc(later->nr_rows + 1, sizeof(*out->rows));
	if (!out->rows)
		return -ENOMEM;
	for (size_t i = 0; i < later->nr_rows; i++) {
		const struct row *old = snapshot_find_row(earlier, &later->rows[i]);
		struct row *row = &out->rows[out->nr_rows];

		if (row_copy(row, &later->rows[i]))
			return -ENOMEM;
		if (old)
			row_subtract(row, old);
		if (row->calls || row->in_flight)
			out->nr_rows++;
		else
			row_done(row);
	}
	return 0;
}

static int diff_processes(const struct snapshot *earlier, const struct snapshot *later,
			  struct snapshot *out)
{
	out->processes = calloc(later->nr_processes + 1, sizeof(*out->processes));
	if (!out->processes)
		return -ENOMEM;
	for (size_t i = 0; i < later->nr_processes; i++) {
		const struct process *process = &later->processes[i];
		const struct process *old =
			snapshot_find_process(earlier, process->pid, process->boot_ns);
		struct process *copy = &out->processes[out->nr_processes++];

		*copy = *process;
		if (old)
			copy->user_ns -= old->user_ns;
	}
	return 0;
}

int snapshot_diff(const struct snapshot *earlier, const struct snapshot *later,
		  struct snapshot **ret)
{
	struct snapshot *out __cleanup(snapshot_freep) = NULL;

	if (strcmp(earlier->boot_id ?: "", later->boot_id ?: ""))
		return -EINVAL;
	if (snapshot_new_like(later, &out) || diff_rows(earlier, later, out) ||
	    diff_processes(earlier, later, out))
		return -ENOMEM;
	out->start_ns = earlier->end_ns;
	out->elapsed_ns = later->end_mono_ns - earlier->end_mono_ns;
	losses_subtract(&out->losses, &earlier->losses);
	*ret = steal_ptr(&out);
	return 0;
}
