/* SPDX-License-Identifier: BSD-2-Clause */
/* Aligns text tables. Invariant: a row has as many cells as there are columns. */
#include "report/grid.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

#define GAP 2

struct grid_column {
	bool right, hidden;
	int rank;
	enum grid_kind kind; /* GRID_TEXT once its numbers are texts */
	unsigned int group;
	const char *per;
	size_t width;
};

struct grid_cell {
	char *text; /* NULL: empty, or a number */
	bool is_number;
	double number;
};

/* A row, a rule (neither cells nor line), or a line. */
struct grid_row {
	struct grid_cell *cells;
	char *line;
};

struct grid {
	struct grid_column *columns;
	struct grid_row *rows; /* the titles first */
	size_t nr_columns, nr_rows;
	double largest[GRID_GROUPS]; /* number of each group */
	int err;
};

int grid_new(size_t nr_columns, struct grid **ret)
{
	struct grid *grid __cleanup(grid_freep) = calloc(1, sizeof(*grid));

	if (!grid)
		return -ENOMEM;
	grid->columns = calloc(nr_columns + 1, sizeof(*grid->columns));
	if (!grid->columns)
		return -ENOMEM;
	grid->nr_columns = nr_columns;
	grid_add_row(grid);
	if (grid->err)
		return grid->err;
	*ret = steal_ptr(&grid);
	return 0;
}

void grid_free(struct grid *grid)
{
	if (!grid)
		return;
	for (size_t i = 0; i < grid->nr_rows; i++) {
		for (size_t j = 0; grid->rows[i].cells && j < grid->nr_columns; j++)
			free(grid->rows[i].cells[j].text);
		free(grid->rows[i].cells);
		free(grid->rows[i].line);
	}
	free(grid->rows);
	free(grid->columns);
	free(grid);
}

static void text_set(struct grid *grid, char **to, const char *text)
{
	free(*to);
	*to = strdup(text);
	if (!*to)
		grid->err = -ENOMEM;
}

void grid_set_title(struct grid *grid, size_t column, const char *title, bool right, int rank)
{
	text_set(grid, &grid->rows[0].cells[column].text, title);
	grid->columns[column].right = right;
	grid->columns[column].rank = rank;
}

void grid_set_scale(struct grid *grid, size_t column, enum grid_kind kind, unsigned int group,
		    const char *per)
{
	grid->columns[column].kind = kind;
	grid->columns[column].group = group;
	grid->columns[column].per = per;
}

/* A new row, or NULL. */
static struct grid_row *row_add(struct grid *grid)
{
	if (!array_grow(&grid->rows, grid->nr_rows, sizeof(*grid->rows))) {
		grid->err = -ENOMEM;
		return NULL;
	}
	grid->rows[grid->nr_rows] = (struct grid_row){ NULL, NULL };
	return &grid->rows[grid->nr_rows++];
}

void grid_add_row(struct grid *grid)
{
	struct grid_row *row = row_add(grid);

	if (!row)
		return;
	row->cells = calloc(grid->nr_columns + 1, sizeof(*row->cells));
	if (!row->cells)
		grid->err = -ENOMEM;
}

void grid_set(struct grid *grid, size_t column, const char *text)
{
	if (!grid->err)
		text_set(grid, &grid->rows[grid->nr_rows - 1].cells[column].text, text);
}

void grid_set_format(struct grid *grid, size_t column, const char *format, ...)
{
	char text[64];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	grid_set(grid, column, text);
}

void grid_set_number(struct grid *grid, size_t column, double value)
{
	double *largest = &grid->largest[grid->columns[column].group];

	if (grid->err)
		return;
	grid->rows[grid->nr_rows - 1].cells[column] =
		(struct grid_cell){ .is_number = true, .number = value };
	*largest = fmax(*largest, value);
}

void grid_add_rule(struct grid *grid)
{
	row_add(grid);
}

void grid_add_line(struct grid *grid, const char *text)
{
	struct grid_row *row = row_add(grid);

	if (row)
		text_set(grid, &row->line, text);
}

void grid_hide(struct grid *grid, size_t column)
{
	grid->columns[column].hidden = true;
}

