/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes comparisons, as tables and as JSON. In a table a measure has a column for each side and one for
 * its change; a measure of times has one unit for both sides. Invariant: the keys, the changes and the
 * word are always shown.
 */
#include "report/report.h"

#include <math.h>

#include "base/clock.h"
#include "json/json.h"

/* --- halves ----------------------------------------------------------------------------------- */

const struct group *comparison_group(const struct comparison *item,
				     const struct compare_input *input, unsigned int keys,
				     struct column_scope *ret)
{
	*ret = (struct column_scope){
		.snapshot = item->b.present ? input->b.snapshot : input->a.snapshot,
		.keys = keys,
	};
	return item->b.present ? &item->b.group : &item->a.group;
}

/* The snapshots and keys by which groups are chosen and ordered. */
struct choice {
	const struct compare_input *input;
	const struct table_options *options;
	unsigned int keys;
};

/* Whether the options show a comparison: what they ask for is true of one of its sides. */
static bool choice_has(const struct choice *choice, const struct comparison *item)
{
	const struct row *a = &item->a.group.sum, *b = &item->b.group.sum;
	const struct table_options *options = choice->options;

	return max_u64(a->calls, b->calls) >= options->min_calls &&
	       (!options->errors_only || a->errors || b->errors) &&
	       (!options->successes_only || row_successes(a) || row_successes(b));
}

/* Shown groups come first; then --sort decides, by the numbers of b, or of a without b. */
static int compare_items(const void *x, const void *y, void *closure)
{
	const struct choice *choice = closure;
	const struct sort_list *sort = &choice->options->sort;
	const struct comparison *a = x, *b = y;
	struct column_scope scope;
	const struct group *group_a = comparison_group(a, choice->input, choice->keys, &scope);
	const struct group *group_b = comparison_group(b, choice->input, choice->keys, &scope);
	int order = (int)choice_has(choice, b) - (int)choice_has(choice, a);

	for (size_t i = 0; i < sort->count && !order; i++)
		order = column_compare(sort->by[i].column, sort->by[i].is_reversed, &scope, group_a,
				       group_b);
	/* The list had the greatest change first. */
	return order ?: compare_u64(a->rank, b->rank);
}

/* Puts what is shown first, and counts it. */
static size_t part_choose(const struct choice *choice, struct comparison_list *list)
{
	size_t shown = 0;

	for (size_t i = 0; i < list->count; i++)
		list->items[i].rank = i;
	if (list->count)
		qsort_r(list->items, list->count, sizeof(*list->items), compare_items,
			(void *)choice);
	while (shown < list->count && choice_has(choice, &list->items[shown]))
		shown++;
	return min_u64(shown, choice->options->top ?: SIZE_MAX);
}

static int part_make(const struct compare_input *input, const struct table_options *options,
		     enum table_half half, struct compare_view *view)
{
	const struct regression_rule rule = { input->fail_over, half == TABLE_WAITING };
	const struct row_test test = half_test(half, options);
	struct compare_part *part = &view->parts[half];
	const struct choice choice = { input, options,
				       options->keys ?: (unsigned int)GROUP_SYSCALL };

	if (snapshot_compare(input->a.snapshot, input->b.snapshot, choice.keys, &test, &part->list))
		return -ENOMEM;
	part->verdicts = calloc(part->list.count + 1, sizeof(*part->verdicts));
	if (!part->verdicts)
		return -ENOMEM;
	part->shown = part_choose(&choice, &part->list);
	view->groups += part->list.count;
	view->left_out += part->list.count - part->shown;
	for (size_t i = 0; i < part->list.count; i++) {
		struct compare_verdict *verdict = &part->verdicts[i];

		view->words[part->list.items[i].word]++;
		verdict->failed =
			rule.limit > 0 && comparison_regressions(&part->list, &part->list.items[i],
								 &rule, &verdict->found);
		view->failed += verdict->failed;
	}
	return 0;
}

