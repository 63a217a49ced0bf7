/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the table of errors. Invariant: its calls add up to all errors, with and without errno. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "report/grid.h"
#include "report/report.h"
#include "report/table.h"
#include "syscalls/errnos.h"

/* What the kernel had no room to tell apart. */
#define ERRNO_UNKNOWN 0

/* One errno of one group. */
struct failure {
	const struct group *group;
	int err;
	uint64_t count;
};

struct failure_list {
	struct failure *failures; /* owned */
	size_t count;
};

static void group_failures(const struct group *group, struct failure_list *list)
{
	const struct row *row = &group->sum;
	uint64_t unnamed = row_errors_unnamed(row);

	for (size_t i = 0; i < row->nr_errnos; i++)
		list->failures[list->count++] =
			(struct failure){ group, row->errnos[i].err, row->errnos[i].count };
	if (unnamed)
		list->failures[list->count++] = (struct failure){ group, ERRNO_UNKNOWN, unnamed };
}

/* Most calls first, then in the order of the groups. */
static int compare_failures(const void *x, const void *y)
{
	const struct failure *a = x, *b = y;

	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	return (a->err > b->err) - (a->err < b->err);
}

static int failures_make(const struct group_list *groups, struct failure_list *ret)
{
	size_t most = 1;

	for (size_t i = 0; i < groups->nr_groups; i++)
		most += groups->groups[i].sum.nr_errnos + 1;
	ret->failures = calloc(most, sizeof(*ret->failures));
	if (!ret->failures)
		return -ENOMEM;
	for (size_t i = 0; i < groups->nr_groups; i++)
		group_failures(&groups->groups[i], ret);
	qsort(ret->failures, ret->count, sizeof(*ret->failures), compare_failures);
	return 0;
}

struct errors {
	struct column_scope scope;
	struct group_list groups;
	struct failure_list list;
	struct column_list keys;
	struct grid *grid; /* keys, then what follows */
};

enum {
	ERRORS_ERRNO,
	ERRORS_MEANING,
	ERRORS_CALLS,
	ERRORS_SHARE,
	NR_ERRORS,
};

static void errors_done(struct errors *errors)
{
	free(errors->list.failures);
	group_list_done(&errors->groups);
	grid_free(errors->grid);
}

static int errors_make_grid(struct errors *errors)
{
	static const struct {
		const char *title;
		bool right;
	} titles[NR_ERRORS] = {
		[ERRORS_ERRNO] = { "errno", false },
		[ERRORS_MEANING] = { "meaning", false },
		[ERRORS_CALLS] = { "calls", true },
		[ERRORS_SHARE] = { "% of calls", true },
	};
	size_t nr_keys = errors->keys.count;

	if (grid_new(nr_keys + NR_ERRORS, &errors->grid))
		return -ENOMEM;
	for (size_t i = 0; i < nr_keys; i++)
		grid_set_title(errors->grid, i, errors->keys.columns[i]->name,
			       errors->keys.columns[i]->kind == COLUMN_ID);
	for (size_t i = 0; i < NR_ERRORS; i++)
		grid_set_title(errors->grid, nr_keys + i, titles[i].title, titles[i].right);
	return 0;
}

/* Fills the last two columns. */
static void errors_set_counts(struct errors *errors, uint64_t count, uint64_t calls)
{
	size_t first = errors->keys.count;
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, count);
	grid_set(errors->grid, first + ERRORS_CALLS, text);
	snprintf(text, sizeof(text), "%.2f", calls ? (double)count * 100 / (double)calls : 0.0);
	grid_set(errors->grid, first + ERRORS_SHARE, text);
}

static void errors_add_failure(struct errors *errors, const struct failure *failure)
{
	char cell[COLUMN_TEXT_MAX];
	size_t first = errors->keys.count;
	const char *meaning = strerrordesc_np(failure->err);

	grid_add_row(errors->grid);
	for (size_t i = 0; i < first; i++) {
		if (!column_text(errors->keys.columns[i], &errors->scope, failure->group, cell))
			strcpy(cell, "-");
		grid_set(errors->grid, i, cell);
	}
	if (failure->err == ERRNO_UNKNOWN) {
		strcpy(cell, "-");
		meaning = "(no room to tell)";
	} else {
		errno_label(failure->err, cell, sizeof(cell));
	}
	grid_set(errors->grid, first + ERRORS_ERRNO, cell);
	grid_set(errors->grid, first + ERRORS_MEANING, meaning ?: "-");
	errors_set_counts(errors, failure->count, failure->group->sum.calls);
}

static void errors_add_sum(struct errors *errors, const char *label, uint64_t count)
{
	uint64_t calls = 0;

	for (size_t i = 0; i < errors->groups.nr_groups; i++)
		calls += errors->groups.groups[i].sum.calls;
	grid_add_row(errors->grid);
	grid_set(errors->grid, errors->keys.count + ERRORS_MEANING, label);
	errors_set_counts(errors, count, calls);
}

/* The failures that the options show; the rest, and all, as shares of all calls. */
static void errors_fill(struct errors *errors, const struct table_options *options)
{
	struct group others = { .nr_merged = 0 };
	uint64_t sum = 0, rest = 0;
	char label[TABLE_LABEL_MAX];

	for (size_t i = 0; i < errors->list.count; i++) {
		const struct failure *failure = &errors->list.failures[i];

		sum += failure->count;
		if ((options->top && i >= options->top) || failure->count < options->min_calls) {
			others.nr_merged++;
			rest += failure->count;
			continue;
		}
		errors_add_failure(errors, failure);
	}
	others_label(&others, label, sizeof(label));
	if (others.nr_merged)
		errors_add_sum(errors, label, rest);
	grid_add_rule(errors->grid);
	errors_add_sum(errors, "all errors", sum);
}

int report_errors(const struct snapshot *snapshot, const struct table_options *options, FILE *out)
{
	struct errors errors __cleanup(errors_done) = { .scope.snapshot = snapshot };
	int err;

	errors.scope.keys = (options->keys ?: (unsigned int)GROUP_COMM) | GROUP_SYSCALL;
	columns_of_keys(errors.scope.keys, &errors.keys);
	err = snapshot_group(snapshot, errors.scope.keys, &errors.groups);
	err = err ?: failures_make(&errors.groups, &errors.list);
	err = err ?: errors_make_grid(&errors);
	if (err)
		return err;
	errors_fill(&errors, options);
	err = grid_print(errors.grid, out);
	if (err)
		return err;
	fputc('\n', out);
	print_process_changes(snapshot, options->keys, out);
	return report_trust(snapshot, out);
}
