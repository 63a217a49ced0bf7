/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers questions to a snapshot, which it never changes. */
#include "model/query.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "model/builder.h"

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

void row_list_done(struct row_list *list)
{
	for (size_t i = 0; i < list->nr_rows; i++)
		row_unref(list->rows[i]);
	free(list->rows);
	list->rows = NULL;
	list->nr_rows = 0;
}

int snapshot_sum_by_syscall(const struct snapshot *snapshot, const struct row_test *test,
			    struct row_list *ret)
{
	struct builder *builder __cleanup(builder_freep) = NULL;
	struct snapshot *sums __cleanup(snapshot_freep) = NULL;

	if (builder_new(&builder) || snapshot_new_like(snapshot, &sums))
		return -ENOMEM;
	for (size_t i = 0; i < snapshot->nr_rows; i++) {
		/* Borrows the errnos: the builder copies them. */
		struct row row = *snapshot->rows[i];

		if (test && !test->has(&row, test->closure))
			continue;
		row_forget_owner(&row);
		if (builder_add_row(builder, &row))
			return -ENOMEM;
	}
	if (builder_finish(builder, sums))
		return -ENOMEM;
	ret->rows = steal_ptr(&sums->rows);
	ret->nr_rows = sums->nr_rows;
	sums->nr_rows = 0;
	return 0;
}