int compare_view_make(const struct compare_input *input, const struct table_options *options,
		      struct compare_view *ret)
{
	struct compare_view view __cleanup(compare_view_done) = { .groups = 0 };

	for (enum table_half half = 0; half < NR_TABLE_HALF; half++) {
		if (part_make(input, options, half, &view))
			return -ENOMEM;
	}
	*ret = view;
	view = (struct compare_view){ .groups = 0 };
	return 0;
}

void compare_view_done(struct compare_view *view)
{
	for (int i = 0; i < NR_TABLE_HALF; i++) {
		comparison_list_done(&view->parts[i].list);
		free(view->parts[i].verdicts);
	}
}

/* --- what is compared ------------------------------------------------------------------------- */

enum { HEAD_SIDE, HEAD_LABEL, HEAD_HOST, HEAD_FROM, HEAD_TO, HEAD_COUNTED, HEAD_EXACT, NR_HEAD };

static int print_heading(const struct compare_input *input, const struct table_options *options,
			 FILE *out)
{
	static const char *const titles[NR_HEAD] = { "",   "what",    "host", "from",
						     "to", "counted", "exact" };
	const struct compare_source *sources[] = { &input->a, &input->b };
	size_t text_max = options->width ? 16 + (size_t)options->width / 20 : SIZE_MAX;
	struct grid *grid __cleanup(grid_freep) = NULL;
	char cell[COLUMN_TEXT_MAX], hosts[2][HOST_LABEL_MAX];

	if (grid_new(NR_HEAD, &grid))
		return -ENOMEM;
	for (size_t i = 0; i < NR_HEAD; i++)
		grid_set_title(grid, i, titles[i], i == HEAD_COUNTED, i == HEAD_TO);
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		const struct snapshot *snapshot = sources[i]->snapshot;

		grid_add_row(grid);
		grid_set(grid, HEAD_SIDE, i ? "B" : "A");
		text_escape_visible(sources[i]->label ?: "", (COLUMN_TEXT_MAX - 1) / 4, cell);
		text_cut(cell, text_max);
		grid_set(grid, HEAD_LABEL, cell);
		snapshot_host_label(snapshot, hosts[i]);
		text_cut(hosts[i], text_max);
		grid_set(grid, HEAD_HOST, hosts[i]);
		clock_local(snapshot->start_ns, cell, sizeof(cell));
		grid_set(grid, HEAD_FROM, cell);
		clock_local(snapshot->end_ns, cell, sizeof(cell));
		grid_set(grid, HEAD_TO, cell);
		grid_set(grid, HEAD_COUNTED, "unknown");
		if (snapshot->elapsed_ns)
			grid_set_format(grid, HEAD_COUNTED, "%.1f s",
					(double)snapshot->elapsed_ns / (double)NS_PER_SEC);
		grid_set(grid, HEAD_EXACT, snapshot_is_exact(snapshot) ? "yes" : "no");
	}
	if (!strcmp(hosts[0], hosts[1]))
		grid_hide(grid, HEAD_HOST);
	grid_add_line(grid, "");
	return grid_print(grid, options->width, out);
}

/* --- measures --------------------------------------------------------------------------------- */

enum measure {
	MEASURE_CALLS,
	MEASURE_ERRORS,
	MEASURE_TIME,
	MEASURE_AVG,
	MEASURE_P50,
	MEASURE_P99,
	NR_MEASURE,
};

static const struct {
	const char *title, *change; /* change is NULL: no such column */
	enum grid_kind kind;
	int rank, change_rank;           /* of both sides, and of the change; high ones go first */
	enum regression_kind regression; /* of the change */
} measures[NR_MEASURE] = {
	[MEASURE_CALLS] = { "calls/s", "calls change", GRID_RATE, 1, 0, REGRESSION_CALLS },
	[MEASURE_ERRORS] = { "err/s", "errors", GRID_RATE, 6, 0, REGRESSION_ERRORS },
	[MEASURE_TIME] = { "time/s", "time", GRID_SUM, 4, 0, REGRESSION_TIME },
	[MEASURE_AVG] = { "avg", "avg", GRID_LATENCY, 5, 2, NR_REGRESSION_KIND },
	[MEASURE_P50] = { "p50", NULL, GRID_LATENCY, 7, 0, NR_REGRESSION_KIND },
	[MEASURE_P99] = { "p99", "p99", GRID_LATENCY, 3, 0, REGRESSION_P99 },
};

