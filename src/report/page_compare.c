/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes a comparison as a page: a row a group with both sides, under the names that CSV has for them, and both
 * histograms of what changed most. Without the script the text report is there.
 */
#include <math.h>

#include "base/clock.h"
#include "report/page.h"
#include "report/picture.h"

/* Groups in the text report that needs no script. */
#define STATIC_GROUPS 20

static const char *const half_titles[NR_TABLE_HALF] = {
	[TABLE_WORKING] = "What changed",
	[TABLE_WAITING] = "Calls that wait for work",
};

/* Fields of a group besides its keys; those of b follow those of a, then comes the change, if any is shown. */
static const struct {
	const char *field, *kind, *change;
} measures[] = {
	{ "calls_per_s", "rate", "calls_change" },  { "errors_per_s", "rate", NULL },
	{ "seconds_per_s", "load", "time_change" }, { "p50_ns", "latency", NULL },
	{ "p99_ns", "latency", "p99_change" },
};

/* NAN: not known. */
static double measure_value(const struct compare_side *side, size_t which)
{
	const bool is_timed = row_timed(&side->group.sum) > 0;
	const double values[ARRAY_SIZE(measures)] = {
		side->calls_per_s,
		side->errors_per_s,
		side->seconds_per_s,
		is_timed ? (double)side->p50_ns : NAN,
		is_timed ? (double)side->p99_ns : NAN,
	};

	return side->present ? values[which] : NAN;
}

/* --- tables ------------------------------------------------------------------------------------- */

static void put_fields(struct json_writer *to, const struct column_list *keys, bool has_verdict)
{
	char name[32];

	json_put_list(to, "fields");
	for (size_t i = 0; i < keys->count; i++)
		page_put_field(to, keys->columns[i]->field,
			       keys->columns[i]->kind == COLUMN_ID ? "id" : "text");
	page_put_field(to, "latency", "text");
	for (size_t i = 0; i < ARRAY_SIZE(measures); i++) {
		for (const char *side = "ab"; *side; side++) {
			snprintf(name, sizeof(name), "%c_%s", *side, measures[i].field);
			page_put_field(to, name, measures[i].kind);
		}
		if (measures[i].change)
			page_put_field(to, measures[i].change, "change");
	}
	if (has_verdict)
		page_put_field(to, "failed", "text");
	json_put_end(to);
}

static void put_measures(struct json_writer *to, const struct comparison *item)
{
	json_put_word(to, NULL, compare_words[item->word]);
	for (size_t i = 0; i < ARRAY_SIZE(measures); i++) {
		double a = measure_value(&item->a, i), b = measure_value(&item->b, i);

		json_put_real(to, NULL, a);
		json_put_real(to, NULL, b);
		if (measures[i].change)
			json_put_real(to, NULL, a > 0 ? b / a - 1 : NAN);
	}
}

static void put_row(struct json_writer *to, const struct compare_input *input,
		    const struct compare_part *part, size_t index, const struct column_list *keys)
{
	const struct comparison *item = &part->list.items[index];
	char text[COLUMN_TEXT_MAX];
	struct column_scope scope;
	const struct group *group = comparison_group(item, input, part->list.keys, &scope);

	json_put_list(to, NULL);
	for (size_t i = 0; i < keys->count; i++) {
		bool is_known = column_text(keys->columns[i], &scope, group, text);

		json_put_text(to, NULL, is_known ? text : NULL);
	}
	put_measures(to, item);
	if (input->fail_over > 0)
		json_put_text(to, NULL, part->verdicts[index].failed ? "failed" : NULL);
	json_put_end(to);
}

static void put_part(struct json_writer *to, const struct compare_input *input,
		     const struct compare_view *view, enum table_half half)
{
	const struct compare_part *part = &view->parts[half];
	struct column_list keys;

	if (!part->shown)
		return;
	columns_of_keys(part->list.keys, &keys);
	page_put_table(to, half == TABLE_WAITING ? "waiting" : "calls", half_titles[half],
		       half == TABLE_WAITING ? "They may be idle." : NULL);
	put_fields(to, &keys, input->fail_over > 0);
	json_put_list(to, "rows");
	for (size_t i = 0; i < part->shown; i++)
		put_row(to, input, part, i, &keys);
	json_put_end(to);
	json_put_list(to, "sum");
	for (size_t i = 0; i < keys.count; i++)
		json_put_null(to, NULL);
	put_measures(to, &part->list.total);
	if (input->fail_over > 0)
		json_put_null(to, NULL);
	json_put_end(to);
	json_put_end(to);
}

/* --- histograms --------------------------------------------------------------------------------- */

static void put_side(struct json_writer *to, char side, const struct compare_side *from)
{
	char name[32];
	const char key[] = { side, '\0' };

	page_put_histogram(to, key, &from->group.sum.hist);
	for (size_t i = 0; i < ARRAY_SIZE(measures); i++) {
		snprintf(name, sizeof(name), "%c_%s", side, measures[i].field);
		json_put_real(to, name, measure_value(from, i));
	}
}

/* The list has what changed most first. */
static void put_histograms(struct json_writer *to, const struct compare_input *input,
			   const struct compare_view *view, enum table_half half)
{
	const struct compare_part *part = &view->parts[half];
	char title[COLUMN_TEXT_MAX];

	for (size_t i = 0, count = 0; i < part->shown && count < PAGE_HISTOGRAMS; i++) {
		const struct comparison *item = &part->list.items[i];
		struct table_part scope = { .list.groups = NULL };
		const struct group *group =
			comparison_group(item, input, part->list.keys, &scope.scope);

		if (!row_timed(&item->a.group.sum) && !row_timed(&item->b.group.sum))
			continue;
		count++;
		table_group_title(&scope, group, title);
		json_put_object(to, NULL);
		json_put_text(to, "title", title);
		json_put_bool(to, "waiting", half == TABLE_WAITING);
		json_put_word(to, "latency", compare_words[item->word]);
		put_side(to, 'a', &item->a);
		put_side(to, 'b', &item->b);
		json_put_end(to);
	}
}

