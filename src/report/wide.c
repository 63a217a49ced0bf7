/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes the wide table and that of errors. In the wide one calls that wait for work stand below the
 * others, in the same columns, and each half has its sum. A column of times has one unit for the whole
 * table.
 */
#include "report/report.h"
#include "syscalls/names.h"

/* Columns shown unless the user chose, in order; of those with higher rank fewer fit. */
static const struct {
	const char *name;
	int rank;
} defaults[] = {
	{ "calls", 1 }, { "in_flight", 8 }, { "errors", 5 }, { "total", 2 },  { "cpu", 3 },
	{ "runq", 11 }, { "sleep", 4 },     { "min", 12 },   { "avg", 9 },    { "p50", 10 },
	{ "p90", 13 },  { "p99", 6 },       { "max", 7 },    { "bytes", 14 },
};

/* Ranks are those of the grid, 0 for what is never hidden. */
static void choose_columns(const struct table_part *parts, const struct table_options *options,
			   struct column_list *columns, int *ranks)
{
	bool flying =
		parts[TABLE_WORKING].sum.sum.in_flight || parts[TABLE_WAITING].sum.sum.in_flight;
	const struct column *column;

	table_columns(options, parts[TABLE_WORKING].scope.keys, columns);
	for (size_t i = 0; !options->columns && i < ARRAY_SIZE(defaults); i++) {
		if (column_find("", defaults[i].name, &column, NULL) ||
		    (!flying && !strcmp(column->name, "in_flight")))
			continue;
		ranks[columns->count] = sort_has(&options->sort, column) ? 0 : defaults[i].rank;
		column_list_add(columns, column);
	}
	for (size_t i = 0; !options->columns && i < options->sort.count; i++)
		column_list_add(columns, options->sort.by[i].column);
}

static void add_part(struct grid *grid, const struct column_list *columns,
		     const struct table_part *part, enum table_half half, int width)
{
	size_t text_max = table_text_max(width);

	if (half == TABLE_WAITING) {
		if (!part->list.nr_groups)
			return;
		grid_add_line(grid, "");
		grid_add_line(grid, "waiting for work:");
	}
	for (size_t i = 0; i < part->list.nr_groups; i++)
		table_add_row(grid, columns, &part->scope, &part->list.groups[i], NULL, text_max);
	grid_add_rule(grid);
	table_add_row(grid, columns, &part->scope, &part->sum, table_half_names[half], text_max);
}

#define GAP_MAX 2 /* empty buckets in a row that are still drawn */

void bars_print(const struct hist *hist, FILE *out)
{
	static const char bar[] = "########################################";
	char low[AGE_MAX], high[AGE_MAX];
	unsigned int first, end, next;
	uint64_t most = 0;

	hist_range(hist, &first, &end);
	for (unsigned int i = first; i < end; i++)
		most = max_u64(most, hist_count(hist, i));
	for (unsigned int i = first; i < end; i = next) {
		uint64_t count = hist_count(hist, i);
		double part = (double)count / (double)most;
		/* The least count is still seen. */
		int length = count ? (int)(part * (double)(sizeof(bar) - 2)) + 1 : 0;

		for (next = i; next < end && !hist_count(hist, next);)
			next++;
		if (next - i > GAP_MAX) {
			fprintf(out, "%11s\n", "...");
			continue;
		}
		next = i + 1;
		format_age(hist_bucket_low(i), low, sizeof(low));
		snprintf(high, sizeof(high), "more");
		if (next < HIST_BUCKETS)
			format_age(hist_bucket_low(next), high, sizeof(high));
		fprintf(out, "%11s .. %11s %9" PRIu64 " |%.*s\n", low, high, count, length, bar);
	}
}

static void print_bars(const struct table_part *parts, FILE *out)
{
	char title[COLUMN_TEXT_MAX];

	for (int i = 0; i < NR_TABLE_HALF; i++) {
		const struct table_part *part = &parts[i];

		for (size_t j = 0; j < part->list.nr_groups && !ferror(out); j++) {
			const struct group *group = &part->list.groups[j];
			uint64_t timed = hist_total(&group->sum.hist);

			if (!timed)
				continue;
			table_group_title(part, group, title);
			fprintf(out, "\n%s: %" PRIu64 " call%s by duration\n", title, timed,
				plural(timed));
			bars_print(&group->sum.hist, out);
		}
	}
}

/* How the threads spent their time, where that is known. */
static void print_microstates(const struct snapshot *snapshot, FILE *out)
{
	struct microstates states;
	struct process sum = { 0 };
	bool lock = snapshot_microstates(snapshot, &states);

	if (!microstates_total_ns(&states))
		return;
	for (size_t i = 0; i < snapshot->nr_processes; i++)
		process_add_counts(&sum, &snapshot->processes[i]);
	fprintf(out, "threads %.3f s = user %.3f + system %.3f\n  + run queue ",
		(double)microstates_total_ns(&states) / 1e9, (double)states.user_ns / 1e9,
		(double)states.system_ns / 1e9);
	if (snapshot->has_runq)
		fprintf(out, "%.3f", (double)states.runq_ns / 1e9);
	else
		fputc('-', out);
	if (lock)
		fprintf(out, " + lock %.3f", (double)states.lock_ns / 1e9);
	fprintf(out, " + %s %.3f\n", lock ? "sleep" : "lock or sleep",
		(double)states.sleep_ns / 1e9);
	fprintf(out,
		"faults %" PRIu64 " minor, %" PRIu64 " major\ncontext switches %" PRIu64
		" voluntary, %" PRIu64 " involuntary\n",
		sum.usage.minor_faults, sum.usage.major_faults, sum.usage.voluntary_switches,
		sum.usage.involuntary_switches);
}

int report_wide(const struct snapshot *snapshot, const struct table_options *options, FILE *out)
{
	struct table_part parts[NR_TABLE_HALF] __cleanup(table_halves_done) = { { .list = { 0 } } };
	struct grid *grid __cleanup(grid_freep) = NULL;
	struct column_list columns;
	int ranks[COLUMNS_MAX] = { 0 }, err;

	if (table_halves_make(snapshot, options, parts))
		return -ENOMEM;
	choose_columns(parts, options, &columns, ranks);
	if (grid_new(columns.count, &grid))
		return -ENOMEM;
	table_set_titles(grid, &columns, ranks);
	for (enum table_half half = 0; half < NR_TABLE_HALF; half++)
		add_part(grid, &columns, &parts[half], half, options->width);
	err = grid_print(grid, options->width, out);
	if (err)
		return err;
	if (options->hist)
		print_bars(parts, out);
	fprintf(out, "\nuser CPU %.3f s, elapsed %.3f s\n",
		(double)snapshot_user_ns(snapshot) / 1e9, (double)snapshot->elapsed_ns / 1e9);
	print_user_time(snapshot, out);
	/* A user who picks columns wants no more than those. */
	if (!options->columns)
		print_microstates(snapshot, out);
	print_process_changes(snapshot, options->keys, out);
	return report_trust(snapshot, out);
}

/* --- errors: they add up to all errors, with and without errno ----------------------------------- */

/* Stands for errnos that the kernel had no room to tell apart. */
#define ERRNO_UNKNOWN 0

/* Counts one errno of one group. */
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
	if (snapshot_group(snapshot, errors.scope.keys, NULL, &errors.groups) ||
	    errors_find(&errors) || grid_new(errors.keys.count + NR_ERRORS, &errors.grid))
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