/* Returns ns if it is a time, or ns a second. NAN: unknown. */
static double side_value(const struct compare_side *side, enum measure which)
{
	bool timed = row_timed(&side->group.sum) != 0;
	const double values[NR_MEASURE] = {
		[MEASURE_CALLS] = side->calls_per_s,
		[MEASURE_ERRORS] = side->errors_per_s,
		[MEASURE_TIME] = side->seconds_per_s * (double)NS_PER_SEC,
		[MEASURE_AVG] = timed ? (double)side->mean_ns : NAN,
		[MEASURE_P50] = timed ? (double)side->p50_ns : NAN,
		[MEASURE_P99] = timed ? (double)side->p99_ns : NAN,
	};

	return side->present ? values[which] : NAN;
}

#define SIDES    2
#define COLUMNS  3 /* of a measure: a, b, change */
#define CELL_MAX 48

/* Groups that the last sentence names. */
#define FAILURES_NAMED 3

struct sheet {
	const struct compare_input *input;
	const struct compare_view *view;
	struct column_list keys;
	struct grid *grid;
	size_t text_max, word_column;
};

static void rise_format(double rise, char *buf, size_t size)
{
	if (isinf(rise))
		snprintf(buf, size, "new");
	else if (fabs(rise) < 0.005)
		snprintf(buf, size, "0%%");
	else
		/* A fall to nearly nothing is not shown as -100%. */
		snprintf(buf, size, "%+.0f%%", fmax(rise * 100, -99));
}

static void change_format(double a, double b, char *buf, size_t size)
{
	if (isnan(a) || isnan(b) || (a <= 0 && b <= 0))
		snprintf(buf, size, "-");
	else if (b <= 0)
		snprintf(buf, size, "gone");
	else
		rise_format(a > 0 ? b / a - 1 : INFINITY, buf, size);
}

static size_t measure_column(const struct sheet *sheet, enum measure which)
{
	return sheet->keys.count + (size_t)which * COLUMNS;
}

static void sheet_add_measure(struct sheet *sheet, enum measure which)
{
	const struct compare_part *parts = sheet->view->parts;
	size_t column = measure_column(sheet, which);
	bool has_errors = false;
	char title[CELL_MAX];

	for (size_t side = 0; side < SIDES; side++) {
		snprintf(title, sizeof(title), "%c %s", side ? 'B' : 'A', measures[which].title);
		grid_set_title(sheet->grid, column + side, title, true, measures[which].rank);
		grid_set_scale(sheet->grid, column + side, measures[which].kind, which + 1, "");
	}
	grid_set_title(sheet->grid, column + SIDES, measures[which].change ?: "", true,
		       measures[which].change_rank);
	if (!measures[which].change)
		grid_hide(sheet->grid, column + SIDES);
	for (int half = 0; half < NR_TABLE_HALF; half++)
		has_errors |= parts[half].list.total.a.errors_per_s > 0 ||
			      parts[half].list.total.b.errors_per_s > 0;
	/* Columns of errors where there are none say nothing. */
	for (size_t i = 0; i < COLUMNS && which == MEASURE_ERRORS && !has_errors; i++)
		grid_hide(sheet->grid, column + i);
}

/*
 * A sum has a label in place of its keys, and no failures. If a group is absent, its rates are 0
 * and its latencies unknown. A row that fails ends with a mark.
 */
