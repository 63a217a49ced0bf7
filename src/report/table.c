/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Goes the way from options to groups, from groups to cells, and aligns these. Invariant: a row of a grid
 * has as many cells as there are columns.
 */
#include "report/table.h"

#include <math.h>

#define GAP 2

struct grid_column {
	bool right, hidden;
	bool left_out; /* for want of room */
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
	enum emphasis emphasis;
};

/* A row, titles, a rule (none of these), or a line. */
struct grid_row {
	bool has_titles;
	unsigned int section;
	struct grid_cell *cells;
	char *line;
};

struct grid {
	struct grid_column *columns;
	struct grid_row *rows; /* the titles first */
	size_t nr_columns, nr_rows;
	unsigned int section;                       /* of the last row; each titles begin one */
	double largest[GRID_SECTIONS][GRID_GROUPS]; /* number of each group */
	bool has_color;
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
	grid->rows[0].has_titles = true;
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
	grid->rows[grid->nr_rows] = (struct grid_row){ .section = grid->section };
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
	double *largest = &grid->largest[grid->section][grid->columns[column].group];

	if (grid->err)
		return;
	grid->rows[grid->nr_rows - 1].cells[column].is_number = true;
	grid->rows[grid->nr_rows - 1].cells[column].number = value;
	*largest = fmax(*largest, value);
}

void grid_set_emphasis(struct grid *grid, size_t column, enum emphasis emphasis)
{
	if (!grid->err)
		grid->rows[grid->nr_rows - 1].cells[column].emphasis = emphasis;
}

void grid_set_color(struct grid *grid, bool color)
{
	grid->has_color = color;
}

/* Colors are among the 8 that all terminals have. */
static const char *const emphasis_codes[NR_EMPHASIS] = {
	[EMPHASIS_TITLE] = "1",
	[EMPHASIS_BAD] = "31",
	[EMPHASIS_TAIL] = "33",
};

void emphasis_begin(enum emphasis emphasis, bool color, FILE *out)
{
	if (color && emphasis_codes[emphasis])
		fprintf(out, "\033[%sm", emphasis_codes[emphasis]);
}

void emphasis_end(enum emphasis emphasis, bool color, FILE *out)
{
	if (color && emphasis_codes[emphasis])
		fputs("\033[0m", out);
}

