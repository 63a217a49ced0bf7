/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes the table of errors. Its calls add up to all errors, with and without errno. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "report/report.h"
#include "syscalls/errnos.h"

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

	return compare_u64(b->errors.count, a->errors.count) ?:
	       (a->group > b->group) - (a->group < b->group) ?: a->errors.err - b->errors.err;
}

static int errors_find(struct errors *errors)
{
	const struct group_list *list = &errors->groups;
	size_t most = 1;

	for (size_t i = 0; i < list->nr_groups; i++)
		most += list->groups[i].sum.nr_errnos + 1;
	errors->failures = calloc(most, sizeof(*errors->failures));
	if (!errors->failures)
		return -ENOMEM;
	for (size_t i = 0; i < list->nr_groups; i++) {
		const struct group *group = &list->groups[i];
		const struct errno_count unknown = { ERRNO_UNKNOWN,
						     row_errors_unnamed(&group->sum) };

		for (size_t j = 0; j < group->sum.nr_errnos; j++)
			errors->failures[errors->count++] =
				(struct failure){ group, group->sum.errnos[j] };
		if (unknown.count)
			errors->failures[errors->count++] = (struct failure){ group, unknown };
	}
	qsort(errors->failures, errors->count, sizeof(*errors->failures), compare_failures);
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
		const struct failure *failure = &errors->failures[i];
		const int err = failure->errors.err;
		const char *meaning = strerrordesc_np(err) ?: "-";
		char name[ERRNO_LABEL_MAX] = "-";

		sum += failure->errors.count;
		if ((options->top && i >= options->top) ||
		    failure->errors.count < options->min_calls) {
			others.nr_merged++;
			rest += failure->errors.count;
			continue;
		}
		if (err != ERRNO_UNKNOWN)
			errno_label(err, name, sizeof(name));
		table_add_row(errors->grid, &errors->keys, &errors->scope, failure->group, NULL,
			      SIZE_MAX);
		grid_set(errors->grid, errors->keys.count + ERRORS_ERRNO, name);
		grid_set(errors->grid, errors->keys.count + ERRORS_MEANING,
			 err == ERRNO_UNKNOWN ? "(no room to tell)" : meaning);
		errors_set_counts(errors, failure->errors.count, failure->group->sum.calls);
	}
	others_label(&others, label, sizeof(label));
	if (others.nr_merged)
		errors_add_sum(errors, label, rest);
	grid_add_rule(errors->grid);
	errors_add_sum(errors, "all errors", sum);
}

int report_errors(const struct snapshot *snapshot, const struct table_options *options, FILE *out)
{
	static const char *const titles[NR_ERRORS] = { "errno", "meaning", "calls", "% of calls" };
	struct errors errors __cleanup(errors_done) = { .scope.snapshot = snapshot };
	int err;

	errors.scope.keys = (options->keys ?: (unsigned int)GROUP_COMM) | GROUP_SYSCALL;
	columns_of_keys(errors.scope.keys, &errors.keys);
	if (snapshot_group(snapshot, errors.scope.keys, &errors.groups) || errors_find(&errors) ||
	    grid_new(errors.keys.count + NR_ERRORS, &errors.grid))
		return -ENOMEM;
	table_set_titles(errors.grid, &errors.keys, NULL);
	for (size_t i = 0; i < NR_ERRORS; i++)
		grid_set_title(errors.grid, errors.keys.count + i, titles[i], i >= ERRORS_CALLS, 0);
	errors_fill(&errors, options);
	err = grid_print(errors.grid, 0, out);
	if (err)
		return err;
	fputc('\n', out);
	print_process_changes(snapshot, options->keys, out);
	return report_trust(snapshot, out);
}
