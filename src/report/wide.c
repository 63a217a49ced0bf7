/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes the wide table. Calls that wait for work stand below the others, in the same columns, and each
 * half has its sum and its units: sums of times have one in a half, a column of latencies has one.
 */
#include "report/report.h"
#include "syscalls/families.h"
#include "syscalls/names.h"

/* Columns shown unless the user chose, in order; of those with higher rank fewer fit. */
static const struct {
	const char *name;
	int rank;
} defaults[] = {
	/* The parts of a total come last. */
	{ "calls", 1 }, { "errors", 7 }, { "total", 2 },  { "cpu", 4 },  { "runq", 5 },
	{ "sleep", 6 }, { "min", 12 },   { "avg", 9 },    { "p50", 11 }, { "p90", 13 },
	{ "p99", 10 },  { "max", 8 },    { "bytes", 14 },
};

/* The rank of a column of errors that are not all 0. */
#define RANK_OF_ERRORS 3

/* Ranks are those of the grid, 0 for what is never hidden. */
static void choose_columns(const struct table_options *options, unsigned int keys, bool has_errors,
			   struct column_list *columns, int *ranks)
{
	const struct column *column;

	table_columns(options, keys, columns);
	for (size_t i = 0; !options->columns && i < ARRAY_SIZE(defaults); i++) {
		bool is_errors = has_errors && !strcmp(defaults[i].name, "errors");

		if (column_find("", defaults[i].name, &column, NULL))
			continue;
		ranks[columns->count] = sort_has(&options->sort, column) ? 0
					: is_errors                      ? RANK_OF_ERRORS
									 : defaults[i].rank;
		column_list_add(columns, column);
	}
	for (size_t i = 0; !options->columns && i < options->sort.count; i++)
		column_list_add(columns, options->sort.by[i].column);
}

/* Calls in flight have a line below the table. A user who asks for them wants them in it. */
static bool shows_in_flight(const struct table_options *options)
{
	static const char *const names[] = { "in_flight", "oldest" };
	const struct column *column;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!column_find("", names[i], &column, NULL) &&
		    (sort_has(&options->sort, column) ||
		     (options->columns && column_list_has(options->columns, column))))
			return true;
	}
	return false;
}

static void add_part(struct grid *grid, const struct column_list *columns,
		     const struct table_part *part, enum table_half half, int width)
{
	size_t text_max = table_text_max(width);

	for (size_t i = 0; i < part->list.nr_groups; i++)
		table_add_row(grid, columns, &part->scope, &part->list.groups[i], NULL, text_max);
	grid_add_rule(grid);
	table_add_row(grid, columns, &part->scope, &part->sum, table_half_sums[half], text_max);
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
	struct process sum = { 0 };

	if (!print_thread_time(snapshot, true, out))
		return;
	for (size_t i = 0; i < snapshot->nr_processes; i++)
		process_add_counts(&sum, &snapshot->processes[i]);
	fprintf(out,
		"faults %" PRIu64 " minor, %" PRIu64 " major; context switches %" PRIu64
		" voluntary, %" PRIu64 " involuntary\n",
		sum.usage.minor_faults, sum.usage.major_faults, sum.usage.voluntary_switches,
		sum.usage.involuntary_switches);
}

/* A wait that lasts this long is worth a look if it may be for a lock or a peer. */
#define LONG_WAIT_NS 1000000000

/* Whether a call waits for nothing but work, a child, a signal or a time. */
static bool call_is_idle(const struct row *row)
{
	static const char *const functions[] = { "accept",     "epoll_wait",   "nanosleep", "pause",
						 "sigsuspend", "sigtimedwait", "wait" };
	char name[ROW_LABEL_MAX];

	row_call_name(row, name, sizeof(name));
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		if (name_is_of_family(name, functions[i]))
			return true;
	}
	return false;
}

/* Names the longest wait that may be none for work, and how to find who waits so. */
static void print_longest(const struct snapshot *snapshot, const struct table_options *options,
			  FILE *out)
{
	const struct row *longest = NULL;
	char label[ROW_LABEL_MAX];

	for (size_t i = 0; i < snapshot->nr_rows; i++) {
		const struct row *row = snapshot->rows[i];

		if (row->max_ns >= (longest ? longest->max_ns + 1 : LONG_WAIT_NS) &&
		    row_is_waiting(row, options) && !call_is_idle(row))
			longest = row;
	}
	if (!longest)
		return;
	row_label(longest, label, sizeof(label));
	fprintf(out, "longest: %s %.3f s; 'bpftruss --slower-than 1s -k -p PID' shows such calls\n",
		label, (double)longest->max_ns / 1e9);
}

/* The halves that have calls, in one grid. */
static int print_table(const struct table_part parts[NR_TABLE_HALF],
		       const struct table_options *options, FILE *out)
{
	struct grid *grid __cleanup(grid_freep) = NULL;
	struct column_list columns;
	int ranks[COLUMNS_MAX] = { 0 };
	bool is_empty = true;
	int err;

	choose_columns(options, parts[TABLE_WORKING].scope.keys,
		       parts[TABLE_WORKING].sum.sum.errors || parts[TABLE_WAITING].sum.sum.errors,
		       &columns, ranks);
	if (grid_new(columns.count, &grid))
		return -ENOMEM;
	grid_set_color(grid, options->color);
	table_set_titles(grid, &columns, ranks);
	for (enum table_half half = 0; half < NR_TABLE_HALF; half++) {
		if (!parts[half].list.nr_groups)
			continue;
		if (half == TABLE_WAITING && is_empty) {
			/* The titles of the grid are below it. */
			fputs(TABLE_WAITING_TITLE "\n", out);
		} else if (half == TABLE_WAITING) {
			grid_add_line(grid, "");
			grid_add_line(grid, TABLE_WAITING_TITLE);
			grid_add_titles(grid);
		}
		add_part(grid, &columns, &parts[half], half, options->width);
		is_empty = false;
	}
	if (is_empty)
		grid_add_line(grid, "no call has ended");
	err = grid_print(grid, options->width, out);
	if (!err && !is_empty)
		grid_print_left_out(grid, options->width, out);
	return err;
}

int report_wide(const struct snapshot *snapshot, const struct table_options *options, FILE *out)
{
	struct table_part parts[NR_TABLE_HALF] __cleanup(table_halves_done) = { { .list = { 0 } } };
	struct table_options table = *options;
	int err;

	table.ended_only = !shows_in_flight(options);
	if (table_halves_make(snapshot, &table, parts))
		return -ENOMEM;
	err = print_table(parts, &table, out);
	if (err)
		return err;
	print_longest(snapshot, &table, out);
	if (options->hist)
		print_bars(parts, out);
	if (options->slowest)
		report_exemplars(snapshot, parts, out);
	fprintf(out, "\nuser CPU %.3f s, elapsed %.3f s\n",
		(double)snapshot_user_ns(snapshot) / 1e9, (double)snapshot->elapsed_ns / 1e9);
	print_user_time(snapshot, out);
	/* A user who picks columns wants no more than those. */
	if (!options->columns)
		print_microstates(snapshot, out);
	print_process_changes(snapshot, options->keys, out);
	return report_trust(snapshot, options->color, out);
}