static void sheet_add_row(struct sheet *sheet, const struct comparison_list *list,
			  const struct comparison *item, const struct regressions *found,
			  const char *label)
{
	const struct compare_side *sides[SIDES] = { &item->a, &item->b };
	struct column_scope scope;
	const struct group *group = comparison_group(item, sheet->input, list->keys, &scope);
	double values[SIDES];
	char cell[CELL_MAX];

	table_add_row(sheet->grid, &sheet->keys, &scope, group, label, sheet->text_max);
	for (enum measure which = 0; which < NR_MEASURE; which++) {
		size_t column = measure_column(sheet, which);
		enum regression_kind kind = measures[which].regression;
		bool fails = kind < NR_REGRESSION_KIND && found->rise[kind] > 0;

		for (size_t i = 0; i < SIDES; i++) {
			values[i] = side_value(sides[i], which);
			grid_set_number(sheet->grid, column + i, values[i]);
			if (!sides[i]->present)
				values[i] = measures[which].kind == GRID_LATENCY ? NAN : 0;
		}
		change_format(values[0], values[1], cell, sizeof(cell));
		grid_set_emphasis(sheet->grid, column + SIDES,
				  fails ? EMPHASIS_BAD : EMPHASIS_NONE);
		grid_set_format(sheet->grid, column + SIDES, "%s%s", cell,
				fails                 ? "!"
				: sheet->view->failed ? " "
						      : "");
	}
	grid_set(sheet->grid, sheet->word_column, compare_words[item->word]);
}

static void sheet_add_part(struct sheet *sheet, enum table_half half)
{
	const struct compare_part *part = &sheet->view->parts[half];
	const struct regressions none = { { 0 } };

	if (half == TABLE_WAITING) {
		if (!part->list.count)
			return;
		grid_add_line(sheet->grid, "");
		grid_add_line(sheet->grid, TABLE_WAITING_TITLE);
		grid_add_titles(sheet->grid);
	}
	for (size_t i = 0; i < part->shown; i++)
		sheet_add_row(sheet, &part->list, &part->list.items[i], &part->verdicts[i].found,
			      NULL);
	grid_add_rule(sheet->grid);
	sheet_add_row(sheet, &part->list, &part->list.total, &none, table_half_sums[half]);
}

/* --- sentences -------------------------------------------------------------------------------- */

/* The losses of a side that is not exact. */
static void print_trust(const char *side, const struct snapshot *snapshot, FILE *out)
{
	if (snapshot_is_exact(snapshot))
		return;
	fprintf(out, "%s: ", side);
	print_exactness(snapshot, false, out);
}

/* Sides of which one has slow calls only say nothing about each other. */
static void print_unlike(const struct compare_input *input, FILE *out)
{
	const struct compare_source *sources[] = { &input->a, &input->b };
	const char *separator = "not comparable: ";
	char least[AGE_MAX];

	format_age(input->a.snapshot->slower_than_ns, least, sizeof(least));
	if (input->a.snapshot->slower_than_ns == input->b.snapshot->slower_than_ns) {
		if (input->a.snapshot->slower_than_ns)
			fprintf(out, "only calls that took at least %s\n", least);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++, separator = ", ") {
		format_age(sources[i]->snapshot->slower_than_ns, least, sizeof(least));
		if (sources[i]->snapshot->slower_than_ns)
			fprintf(out, "%s%c has only calls that took at least %s", separator,
				i ? 'B' : 'A', least);
		else
			fprintf(out, "%s%c has all calls", separator, i ? 'B' : 'A');
	}
	fputc('\n', out);
}

/* fsync (time x26, p99 x24) */
static void print_failure(const struct compare_input *input, const struct compare_part *part,
			  size_t index, FILE *out)
{
	char title[COLUMN_TEXT_MAX], rise[CELL_MAX];
	const double *rises = part->verdicts[index].found.rise;
	struct table_part scope = { .list.groups = NULL };
	const struct group *group =
		comparison_group(&part->list.items[index], input, part->list.keys, &scope.scope);
	const char *separator = " (";

	table_group_title(&scope, group, title);
	fputs(title, out);
	for (int kind = 0; kind < NR_REGRESSION_KIND; kind++) {
		if (rises[kind] <= 0)
			continue;
		rise_format(rises[kind], rise, sizeof(rise));
		fprintf(out, "%s%s %s", separator, regression_names[kind], rise);
		separator = ", ";
	}
	fputc(')', out);
}