static void rate_format(double largest, double rate, char *buf, size_t size)
{
	int decimals = largest >= 100000 ? 0 : largest >= 100 ? 1 : 2;
	double least = pow(10, -decimals);

	if (rate > 0 && rate < least / 2)
		snprintf(buf, size, "<%.*f", decimals, least);
	else
		snprintf(buf, size, "%.*f", decimals, rate);
}

/* Turns the numbers of a column into texts, now that the largest is known. */
static void column_finish(struct grid *grid, size_t index)
{
	struct grid_column *column = &grid->columns[index];
	double largest = grid->largest[column->group];
	const struct time_scale *scale = NULL;
	char text[128];

	if (column->kind == GRID_SUM)
		scale = scale_for_sums((uint64_t)largest);
	else if (column->kind == GRID_LATENCY)
		scale = scale_for_latencies((uint64_t)largest);
	if (scale) {
		snprintf(text, sizeof(text), "%s %s%s", grid->rows[0].cells[index].text ?: "",
			 scale->unit, column->per);
		text_set(grid, &grid->rows[0].cells[index].text, text);
	}
	column->kind = GRID_TEXT;
	for (size_t i = 0; i < grid->nr_rows; i++) {
		struct grid_cell *cell;

		if (!grid->rows[i].cells)
			continue;
		cell = &grid->rows[i].cells[index];
		if (cell->is_number) {
			cell->is_number = false;
			if (isnan(cell->number))
				snprintf(text, sizeof(text), "-");
			else if (scale)
				scale_format(scale, (uint64_t)llround(cell->number), text,
					     sizeof(text));
			else
				rate_format(largest, cell->number, text, sizeof(text));
			text_set(grid, &cell->text, text);
		}
		column->width = max_u64(column->width, text_width(cell->text ?: ""));
	}
}

/* Width of the whole line, and the highest rank of a column in it. */
static size_t grid_width(const struct grid *grid, int *ret_rank)
{
	size_t width = 0;

	*ret_rank = 0;
	for (size_t i = 0; i < grid->nr_columns; i++) {
		const struct grid_column *column = &grid->columns[i];

		if (column->hidden)
			continue;
		width += (width ? GAP : 0) + column->width;
		*ret_rank = column->rank > *ret_rank ? column->rank : *ret_rank;
	}
	return width;
}

void grid_fit(struct grid *grid, int width)
{
	int rank;

	for (size_t i = 0; i < grid->nr_columns && !grid->err; i++)
		column_finish(grid, i);
	while (width > 0 && grid_width(grid, &rank) > (size_t)width && rank) {
		for (size_t i = 0; i < grid->nr_columns; i++)
			grid->columns[i].hidden |= grid->columns[i].rank == rank;
	}
}

static void print_blanks(size_t count, FILE *out)
{
	fprintf(out, "%*s", (int)count, "");
}

/* Blanks are owed until something follows them, so that no line ends with any. */
static void print_cell(const struct grid_column *column, const char *text, size_t *owed, FILE *out)
{
	size_t padding = column->width - text_width(text);

	if (*text) {
		print_blanks(*owed + (column->right ? padding : 0), out);
		fputs(text, out);
		*owed = GAP + (column->right ? 0 : padding);
	} else {
		*owed += padding + GAP;
	}
}

static void print_rule(const struct grid *grid, FILE *out)
{
	size_t owed = 0;

	for (size_t i = 0; i < grid->nr_columns; i++) {
		if (grid->columns[i].hidden)
			continue;
		print_blanks(owed, out);
		for (size_t j = 0; j < grid->columns[i].width; j++)
			fputc('-', out);
		owed = GAP;
	}
}

static void print_row(const struct grid *grid, const struct grid_row *row, FILE *out)
{
	size_t owed = 0;

	for (size_t i = 0; row->cells && i < grid->nr_columns; i++) {
		if (!grid->columns[i].hidden)
			print_cell(&grid->columns[i], row->cells[i].text ?: "", &owed, out);
	}
	if (row->line)
		fputs(row->line, out);
	else if (!row->cells)
		print_rule(grid, out);
	fputc('\n', out);
}

int grid_print(struct grid *grid, FILE *out)
{
	grid_fit(grid, 0);
	if (grid->err)
		return grid->err;
	for (size_t i = 0; i < grid->nr_rows; i++)
		print_row(grid, &grid->rows[i], out);
	return ferror(out) ? -EIO : 0;
}
