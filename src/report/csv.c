/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the CSV form: RFC 4180, but with plain line feeds, as scripts want. Names that programs
 * chose go through text_escape_visible(), so that a cell never holds a line end. As a spreadsheet
 * would run a cell that starts like a formula, its first character then becomes \xNN as well: "="
 * and "@" always, "+" and "-" unless a plain word follows, as in -bash. In some countries a cell
 * ends at a semicolon: what is behind one is looked at in the same way.
 */
#include <ctype.h>

#include "base/clock.h"
#include "report/report.h"

/* Nothing a spreadsheet could compute is a sign with letters, digits and dots behind it. */
static bool is_formula(const char *text)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";

	if (*text == '=' || *text == '@')
		return true;
	/* A lone "-" stands for nothing known. */
	if ((*text != '+' && *text != '-') || !text[1])
		return false;
	return !isalpha((unsigned char)text[1]) || text[1 + strspn(text + 1, plain)];
}

static void print_text(const char *text, FILE *out)
{
	bool quoted = strpbrk(text, ",;\"") != NULL, begins = true;

	if (quoted)
		fputc('"', out);
	for (; *text; begins = *text++ == ';') {
		if (*text == '"')
			fputc('"', out);
		if (begins && is_formula(text))
			fprintf(out, "\\x%02x", (unsigned char)*text);
		else
			fputc(*text, out);
	}
	if (quoted)
		fputc('"', out);
}

/* Without a group it is an interval without calls: of nobody, and none of each. */
static void print_line(const char *interval, const struct column_list *columns,
		       const struct column_scope *scope, const struct group *group, FILE *out)
{
	size_t label_column = table_label_column(columns);
	char label[TABLE_LABEL_MAX], text[COLUMN_TEXT_MAX];
	uint64_t value = 0;
	struct group nothing = { .nr_merged = 0 };

	row_init(&nothing.sum);
	fputs(interval, out);
	for (size_t i = 0; i < columns->count; i++) {
		const struct column *column = columns->columns[i];

		fputc(',', out);
		if (group && group->nr_merged && i == label_column) {
			others_label(group, label, sizeof(label));
			print_text(label, out);
			continue;
		}
		/* A pid or tid is a number or nothing, no word. */
		if ((!group && column_is_key(column)) ||
		    (column->number && !column_number(column, scope, group ?: &nothing, &value)))
			continue;
		if (column_is_key(column) && column_text(column, scope, group, text))
			print_text(text, out);
		else if (column->kind == COLUMN_PERCENT)
			fprintf(out, "%" PRIu64 ".%02" PRIu64, value / 100, value % 100);
		else if (!column_is_key(column))
			fprintf(out, "%" PRIu64, value);
	}
	fputc('\n', out);
}

int report_csv(const struct snapshot *snapshot, const struct table_options *options, bool header,
	       FILE *out)
{
	char start[CLOCK_RFC3339_SIZE], end[CLOCK_RFC3339_SIZE], interval[2 * CLOCK_RFC3339_SIZE];
	struct table_part part __cleanup(table_part_done) = { .list.groups = NULL };
	const struct column *column;
	struct column_list columns;
	int err = table_part_make(snapshot, options, NULL, &part);

	if (err)
		return err;
	table_columns(options, part.scope.keys, &columns);
	/* Unless the user chose, all counts and times but the age of the oldest call. */
	for (size_t i = 0; !options->columns && (column = column_at(i)); i++) {
		if (column->kind != COLUMN_TEXT && column->kind != COLUMN_ID &&
		    column->kind != COLUMN_PERCENT && strcmp(column->name, "oldest") != 0)
			column_list_add(&columns, column);
	}
	if (header)
		fputs("start,end", out);
	for (size_t i = 0; i < columns.count && header; i++)
		fprintf(out, ",%s", columns.columns[i]->field);
	if (header)
		fputc('\n', out);
	clock_rfc3339(snapshot->start_ns, start, sizeof(start));
	clock_rfc3339(snapshot->end_ns, end, sizeof(end));
	snprintf(interval, sizeof(interval), "%s,%s", start, end);
	for (size_t i = 0; i < part.list.nr_groups; i++)
		print_line(interval, &columns, &part.scope, &part.list.groups[i], out);
	/* Without a line the interval would seem to be missing. */
	if (!part.list.nr_groups && snapshot->elapsed_ns)
		print_line(interval, &columns, &part.scope, NULL, out);
	return ferror(out) ? -EIO : 0;
}
