/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the wide table. Calls that wait for work stand below the others, in the same columns, and
 * each half has its sum. A column of times has one unit for the whole table.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "model/microstates.h"
#include "report/bars.h"
#include "report/grid.h"
#include "report/label.h"
#include "report/report.h"
#include "base/text.h"
#include "report/table.h"

#define WORKING  0
#define WAITING  1
#define NR_PARTS 2

static const char *const part_names[NR_PARTS] = { "working", "waiting" };

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
	struct table_part parts[NR_PARTS];
	struct column_list columns;
	int ranks[COLUMNS_MAX];                          /* 0: never hidden */
	const struct time_scale *scales[NR_COLUMN_KIND]; /* NULL unless of times */
	size_t label_column;                             /* where sums and others are named */
	size_t text_max;                                 /* longer texts are cut */
	struct grid *grid;
};

static void wide_done(struct wide *wide)
{
	for (int i = 0; i < NR_PARTS; i++)
		table_part_done(&wide->parts[i]);
	grid_free(wide->grid);
}

static int wide_make_parts(struct wide *wide, const struct snapshot *snapshot,
			   const struct table_options *options)
{
	const struct row_test tests[NR_PARTS] = {
		[WORKING] = { row_is_working, options },
		[WAITING] = { row_is_waiting, options },
	};
	int err = 0;

	for (int i = 0; i < NR_PARTS && !err; i++)
		err = table_part_make(snapshot, options, &tests[i], &wide->parts[i]);
	return err;
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
	bool flying = parts[WORKING].sum.sum.in_flight || parts[WAITING].sum.sum.in_flight;
	const struct column *column;

	table_columns(options, parts[WORKING].scope.keys, &wide->columns);
	wide->label_column = table_label_column(&wide->columns);
	for (size_t i = 0; !options->columns && i < ARRAY_SIZE(defaults); i++) {
		if (column_find("", defaults[i].name, &column, NULL) ||
		    (!flying && !strcmp(column->name, "in_flight")))
			continue;
		wide_add_column(wide, column, column == options->sort ? 0 : defaults[i].rank);
	}
	if (!options->columns && options->sort)
		wide_add_column(wide, options->sort, 0);
}

static uint64_t part_largest(const struct table_part *part, const struct column *column)
{
	uint64_t most = 0, value;

	if (!column_number(column, &part->scope, &part->sum, &most))
		most = 0;
	for (size_t i = 0; i < part->list.nr_groups; i++) {
		if (column_number(column, &part->scope, &part->list.groups[i], &value) &&
		    value > most)
			most = value;
	}
	return most;
}

static uint64_t wide_largest(const struct wide *wide, enum column_kind kind)
{
	uint64_t most = 0, value;

	for (size_t i = 0; i < wide->columns.count; i++) {
		for (int j = 0; wide->columns.columns[i]->kind == kind && j < NR_PARTS; j++) {
			value = part_largest(&wide->parts[j], wide->columns.columns[i]);
			most = value > most ? value : most;
		}
	}
	return most;
}

static int wide_make_grid(struct wide *wide)
{
	char title[64];

	wide->scales[COLUMN_SUM] = scale_for_sums(wide_largest(wide, COLUMN_SUM));
	wide->scales[COLUMN_LATENCY] = scale_for_latencies(wide_largest(wide, COLUMN_LATENCY));
	if (grid_new(wide->columns.count, &wide->grid))
		return -ENOMEM;
	for (size_t i = 0; i < wide->columns.count; i++) {
		const struct column *column = wide->columns.columns[i];
		const struct time_scale *scale = wide->scales[column->kind];

		snprintf(title, sizeof(title), "%s%s%s", column->name, scale ? " " : "",
			 scale ? scale->unit : "");
		grid_set_title(wide->grid, i, title, column->kind != COLUMN_TEXT);
	}
	return 0;
}

