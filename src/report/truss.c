/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes the tables of truss -c and strace -c, column for column.
 *
 * The table of truss is as Solaris and illumos print it: names in 19 columns, times as seconds without a
 * leading zero, errors blank when there are none. But times have six decimals, as those of strace, the
 * longest comes first, and a last line splits the time of all threads.
 *
 * The table of strace is as strace 6.1 prints it, for scripts that parse it: a table for each kind
 * of call, the machine's own first. As there, a table without calls is not printed. Rows are sorted
 * by CPU time, then by number; errors are blank when there are none.
 */
#include "report/report.h"
#include "syscalls/names.h"

/* The groups of such a table. */
static int part_make(const struct snapshot *snapshot, const struct table_options *options,
		     const struct row_test *test, struct table_part *ret)
{
	struct table_options table = *options;

	table.ended_only = true;
	if (!table.sort.count && sort_parse("", "cpu,nr", &table.sort, NULL))
		return -ENOMEM;
	return table_part_make(snapshot, &table, test, ret);
}

/* The length of the longest name. */
static int longest_name(const struct table_part *part, size_t least,
			void (*name)(const struct table_part *part, const struct group *group,
				     char buf[COLUMN_TEXT_MAX]))
{
	char buf[COLUMN_TEXT_MAX];

	for (size_t i = 0; i < part->list.nr_groups; i++) {
		name(part, &part->list.groups[i], buf);
		least = max_u64(least, text_width(buf));
	}
	return (int)least;
}

/* --- truss --- */

#define TRUSS_NAME_WIDTH 19

/* Twelve columns behind a name: whole seconds only when there are any, then microseconds. */
static void print_time(const char *name, uint64_t ns, int width, FILE *out)
{
	const uint64_t us = ns / 1000, second = 1000000;

	fprintf(out, "%s%*s ", name, width - (int)text_width(name), "");
	if (us >= second)
		fprintf(out, "%5" PRIu64 ".%06" PRIu64, us / second, us % second);
	else
		fprintf(out, "     .%06" PRIu64, us);
}

/* Waits that are not in the column of seconds are said below it, from a hundredth of a second on. */
#define WAITED_NS 10000000

static void print_waited(const struct row *sum, FILE *out)
{
	const uint64_t cpu_ns = row_cpu_ns(sum);

	if (sum->wall_ns >= cpu_ns * 2 + WAITED_NS)
		fprintf(out, "seconds: CPU time; the calls took %.3f s (-w shows it)\n",
			(double)sum->wall_ns / 1e9);
}

int report_truss(const struct snapshot *snapshot, const struct table_options *options, FILE *out)
{
	struct table_part part __cleanup(table_part_done) = { .list = { 0 } };
	const struct row *sum = &part.sum.sum;
	char name[COLUMN_TEXT_MAX];
	int width;

	if (part_make(snapshot, options, NULL, &part))
		return -ENOMEM;
	width = longest_name(&part, TRUSS_NAME_WIDTH, table_group_title);
	fprintf(out, "\n%-*s      seconds   calls  errors\n", width, "syscall");
	for (size_t i = 0; i < part.list.nr_groups; i++) {
		const struct row *row = &part.list.groups[i].sum;

		table_group_title(&part, &part.list.groups[i], name);
		print_time(name, row_cpu_ns(row), width, out);
		fprintf(out, " %7" PRIu64, row->calls);
		if (row->errors) {
			emphasis_begin(EMPHASIS_BAD, options->color, out);
			fprintf(out, " %7" PRIu64, row->errors);
			emphasis_end(EMPHASIS_BAD, options->color, out);
		}
		fputc('\n', out);
	}
	fprintf(out, "%-*s  -----------  ------   ----\n", width, "");
	print_time("sys totals:", row_cpu_ns(sum), width, out);
	fprintf(out, " %7" PRIu64 " %6" PRIu64 "\n", sum->calls, sum->errors);
	print_time("usr time:", snapshot_user_ns(snapshot), width, out);
	fputc('\n', out);
	print_time("elapsed:", snapshot->elapsed_ns, width, out);
	fputc('\n', out);
	print_waited(sum, out);
	print_thread_time(snapshot, false, out);
	print_user_time(snapshot, out);
	print_process_changes(snapshot, options->keys, out);
	return report_trust(snapshot, options->color, out);
}

/* --- strace --- */

#define STRACE_NAME_WIDTH 16

/* The names that strace has for the modes of a processor. */
static const char *const mode_names[NR_SYSCALL_ABI] = {
	[ABI_X86_64] = "64 bit", [ABI_I386] = "32 bit", [ABI_X32] = "x32",
	[ABI_ARM64] = "64 bit",  [ABI_ARM] = "32 bit",
};

/* A table of calls is of one ABI, which need not be named in each line. */
static void strace_name(const struct table_part *part, const struct group *group,
			char buf[COLUMN_TEXT_MAX])
{
	if (part->scope.keys == GROUP_SYSCALL && !group->nr_merged)
		row_call_name(&group->sum, buf, COLUMN_TEXT_MAX);
	else
		table_group_title(part, group, buf);
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

static int print_mode(const struct snapshot *snapshot, const struct table_options *options,
		      const struct row_test *test, const char *mode, FILE *out)
{
	struct table_part part __cleanup(table_part_done) = { .list = { 0 } };
	char name[COLUMN_TEXT_MAX];
	double all_ns;
	int width;

	if (part_make(snapshot, options, test, &part))
		return -ENOMEM;
	if (!part.sum.sum.calls)
		return 0;
	all_ns = (double)row_cpu_ns(&part.sum.sum);
	/* Leaves one blank behind the longest name. */
	width = longest_name(&part, STRACE_NAME_WIDTH - 1, strace_name) + 1;
	if (mode)
		fprintf(out, "System call usage summary for %s mode:\n", mode);
	fputs("% time     seconds  usecs/call     calls    errors syscall\n", out);
	print_rule(width, out);
	for (size_t i = 0; i < part.list.nr_groups; i++) {
		const struct row *row = &part.list.groups[i].sum;

		strace_name(&part, &part.list.groups[i], name);
		print_line(all_ns > 0 ? (double)row_cpu_ns(row) / all_ns : 0, row, name, out);
	}
	print_rule(width, out);
	print_line(1, &part.sum.sum, "total", out);
	return 0;
}

static bool row_has_abi(const struct row *row, const void *abi)
{
	return row->abi == *(const enum syscall_abi *)abi;
}

int report_strace(const struct snapshot *snapshot, const struct table_options *options, FILE *out)
{
	const bool by_abi = !options->keys || options->keys & GROUP_SYSCALL;
	const enum syscall_abi native = LABEL_NATIVE_ABI;
	const struct row_test is_native = { row_has_abi, &native };
	int err = print_mode(snapshot, options, by_abi ? &is_native : NULL, NULL, out);

	for (enum syscall_abi abi = 0; abi < NR_SYSCALL_ABI && by_abi && !err; abi++) {
		const struct row_test test = { row_has_abi, &abi };

		if (abi != native)
			err = print_mode(snapshot, options, &test, mode_names[abi], out);
	}
	return err ?: ferror(out) ? -EIO : 0;
}
