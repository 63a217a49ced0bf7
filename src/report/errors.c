/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds errors by errno, and writes their table: they add up to all errors, with and without errno. */
#include "report/rows.h"
#include "syscalls/names.h"

static unsigned int keys_of(const struct table_options *options)
{
	return (options->keys ?: (unsigned int)GROUP_COMM) | GROUP_SYSCALL;
}

void failures_done(struct failures *failures)
{
	free(failures->items);
	table_part_done(&failures->part);
}

/* Most errors first, then in the order of the groups. */
static int compare_failures(const void *x, const void *y)
{
	const struct failure *a = x, *b = y;

	return compare_u64(b->errors.count, a->errors.count) ?:
	       (a->group > b->group) - (a->group < b->group) ?: a->errors.err - b->errors.err;
}

/* Errors are in the order of the groups, which the user chose. */
static int compare_groups(const void *x, const void *y)
{
	const struct failure *a = x, *b = y;

	return (a->group > b->group) - (a->group < b->group) ?: compare_failures(x, y);
}

static int failures_find(struct failures *failures)
{
	const struct group_list *list = &failures->part.list;
	size_t most = 1;

	for (size_t i = 0; i < list->nr_groups; i++)
		most += list->groups[i].sum.nr_errnos + 1;
	failures->items = calloc(most, sizeof(*failures->items));
	if (!failures->items)
		return -ENOMEM;
	for (size_t i = 0; i < list->nr_groups; i++) {
		const struct group *group = &list->groups[i];
		const struct errno_count unknown = { ERRNO_UNKNOWN,
						     row_errors_unnamed(&group->sum) };

		for (size_t j = 0; j < group->sum.nr_errnos; j++)
			failures->items[failures->count++] =
				(struct failure){ group, group->sum.errnos[j] };
		if (unknown.count)
			failures->items[failures->count++] = (struct failure){ group, unknown };
		failures->calls += group->sum.calls;
		failures->errors += group->sum.errors;
	}
	return 0;
}

int failures_make(const struct snapshot *snapshot, const struct table_options *options,
		  struct failures *ret)
{
	struct failures failures __cleanup(failures_done) = { .count = 0 };
	/* Lines are left out here, not groups. */
	struct table_options groups = { .keys = keys_of(options), .sort = options->sort };
	size_t kept = 0;

	if (table_part_make(snapshot, &groups, NULL, &failures.part) || failures_find(&failures))
		return -ENOMEM;
	qsort(failures.items, failures.count, sizeof(*failures.items),
	      options->sort.count ? compare_groups : compare_failures);
	for (size_t i = 0; i < failures.count; i++) {
		const struct failure failure = failures.items[i];

		if (failure.errors.count < options->min_calls ||
		    (options->top && kept >= options->top))
			failures.rest += failure.errors.count;
		else
			failures.items[kept++] = failure;
	}
	failures.shown = kept;
	*ret = failures;
	failures = (struct failures){ .count = 0 };
	return 0;
}

void failures_columns(const struct table_options *options, struct column_list *ret)
{
	table_columns(options, keys_of(options), ret);
}

/* --- the table ---------------------------------------------------------------------------------- */

enum {
	ERRORS_ERRNO,
	ERRORS_MEANING,
	ERRORS_CALLS,
	ERRORS_SHARE,
	NR_ERRORS,
};

/* Fills the last two columns. */
static void set_counts(struct grid *grid, size_t first, uint64_t count, uint64_t calls)
{
	grid_set_format(grid, first + ERRORS_CALLS, "%" PRIu64, count);
	grid_set_format(grid, first + ERRORS_SHARE, "%.2f",
			calls ? (double)count * 100 / (double)calls : 0.0);
}

/* Where meanings have no room, errnos have the label. */
static void add_sum(struct grid *grid, size_t first, bool has_meanings, const char *label,
		    uint64_t count, uint64_t calls)
{
	grid_add_row(grid);
	grid_set(grid, first + (has_meanings ? ERRORS_MEANING : ERRORS_ERRNO), label);
	set_counts(grid, first, count, calls);
}

static void add_failure(struct grid *grid, const struct column_list *columns,
			const struct column_scope *scope, const struct failure *failure)
{
	const int err = failure->errors.err;
	const char *meaning = strerrordesc_np(err) ?: "-";
	char name[ERRNO_LABEL_MAX] = "-";

	if (err != ERRNO_UNKNOWN)
		errno_label(err, name, sizeof(name));
	table_add_row(grid, columns, scope, failure->group, NULL, SIZE_MAX);
	grid_set(grid, columns->count + ERRORS_ERRNO, name);
	grid_set(grid, columns->count + ERRORS_MEANING,
		 err == ERRNO_UNKNOWN ? "(no room to tell)" : meaning);
	set_counts(grid, columns->count, failure->errors.count, failure->group->sum.calls);
}

static int failures_fill(const struct failures *failures, const struct table_options *options,
			 bool has_meanings, struct grid **ret)
{
	static const char *const titles[NR_ERRORS] = { "errno", "meaning", "calls", "% of calls" };
	const struct group others = { .nr_merged = failures->count - failures->shown };
	const int ranks[COLUMNS_MAX] = { 0 };
	struct column_list columns;
	char label[TABLE_LABEL_MAX];
	struct grid *grid;

	failures_columns(options, &columns);
	if (grid_new(columns.count + NR_ERRORS, &grid))
		return -ENOMEM;
	grid_set_color(grid, options->color);
	table_set_titles(grid, &columns, ranks);
	for (size_t i = 0; i < NR_ERRORS; i++)
		grid_set_title(grid, columns.count + i, titles[i], i >= ERRORS_CALLS, 0);
	if (!has_meanings)
		grid_hide(grid, columns.count + ERRORS_MEANING);
	for (size_t i = 0; i < failures->shown; i++)
		add_failure(grid, &columns, &failures->part.scope, &failures->items[i]);
	others_label(&others, label, sizeof(label));
	if (others.nr_merged)
		add_sum(grid, columns.count, has_meanings, label, failures->rest, failures->calls);
	grid_add_rule(grid);
	add_sum(grid, columns.count, has_meanings, "all errors", failures->errors, failures->calls);
	*ret = grid;
	return 0;
}

static int print_failures(const struct failures *failures, const struct table_options *options,
			  FILE *out)
{
	struct grid *grid __cleanup(grid_freep) = NULL;

	if (failures_fill(failures, options, true, &grid))
		return -ENOMEM;
	if (options->width && grid_width(grid) > (size_t)options->width) {
		grid_free(steal_ptr(&grid));
		if (failures_fill(failures, options, false, &grid))
			return -ENOMEM;
	}
	return grid_print(grid, 0, out);
}

int report_errors(const struct snapshot *snapshot, const struct table_options *options, FILE *out)
{
	struct failures failures __cleanup(failures_done) = { .count = 0 };
	int err = failures_make(snapshot, options, &failures)
			  ?: print_failures(&failures, options, out);

	if (err)
		return err;
	fputc('\n', out);
	print_process_changes(snapshot, options->keys, out);
	return report_trust(snapshot, options->color, out);
}
