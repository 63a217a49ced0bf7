/* SPDX-License-Identifier: BSD-2-Clause */
/* Goes the way from options to groups, and from groups to cells. */
#include "report/table.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "syscalls/syscall_set.h"

bool row_is_waiting(const struct row *row, const void *options)
{
	const struct table_options *table = options;

	return row->nr != ROW_NR_OTHER && syscall_waits(table->waiting, row->abi, (int)row->nr);
}

bool row_is_working(const struct row *row, const void *options)
{
	return !row_is_waiting(row, options);
}

const char *const table_half_names[NR_TABLE_HALF] = {
	[TABLE_WORKING] = "working",
	[TABLE_WAITING] = "waiting",
};

struct row_test half_test(enum table_half half, const struct table_options *options)
{
	return (struct row_test){ half == TABLE_WAITING ? row_is_waiting : row_is_working,
				  options };
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
	err = snapshot_group(snapshot, part.scope.keys, test, &part.list);
	err = err ?: group_list_sum(&part.list, 0, &part.sum);
	part.scope.total_ns = part.sum.sum.wall_ns;
	err = err ?: part_select(&part, options);
	if (err)
		table_part_done(&part);
	else
		*ret = part;
	return err;
}

int table_halves_make(const struct snapshot *snapshot, const struct table_options *options,
		      struct table_part ret[NR_TABLE_HALF])
{
	int err = 0;

	for (enum table_half half = 0; half < NR_TABLE_HALF && !err; half++) {
		const struct row_test test = half_test(half, options);

		err = table_part_make(snapshot, options, &test, &ret[half]);
	}
	return err;
}

void others_label(const struct group *group, char *buf, size_t size)
{
	snprintf(buf, size, "(%zu other%s)", group->nr_merged, plural(group->nr_merged));
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
	size_t key = columns->count;

	for (size_t i = columns->count; i-- > 0;) {
		if (column_is_key(columns->columns[i]))
			key = i;
	}
	for (size_t i = 0; i < columns->count; i++) {
		if (columns->columns[i]->kind == COLUMN_TEXT)
			return i;
	}
	return key;
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

void table_set_titles(struct grid *grid, const struct column_list *columns)
{
	for (size_t i = 0; i < columns->count; i++) {
		if (column_is_key(columns->columns[i]))
			grid_set_title(grid, i, columns->columns[i]->name,
				       columns->columns[i]->kind != COLUMN_TEXT, 0);
	}
}

void table_set_keys(struct grid *grid, const struct column_list *columns,
		    const struct column_scope *scope, const struct group *group, const char *label,
		    size_t text_max)
{
	size_t label_column = table_label_column(columns);
	char cell[COLUMN_TEXT_MAX];

	for (size_t i = 0; i < columns->count; i++) {
		if (!column_is_key(columns->columns[i]))
			continue;
		if (label)
			snprintf(cell, sizeof(cell), "%s", i == label_column ? label : "");
		else if (column_text(columns->columns[i], scope, group, cell))
			text_cut(cell, text_max);
		else
			strcpy(cell, "-");
		grid_set(grid, i, cell);
	}
}

size_t table_text_max(int width)
{
	return width ? 28 + (size_t)width / 20 : SIZE_MAX;
}

void column_set_scale(struct grid *grid, size_t index, const struct column *column, const char *per)
{
	if (column->kind == COLUMN_SUM)
		grid_set_scale(grid, index, GRID_SUM, 1, per);
	else if (column->kind == COLUMN_LATENCY)
		grid_set_scale(grid, index, GRID_LATENCY, 2, "");
}

void column_set_number(struct grid *grid, size_t index, const struct column *column, uint64_t value)
{
	if (column->kind == COLUMN_SUM || column->kind == COLUMN_LATENCY)
		grid_set_number(grid, index, (double)value);
	else if (column->kind == COLUMN_PERCENT)
		grid_set_format(grid, index, "%" PRIu64 ".%02" PRIu64, value / 100, value % 100);
	else
		grid_set_format(grid, index, "%" PRIu64, value);
}
