/* SPDX-License-Identifier: BSD-2-Clause */
/* Adds up processes of the same kind. Invariant: no process of the sum has a pid. */
#include "base/text.h"
#include "model/builder.h"
#include "model/kind_list.h"
#include "model/merge.h"

static int compare_users(const void *a, const void *b)
{
	const struct process *x = *(const struct process *const *)a;
	const struct process *y = *(const struct process *const *)b;

	return compare_u64(x->uid, y->uid);
}

/* The name that all of these have; NULL: they differ, or some have none. */
static const char *common_name(const struct snapshot *snapshot, const struct process **list,
			       size_t count)
{
	const char *common = snapshot_user(snapshot, list[0]), *name;

	for (size_t i = 1; i < count && common; i++) {
		name = snapshot_user(snapshot, list[i]);
		if (!name || strcmp(name, common) != 0)
			common = NULL;
	}
	return common;
}

/* Replaces the names, which are of each host, by those that all hosts have. */
static int name_users(const struct snapshot *from, struct snapshot *out)
{
	const struct process **list __cleanup(freep) =
		calloc(from->nr_processes + 1, sizeof(*list));
	int err = 0;

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < out->nr_users; i++)
		free(out->users[i].name);
	out->nr_users = 0;
	for (size_t i = 0; i < from->nr_processes; i++)
		list[i] = &from->processes[i];
	qsort(list, from->nr_processes, sizeof(*list), compare_users);
	for (size_t first = 0, end; first < from->nr_processes && !err; first = end) {
		const struct process of_sum = { .host = HOST_ALL, .uid = list[first]->uid };
		const char *name;

		for (end = first; end < from->nr_processes && list[end]->uid == of_sum.uid;)
			end++;
		name = common_name(from, &list[first], end - first);
		if (name)
			err = id_names_add(&out->users, &out->nr_users, process_user_id(&of_sum),
					   name);
	}
	return err;
}

static int add_process(struct builder *builder, const struct process *from,
		       const struct kind_list *kinds, enum merge_sum how)
{
	struct process process = *from;

	if (how == MERGE_SUM_HOSTS)
		process.host = HOST_ALL;
	process.pid = 0;
	process.boot_ns = kind_list_number(kinds, from);
	process.nr_folded += from->pid != 0;
	return builder_add_process(builder, &process, false);
}

static int add_row(struct builder *builder, const struct snapshot *from, const struct row *row,
		   const struct kind_list *kinds, enum merge_sum how)
{
	const struct process *process = snapshot_process_of(from, row);
	struct row added = *row; /* borrows what the row owns */

	if (how == MERGE_SUM_HOSTS)
		added.host = HOST_ALL;
	added.pid = added.tid = 0;
	added.tid_ns = added.max_tid = 0;
	added.boot_ns = process ? kind_list_number(kinds, process) : 0;
	return builder_add_row(builder, &added);
}

int snapshot_sum_kinds(const struct snapshot *from, enum merge_sum how, struct snapshot **ret)
{
	struct kind_list kinds __cleanup(kind_list_done) = { 0 };
	struct builder *builder __cleanup(builder_freep) = NULL;
	struct snapshot *out __cleanup(snapshot_freep) = NULL;
	int err = 0;

	for (size_t i = 0; i < from->nr_processes && !err; i++)
		err = kind_list_add(&kinds, &from->processes[i]);
	kind_list_sort(&kinds);
	if (err || builder_new(&builder) || snapshot_new_like(from, &out))
		return -ENOMEM;
	for (size_t i = 0; i < from->nr_processes && !err; i++)
		err = add_process(builder, &from->processes[i], &kinds, how);
	for (size_t i = 0; i < from->nr_rows && !err; i++)
		err = add_row(builder, from, from->rows[i], &kinds, how);
	if (!err && how == MERGE_SUM_HOSTS)
		err = name_users(from, out);
	if (err || builder_finish(builder, out))
		return -ENOMEM;
	*ret = steal_ptr(&out);
	return 0;
}
