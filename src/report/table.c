/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the way from options to groups. */
#include "report/table.h"

#include <errno.h>
#include <string.h>

#include "syscalls/waiting.h"

bool row_is_waiting(const struct row *row, const void *options)
{
	const struct table_options *table = options;

	return row->nr != ROW_NR_OTHER && syscall_waits(table->waiting, row->abi, (int)row->nr);
}

bool row_is_working(const struct row *row, const void *options)
{
	return !row_is_waiting(row, options);
}

void table_part_done(struct table_part *part)
{
	group_list_done(&part->list);
	row_done(&part->sum.sum);
}

struct sorting {
	const struct column *column;
	const struct column_scope *scope;
};

static int compare_groups(const struct group *a, const struct group *b, const void *closure)
{
	const struct sorting *sorting = closure;

	return column_compare(sorting->column, sorting->scope, a, b);
}

static int part_select(struct table_part *part, const struct table_options *options)
{
	struct sorting sorting = { options->sort, &part->scope };
	struct group_filter filter = {
		.min_calls = options->min_calls,
		.errors_only = options->errors_only,
		.top = options->top,
		.compare = compare_groups,
		.closure = &sorting,
	};

	if (!sorting.column && column_find("--sort", "total", &sorting.column, NULL))
		return -EINVAL;
	return group_list_select(&part->list, &filter);
}

int table_part_make(const struct snapshot *snapshot, const struct table_options *options,
		    const struct row_test *test, struct table_part *ret)
{
	struct table_part part = { .scope.snapshot = snapshot };
	int err;

	part.scope.keys = options->keys ?: (unsigned int)GROUP_SYSCALL;
	err = snapshot_group_some(snapshot, part.scope.keys, test, &part.list);
	err = err ?: group_list_sum(&part.list, &part.sum);
	part.scope.total_ns = part.sum.sum.wall_ns;
	err = err ?: part_select(&part, options);
	if (err)
		table_part_done(&part);
	else
		*ret = part;
	return err;
}

void others_label(const struct group *group, char *buf, size_t size)
{
	snprintf(buf, size, "(%zu other%s)", group->nr_merged, group->nr_merged == 1 ? "" : "s");
}

void table_columns(const struct table_options *options, unsigned int keys, struct column_list *ret)
{
	const struct column_list *chosen = options->columns;
	struct column_list list;

	columns_of_keys(keys, &list);
	ret->count = 0;
	for (size_t i = 0; i < list.count; i++) {
		if (!chosen || !column_list_has(chosen, list.columns[i]))
			column_list_add(ret, list.columns[i]);
	}
	for (size_t i = 0; chosen && i < chosen->count; i++)
		column_list_add(ret, chosen->columns[i]);
}

size_t table_label_column(const struct column_list *columns)
{
	size_t found = columns->count;

	for (size_t i = columns->count; i-- > 0;) {
		if (columns->columns[i]->kind == COLUMN_TEXT)
			found = i;
	}
	for (size_t i = columns->count; found == columns->count && i-- > 0;) {
		if (column_is_key(columns->columns[i]))
			found = i;
	}
	return found;
}

void table_group_title(const struct table_part *part, const struct group *group,
		       char buf[COLUMN_TEXT_MAX])
{
	char cell[COLUMN_TEXT_MAX];
	struct column_list keys;
	size_t used = 0;

	buf[0] = '\0';
	if (group->nr_merged) {
		others_label(group, buf, COLUMN_TEXT_MAX);
		return;
	}
	columns_of_keys(part->scope.keys, &keys);
	for (size_t i = 0; i < keys.count && used < COLUMN_TEXT_MAX; i++) {
		if (!column_text(keys.columns[i], &part->scope, group, cell))
			snprintf(cell, sizeof(cell), "-");
		used += (size_t)snprintf(buf + used, COLUMN_TEXT_MAX - used, "%s%s", i ? " " : "",
					 cell);
	}
}
