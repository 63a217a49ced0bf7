/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes the data of a page: tables as lists of rows, each a list of values in the order of the fields, under
 * the names that JSON and CSV have for them; and the histograms of the largest groups. Ten thousand rows are
 * to open at once: nothing is written twice, and no name with each value.
 */
#include "report/page.h"

/* --- the stream --------------------------------------------------------------------------------- */

/* Escapes each "<", which only texts have: it could begin the end of the element, or hide it. */
static ssize_t embed(void *cookie, const char *bytes, size_t size)
{
	FILE *out = cookie;

	for (size_t i = 0; i < size; i++) {
		if (bytes[i] == '<')
			fputs("\\u003c", out);
		else
			fputc(bytes[i], out);
	}
	return ferror(out) ? 0 : (ssize_t)size;
}

int page_data_begin(struct page_data *data, FILE *out)
{
	fputs("<script type=\"application/json\" id=\"data\">\n", out);
	data->stream = fopencookie(out, "w", (cookie_io_functions_t){ .write = embed });
	if (!data->stream)
		return -ENOMEM;
	json_begin(&data->to, data->stream);
	json_put_document(&data->to, NULL);
	return 0;
}

int page_data_end(struct page_data *data, FILE *out)
{
	int err = json_end(&data->to);

	if (fclose(data->stream) && !err)
		err = -EIO;
	fputs("</script>\n", out);
	return err;
}

/* --- values ------------------------------------------------------------------------------------- */

static const char *const kind_words[NR_COLUMN_KIND] = {
	[COLUMN_TEXT] = "text",       [COLUMN_ID] = "id",           [COLUMN_COUNT] = "count",
	[COLUMN_SUM] = "sum",         [COLUMN_LATENCY] = "latency", [COLUMN_BYTES] = "bytes",
	[COLUMN_PERCENT] = "percent",
};

/* The column that a field is of; NULL: of none. */
static const struct column *field_column(const struct field *field)
{
	const struct column *column;

	for (size_t i = 0; (column = column_at(i)); i++) {
		if (!strcmp(column->field, field->name))
			return column;
	}
	return NULL;
}

void page_put_field(struct json_writer *to, const char *name, const char *kind)
{
	json_put_object(to, NULL);
	json_put_word(to, "name", name);
	json_put_word(to, "kind", kind);
	json_put_end(to);
}

void page_put_column(struct json_writer *to, const struct column *column)
{
	page_put_field(to, column->field, kind_words[column->kind]);
}

static int take_names(void *closure, const struct row_fields *row)
{
	for (size_t i = 0; i < row->count; i++) {
		const struct field *field = &row->fields[i];
		const struct column *column = field_column(field);

		if (column)
			page_put_column(closure, column);
		else
			page_put_field(closure, field->name,
				       strcmp(field->name, "errno") ? "count" : "text");
	}
	return 0;
}

static void put_value(struct json_writer *to, const struct field *field)
{
	if (field->text && (field->kind == FIELD_TEXT || field->prefers_text))
		json_put_text(to, NULL, field->text);
	else if (field->kind == FIELD_PERCENT)
		json_put_real(to, NULL, (double)field->number / 100);
	else
		json_put_number_if(to, NULL, field->kind == FIELD_NUMBER, field->number);
}

static int take_row(void *closure, const struct row_fields *row)
{
	json_put_list(closure, NULL);
	for (size_t i = 0; i < row->count; i++)
		put_value(closure, &row->fields[i]);
	json_put_end(closure);
	return 0;
}

/* Writes the sum of a table, which has no keys. */
static int take_sum(void *closure, const struct row_fields *row)
{
	json_put_list(closure, "sum");
	for (size_t i = 0; i < row->count; i++) {
		const struct column *column = field_column(&row->fields[i]);

		if (column && column_is_key(column))
			json_put_null(closure, NULL);
		else
			put_value(closure, &row->fields[i]);
	}
	json_put_end(closure);
	return 0;
}

