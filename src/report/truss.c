/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes the tables of truss -c and strace -c, column for column.
 *
 * That of truss is as Solaris and illumos print it: names in 19 columns, times as seconds with
 * three decimals and no leading zero, errors blank when there are none, rows in the order of the
 * system call numbers. The name column grows only for names that do not fit.
 *
 * That of strace is as strace 6.1 prints it, for scripts that parse it: a table for each kind of
 * call, the machine's own first. As there, a table without calls is not printed. Rows are sorted by
 * CPU time, then by number; errors are blank when there are none.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "model/query.h"
#include "report/label.h"
#include "report/report.h"
#include "syscalls/names.h"

/* The length of the longest name of those that have calls. */
static int longest_name(struct row *const *rows, size_t count, size_t least,
			void (*name)(const struct row *row, char *buf, size_t size))
{
	char buf[ROW_LABEL_MAX];

	for (size_t i = 0; i < count; i++) {
		name(rows[i], buf, sizeof(buf));
		if (rows[i]->calls)
			least = max_u64(least, strlen(buf));
	}
	return (int)least;
}

/* --- truss --- */

#define TRUSS_NAME_WIDTH 19

/* Nine columns behind a name: whole seconds only when there are any, then milliseconds. */
static void print_time(const char *name, uint64_t ns, int width, FILE *out)
{
	uint64_t ms = ns / 1000000;

	fprintf(out, "%-*s ", width, name);
	if (ms >= 1000)
		fprintf(out, "%5" PRIu64 ".%03" PRIu64, ms / 1000, ms % 1000);
	else
		fprintf(out, "     .%03" PRIu64, ms);
}

static void print_row(const struct row *row, int width, FILE *out)
{
	char label[ROW_LABEL_MAX];

	row_label(row, label, sizeof(label));
	print_time(label, row_cpu_ns(row), width, out);
	fprintf(out, " %7" PRIu64, row->calls);
	if (row->errors)
		fprintf(out, " %7" PRIu64, row->errors);
	fputc('\n', out);
}

int report_truss(const struct snapshot *snapshot, FILE *out)
{
	struct row_list list __cleanup(row_list_done) = { 0 };
	uint64_t cpu_ns = 0, calls = 0, errors = 0;
	int width;

	if (snapshot_sum_by_syscall(snapshot, NULL, &list))
		return -ENOMEM;
	width = longest_name(list.rows, list.nr_rows, TRUSS_NAME_WIDTH, row_label);
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

/* --- strace --- */

#define STRACE_NAME_WIDTH 16

/* The names that strace has for the modes of a processor. */
static const char *const mode_names[NR_SYSCALL_ABI] = {
	[ABI_X86_64] = "64 bit", [ABI_I386] = "32 bit", [ABI_X32] = "x32",
	[ABI_ARM64] = "64 bit",  [ABI_ARM] = "32 bit",
};

static int compare_rows(const void *x, const void *y)
{
	const struct row *a = *(struct row *const *)x, *b = *(struct row *const *)y;

	return compare_u64(row_cpu_ns(b), row_cpu_ns(a)) ?: (a->nr > b->nr) - (a->nr < b->nr);
}

static void print_rule(int width, FILE *out)
{
	fputs("------ ----------- ----------- --------- --------- ", out);
	while (width-- > 0)
		fputc('-', out);
	fputc('\n', out);
}

static void print_line(double share, const struct row *row, const char *name, FILE *out)
{
	uint64_t cpu_ns = row_cpu_ns(row);

	fprintf(out, "%6.2f %11.6f %11" PRIu64 " %9" PRIu64 " ", share * 100, (double)cpu_ns / 1e9,
		row->calls ? cpu_ns / row->calls / 1000 : 0, row->calls);
	if (row->errors)
		fprintf(out, "%9" PRIu64 " %s\n", row->errors, name);
	else
		fprintf(out, "%9s %s\n", "", name);
}

/* The rows of one mode. */
static void print_table(struct row *const *rows, size_t count, FILE *out)
{
	/* One blank more than the longest name. */
	int width = longest_name(rows, count, STRACE_NAME_WIDTH - 1, row_call_name) + 1;
	char name[SYSCALL_NAME_MAX];
	struct row sum;

	row_init(&sum);
	for (size_t i = 0; i < count; i++) {
		sum.wall_ns += rows[i]->wall_ns;
		sum.off_ns += rows[i]->off_ns;
		sum.calls += rows[i]->calls;
		sum.errors += rows[i]->errors;
	}
	fputs("% time     seconds  usecs/call     calls    errors syscall\n", out);
	print_rule(width, out);
	for (size_t i = 0; i < count; i++) {
		double cpu_ns = (double)row_cpu_ns(&sum);

		row_call_name(rows[i], name, sizeof(name));
		if (rows[i]->calls)
			print_line(cpu_ns ? (double)row_cpu_ns(rows[i]) / cpu_ns : 0, rows[i], name,
				   out);
	}
	print_rule(width, out);
	print_line(1, &sum, "total", out);
}

/* Native calls come without a title, as they do in strace. */
static void print_mode(const struct row_list *list, enum syscall_abi abi, bool titled, FILE *out)
{
	size_t first = 0, count = 0;
	uint64_t calls = 0;

	while (first < list->nr_rows && list->rows[first]->abi != abi)
		first++;
	while (first + count < list->nr_rows && list->rows[first + count]->abi == abi)
		calls += list->rows[first + count++]->calls;
	if (!calls)
		return;
	qsort(&list->rows[first], count, sizeof(*list->rows), compare_rows);
	if (titled)
		fprintf(out, "System call usage summary for %s mode:\n", mode_names[abi]);
	print_table(&list->rows[first], count, out);
}

int report_strace(const struct snapshot *snapshot, FILE *out)
{
	struct row_list list __cleanup(row_list_done) = { 0 };

	if (snapshot_sum_by_syscall(snapshot, NULL, &list))
		return -ENOMEM;
	print_mode(&list, LABEL_NATIVE_ABI, false, out);
	for (enum syscall_abi abi = 0; abi < NR_SYSCALL_ABI; abi++) {
		if (abi != LABEL_NATIVE_ABI)
			print_mode(&list, abi, true, out);
	}
	return ferror(out) ? -EIO : 0;
}