static void number_format(const struct wide *wide, const struct column *column, uint64_t value,
			  char *buf, size_t size)
{
	if (wide->scales[column->kind])
		scale_format(wide->scales[column->kind], value, buf, size);
	else if (column->kind == COLUMN_PERCENT)
		snprintf(buf, size, "%" PRIu64 ".%02" PRIu64, value / 100, value % 100);
	else
		snprintf(buf, size, "%" PRIu64, value);
}

/* A row of the table; label, if any, stands in place of the keys. */
static void wide_add_row(struct wide *wide, const struct table_part *part,
			 const struct group *group, const char *label)
{
	char cell[COLUMN_TEXT_MAX];
	uint64_t value;

	grid_add_row(wide->grid);
	for (size_t i = 0; i < wide->columns.count; i++) {
		const struct column *column = wide->columns.columns[i];

		if (label && column_is_key(column)) {
			grid_set(wide->grid, i, i == wide->label_column ? label : "");
			continue;
		}
		if (column_is_key(column) && column_text(column, &part->scope, group, cell))
			text_cut(cell, wide->text_max);
		else if (!column_is_key(column) &&
			 column_number(column, &part->scope, group, &value))
			number_format(wide, column, value, cell, sizeof(cell));
		else
			strcpy(cell, "-");
		grid_set(wide->grid, i, cell);
	}
}

static void wide_add_part(struct wide *wide, int which)
{
	const struct table_part *part = &wide->parts[which];
	char label[TABLE_LABEL_MAX];

	if (which == WAITING) {
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
	wide_add_row(wide, part, &part->sum, part_names[which]);
}

/* Hides what matters least until the rest fits. */
static void wide_fit(struct wide *wide, int width)
{
	while (width > 0 && grid_width(wide->grid) > (size_t)width) {
		size_t least = 0;

		for (size_t i = 1; i < wide->columns.count; i++) {
			if (wide->ranks[i] > wide->ranks[least])
				least = i;
		}
		if (!wide->ranks[least])
			break;
		grid_hide(wide->grid, least);
		wide->ranks[least] = 0;
	}
}

static void wide_print_bars(const struct wide *wide, FILE *out)
{
	char title[COLUMN_TEXT_MAX];

	for (int i = 0; i < NR_PARTS; i++) {
		const struct table_part *part = &wide->parts[i];

		for (size_t j = 0; j < part->list.nr_groups; j++) {
			const struct group *group = &part->list.groups[j];
			uint64_t timed = hist_total(&group->sum.hist);

			if (!timed)
				continue;
			table_group_title(part, group, title);
			fprintf(out, "\n%s: %" PRIu64 " call%s by duration\n", title, timed,
				timed == 1 ? "" : "s");
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

static int wide_print(struct wide *wide, const struct snapshot *snapshot,
		      const struct table_options *options, FILE *out)
{
	int err;

	err = grid_print(wide->grid, out);
	if (err)
		return err;
	if (options->hist)
		wide_print_bars(wide, out);
	fprintf(out, "\nuser CPU %.3f s, elapsed %.3f s\n",
		(double)snapshot_user_ns(snapshot) / 1e9, (double)snapshot->elapsed_ns / 1e9);
	/* A user who picks columns wants no more than those. */
	if (!options->columns)
		wide_print_microstates(snapshot, out);
	print_process_changes(snapshot, options->keys, out);
	return report_trust(snapshot, out);
}

int report_wide(const struct snapshot *snapshot, const struct table_options *options, FILE *out)
{
	struct wide wide __cleanup(wide_done) = { .grid = NULL };
	int err;

	err = wide_make_parts(&wide, snapshot, options);
	if (err)
		return err;
	wide_choose_columns(&wide, options);
	/* At least the longest name of a call. */
	wide.text_max = options->width ? 28 + (size_t)options->width / 20 : SIZE_MAX;
	err = wide_make_grid(&wide);
	if (err)
		return err;
	for (int i = 0; i < NR_PARTS; i++)
		wide_add_part(&wide, i);
	wide_fit(&wide, options->width);
	return wide_print(&wide, snapshot, options, out);
}
