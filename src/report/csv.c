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
#include "report/rows.h"

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

void csv_print_text(const char *text, FILE *out)
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

/* The lines of one interval, or that of the names. */
struct csv {
	FILE *out;
	const char *interval;
	bool is_header;
	size_t nr_lines;
};

static void print_field(const struct field *field, FILE *out)
{
	if (field->text && (field->kind == FIELD_TEXT || field->prefers_text))
		csv_print_text(field->text, out);
	else if (field->kind == FIELD_NUMBER)
		fprintf(out, "%" PRIu64, field->number);
	else if (field->kind == FIELD_PERCENT)
		fprintf(out, "%" PRIu64 ".%02" PRIu64, field->number / 100, field->number % 100);
}

static int take_row(void *closure, const struct row_fields *row)
{
	struct csv *csv = closure;

	fputs(csv->interval, csv->out);
	for (size_t i = 0; i < row->count; i++) {
		fputc(',', csv->out);
		if (csv->is_header)
			fputs(row->fields[i].name, csv->out);
		else
			print_field(&row->fields[i], csv->out);
	}
	fputc('\n', csv->out);
	csv->nr_lines++;
	return 0;
}

int report_csv(const struct snapshot *snapshot, const struct report_options *options, FILE *out)
{
	char start[CLOCK_RFC3339_SIZE], end[CLOCK_RFC3339_SIZE], interval[2 * CLOCK_RFC3339_SIZE];
	struct csv header = { .out = out, .interval = "start,end", .is_header = true };
	struct csv lines = { .out = out, .interval = interval };
	int err = options->no_header ? 0 : rows_give_names(options, take_row, &header);

	clock_rfc3339(snapshot->start_ns, start, sizeof(start));
	clock_rfc3339(snapshot->end_ns, end, sizeof(end));
	snprintf(interval, sizeof(interval), "%s,%s", start, end);
	if (!err)
		err = rows_give(snapshot, options, take_row, &lines);
	/* Without a line the interval would seem to be missing. */
	if (!err && !lines.nr_lines && snapshot->elapsed_ns)
		err = rows_give_names(options, take_row, &lines);
	return err ?: ferror(out) ? -EIO : 0;
}