static int write_data(const struct compare_input *input, const struct compare_view *view,
		      const char *command, FILE *out)
{
	const struct compare_source *sources[] = { &input->a, &input->b };
	struct page_data *data __cleanup(freep) = malloc(sizeof(*data));
	int err = data ? page_data_begin(data, out) : -ENOMEM;
	struct json_writer *to;

	if (err)
		return err;
	to = &data->to;
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		json_put_object(to, i ? "b" : "a");
		json_put_text(to, "label", sources[i]->label);
		json_put_origin(to, sources[i]->snapshot);
		json_put_bool(to, "exact", snapshot_is_exact(sources[i]->snapshot));
		json_put_losses(to, &sources[i]->snapshot->losses);
		json_put_end(to);
	}
	json_put_real(to, "fail_over", input->fail_over > 0 ? input->fail_over : NAN);
	json_put_text(to, "command", command);
	json_put_list(to, "tables");
	for (enum table_half half = 0; half < NR_TABLE_HALF; half++)
		put_part(to, input, view, half);
	json_put_end(to);
	json_put_list(to, "histograms");
	for (enum table_half half = 0; half < NR_TABLE_HALF; half++)
		put_histograms(to, input, view, half);
	json_put_end(to);
	return page_data_end(data, out);
}

/* --- what needs no script ----------------------------------------------------------------------- */

static void write_facts(const struct compare_input *input, const char *command, FILE *out)
{
	const struct compare_source *sources[] = { &input->a, &input->b };
	char start[CLOCK_LOCAL_SIZE], end[CLOCK_LOCAL_SIZE], text[1024];
	char host[HOST_LABEL_MAX];

	fputs("<dl>\n", out);
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		const struct snapshot *snapshot = sources[i]->snapshot;

		snapshot_host_label(snapshot, host);
		clock_local(snapshot->start_ns, start, sizeof(start));
		clock_local(snapshot->end_ns, end, sizeof(end));
		snprintf(text, sizeof(text), "%.400s: %.200s, %s to %s, %.3f s counted",
			 sources[i]->label, host, start, end, (double)snapshot->elapsed_ns / 1e9);
		page_fact(i ? "B" : "A", text, out);
	}
	page_fact("Command", command, out);
	fputs("</dl>\n", out);
}

static int write_notes(const struct compare_input *input, const struct compare_view *view,
		       FILE *out)
{
	char *text __cleanup(freep) = NULL;
	size_t size;
	FILE *lines = open_memstream(&text, &size);

	if (!lines)
		return -ENOMEM;
	print_comparison(input, view, lines);
	if (fclose(lines))
		return -ENOMEM;
	page_notes(text, out);
	return 0;
}

/* The first groups of the text report; the script replaces it. */
static int write_static(const struct compare_input *input, const struct compare_view *view,
			FILE *out)
{
	const struct table_options options = { .width = 0 };
	struct compare_view first = *view;
	char *text __cleanup(freep) = NULL;
	size_t size;
	FILE *report = open_memstream(&text, &size);
	int err;

	if (!report)
		return -ENOMEM;
	for (int half = 0; half < NR_TABLE_HALF; half++)
		first.parts[half].shown = min_u64(first.parts[half].shown, STATIC_GROUPS);
	err = report_comparison(input, &first, &options, report);
	if (fclose(report) || err)
		return err ?: -ENOMEM;
	page_section_begin("static", "What changed", out);
	fputs("<pre class=\"scroll\">", out);
	/* It has no control characters but line ends. */
	for (char *at = text, *line; (line = strsep(&at, "\n"));) {
		html_text(line, out);
		fputc('\n', out);
	}
	fputs("</pre>\n", out);
	page_section_end(out);
	return 0;
}

static int draw_difference(const void *input, const struct stack_options *options, FILE *out)
{
	return flame_difference_write_part(input, options, out);
}

int report_comparison_page(const struct compare_input *input, const struct compare_view *view,
			   const struct report_options *options, FILE *out)
{
	char title[256];
	const bool has_stacks = input->a.snapshot->stacks && input->b.snapshot->stacks;
	const struct page_frame frame = {
		title, PAGE_ALWAYS | (unsigned int)(has_stacks ? PAGE_FLAME : 0)
	};
	const struct page_flames flames = {
		draw_difference, input, { [STACK_WEIGHT_CALLS] = true, [STACK_WEIGHT_TIME] = true }
	};
	int err;

	snprintf(title, sizeof(title), "System calls: %.100s compared with %.100s", input->a.label,
		 input->b.label);
	page_begin(&frame, out);
	page_trust(input->a.snapshot, "A: ", out);
	page_trust(input->b.snapshot, "B: ", out);
	write_facts(input, options->command, out);
	err = write_notes(input, view, out);
	fputs("</header>\n<main>\n", out);
	err = err ?: write_static(input, view, out);
	if (has_stacks && !err)
		err = page_flames(&flames, &options->stacks, out);
	fputs("</main>\n", out);
	err = err ?: write_data(input, view, options->command, out);
	page_end(&frame, out);
	return err ?: ferror(out) ? -EIO : 0;
}
