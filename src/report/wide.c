/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes the wide table. Calls that wait for work stand below the others, in the same columns, and
 * each half has its sum. A column of times has one unit for the whole table.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "model/rates.h"
#include "report/report.h"

/* Columns shown unless the user chose, in order; of those with higher rank fewer fit. */
static const struct {
	const char *name;
	int rank;
} defaults[] = {
	{ "calls", 1 }, { "in_flight", 8 }, { "errors", 5 }, { "total", 2 },  { "cpu", 3 },
	{ "runq", 11 }, { "sleep", 4 },     { "min", 12 },   { "avg", 9 },    { "p50", 10 },
	{ "p90", 13 },  { "p99", 6 },       { "max", 7 },    { "bytes", 14 },
};

struct wide {
	struct table_part parts[NR_TABLE_HALF];
	struct column_list columns;
	int ranks[COLUMNS_MAX]; /* 0: never hidden */
	size_t text_max;        /* longer texts are cut */
	struct grid *grid;
};

static void wide_done(struct wide *wide)
{
	for (int i = 0; i < NR_TABLE_HALF; i++)
		table_part_done(&wide->parts[i]);
	grid_free(wide->grid);
}

static void wide_add_column(struct wide *wide, const struct column *column, int rank)
{
	if (column_list_has(&wide->columns, column))
		return;
	wide->ranks[wide->columns.count] = rank;
	column_list_add(&wide->columns, column);
}

static void wide_choose_columns(struct wide *wide, const struct table_options *options)
{
	const struct table_part *parts = wide->parts;
	bool flying =
		parts[TABLE_WORKING].sum.sum.in_flight || parts[TABLE_WAITING].sum.sum.in_flight;
	const struct column *column;

	table_columns(options, parts[TABLE_WORKING].scope.keys, &wide->columns);
	for (size_t i = 0; !options->columns && i < ARRAY_SIZE(defaults); i++) {
		if (column_find("", defaults[i].name, &column, NULL) ||
		    (!flying && !strcmp(column->name, "in_flight")))
			continue;
		wide_add_column(wide, column, column == options->sort ? 0 : defaults[i].rank);
	}
	if (!options->columns && options->sort)
		wide_add_column(wide, options->sort, 0);
}

static int wide_make_grid(struct wide *wide)
{
	if (grid_new(wide->columns.count, &wide->grid))
		return -ENOMEM;
	table_set_titles(wide->grid, &wide->columns);
	for (size_t i = 0; i < wide->columns.count; i++) {
		const struct column *column = wide->columns.columns[i];

		if (column_is_key(column))
			continue;
		grid_set_title(wide->grid, i, column->name, true, wide->ranks[i]);
		column_set_scale(wide->grid, i, column, "");
	}
	return 0;
}

/* A row of the table; label, if any, stands in place of the keys. */
static void wide_add_row(struct wide *wide, const struct table_part *part,
			 const struct group *group, const char *label)
{
	uint64_t value;

	grid_add_row(wide->grid);
	table_set_keys(wide->grid, &wide->columns, &part->scope, group, label, wide->text_max);
	for (size_t i = 0; i < wide->columns.count; i++) {
		const struct column *column = wide->columns.columns[i];

		if (column_is_key(column))
			continue;
		if (column_number(column, &part->scope, group, &value))
			column_set_number(wide->grid, i, column, value);
		else
			grid_set(wide->grid, i, "-");
	}
}

static void wide_add_part(struct wide *wide, enum table_half which)
{
	const struct table_part *part = &wide->parts[which];
	char label[TABLE_LABEL_MAX];

	if (which == TABLE_WAITING) {
		if (!part->list.nr_groups)
			return;
		grid_add_line(wide->grid, "");
		grid_add_line(wide->grid, "waiting for work:");
	}
	for (size_t i = 0; i < part->list.nr_groups; i++) {
		const struct group *group = &part->list.groups[i];

		others_label(group, label, sizeof(label));
		wide_add_row(wide, part, group, group->nr_merged ? label : NULL);
	}
	grid_add_rule(wide->grid);
	wide_add_row(wide, part, &part->sum, table_half_names[which]);
}

#define GAP_MAX 2 /* empty buckets in a row that are still drawn */

static void print_bucket(const struct hist *hist, unsigned int i, uint64_t most, FILE *out)
{
	static const char bar[] = "########################################";
	uint64_t count = hist_count(hist, i);
	/* The least count is still seen. */
	int length =
		count ? (int)((double)count / (double)most * (double)(sizeof(bar) - 2)) + 1 : 0;
	char low[AGE_MAX], high[AGE_MAX] = "more";

	format_age(hist_bucket_low(i), low, sizeof(low));
	if (i + 1 < HIST_BUCKETS)
		format_age(hist_bucket_low(i + 1), high, sizeof(high));
	fprintf(out, "%11s .. %11s %9" PRIu64 " |%.*s\n", low, high, count, length, bar);
}

void bars_print(const struct hist *hist, FILE *out)
{
	unsigned int first, end, empty = 0;
	uint64_t most = 0;

	hist_range(hist, &first, &end);
	for (unsigned int i = first; i < end; i++)
		most = max_u64(most, hist_count(hist, i));
	for (unsigned int i = first; i < end; i++) {
		if (!hist_count(hist, i)) {
			empty++;
			continue;
		}
		if (empty > GAP_MAX)
			fprintf(out, "%11s\n", "...");
		else
			for (unsigned int j = i - empty; j < i; j++)
				print_bucket(hist, j, most, out);
		empty = 0;
		print_bucket(hist, i, most, out);
	}
}

static void wide_print_bars(const struct wide *wide, FILE *out)
{
	char title[COLUMN_TEXT_MAX];

	for (int i = 0; i < NR_TABLE_HALF; i++) {
		const struct table_part *part = &wide->parts[i];

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
static void wide_print_microstates(const struct snapshot *snapshot, FILE *out)
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
	struct wide wide __cleanup(wide_done) = { .text_max = table_text_max(options->width) };
	int err = table_halves_make(snapshot, options, wide.parts);

	if (err)
		return err;
	wide_choose_columns(&wide, options);
	err = wide_make_grid(&wide);
	if (err)
		return err;
	for (enum table_half half = 0; half < NR_TABLE_HALF; half++)
		wide_add_part(&wide, half);
	grid_fit(wide.grid, options->width);
	err = grid_print(wide.grid, out);
	if (err)
		return err;
	if (options->hist)
		wide_print_bars(&wide, out);
	fprintf(out, "\nuser CPU %.3f s, elapsed %.3f s\n",
		(double)snapshot_user_ns(snapshot) / 1e9, (double)snapshot->elapsed_ns / 1e9);
	/* A user who picks columns wants no more than those. */
	if (!options->columns)
		wide_print_microstates(snapshot, out);
	print_process_changes(snapshot, options->keys, out);
	return report_trust(snapshot, out);
}
