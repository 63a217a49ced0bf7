/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the CSV form: RFC 4180, but with plain line feeds, as scripts want. Names that programs
 * chose go through text_escape_visible(), so that a cell never holds a line end. As a spreadsheet
 * would run a cell that starts like a formula, its first character then becomes \xNN as well: "="
 * and "@" always, "+" and "-" unless a plain word follows, as in -bash. In some countries a cell
 * ends at a semicolon: what is behind one is looked at in the same way.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "report/report.h"
#include "report/table.h"

/* Takes the keys and, unless the user chose, all counts and times but the age of the oldest call. */
static void csv_columns(const struct table_options *options, unsigned int keys,
			struct column_list *ret)
{
	const struct column *column;

	table_columns(options, keys, ret);
	for (size_t i = 0; !options->columns && (column = column_at(i)); i++) {
		if (!column_is_key(column) && column->kind != COLUMN_PERCENT &&
		    strcmp(column->name, "oldest") != 0)
			column_list_add(ret, column);
	}
}

/* A sign and then letters, digits and dots only: nothing a spreadsheet could compute. */
static bool is_signed_word(const char *text)
{
	if (!isalpha((unsigned char)text[1]))
		return false;
	for (text++; *text; text++) {
		if (!isalnum((unsigned char)*text) && !strchr("_.-", *text))
			return false;
	}
	return true;
}

static bool is_formula(const char *text)
{
	if (*text == '=' || *text == '@')
		return true;
	/* A lone "-" stands for nothing known. */
	return (*text == '+' || *text == '-') && text[1] && !is_signed_word(text);
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

static void print_number(const struct column *column, uint64_t value, FILE *out)
{
	if (column->kind == COLUMN_PERCENT)
		fprintf(out, "%" PRIu64 ".%02" PRIu64, value / 100, value % 100);
	else
		fprintf(out, "%" PRIu64, value);
}

static void print_cell(const struct column *column, const struct column_scope *scope,
		       const struct group *group, FILE *out)
{
	char text[COLUMN_TEXT_MAX];
	uint64_t value = 0;

	/* A pid or tid is a number or nothing, no word. */
	if (column->number && !column_number(column, scope, group, &value))
		return;
	if (!column_is_key(column))
		print_number(column, value, out);
	else if (column_text(column, scope, group, text))
		print_text(text, out);
}

static void print_header(const struct column_list *columns, FILE *out)
{
	fputs("start,end", out);
	for (size_t i = 0; i < columns->count; i++)
		fprintf(out, ",%s", columns->columns[i]->field);
	fputc('\n', out);
}

static void print_group(const struct table_part *part, const struct group *group,
			const struct column_list *columns, FILE *out)
{
	size_t label_column = table_label_column(columns);
	char label[TABLE_LABEL_MAX];

	others_label(group, label, sizeof(label));
	for (size_t i = 0; i < columns->count; i++) {
		fputc(',', out);
		if (group->nr_merged && i == label_column)
			print_text(label, out);
		else
			print_cell(columns->columns[i], &part->scope, group, out);
	}
	fputc('\n', out);
}

/* An interval without calls: of nobody, and none of each. One that is missing would look like that, too. */
static void print_nothing(const struct table_part *part, const struct column_list *columns,
			  FILE *out)
{
	struct group nothing = { .nr_merged = 0 };

	row_init(&nothing.sum);
	for (size_t i = 0; i < columns->count; i++) {
		fputc(',', out);
		if (!column_is_key(columns->columns[i]))
			print_cell(columns->columns[i], &part->scope, &nothing, out);
	}
	fputc('\n', out);
}

int report_csv(const struct snapshot *snapshot, const struct table_options *options, bool header,
	       FILE *out)
{
	char start[CLOCK_RFC3339_SIZE], end[CLOCK_RFC3339_SIZE];
	struct table_part part __cleanup(table_part_done) = { .list.groups = NULL };
	struct column_list columns;
	int err = table_part_make(snapshot, options, NULL, &part);

	if (err)
		return err;
	csv_columns(options, part.scope.keys, &columns);
	if (header)
		print_header(&columns, out);
	clock_rfc3339(snapshot->start_ns, start, sizeof(start));
	clock_rfc3339(snapshot->end_ns, end, sizeof(end));
	for (size_t i = 0; i < part.list.nr_groups; i++) {
		fprintf(out, "%s,%s", start, end);
		print_group(&part, &part.list.groups[i], &columns, out);
	}
	if (!part.list.nr_groups && snapshot->elapsed_ns) {
		fprintf(out, "%s,%s", start, end);
		print_nothing(&part, &columns, out);
	}
	return ferror(out) ? -EIO : 0;
}
