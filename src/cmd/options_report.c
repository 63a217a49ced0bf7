/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the options that say what a report is like, whoever counted. */
#include "cmd/options.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "cmd/arguments.h"
#include "cmd/options_parts.h"

static int parse_list(const char *option, const char *arg, struct syscall_set **ret, struct diag *d)
{
	struct diag why;
	int err = syscall_set_parse(arg, ret, &why);

	return err ? diag_set(d, why.kind, -err, "%s: %.400s", option, why.text) : 0;
}

static int set_only(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	syscall_set_free(o->only);
	o->only = NULL;
	return parse_list("-t", arg, &o->only, d);
}

static int set_output(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	if (!*arg)
		return diag_set(d, DIAG_USAGE, EINVAL, "-o: give the name of a file");
	o->output = arg;
	return 0;
}

static int set_json(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	(void)arg, (void)d;
	o->format = FORMAT_JSON;
	return 0;
}

static int set_wide(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	(void)arg, (void)d;
	o->format = FORMAT_WIDE;
	return 0;
}

static int set_csv(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	(void)arg, (void)d;
	o->format = FORMAT_CSV;
	return 0;
}

static int set_errors(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	(void)arg, (void)d;
	o->format = FORMAT_ERRORS;
	return 0;
}

static int set_hist(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	(void)d;
	o->table.hist = true;
	return set_wide(o, arg, d);
}

static int set_errors_only(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	(void)arg, (void)d;
	o->table.errors_only = true;
	return 0;
}

static int set_format(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	return report_format_parse(arg, &o->format, d);
}

static int set_by(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	return group_keys_parse(arg, &o->table.keys, d);
}

static int set_sort(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	return column_find("--sort", arg, &o->table.sort, d);
}

static int set_columns(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	o->table.columns = &o->columns;
	return columns_parse(arg, &o->columns, d);
}

static int set_waiting(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	syscall_set_free(o->waiting);
	o->waiting = NULL;
	o->table.waiting = NULL;
	if (parse_list("--waiting", arg, &o->waiting, d))
		return -EINVAL;
	o->table.waiting = o->waiting;
	return 0;
}

static int set_chart(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	if (!*arg)
		return diag_set(d, DIAG_USAGE, EINVAL, "--chart: give the name of a file");
	o->chart = arg;
	return 0;
}

static int set_stacks(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;

	o->collector.stacks = o->show_stacks = true;
	o->stacks.weight = arg && !strcmp(arg, "time") ? STACK_WEIGHT_TIME : STACK_WEIGHT_CALLS;
	if (!arg || !strcmp(arg, "calls") || !strcmp(arg, "time"))
		return 0;
	return diag_set(d, DIAG_USAGE, EINVAL,
			"--stacks: by calls or by time (--stacks=time), not by \"%.64s\"", arg);
}

static int set_stack_file(struct options *o, enum stack_file which, const char *option,
			  const char *arg, struct diag *d)
{
	if (!*arg)
		return diag_set(d, DIAG_USAGE, EINVAL, "%s: give the name of a file", option);
	o->collector.stacks = true;
	o->stack_files[which] = arg;
	return 0;
}

static int set_folded(void *options, const char *arg, struct diag *d)
{
	return set_stack_file(options, STACK_FILE_FOLDED, "--folded", arg, d);
}

static int set_pprof(void *options, const char *arg, struct diag *d)
{
	return set_stack_file(options, STACK_FILE_PPROF, "--pprof", arg, d);
}

static int set_flame(void *options, const char *arg, struct diag *d)
{
	return set_stack_file(options, STACK_FILE_FLAME, "--flame", arg, d);
}

static int set_top(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;
	uint32_t count = 0;
	int err = parse_limit("--top", arg, 1000000, &count, d);

	o->table.top = count;
	return err;
}

static int set_min_calls(void *options, const char *arg, struct diag *d)
{
	struct options *o = options;
	uint32_t count = 0;
	int err = parse_limit("--min-calls", arg, UINT32_MAX, &count, d);

	o->table.min_calls = count;
	return err;
}

static const struct option_def defs[] = {
	{ "trace", "[!]LIST", "report only (or, with !, all but) these calls and %classes",
	  set_only, 't' },
	{ "output", "FILE", "write the report to FILE", set_output, 'o' },
	{ "wide", NULL, "a wide table: times, tails, waiting calls apart", set_wide, 'w' },
	{ "hist", NULL, "the wide table, with a histogram of each row", set_hist, 0 },
	{ "errors", NULL, "a table of errors: which, how many, what share", set_errors, 0 },
	{ "csv", NULL, "comma-separated values", set_csv, 0 },
	{ "json", NULL, "one JSON object instead of the table", set_json, 0 },
	{ "format", "NAME", "truss, wide, json, csv, strace or errors", set_format, 0 },
	{ "chart", "FILE", "also draw counts and times of the calls, as SVG", set_chart, 0 },
	{ "by", "KEYS", "rows by pid,tid,comm,unit,user,syscall,abi,arg0", set_by, 0 },
	{ "sort", "COLUMN", "sort rows by this column", set_sort, 0 },
	{ "top", "N", "only the first N rows; the others are added up", set_top, 0 },
	{ "columns", "LIST", "columns of the wide table", set_columns, 0 },
	{ "min-calls", "N", "only rows of at least N calls", set_min_calls, 0 },
	{ "errors-only", NULL, "only rows with errors", set_errors_only, 0 },
	{ "waiting", "[!]LIST", "calls that wait for work, in the wide table", set_waiting, 0 },
	{ "stacks", "[=calls|time]", "also the user stacks that make the calls", set_stacks, 0 },
	{ "folded", "FILE", "also stacks in lines, for flame graph tools", set_folded, 0 },
	{ "pprof", "FILE", "also a profile for pprof", set_pprof, 0 },
	{ "flame", "FILE", "also a flame graph, as SVG", set_flame, 0 },
};

const struct option_part report_options = { defs, ARRAY_SIZE(defs) };

/* The same words mean the same where only some of them make sense. */
static const struct option_def comparison_defs[] = {
	{ "trace", "[!]LIST", "report only (or, with !, all but) these calls and %classes",
	  set_only, 't' },
	{ "json", NULL, "one JSON object instead of the table", set_json, 0 },
	{ "by", "KEYS", "rows by pid,comm,unit,user,syscall,abi", set_by, 0 },
	{ "top", "N", "only the first N rows of each half", set_top, 0 },
	{ "waiting", "[!]LIST", "calls that wait for work and stand apart", set_waiting, 0 },
};

const struct option_part comparison_options = { comparison_defs, ARRAY_SIZE(comparison_defs) };

static const struct option_def timeline_defs[] = {
	{ "trace", "[!]LIST", "report only (or, with !, all but) these calls and %classes",
	  set_only, 't' },
	{ "json", NULL, "one JSON object instead of the table", set_json, 0 },
	{ "csv", NULL, "comma-separated values", set_csv, 0 },
	{ "waiting", "[!]LIST", "calls that wait for work, not in the table", set_waiting, 0 },
};

const struct option_part timeline_options = { timeline_defs, ARRAY_SIZE(timeline_defs) };
