/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes the table of errors. Its calls add up to all errors, with and without errno. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "report/report.h"
#include "syscalls/names.h"

/* What the kernel had no room to tell apart. */
#define ERRNO_UNKNOWN 0

/* One errno of one group. */
struct failure {
	const struct group *group;
	struct errno_count errors;
};

struct errors {
	struct column_scope scope;
	struct group_list groups;
	struct failure *failures; /* owned */
	size_t count;
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
	free(errors->failures);
	group_list_done(&errors->groups);
	grid_free(errors->grid);
}

/* Most calls first, then in the order of the groups. */
static int compare_failures(const void *x, const void *y)
{
	const struct failure *a = x, *b = y;

	if (a->errors.count != b->errors.count)
		return a->errors.count > b->errors.count ? -1 : 1;
	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	return (a->errors.err > b->errors.err) - (a->errors.err < b->errors.err);
}

static void errors_add_group(struct errors *errors, const struct group *group)
{
	const struct row *row = &group->sum;
	const struct errno_count unknown = { ERRNO_UNKNOWN, row_errors_unnamed(row) };

	for (size_t i = 0; i < row->nr_errnos; i++)
		errors->failures[errors->count++] = (struct failure){ group, row->errnos[i] };
	if (unknown.count)
		errors->failures[errors->count++] = (struct failure){ group, unknown };
}

static int errors_find(struct errors *errors)
{
	size_t most = 1;

	for (size_t i = 0; i < errors->groups.nr_groups; i++)
		most += errors->groups.groups[i].sum.nr_errnos + 1;
	errors->failures = calloc(most, sizeof(*errors->failures));
	if (!errors->failures)
		return -ENOMEM;
	for (size_t i = 0; i < errors->groups.nr_groups; i++)
		errors_add_group(errors, &errors->groups.groups[i]);
	qsort(errors->failures, errors->count, sizeof(*errors->failures), compare_failures);
	return 0;
}

static int errors_make_grid(struct errors *errors)
{
	static const char *const titles[NR_ERRORS] = {
		[ERRORS_ERRNO] = "errno",
		[ERRORS_MEANING] = "meaning",
		[ERRORS_CALLS] = "calls",
		[ERRORS_SHARE] = "% of calls",
	};

	if (grid_new(errors->keys.count + NR_ERRORS, &errors->grid))
		return -ENOMEM;
	table_set_titles(errors->grid, &errors->keys);
	for (size_t i = 0; i < NR_ERRORS; i++)
		grid_set_title(errors->grid, errors->keys.count + i, titles[i], i >= ERRORS_CALLS,
			       0);
	return 0;
}

/* Fills the last two columns. */
static void errors_set_counts(struct errors *errors, uint64_t count, uint64_t calls)
{
	size_t first = errors->keys.count;

	grid_set_format(errors->grid, first + ERRORS_CALLS, "%" PRIu64, count);
	grid_set_format(errors->grid, first + ERRORS_SHARE, "%.2f",
			calls ? (double)count * 100 / (double)calls : 0.0);
}

static void errors_add_failure(struct errors *errors, const struct failure *failure)
{
	const char *meaning = strerrordesc_np(failure->errors.err) ?: "-";
	size_t first = errors->keys.count;
	char name[64] = "-";

	if (failure->errors.err == ERRNO_UNKNOWN)
		meaning = "(no room to tell)";
	else
		errno_label(failure->errors.err, name, sizeof(name));
	grid_add_row(errors->grid);
	table_set_keys(errors->grid, &errors->keys, &errors->scope, failure->group, NULL, SIZE_MAX);
	grid_set(errors->grid, first + ERRORS_ERRNO, name);
	grid_set(errors->grid, first + ERRORS_MEANING, meaning);
	errors_set_counts(errors, failure->errors.count, failure->group->sum.calls);
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

	for (size_t i = 0; i < errors->count; i++) {
		uint64_t count = errors->failures[i].errors.count;

		sum += count;
		if ((options->top && i >= options->top) || count < options->min_calls) {
			others.nr_merged++;
			rest += count;
		} else {
			errors_add_failure(errors, &errors->failures[i]);
		}
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
	err = snapshot_group(snapshot, errors.scope.keys, NULL, &errors.groups);
	err = err ?: errors_find(&errors) ?: errors_make_grid(&errors);
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
