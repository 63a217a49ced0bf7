/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes a snapshot in the form that was asked for. */
#include "report/report.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "report/label.h"
#include "report/snapshot_json.h"

const char *const report_format_names[NR_REPORT_FORMAT] = {
	[FORMAT_TRUSS] = "truss", [FORMAT_WIDE] = "wide",     [FORMAT_JSON] = "json",
	[FORMAT_CSV] = "csv",     [FORMAT_STRACE] = "strace", [FORMAT_ERRORS] = "errors",
};

int report_format_parse(const char *word, enum report_format *ret, struct diag *d)
{
	for (int i = 0; i < NR_REPORT_FORMAT; i++) {
		if (!strcmp(word, report_format_names[i])) {
			*ret = (enum report_format)i;
			return 0;
		}
	}
	return diag_set(
		d, DIAG_USAGE, EINVAL,
		"--format: no format \"%s\"; there are truss, wide, json, csv, strace, errors",
		word);
}

/* Whether any option is there that only tables obey. */
static bool table_is_shaped(const struct table_options *t)
{
	return t->columns || t->sort || t->top || t->min_calls || t->errors_only || t->waiting;
}

bool report_needs_wide(const struct table_options *table)
{
	return table->keys || table_is_shaped(table);
}

/* Returns the option that the format does not obey, or NULL. */
static const char *format_refused(const struct report_options *options)
{
	const enum report_format format = options->format;
	const struct table_options *t = &options->table;
	const unsigned int json_keys = GROUP_TID | GROUP_PID | GROUP_ARG0 | GROUP_SYSCALL;
	const bool is_shaped = table_is_shaped(t);
	const struct {
		bool is_broken;
		const char *sentence;
	} rules[] = {
		{ format == FORMAT_JSON && (is_shaped || t->keys & ~json_keys),
		  "--json has all rows, by process and call: of --by it takes tid and arg0; "
		  "--sort, --top, --columns, --min-calls, --errors-only and --waiting are for "
		  "tables" },
		{ format == FORMAT_STRACE && (is_shaped || t->keys),
		  "--format=strace has the rows and columns of strace -c: --by, --sort, --top, "
		  "--columns, --min-calls, --errors-only and --waiting are for the other tables" },
		{ format == FORMAT_TRUSS && (is_shaped || t->keys),
		  "--format=truss has the rows and columns of truss -c: --by, --sort, --top, "
		  "--columns, --min-calls, --errors-only and --waiting are for the other tables" },
		{ format == FORMAT_ERRORS && (t->sort || t->columns || t->waiting),
		  "--errors has columns and an order of its own: --sort, --columns and --waiting "
		  "are for the wide table" },
		{ format == FORMAT_CSV && t->waiting,
		  "--csv has all calls in one table: --waiting is for the wide table and "
		  "--chart" },
		{ options->show_stacks && (format == FORMAT_CSV || format == FORMAT_STRACE),
		  "--stacks goes with tables and --json; --folded and --pprof write files for "
		  "other programs" },
		{ t->hist && format != FORMAT_WIDE,
		  "--hist draws into the wide table; --json has the histograms as numbers" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		if (rules[i].is_broken)
			return rules[i].sentence;
	}
	return NULL;
}

/* A column by which rows are not told apart is empty in all of them. */
static const struct column *column_unknown(const struct table_options *t)
{
	unsigned int keys = t->keys ?: (unsigned int)GROUP_SYSCALL;

	if (t->sort && !column_is_known(t->sort, keys))
		return t->sort;
	for (size_t i = 0; t->columns && i < t->columns->count; i++) {
		if (!column_is_known(t->columns->columns[i], keys))
			return t->columns->columns[i];
	}
	return NULL;
}

int report_options_check(const struct report_options *options, struct diag *d)
{
	const struct column *unknown = column_unknown(&options->table);
	const char *sentence = format_refused(options);

	if (sentence)
		return diag_set(d, DIAG_USAGE, EINVAL, "%s", sentence);
	if (unknown)
		return diag_set(d, DIAG_USAGE, EINVAL,
				"--sort, --columns: rows combine several values of %s; add --by %s",
				unknown->name, unknown->name);
	return 0;
}

int report_too_long(struct diag *d)
{
	return diag_set(d, DIAG_FAILED, E2BIG,
			"the report would be too long: ask for the first lines with --top, for "
			"fewer processes, or by fewer keys; JSON has all");
}

int report_check_lines(const struct snapshot *snapshot, const struct report_options *options,
		       size_t max, struct diag *d)
{
	struct table_part part __cleanup(table_part_done) = { .list = { 0 } };
	struct table_options table = options->table;

	/* Groups are no more than rows, and most snapshots have few. */
	if ((table.top && table.top <= max) || snapshot->nr_rows <= max)
		return 0;
	table.sort = NULL;
	if (table_part_make(snapshot, &table, NULL, &part))
		return diag_oom(d);
	return part.list.nr_groups <= max ? 0 : report_too_long(d);
}

static int report_table(const struct snapshot *snapshot, const struct report_options *options,
			FILE *out)
{
	switch (options->format) {
	case FORMAT_WIDE:
		return report_wide(snapshot, &options->table, out);
	case FORMAT_JSON:
		return report_json(snapshot, out);
	case FORMAT_CSV:
		return report_csv(snapshot, &options->table, !options->no_header, out);
	case FORMAT_STRACE:
		return report_strace(snapshot, out);
	case FORMAT_ERRORS:
		return report_errors(snapshot, &options->table, out);
	default:
		return report_truss(snapshot, out);
	}
}

int report_write(const struct snapshot *snapshot, const struct report_options *options, FILE *out)
{
	int err = report_table(snapshot, options, out);

	/* JSON has them in its rows. */
	if (err || !options->show_stacks || options->format == FORMAT_JSON)
		return err;
	return report_stacks(snapshot, &options->table, &options->stacks, out);
}

int report_text_json(const struct snapshot *snapshot, const char *text, FILE *out)
{
	struct json_writer to;

	json_begin(&to, out);
	json_put_object(&to, NULL);
	json_put_version(&to);
	json_put_origin(&to, snapshot);
	json_put_text(&to, "report", text);
	json_put_end(&to);
	return json_end(&to);
}

/* All but line ends as it can be shown, which changes nothing of a report of ours. */
static char *lines_escape(const char *text)
{
	char *lines = malloc(TEXT_ESCAPED_MAX(strlen(text))), *at = lines;

	while (lines) {
		size_t length = strcspn(text, "\n");

		text_escape_visible(text, length, at);
		at += strlen(at);
		if (!text[length])
			break;
		*at++ = '\n';
		*at = '\0';
		text += length + 1;
	}
	return lines;
}

int report_text_json_read(const char *json, size_t size, struct report_text *ret, struct diag *d)
{
	struct json_document document __cleanup(json_close);
	const struct json_place whole = json_open(&document, json, size, d);
	const char *text = json_get_word(&whole, "report", 0);
	struct report_text report = {
		.start_ns = json_get_time(&whole, "start"),
		.end_ns = json_get_time(&whole, "end"),
		.elapsed_ns = json_get_number(&whole, "elapsed_ns", 0, 0),
	};

	if (document.err)
		return document.err;
	report.text = lines_escape(text);
	if (!report.text)
		return diag_oom(d);
	*ret = report;
	return 0;
}