/* Why the exit status is what it is; names the first failures only. */
static void print_verdict(const struct compare_input *input, const struct compare_view *view,
			  FILE *out)
{
	const struct comparison_list *working = &view->parts[TABLE_WORKING].list;
	size_t named = 0;

	if (input->fail_over <= 0)
		return;
	fprintf(out, "%s rose by more than %g%%%s",
		view->failed ? "failed (!): this" : "passed: nothing", input->fail_over * 100,
		view->failed ? ":" : "");
	for (int half = 0; half < NR_TABLE_HALF; half++) {
		const struct compare_part *part = &view->parts[half];

		for (size_t i = 0; i < part->list.count && named < FAILURES_NAMED; i++) {
			if (!part->verdicts[i].failed)
				continue;
			fputs(named++ ? ", " : " ", out);
			print_failure(input, part, i, out);
		}
	}
	if (view->failed > named)
		fprintf(out, " and %zu more", view->failed - named);
	fputs(working->seconds_a > 0 && working->seconds_b > 0 ? "\n" : "; rates are unknown\n",
	      out);
}

/* Writes how the sums of all calls differ. */
static void print_sums(const struct compare_view *view, FILE *out)
{
	double calls[SIDES] = { 0 }, errors[SIDES] = { 0 };

	for (int half = 0; half < NR_TABLE_HALF; half++) {
		const struct comparison *total = &view->parts[half].list.total;

		calls[0] += total->a.calls_per_s;
		calls[1] += total->b.calls_per_s;
		errors[0] += total->a.errors_per_s;
		errors[1] += total->b.errors_per_s;
	}
	/* How long was counted is not known of one. */
	if (isnan(calls[0] + calls[1]) || calls[0] + calls[1] <= 0)
		return;
	if (calls[0] <= 0 || calls[1] <= 0)
		fprintf(out, "only %c has calls", calls[0] > 0 ? 'A' : 'B');
	else if (calls[1] >= calls[0] * 2)
		fprintf(out, "B has %.0f times the calls of A per second", calls[1] / calls[0]);
	else if (calls[0] >= calls[1] * 2)
		fprintf(out, "A has %.0f times the calls of B per second", calls[0] / calls[1]);
	else
		fprintf(out, "B has %.1f calls/s (A: %.1f)", calls[1], calls[0]);
	if (errors[0] > 0 || errors[1] > 0)
		fprintf(out, ", B %.1f errors/s (A: %.1f)", errors[1], errors[0]);
	fputc('\n', out);
}

/* Says how much of one time is in both sides, which makes them alike. */
static void print_overlap(const struct compare_input *input, FILE *out)
{
	const struct snapshot *a = input->a.snapshot, *b = input->b.snapshot;
	const int64_t from = a->start_ns > b->start_ns ? a->start_ns : b->start_ns;
	const int64_t to = a->end_ns < b->end_ns ? a->end_ns : b->end_ns;

	if (from < to && !strcmp(a->host, b->host) && !a->origins && !b->origins)
		fprintf(out, "A and B overlap: %.1f s are in both\n",
			(double)(to - from) / (double)NS_PER_SEC);
}

void print_comparison(const struct compare_input *input, const struct compare_view *view, FILE *out)
{
	const size_t *words = view->words;

	print_sums(view, out);
	fprintf(out,
		"latency: %zu slower, %zu faster, %zu differ beyond noise; %zu new, %zu gone; of "
		"%zu "
		"group%s",
		words[COMPARE_SLOWER], words[COMPARE_FASTER], words[COMPARE_DIFFERS],
		words[COMPARE_NEW], words[COMPARE_GONE], view->groups, plural(view->groups));
	if (view->left_out)
		fprintf(out, ", %zu of them not shown (--top N)", view->left_out);
	fputc('\n', out);
	print_overlap(input, out);
	print_unlike(input, out);
	print_trust("A", input->a.snapshot, out);
	print_trust("B", input->b.snapshot, out);
	print_verdict(input, view, out);
}