void page_put_histogram(struct json_writer *to, const char *key, const struct hist *hist)
{
	unsigned int first, end;

	json_put_list(to, key);
	hist_range(hist, &first, &end);
	for (unsigned int i = first; i < end; i++) {
		if (!hist_count(hist, i))
			continue;
		json_put_list(to, NULL);
		json_put_number(to, NULL, hist_bucket_low(i));
		json_put_number_if(to, NULL, i + 1 < HIST_BUCKETS, hist_bucket_low(i + 1));
		json_put_number(to, NULL, hist_count(hist, i));
		json_put_end(to);
	}
	json_put_end(to);
}

/* --- tables ------------------------------------------------------------------------------------- */

struct table_spec {
	const char *id, *title, *note;
	unsigned int keys;
	const char *columns; /* besides the keys; NULL: those of the first tables */
	const char *sort;    /* unless the user chose; NULL: the total */
	const struct row_test *test;
	bool with_open; /* also groups whose calls are all in flight */
};

#define CALL_COLUMNS  "calls,errors,total,cpu,runq,sleep,avg,p50,p99,max,bytes"
#define OWNER_COLUMNS "calls,errors,err%,cpu,runq,sleep,max"

/* Adds columns by their names, with commas between. */
static void add_columns(struct column_list *list, const char *names)
{
	struct column_list more = { .count = 0 };

	columns_parse(names, &more, NULL);
	for (size_t i = 0; i < more.count; i++)
		column_list_add(list, more.columns[i]);
}

void page_columns(const struct report_options *options, struct column_list *ret)
{
	const struct table_options *table = &options->table;

	ret->count = 0;
	if (table->columns)
		*ret = *table->columns;
	else
		add_columns(ret, CALL_COLUMNS);
	for (size_t i = 0; !table->columns && i < table->sort.count; i++) {
		if (!column_is_key(table->sort.by[i].column))
			column_list_add(ret, table->sort.by[i].column);
	}
}

/* Whether groups by these keys have all columns by which the user sorts. */
static bool keys_have_order(const struct sort_list *sort, unsigned int keys)
{
	for (size_t i = 0; i < sort->count; i++) {
		if (!column_is_known(sort->by[i].column, keys))
			return false;
	}
	return true;
}

/* Returns the options of one table. They point at the columns. */
static struct report_options spec_options(const struct table_spec *spec,
					  const struct report_options *options,
					  struct column_list *columns)
{
	struct report_options how = { .table = options->table };
	struct table_options *table = &how.table;

	page_columns(options, columns);
	if (spec->columns) {
		columns->count = 0;
		add_columns(columns, spec->columns);
	}
	table->keys = spec->keys;
	table->columns = columns;
	table->hist = false;
	table->waiting = NULL;
	table->top = table->top ?: options->stacks.top;
	table->ended_only = !spec->with_open;
	if (!keys_have_order(&table->sort, spec->keys))
		table->sort.count = 0;
	if (!table->sort.count && spec->sort)
		sort_parse("", spec->sort, &table->sort, NULL);
	return how;
}

/* Writes by which column the rows are ordered. */
static void put_order(struct json_writer *to, const struct table_options *table)
{
	const struct column *column = NULL;
	bool is_low = false;

	if (table->sort.count) {
		column = table->sort.by[0].column;
		is_low = column->kind == COLUMN_TEXT || column->kind == COLUMN_ID;
		is_low ^= table->sort.by[0].is_reversed;
	} else {
		column_find("", "total", &column, NULL);
	}
	json_put_word(to, "sorted_by", column->field);
	json_put_bool(to, "descending", !is_low);
}

void page_put_table(struct json_writer *to, const char *id, const char *title, const char *note)
{
	json_put_object(to, NULL);
	json_put_word(to, "id", id);
	json_put_word(to, "title", title);
	json_put_text(to, "note", note);
}

