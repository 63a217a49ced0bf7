/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the layout of truss -c, as Solaris and illumos print it: names in 19 columns, times as
 * seconds with three decimals and no leading zero, errors blank when there are none, rows in the
 * order of the system call numbers. The name column grows only for names that do not fit.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "model/query.h"
#include "report/label.h"
#include "report/report.h"

#define NAME_WIDTH 19

/* Nine columns: whole seconds only when there are any, then milliseconds. */
static void print_seconds(uint64_t ns, FILE *out)
{
	uint64_t ms = ns / 1000000;

	if (ms >= 1000)
		fprintf(out, "%5" PRIu64 ".%03" PRIu64, ms / 1000, ms % 1000);
	else
		fprintf(out, "     .%03" PRIu64, ms);
}

static int name_width(const struct row_list *list)
{
	char label[ROW_LABEL_MAX];
	size_t width = NAME_WIDTH;

	for (size_t i = 0; i < list->nr_rows; i++) {
		row_label(list->rows[i], label, sizeof(label));
		if (list->rows[i]->calls && strlen(label) > width)
			width = strlen(label);
	}
	return (int)width;
}

static void print_row(const struct row *row, int width, FILE *out)
{
	char label[ROW_LABEL_MAX];

	row_label(row, label, sizeof(label));
	fprintf(out, "%-*s ", width, label);
	print_seconds(row_cpu_ns(row), out);
	fprintf(out, " %7" PRIu64, row->calls);
	if (row->errors)
		fprintf(out, " %7" PRIu64, row->errors);
	fputc('\n', out);
}

static void print_time(const char *title, uint64_t ns, int width, FILE *out)
{
	fprintf(out, "%-*s ", width, title);
	print_seconds(ns, out);
}

int report_truss(const struct snapshot *snapshot, FILE *out)
{
	struct row_list list __cleanup(row_list_done) = { 0 };
	uint64_t cpu_ns = 0, calls = 0, errors = 0;
	int width;

	if (snapshot_sum_by_syscall(snapshot, NULL, &list))
		return -ENOMEM;
	width = name_width(&list);
	fprintf(out, "\n%-*s   seconds   calls  errors\n", width, "syscall");
	for (size_t i = 0; i < list.nr_rows; i++) {
		const struct row *row = list.rows[i];

		if (!row->calls)
			continue;
		print_row(row, width, out);
		cpu_ns += row_cpu_ns(row);
		calls += row->calls;
		errors += row->errors;
	}
	fprintf(out, "%-*s  --------  ------   ----\n", width, "");
	print_time("sys totals:", cpu_ns, width, out);
	fprintf(out, " %7" PRIu64 " %6" PRIu64 "\n", calls, errors);
	print_time("usr time:", snapshot_user_ns(snapshot), width, out);
	fputc('\n', out);
	print_time("elapsed:", snapshot->elapsed_ns, width, out);
	fputc('\n', out);
	return report_trust(snapshot, out);
}
