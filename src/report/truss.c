/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes the tables of truss -c and strace -c, column for column.
 *
 * The table of truss is as Solaris and illumos print it: names in 19 columns, times as seconds with
 * three decimals and no leading zero, errors blank when there are none, rows in the order of the
 * system call numbers. The name column grows only for names that do not fit.
 *
 * The table of strace is as strace 6.1 prints it, for scripts that parse it: a table for each kind
 * of call, the machine's own first. As there, a table without calls is not printed. Rows are sorted
 * by CPU time, then by number; errors are blank when there are none.
 */
#include "report/report.h"
#include "syscalls/names.h"

/* The length of the longest name of those that have calls. */
static int longest_name(const struct group *groups, size_t count, size_t least,
			void (*name)(const struct row *row, char *buf, size_t size))
{
	char buf[ROW_LABEL_MAX];

	for (size_t i = 0; i < count; i++) {
		name(&groups[i].sum, buf, sizeof(buf));
		if (groups[i].sum.calls)
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

int report_truss(const struct snapshot *snapshot, FILE *out)
{
	struct group_list list __cleanup(group_list_done) = { 0 };
	uint64_t cpu_ns = 0, calls = 0, errors = 0;
	char label[ROW_LABEL_MAX];
	int width;

	if (snapshot_group(snapshot, GROUP_SYSCALL, NULL, &list))
		return -ENOMEM;
	width = longest_name(list.groups, list.nr_groups, TRUSS_NAME_WIDTH, row_label);
	fprintf(out, "\n%-*s   seconds   calls  errors\n", width, "syscall");
	for (size_t i = 0; i < list.nr_groups; i++) {
		const struct row *row = &list.groups[i].sum;

		if (!row->calls)
			continue;
		row_label(row, label, sizeof(label));
		print_time(label, row_cpu_ns(row), width, out);
		fprintf(out, " %7" PRIu64, row->calls);
		if (row->errors)
			fprintf(out, " %7" PRIu64, row->errors);
		fputc('\n', out);
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
	print_user_time(snapshot, out);
	return report_trust(snapshot, out);
}

/* --- strace --- */

#define STRACE_NAME_WIDTH 16

/* The names that strace has for the modes of a processor. */
static const char *const mode_names[NR_SYSCALL_ABI] = {
	[ABI_X86_64] = "64 bit", [ABI_I386] = "32 bit", [ABI_X32] = "x32",
	[ABI_ARM64] = "64 bit",  [ABI_ARM] = "32 bit",
};

static int compare_groups(const void *x, const void *y)
{
	const struct row *a = &((const struct group *)x)->sum, *b = &((const struct group *)y)->sum;

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

/* Native calls come without a title, as they do in strace. */
static void print_mode(const struct group_list *list, enum syscall_abi abi, bool titled, FILE *out)
{
	char name[SYSCALL_NAME_MAX];
	struct group *groups = list->groups;
	size_t left = list->nr_groups, count = 0;
	struct row sum;
	int width;

	for (; left && groups->sum.abi != abi; left--)
		groups++;
	row_init(&sum);
	for (; count < left && groups[count].sum.abi == abi; count++) {
		sum.wall_ns += groups[count].sum.wall_ns;
		sum.off_ns += groups[count].sum.off_ns;
		sum.calls += groups[count].sum.calls;
		sum.errors += groups[count].sum.errors;
	}
	if (!sum.calls)
		return;
	/* Leaves one blank behind the longest name. */
	width = longest_name(groups, count, STRACE_NAME_WIDTH - 1, row_call_name) + 1;
	qsort(groups, count, sizeof(*groups), compare_groups);
	if (titled)
		fprintf(out, "System call usage summary for %s mode:\n", mode_names[abi]);
	fputs("% time     seconds  usecs/call     calls    errors syscall\n", out);
	print_rule(width, out);
	for (size_t i = 0; i < count; i++) {
		const struct row *row = &groups[i].sum;
		double cpu_ns = (double)row_cpu_ns(&sum);

		row_call_name(row, name, sizeof(name));
		if (row->calls)
			print_line(cpu_ns ? (double)row_cpu_ns(row) / cpu_ns : 0, row, name, out);
	}
	print_rule(width, out);
	print_line(1, &sum, "total", out);
}

int report_strace(const struct snapshot *snapshot, FILE *out)
{
	struct group_list list __cleanup(group_list_done) = { 0 };

	if (snapshot_group(snapshot, GROUP_SYSCALL, NULL, &list))
		return -ENOMEM;
	print_mode(&list, LABEL_NATIVE_ABI, false, out);
	for (enum syscall_abi abi = 0; abi < NR_SYSCALL_ABI; abi++) {
		if (abi != LABEL_NATIVE_ABI)
			print_mode(&list, abi, true, out);
	}
	return ferror(out) ? -EIO : 0;
}