static int put_part(struct json_writer *to, const struct table_spec *spec,
		    const struct report_options *options, const struct table_part *part)
{
	const struct group_list *list = &part->list;
	struct table_part sum = { .scope = part->scope,
				  .list = { .groups = (struct group *)&part->sum,
					    .nr_groups = 1 } };
	struct column_list columns;
	const struct report_options how = spec_options(spec, options, &columns);
	int err;

	if (!list->nr_groups)
		return 0;
	page_put_table(to, spec->id, spec->title, spec->note);
	put_order(to, &how.table);
	json_put_bool(to, "has_others", list->groups[list->nr_groups - 1].nr_merged);
	json_put_list(to, "fields");
	err = rows_give_names(&how, take_names, to);
	json_put_end(to);
	json_put_list(to, "rows");
	err = err ?: rows_give_part(part, &how, take_row, to);
	json_put_end(to);
	err = err ?: rows_give_part(&sum, &how, take_sum, to);
	json_put_end(to);
	return err;
}

static int spec_part(const struct snapshot *snapshot, const struct table_spec *spec,
		     const struct report_options *options, struct table_part *ret)
{
	struct column_list columns;
	const struct report_options how = spec_options(spec, options, &columns);

	return table_part_make(snapshot, &how.table, spec->test, ret);
}

static int put_groups(struct json_writer *to, const struct snapshot *snapshot,
		      const struct table_spec *spec, const struct report_options *options)
{
	struct table_part part __cleanup(table_part_done) = { .list = { 0 } };

	if (spec_part(snapshot, spec, options, &part))
		return -ENOMEM;
	return put_part(to, spec, options, &part);
}

/* --- the tables of a snapshot ------------------------------------------------------------------- */

static unsigned int main_keys(const struct report_options *options)
{
	return options->table.keys ?: (unsigned int)GROUP_SYSCALL;
}

static struct table_spec half_spec(enum table_half half, const struct report_options *options)
{
	static const struct table_spec halves[NR_TABLE_HALF] = {
		[TABLE_WORKING] = { .id = "calls", .title = "Calls" },
		[TABLE_WAITING] = { .id = "waiting",
				    .title = "Calls that wait for work",
				    .note = "They may be idle: their time is mostly that of "
					    "nothing "
					    "to do." },
	};
	struct table_spec spec = halves[half];

	spec.keys = main_keys(options);
	return spec;
}

int page_halves_make(const struct snapshot *snapshot, const struct report_options *options,
		     struct table_part ret[NR_TABLE_HALF])
{
	for (enum table_half half = 0; half < NR_TABLE_HALF; half++) {
		const struct row_test test = half_test(half, &options->table);
		struct table_spec spec = half_spec(half, options);

		spec.test = &test;
		if (spec_part(snapshot, &spec, options, &ret[half]))
			return -ENOMEM;
	}
	return 0;
}

static bool row_is_open(const struct row *row, const void *closure)
{
	(void)closure;
	return row->in_flight;
}

/* Returns the key that tells processes apart: the history has no pids. */
static unsigned int process_keys(const struct snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->nr_processes; i++) {
		if (snapshot->processes[i].pid)
			return GROUP_PID;
	}
	return GROUP_COMM;
}

/* The key of paths or files by which rows are split; 0: by none. */
static unsigned int path_keys(const struct snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->nr_rows; i++) {
		if (snapshot->rows[i]->split >= SPLIT_PATH)
			return GROUP_OF_SPLIT(snapshot->rows[i]->split);
	}
	return 0;
}

