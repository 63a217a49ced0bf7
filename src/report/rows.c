/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes fields of groups, of errors by errno and of call stacks. */
#include "report/rows.h"

#include "syscalls/names.h"

/* Everything from which rows are made; the texts live as long as one row. */
struct giver {
	const struct report_options *options;
	struct column_list columns;
	row_take *take;
	void *closure;
	char texts[COLUMNS_MAX][COLUMN_TEXT_MAX];
};

static struct field *field_add(struct row_fields *row, const char *name)
{
	struct field *field = &row->fields[row->count++];

	*field = (struct field){ .name = name };
	return field;
}

static void add_text(struct row_fields *row, const char *name, const char *text)
{
	struct field *field = field_add(row, name);

	field->text = text;
	field->kind = text ? FIELD_TEXT : FIELD_NONE;
}

static void add_number(struct row_fields *row, const char *name, bool is_known, uint64_t number)
{
	struct field *field = field_add(row, name);

	field->number = number;
	field->kind = is_known ? FIELD_NUMBER : FIELD_NONE;
}

/* A column of a group; without a group it is of nobody, and there are no calls. */
static void add_column(struct giver *giver, struct row_fields *row, size_t index,
		       const struct column_scope *scope, const struct group *group)
{
	const struct column *column = giver->columns.columns[index];
	struct field *field = field_add(row, column->field);
	char *text = giver->texts[index];

	if (!group) {
		field->kind = column->kind == COLUMN_COUNT ? FIELD_NUMBER : FIELD_NONE;
		return;
	}
	if (group->nr_merged && index == table_label_column(&giver->columns)) {
		others_label(group, text, COLUMN_TEXT_MAX);
		*field = (struct field){ column->field, FIELD_TEXT, .text = text };
		return;
	}
	if (column->number && column_number(column, scope, group, &field->number))
		field->kind = column->kind == COLUMN_PERCENT ? FIELD_PERCENT : FIELD_NUMBER;
	/* A pid is a number or nothing, no word. */
	if (!column_is_key(column) || (column->number && !field->kind) ||
	    !column_text(column, scope, group, text))
		return;
	field->text = text;
	field->prefers_text = field->kind;
	field->kind = field->kind ?: FIELD_TEXT;
}

static void add_columns(struct giver *giver, struct row_fields *row,
			const struct column_scope *scope, const struct group *group)
{
	struct column_scope whole = scope ? *scope : (struct column_scope){ 0 };

	whole.has_whole_ids = true;
	for (size_t i = 0; i < giver->columns.count; i++)
		add_column(giver, row, i, &whole, group);
}

/* --- groups ------------------------------------------------------------------------------------- */

static int give_group(struct giver *giver, const char *half, const struct column_scope *scope,
		      const struct group *group)
{
	const struct report_options *options = giver->options;
	struct row_fields row = { .count = 0 };

	if (options->table.waiting)
		add_text(&row, "half", half);
	add_columns(giver, &row, scope, group);
	if (options->table.hist) {
		struct field *field = field_add(&row, "histogram");

		field->hist = group ? &group->sum.hist : NULL;
		field->kind = group ? FIELD_HIST : FIELD_NONE;
	}
	if (options->exemplars) {
		struct field *field = field_add(&row, "exemplars");

		field->group = group;
		field->kind = group ? FIELD_EXEMPLARS : FIELD_NONE;
	}
	return giver->take(giver->closure, &row);
}

/* All in one list unless the user said which calls wait for work. */
static int give_groups(struct giver *giver, const struct snapshot *snapshot)
{
	const struct table_options *table = &giver->options->table;
	int err = 0;

	for (enum table_half half = 0; half < (table->waiting ? NR_TABLE_HALF : 1) && !err;
	     half++) {
		struct table_part part __cleanup(table_part_done) = { .list = { 0 } };
		const struct row_test test = half_test(half, table);

		err = table_part_make(snapshot, table, table->waiting ? &test : NULL, &part);
		for (size_t i = 0; i < part.list.nr_groups && !err; i++)
			err = give_group(giver, table_half_names[half], &part.scope,
					 &part.list.groups[i]);
	}
	return err;
}

/* --- errors ------------------------------------------------------------------------------------- */

static int give_failure(struct giver *giver, const struct column_scope *scope,
			const struct failure *failure)
{
	struct row_fields row = { .count = 0 };
	const struct group *group = failure ? failure->group : NULL;
	char name[ERRNO_LABEL_MAX];
	bool is_named = failure && failure->errors.err != ERRNO_UNKNOWN;

	if (is_named)
		errno_label(failure->errors.err, name, sizeof(name));
	add_columns(giver, &row, scope, group);
	add_text(&row, "errno", is_named ? name : NULL);
	add_number(&row, "count", failure, failure ? failure->errors.count : 0);
	add_number(&row, "calls", group, group ? group->sum.calls : 0);
	return giver->take(giver->closure, &row);
}

static int give_failures(struct giver *giver, const struct snapshot *snapshot)
{
	struct failures failures __cleanup(failures_done) = { .count = 0 };
	int err = failures_make(snapshot, &giver->options->table, &failures);

	for (size_t i = 0; i < failures.shown && !err; i++)
		err = give_failure(giver, &failures.part.scope, &failures.items[i]);
	if (!err && failures.shown < failures.count) {
		const struct group others = { .nr_merged = failures.count - failures.shown };
		const struct failure rest = { &others, { ERRNO_UNKNOWN, failures.rest } };

		err = give_failure(giver, &failures.part.scope, &rest);
	}
	return err;
}