int report_comparison(const struct compare_input *input, const struct compare_view *view,
		      const struct table_options *options, FILE *out)
{
	struct grid *grid __cleanup(grid_freep) = NULL;
	struct sheet sheet = { .input = input, .view = view };
	int err = print_heading(input, options, out);

	if (err)
		return err;
	columns_of_keys(view->parts[TABLE_WORKING].list.keys, &sheet.keys);
	sheet.text_max = table_text_max(options->width);
	sheet.word_column = measure_column(&sheet, NR_MEASURE);
	if (grid_new(sheet.word_column + 1, &grid))
		return -ENOMEM;
	sheet.grid = grid;
	grid_set_color(grid, options->color);
	table_set_titles(grid, &sheet.keys, NULL);
	for (enum measure which = 0; which < NR_MEASURE; which++)
		sheet_add_measure(&sheet, which);
	grid_set_title(grid, sheet.word_column, "latency", false, 0);
	for (enum table_half half = 0; half < NR_TABLE_HALF; half++)
		sheet_add_part(&sheet, half);
	err = grid_print(grid, options->width, out);
	if (err)
		return err;
	fputc('\n', out);
	print_comparison(input, view, out);
	return ferror(out) ? -EIO : 0;
}

/* --- CSV -------------------------------------------------------------------------------------- */

/* Unknown values are empty. */
static void print_real(double value, FILE *out)
{
	fputc(',', out);
	if (isfinite(value))
		fprintf(out, "%.9g", value);
}

static void print_csv_side(const struct compare_side *side, FILE *out)
{
	const bool timed = row_timed(&side->group.sum) > 0;
	const uint64_t latencies[] = { side->mean_ns, side->p50_ns, side->p99_ns };

	fprintf(out, ",%" PRIu64 ",%" PRIu64, side->group.sum.calls, side->group.sum.errors);
	print_real(side->calls_per_s, out);
	print_real(side->errors_per_s, out);
	print_real(side->seconds_per_s, out);
	for (size_t i = 0; i < ARRAY_SIZE(latencies); i++)
		print_real(timed ? (double)latencies[i] : NAN, out);
}