void grid_add_titles(struct grid *grid)
{
	grid->section = (unsigned int)min_u64(grid->section + 1, GRID_SECTIONS - 1);
	grid_add_row(grid);
	for (size_t i = 0; i < grid->nr_columns && !grid->err; i++)
		grid_set(grid, i, grid->rows[0].cells[i].text ?: "");
	if (!grid->err)
		grid->rows[grid->nr_rows - 1].has_titles = true;
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

/* The unit of a column in a section, now that its largest number is known; NULL: it has no times. */
static const struct time_scale *column_scale(const struct grid *grid, size_t index,
					     unsigned int section)
{
	const struct grid_column *column = &grid->columns[index];
	const uint64_t largest = (uint64_t)grid->largest[section][column->group];

	return column->kind == GRID_SUM       ? scale_for_sums(largest)
	       : column->kind == GRID_LATENCY ? scale_for_latencies(largest)
					      : NULL;
}

/* Turns a number into a text, and gives a title its unit. */
static void cell_finish(struct grid *grid, const struct grid_row *row, size_t index)
{
	const struct time_scale *scale = column_scale(grid, index, row->section);
	const struct grid_column *column = &grid->columns[index];
	struct grid_cell *cell = &row->cells[index];
	char text[128];

	if (row->has_titles && scale)
		snprintf(text, sizeof(text), "%s %s%s", cell->text ?: "", scale->unit, column->per);
	else if (!cell->is_number)
		return;
	else if (isnan(cell->number))
		snprintf(text, sizeof(text), "-");
	else if (scale)
		scale_format(scale, (uint64_t)llround(cell->number), text, sizeof(text));
	else
		rate_format(grid->largest[row->section][column->group], cell->number, text,
			    sizeof(text));
	cell->is_number = false;
	text_set(grid, &cell->text, text);
}

static void column_finish(struct grid *grid, size_t index)
{
	struct grid_column *column = &grid->columns[index];

	for (size_t i = 0; i < grid->nr_rows; i++) {
		if (!grid->rows[i].cells)
			continue;
		cell_finish(grid, &grid->rows[i], index);
		column->width =
			max_u64(column->width, text_width(grid->rows[i].cells[index].text ?: ""));
	}
	column->kind = GRID_TEXT;
}

/* Finishes all cells that are not yet; from then on columns have widths. */
static void grid_finish(struct grid *grid)
{
	for (size_t i = 0; i < grid->nr_columns && !grid->err; i++)
		column_finish(grid, i);
}

static size_t shown_width(const struct grid *grid)
{
	size_t whole = 0;

	for (size_t i = 0; i < grid->nr_columns; i++) {
		if (!grid->columns[i].hidden)
			whole += (whole ? GAP : 0) + grid->columns[i].width;
	}
	return whole;
}

size_t grid_width(struct grid *grid)
{
	grid_finish(grid);
	return shown_width(grid);
}

#define LEFT_OUT_BEFORE "no room for "
#define LEFT_OUT_BEHIND " (--columns, --width)"

static void grid_fit(struct grid *grid, int width)
{
	while (width > 0 && shown_width(grid) > (size_t)width) {
		int rank = 0;

		for (size_t i = 0; i < grid->nr_columns; i++) {
			if (!grid->columns[i].hidden && grid->columns[i].rank > rank)
				rank = grid->columns[i].rank;
		}
		if (!rank)
			return;
		for (size_t i = 0; i < grid->nr_columns; i++) {
			if (grid->columns[i].rank == rank)
				grid->columns[i].hidden = grid->columns[i].left_out = true;
		}
	}
}

void grid_print_left_out(const struct grid *grid, int width, FILE *out)
{
	char names[256] = "";
	size_t count = 0, used = 0;

	for (size_t i = 0; i < grid->nr_columns; i++) {
		const char *title = grid->rows[0].cells[i].text ?: "";

		if (!grid->columns[i].left_out)
			continue;
		/* Without its unit. */
		if (used < sizeof(names))
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%.*s",
						 count ? ", " : "", (int)strcspn(title, " "),
						 title);
		count++;
	}
	if (used + strlen(LEFT_OUT_BEFORE LEFT_OUT_BEHIND) > (size_t)width)
		snprintf(names, sizeof(names), "%zu columns", count);
	if (count)
		fprintf(out, LEFT_OUT_BEFORE "%s" LEFT_OUT_BEHIND "\n", names);
}

/* Blanks are owed until something follows them, so that no line ends with any. */
static void print_row(const struct grid *grid, const struct grid_row *row, FILE *out)
{
	size_t owed = 0;

	for (size_t i = 0; !row->line && i < grid->nr_columns; i++) {
		const struct grid_column *column = &grid->columns[i];
		const char *text = row->cells ? row->cells[i].text ?: "" : NULL;
		enum emphasis emphasis = row->has_titles ? EMPHASIS_TITLE
					 : row->cells    ? row->cells[i].emphasis
							 : EMPHASIS_NONE;
		size_t padding = text ? column->width - text_width(text) : 0;

		if (column->hidden)
			continue;
		owed += column->right ? padding : 0;
		if (!text || *text) {
			fprintf(out, "%*s", (int)owed, "");
			emphasis_begin(emphasis, grid->has_color, out);
			fputs(text ?: "", out);
			emphasis_end(emphasis, grid->has_color, out);
			owed = 0;
		}
		for (size_t j = 0; j < column->width && !text; j++)
			fputc('-', out);
		owed += GAP + (column->right ? 0 : padding);
	}
	fprintf(out, "%s\n", row->line ?: "");
}

int grid_print(struct grid *grid, int width, FILE *out)
{
	grid_finish(grid);
	grid_fit(grid, width);
	if (grid->err)
		return grid->err;
	for (size_t i = 0; i < grid->nr_rows; i++)
		print_row(grid, &grid->rows[i], out);
	return ferror(out) ? -EIO : 0;
}

/* --- tables of groups --------------------------------------------------------------------------- */

bool row_is_waiting(const struct row *row, const void *options)
{
	const struct table_options *table = options;

	return row->nr != ROW_NR_OTHER && syscall_waits(table->waiting, row->abi, (int)row->nr);
}

bool row_is_working(const struct row *row, const void *options)
{
	return !row_is_waiting(row, options);
}