static int put_others(struct json_writer *to, const struct snapshot *snapshot,
		      const struct report_options *options)
{
	static const struct row_test open = { row_is_open, NULL };
	const unsigned int process = process_keys(snapshot), main = main_keys(options);
	const unsigned int unit = snapshot->nr_cgroups ? GROUP_UNIT : 0;
	const unsigned int user = snapshot->nr_users ? GROUP_USER : 0;
	const struct table_spec specs[] = {
		{ .id = "syscalls", .title = "All calls by system call", .keys = GROUP_SYSCALL },
		{ .id = "paths", .title = "Paths and files", .keys = path_keys(snapshot) },
		{ .id = "processes",
		  .title = "Processes",
		  .keys = process | unit | user,
		  .columns = OWNER_COLUMNS,
		  .sort = "cpu" },
		{ .id = "units",
		  .title = "Units",
		  .keys = unit,
		  .columns = OWNER_COLUMNS,
		  .sort = "cpu" },
		{ .id = "in-flight",
		  .title = "Calls in flight",
		  .note = "They had begun and not ended when this was read.",
		  .keys = process | GROUP_SYSCALL,
		  .columns = "in_flight,oldest",
		  .sort = "oldest",
		  .test = &open,
		  .with_open = true },
	};
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(specs) && !err; i++) {
		if (specs[i].keys && specs[i].keys != main)
			err = put_groups(to, snapshot, &specs[i], options);
	}
	return err;
}

static int put_errors(struct json_writer *to, const struct snapshot *snapshot,
		      const struct report_options *options)
{
	struct report_options how = { .errors = true,
				      .table = { .keys = options->table.keys,
						 .top = options->table.top ?: options->stacks.top,
						 .min_calls = options->table.min_calls } };
	uint64_t errors = 0;
	int err;

	for (size_t i = 0; i < snapshot->nr_rows; i++)
		errors += snapshot->rows[i]->errors;
	if (!errors)
		return 0;
	page_put_table(to, "errors", "Errors", NULL);
	json_put_word(to, "sorted_by", "count");
	json_put_bool(to, "descending", true);
	json_put_list(to, "fields");
	err = rows_give_names(&how, take_names, to);
	json_put_end(to);
	json_put_list(to, "rows");
	err = err ?: rows_give(snapshot, &how, take_row, to);
	json_put_end(to);
	json_put_end(to);
	return err;
}

static void put_histograms(struct json_writer *to, const struct table_part *part,
			   enum table_half half)
{
	static const char *const names[] = { "p50", "p99", "max" };
	char title[COLUMN_TEXT_MAX];

	for (size_t i = 0, count = 0; i < part->list.nr_groups && count < PAGE_HISTOGRAMS; i++) {
		const struct group *group = &part->list.groups[i];
		const struct column *column;
		uint64_t value;

		if (!row_timed(&group->sum))
			continue;
		count++;
		table_group_title(part, group, title);
		json_put_object(to, NULL);
		json_put_text(to, "title", title);
		json_put_bool(to, "waiting", half == TABLE_WAITING);
		json_put_number(to, "calls", row_timed(&group->sum));
		for (size_t j = 0; j < ARRAY_SIZE(names); j++) {
			if (!column_find("", names[j], &column, NULL) &&
			    column_number(column, &part->scope, group, &value))
				json_put_number(to, column->field, value);
		}
		page_put_histogram(to, "histogram", &group->sum.hist);
		json_put_end(to);
	}
}

int page_put_snapshot(struct json_writer *to, const struct snapshot *snapshot,
		      const struct timeline *timeline, const struct report_options *options,
		      const struct table_part halves[NR_TABLE_HALF])
{
	int err;

	json_put_list(to, "tables");
	err = timeline ? page_put_steps(to, timeline, options) : 0;
	for (enum table_half half = 0; half < NR_TABLE_HALF && !err; half++) {
		const struct table_spec spec = half_spec(half, options);

		err = put_part(to, &spec, options, &halves[half]);
	}
	err = err ?: page_put_exemplars(to, snapshot, &options->table)
		     ?: put_errors(to, snapshot, options) ?: put_others(to, snapshot, options);
	json_put_end(to);
	json_put_list(to, "histograms");
	for (enum table_half half = 0; half < NR_TABLE_HALF; half++)
		put_histograms(to, &halves[half], half);
	json_put_end(to);
	return err;
}