int report_comparison_csv(const struct compare_input *input, const struct compare_view *view,
			  FILE *out)
{
	static const char *const fields[] = { "calls",        "errors",        "calls_per_s",
					      "errors_per_s", "seconds_per_s", "avg_ns",
					      "p50_ns",       "p99_ns" };
	char text[COLUMN_TEXT_MAX];
	struct column_list keys;

	columns_of_keys(view->parts[TABLE_WORKING].list.keys, &keys);
	for (size_t i = 0; i < keys.count; i++)
		fprintf(out, "%s,", keys.columns[i]->field);
	fputs("half", out);
	for (size_t i = 0; i < SIDES * ARRAY_SIZE(fields); i++)
		fprintf(out, ",%c_%s", i < ARRAY_SIZE(fields) ? 'a' : 'b',
			fields[i % ARRAY_SIZE(fields)]);
	fputs(",latency,failed\n", out);
	for (int half = 0; half < NR_TABLE_HALF; half++) {
		const struct compare_part *part = &view->parts[half];

		for (size_t i = 0; i < part->shown; i++) {
			const struct comparison *item = &part->list.items[i];
			struct column_scope scope;
			const struct group *group =
				comparison_group(item, input, part->list.keys, &scope);

			for (size_t j = 0; j < keys.count; j++) {
				if (column_text(keys.columns[j], &scope, group, text))
					csv_print_text(text, out);
				fputc(',', out);
			}
			fputs(table_half_names[half], out);
			print_csv_side(&item->a, out);
			print_csv_side(&item->b, out);
			fprintf(out, ",%s,%s\n", compare_words[item->word],
				part->verdicts[i].failed ? "yes" : "no");
		}
	}
	return ferror(out) ? -EIO : 0;
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void put_source(struct json_writer *to, const char *key, const struct compare_source *source)
{
	const struct snapshot *snapshot = source->snapshot;

	json_put_object(to, key);
	json_put_text(to, "label", source->label);
	json_put_origin(to, snapshot);
	json_put_bool(to, "exact", snapshot_is_exact(snapshot));
	json_put_losses(to, &snapshot->losses);
	json_put_number_if(to, "slower_than_ns", snapshot->slower_than_ns != 0,
			   snapshot->slower_than_ns);
	json_put_end(to);
}

static void put_side(struct json_writer *to, const char *key, const struct compare_side *side)
{
	const struct row *row = &side->group.sum;
	bool timed = row_timed(row) > 0;

	if (!side->present) {
		json_put_null(to, key);
		return;
	}
	json_put_object(to, key);
	json_put_number(to, "calls", row->calls);
	json_put_number(to, "errors", row->errors);
	json_put_number_if(to, "wall_ns", timed, row->wall_ns);
	json_put_real(to, "calls_per_s", side->calls_per_s);
	json_put_real(to, "errors_per_s", side->errors_per_s);
	json_put_real(to, "seconds_per_s", side->seconds_per_s);
	json_put_number_if(to, "mean_ns", timed, side->mean_ns);
	json_put_number_if(to, "p50_ns", timed, side->p50_ns);
	json_put_number_if(to, "p99_ns", timed, side->p99_ns);
	json_put_end(to);
}

/* Writes what both a group and the sum of all have. */
static void put_figures(struct json_writer *to, const struct comparison *item)
{
	put_side(to, "a", &item->a);
	put_side(to, "b", &item->b);
	json_put_word(to, "latency", compare_words[item->word]);
	json_put_real(to, "distance", item->distance);
	json_put_real(to, "probability", item->probability);
	json_put_number(to, "tail", (uint64_t)item->tail);
}

static void put_group(struct json_writer *to, const struct compare_input *input,
		      const struct compare_view *view, int half, size_t index)
{
	const struct compare_part *part = &view->parts[half];
	const struct comparison *item = &part->list.items[index];
	const double *rises = part->verdicts[index].found.rise;
	char text[COLUMN_TEXT_MAX];
	struct column_list columns;
	struct column_scope scope;
	const struct group *group = comparison_group(item, input, part->list.keys, &scope);

	json_put_object(to, NULL);
	columns_of_keys(part->list.keys, &columns);
	for (size_t i = 0; i < columns.count; i++) {
		bool known = column_text(columns.columns[i], &scope, group, text);

		json_put_text(to, columns.columns[i]->field, known ? text : NULL);
	}
	json_put_bool(to, "waiting", half == TABLE_WAITING);
	put_figures(to, item);
	/* 0.5 is a rise by half; null is a rise from nothing. */
	json_put_object(to, "regressions");
	for (int kind = 0; kind < NR_REGRESSION_KIND; kind++) {
		if (rises[kind] > 0)
			json_put_real(to, regression_names[kind], rises[kind]);
	}
	json_put_end(to);
	json_put_end(to);
}

int report_comparison_json(const struct compare_input *input, const struct compare_view *view,
			   FILE *out)
{
	struct json_writer to;

	json_begin(&to, out);
	json_put_document(&to, NULL);
	put_source(&to, "a", &input->a);
	put_source(&to, "b", &input->b);
	json_put_real(&to, "fail_over", input->fail_over > 0 ? input->fail_over : NAN);
	json_put_number(&to, "failed", view->failed);
	json_put_number(&to, "left_out", view->left_out);
	for (int half = 0; half < NR_TABLE_HALF; half++) {
		json_put_object(&to, table_half_names[half]);
		put_figures(&to, &view->parts[half].list.total);
		json_put_end(&to);
	}
	json_put_list(&to, "groups");
	for (int half = 0; half < NR_TABLE_HALF; half++) {
		for (size_t i = 0; i < view->parts[half].shown; i++)
			put_group(&to, input, view, half, i);
	}
	return json_end(&to);
}