const char *const table_half_names[NR_TABLE_HALF] = {
	[TABLE_WORKING] = "working",
	[TABLE_WAITING] = "waiting",
};

/* What a program does is not known of a call: a lock or a peer may be what it waits for. */
const char *const table_half_sums[NR_TABLE_HALF] = {
	[TABLE_WORKING] = "sum",
	[TABLE_WAITING] = "waiting",
};

struct row_test half_test(enum table_half half, const struct table_options *options)
{
	return (struct row_test){ half == TABLE_WAITING ? row_is_waiting : row_is_working,
				  options };
}

void table_part_done(struct table_part *part)
{
	group_list_done(&part->list);
	row_done(&part->sum.sum);
}

struct sorting {
	const struct sort_list *list;
	const struct column_scope *scope;
};

static int compare_groups(const struct group *a, const struct group *b, const void *closure)
{
	const struct sorting *sorting = closure;
	int order = 0;

	for (size_t i = 0; i < sorting->list->count && !order; i++)
		order = column_compare(sorting->list->by[i].column,
				       sorting->list->by[i].is_reversed, sorting->scope, a, b);
	return order;
}

int table_part_make(const struct snapshot *snapshot, const struct table_options *options,
		    const struct row_test *test, struct table_part *ret)
{
	struct table_part part __cleanup(table_part_done) = { .scope.snapshot = snapshot };
	struct sort_list by_total;
	struct sorting sorting = { options->sort.count ? &options->sort : &by_total, &part.scope };
	const struct group_cut filter = {
		.min_calls = options->min_calls,
		.errors_only = options->errors_only,
		.successes_only = options->successes_only,
		.ended_only = options->ended_only,
		.top = options->top,
		.compare = compare_groups,
		.closure = &sorting,
	};

	part.scope.keys = options->keys ?: (unsigned int)GROUP_SYSCALL;
	if (sort_parse("", "total", &by_total, NULL) ||
	    snapshot_group(snapshot, part.scope.keys, test, &part.list) ||
	    group_list_sum(&part.list, 0, &part.sum))
		return -ENOMEM;
	part.scope.total_ns = part.sum.sum.wall_ns;
	if (group_list_select(&part.list, &filter))
		return -ENOMEM;
	*ret = part;
	part = (struct table_part){ .list = { 0 } };
	return 0;
}

int table_halves_make(const struct snapshot *snapshot, const struct table_options *options,
		      struct table_part ret[NR_TABLE_HALF])
{
	for (enum table_half half = 0; half < NR_TABLE_HALF; half++) {
		const struct row_test test = half_test(half, options);

		if (table_part_make(snapshot, options, &test, &ret[half]))
			return -ENOMEM;
	}
	return 0;
}

void table_halves_done(struct table_part (*parts)[NR_TABLE_HALF])
{
	for (int half = 0; half < NR_TABLE_HALF; half++)
		table_part_done(&(*parts)[half]);
}

void others_label(const struct group *group, char *buf, size_t size)
{
	snprintf(buf, size, "(%zu other%s)", group->nr_merged, plural(group->nr_merged));
}

void table_columns(const struct table_options *options, unsigned int keys, struct column_list *ret)
{
	const struct column_list *chosen = options->columns;
	struct column_list list;

	columns_of_keys(keys, &list);
	ret->count = 0;
	for (size_t i = 0; i < list.count; i++) {
		if (!chosen || !column_list_has(chosen, list.columns[i]))
			column_list_add(ret, list.columns[i]);
	}
	for (size_t i = 0; chosen && i < chosen->count; i++)
		column_list_add(ret, chosen->columns[i]);
}

size_t table_label_column(const struct column_list *columns)
{
	size_t key = columns->count;

	for (size_t i = 0; i < columns->count; i++) {
		if (columns->columns[i]->kind == COLUMN_TEXT)
			return i;
		if (key == columns->count && column_is_key(columns->columns[i]))
			key = i;
	}
	return key;
}

void table_group_title(const struct table_part *part, const struct group *group,
		       char buf[COLUMN_TEXT_MAX])
{
	char cell[COLUMN_TEXT_MAX];
	struct column_list keys;
	size_t used = 0;

	buf[0] = '\0';
	if (group->nr_merged) {
		others_label(group, buf, COLUMN_TEXT_MAX);
		return;
	}
	columns_of_keys(part->scope.keys, &keys);
	for (size_t i = 0; i < keys.count && used < COLUMN_TEXT_MAX; i++) {
		if (!column_text(keys.columns[i], &part->scope, group, cell))
			snprintf(cell, sizeof(cell), "-");
		used += (size_t)snprintf(buf + used, COLUMN_TEXT_MAX - used, "%s%s", i ? " " : "",
					 cell);
	}
}

