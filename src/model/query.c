/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers questions to a snapshot, which it never changes. */
#include "model/query.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"

int snapshot_new_part(const struct snapshot *snapshot, struct snapshot **ret)
{
	struct snapshot *out __cleanup(snapshot_freep) = NULL;

	if (snapshot_new_like(snapshot, &out))
		return -ENOMEM;
	out->rows = calloc(snapshot->nr_rows + 1, sizeof(*out->rows));
	out->processes = calloc(snapshot->nr_processes + 1, sizeof(*out->processes));
	if (!out->rows || !out->processes)
		return -ENOMEM;
	*ret = steal_ptr(&out);
	return 0;
}

int snapshot_select(const struct snapshot *snapshot, const struct syscall_set *set,
		    struct snapshot **ret)
{
	struct snapshot *out __cleanup(snapshot_freep) = NULL;

	if (snapshot_new_part(snapshot, &out))
		return -ENOMEM;
	out->selected |= set != NULL;
	for (size_t i = 0; i < snapshot->nr_rows; i++) {
		struct row *row = snapshot->rows[i];

		if (!set ||
		    (row->nr != ROW_NR_OTHER && syscall_set_has(set, row->abi, (int)row->nr)))
			out->rows[out->nr_rows++] = row_ref(row);
	}
	for (size_t i = 0; i < snapshot->nr_processes; i++)
		out->processes[out->nr_processes++] = snapshot->processes[i];
	*ret = steal_ptr(&out);
	return 0;
}
