/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the layout of strace -c, for scripts that parse it: as strace 6.1 prints it, a table for
 * each kind of call, the machine's own first. As there, a table without calls is not printed. Rows
 * are sorted by CPU time, then by number; errors are blank when there are none.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "model/query.h"
#include "report/label.h"
#include "report/report.h"

#define NAME_WIDTH 16

/* What strace calls the modes of a processor. */
static const char *const mode_names[NR_SYSCALL_ABI] = {
	[ABI_X86_64] = "64 bit", [ABI_I386] = "32 bit", [ABI_X32] = "x32",
	[ABI_ARM64] = "64 bit",  [ABI_ARM] = "32 bit",
};

static int compare_rows(const void *x, const void *y)
{
	const struct row *a = *(struct row *const *)x, *b = *(struct row *const *)y;
	uint64_t cpu_a = row_cpu_ns(a), cpu_b = row_cpu_ns(b);

	if (cpu_a != cpu_b)
		return cpu_a > cpu_b ? -1 : 1;
	return (a->nr > b->nr) - (a->nr < b->nr);
}

/* One blank more than the longest name. */
static int name_width(struct row *const *rows, size_t count)
{
	char name[SYSCALL_NAME_MAX];
	size_t width = NAME_WIDTH;

	for (size_t i = 0; i < count; i++) {
		row_name(rows[i], name);
		if (rows[i]->calls && strlen(name) + 1 > width)
			width = strlen(name) + 1;
	}
	return (int)width;
}

static void print_rule(int width, FILE *out)
{
	fputs("------ ----------- ----------- --------- --------- ", out);
	while (width-- > 0)
		fputc('-', out);
	fputc('\n', out);
}

static void print_line(double percent, const struct row *row, const char *name, FILE *out)
{
	uint64_t cpu_ns = row_cpu_ns(row);

	fprintf(out, "%6.2f %11.6f %11" PRIu64 " %9" PRIu64 " ", percent, (double)cpu_ns / 1e9,
		row->calls ? cpu_ns / row->calls / 1000 : 0, row->calls);
	if (row->errors)
		fprintf(out, "%9" PRIu64 " %s\n", row->errors, name);
	else
		fprintf(out, "%9s %s\n", "", name);
}

/* The rows of one mode. */
static void print_table(struct row *const *rows, size_t count, FILE *out)
{
	int width = name_width(rows, count);
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
		double share = row_cpu_ns(&sum)
				       ? (double)row_cpu_ns(rows[i]) / (double)row_cpu_ns(&sum)
				       : 0;

		if (!rows[i]->calls)
			continue;
		row_name(rows[i], name);
		print_line(share * 100, rows[i], name, out);
	}
	print_rule(width, out);
	print_line(100, &sum, "total", out);
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
	for (int abi = 0; abi < NR_SYSCALL_ABI; abi++) {
		if (abi != LABEL_NATIVE_ABI)
			print_mode(&list, (enum syscall_abi)abi, true, out);
	}
	return ferror(out) ? -EIO : 0;
}