/* --- call stacks -------------------------------------------------------------------------------- */

/* The frames of a stack from the outside in, with semicolons between. To be freed; NULL: no memory. */
static char *stack_text(const struct stack *stack)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (size_t i = out ? stack->nr_frames : 0; i-- > 0;) {
		char *label __cleanup(freep) = frame_label(&stack->frames[i], FRAME_FUNCTION);

		fprintf(out, "%s%s", label ?: "", i ? ";" : "");
	}
	if (!out || !fclose(out))
		return text;
	free(text);
	return NULL;
}

/* Without a view it is of those that were left out; without a count, no value is known. */
static int give_stack(struct giver *giver, const struct column_scope *scope,
		      const struct group *group, const struct stack *view,
		      const struct stack_count *count)
{
	char *frames __cleanup(freep) = view ? stack_text(view) : NULL;
	char end[VIEW_END_WORD_MAX];
	struct row_fields row = { .count = 0 };

	if (view && !frames)
		return -ENOMEM;
	if (view)
		view_end_word(view->end, end);
	add_columns(giver, &row, scope, group);
	add_text(&row, "stack", frames);
	add_text(&row, "stack_end", view ? end : NULL);
	add_number(&row, "stack_calls", count, count ? count->calls : 0);
	add_number(&row, "stack_errors", count, count ? count->errors : 0);
	add_number(&row, "stack_ns", count, count ? count->wall_ns : 0);
	return giver->take(giver->closure, &row);
}

static int compare_weights(const void *x, const void *y)
{
	const struct stack_sample *a = x, *b = y;

	return compare_u64(b->weight, a->weight) ?: stack_compare(&a->view, &b->view);
}

static int give_stacks_of(struct giver *giver, const struct snapshot *snapshot,
			  const struct column_scope *scope, const struct group *group)
{
	const struct stack_options *options = &giver->options->stacks;
	struct sample_list list __cleanup(samples_done) = { .samples = NULL };
	struct row *row = (struct row *)&group->sum;
	struct stack_count rest = { .id = STACK_OTHERS };
	int err = samples_list(snapshot, &row, 1, options->weight, &list);

	qsort(list.samples, list.count, sizeof(*list.samples), compare_weights);
	for (size_t i = 0; i < list.count && !err; i++) {
		if (options->top && i >= options->top)
			stack_count_add(&rest, &list.samples[i].count);
		else
			err = give_stack(giver, scope, group, &list.samples[i].view,
					 &list.samples[i].count);
	}
	return err || !rest.calls ? err : give_stack(giver, scope, group, NULL, &rest);
}

static int give_stacks(struct giver *giver, const struct snapshot *snapshot)
{
	struct table_part part __cleanup(table_part_done) = { .list = { 0 } };
	int err = table_part_make(snapshot, &giver->options->table, NULL, &part);

	for (size_t i = 0; i < part.list.nr_groups && !err; i++)
		err = give_stacks_of(giver, snapshot, &part.scope, &part.list.groups[i]);
	return err;
}

/* --- all ---------------------------------------------------------------------------------------- */

/* Unless the user chose, all counts and times but the age of the oldest call. */
static void choose_columns(struct giver *giver)
{
	const struct table_options *table = &giver->options->table;
	const struct column *column;

	table_columns(table, table->keys ?: (unsigned int)GROUP_SYSCALL, &giver->columns);
	for (size_t i = 0; !table->columns && (column = column_at(i)); i++) {
		if (column->kind != COLUMN_TEXT && column->kind != COLUMN_ID &&
		    column->kind != COLUMN_PERCENT && strcmp(column->name, "oldest") != 0)
			column_list_add(&giver->columns, column);
	}
}

static struct giver *giver_new(const struct report_options *options, row_take *take, void *closure)
{
	struct giver *giver = malloc(sizeof(*giver));

	if (!giver)
		return NULL;
	giver->options = options;
	giver->take = take;
	giver->closure = closure;
	if (options->errors)
		failures_columns(&options->table, &giver->columns);
	else if (options->show_stacks && !options->table.columns)
		columns_of_keys(options->table.keys ?: (unsigned int)GROUP_SYSCALL,
				&giver->columns);
	else
		choose_columns(giver);
	return giver;
}

int rows_give(const struct snapshot *snapshot, const struct report_options *options, row_take *take,
	      void *closure)
{
	struct giver *giver __cleanup(freep) = giver_new(options, take, closure);

	if (!giver)
		return -ENOMEM;
	if (options->errors)
		return give_failures(giver, snapshot);
	return options->show_stacks ? give_stacks(giver, snapshot) : give_groups(giver, snapshot);
}

int rows_give_part(const struct table_part *part, const struct report_options *options,
		   row_take *take, void *closure)
{
	struct giver *giver __cleanup(freep) = giver_new(options, take, closure);
	int err = giver ? 0 : -ENOMEM;

	for (size_t i = 0; i < part->list.nr_groups && !err; i++)
		err = give_group(giver, NULL, &part->scope, &part->list.groups[i]);
	return err;
}

int rows_give_names(const struct report_options *options, row_take *take, void *closure)
{
	struct giver *giver __cleanup(freep) = giver_new(options, take, closure);

	if (!giver)
		return -ENOMEM;
	if (options->errors)
		return give_failure(giver, NULL, NULL);
	return options->show_stacks ? give_stack(giver, NULL, NULL, NULL, NULL)
				    : give_group(giver, NULL, NULL, NULL);
}