size_t table_text_max(int width)
{
	return width ? 28 + (size_t)width / 20 : SIZE_MAX;
}

void column_set_scale(struct grid *grid, size_t index, const struct column *column, const char *per)
{
	if (column->kind == COLUMN_SUM)
		grid_set_scale(grid, index, GRID_SUM, 1, per);
	else if (column->kind == COLUMN_LATENCY)
		grid_set_scale(grid, index, GRID_LATENCY, 2 + (unsigned int)index, "");
}

void column_set_number(struct grid *grid, size_t index, const struct column *column, uint64_t value)
{
	if (column->kind == COLUMN_SUM || column->kind == COLUMN_LATENCY)
		grid_set_number(grid, index, (double)value);
	else if (column->kind == COLUMN_PERCENT)
		grid_set_format(grid, index, "%" PRIu64 ".%02" PRIu64, value / 100, value % 100);
	else
		grid_set_format(grid, index, "%" PRIu64, value);
}

void table_set_titles(struct grid *grid, const struct column_list *columns, const int *ranks)
{
	for (size_t i = 0; i < columns->count; i++) {
		const struct column *column = columns->columns[i];

		grid_set_title(grid, i, column->name, column->kind != COLUMN_TEXT,
			       column_is_key(column) ? 0 : ranks[i]);
		column_set_scale(grid, i, column, "");
	}
}

/* More than this often the median is a tail, from a millisecond on. */
#define TAIL_FACTOR 100
#define TAIL_NS     1000000

static enum emphasis cell_emphasis(const struct column *column, const struct group *group,
				   uint64_t value)
{
	const struct row *row = &group->sum;

	if (!strcmp(column->name, "errors") || !strcmp(column->name, "err%"))
		return value ? EMPHASIS_BAD : EMPHASIS_NONE;
	if (column->kind != COLUMN_LATENCY || value < TAIL_NS || !row_timed(row))
		return EMPHASIS_NONE;
	return value / TAIL_FACTOR >= hist_quantile_ns(&row->hist, 0.5, row->min_ns, row->max_ns)
		       ? EMPHASIS_TAIL
		       : EMPHASIS_NONE;
}

/* The end of a path says most, and a path may be longer than a name. */
static void cell_cut(const struct column *column, size_t text_max, char *cell)
{
	if (!(column->shown_by & (GROUP_PATH | GROUP_DIR | GROUP_FILE)))
		text_cut(cell, text_max);
	else if (text_max < COLUMN_TEXT_MAX)
		text_cut_front(cell, text_max + text_max / 2);
}

/* A process keeps one sum of its threads that have ended, without their names. */
static const char *cell_unknown(const struct column *column, const struct group *group)
{
	bool has_ended = group->process && !group->thread && !group->sum.tid;

	return has_ended && !strcmp(column->name, "thread") ? "(ended threads)" : "-";
}

void table_add_row(struct grid *grid, const struct column_list *columns,
		   const struct column_scope *scope, const struct group *group, const char *label,
		   size_t text_max)
{
	size_t label_column = table_label_column(columns);
	char cell[COLUMN_TEXT_MAX], others[TABLE_LABEL_MAX];
	uint64_t value;

	others_label(group, others, sizeof(others));
	if (group->nr_merged)
		label = others;
	grid_add_row(grid);
	for (size_t i = 0; i < columns->count; i++) {
		const struct column *column = columns->columns[i];

		if (!column_is_key(column) && column_number(column, scope, group, &value)) {
			column_set_number(grid, i, column, value);
			grid_set_emphasis(grid, i, cell_emphasis(column, group, value));
		} else if (column_is_key(column) && label) {
			grid_set(grid, i, i == label_column ? label : "");
		} else if (column_is_key(column) && column_text(column, scope, group, cell)) {
			cell_cut(column, text_max, cell);
			grid_set(grid, i, cell);
		} else {
			grid_set(grid, i, cell_unknown(column, group));
		}
	}
}
