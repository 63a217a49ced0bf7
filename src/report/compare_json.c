/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes a comparison as a JSON object: bpftruss(8), Compare. */
#include <math.h>

#include "report/compare.h"
#include "report/json.h"

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

/* By part: 0.5 is a rise by half; null is a rise from nothing. */
static void put_regressions(struct json_writer *to, const struct compare_part *part,
			    const struct comparison *item)
{
	struct regressions found = { 0 };
	bool any = part->rule.limit > 0 &&
		   comparison_regressions(&part->list, item, &part->rule, &found);

	json_put_object(to, "regressions");
	for (int kind = 0; kind < NR_REGRESSION_KIND; kind++) {
		if (any && found.rise[kind] > 0)
			json_put_real(to, regression_names[kind], found.rise[kind]);
	}
	json_put_end(to);
}

/* What both a group and the sum of all have. */
static void put_figures(struct json_writer *to, const struct comparison *item)
{
	put_side(to, "a", &item->a);
	put_side(to, "b", &item->b);
	json_put_word(to, "latency", compare_words[item->word]);
	json_put_real(to, "distance", item->distance);
	json_put_real(to, "probability", item->probability);
	json_put_number(to, "tail", (uint64_t)item->tail);
}

static void put_keys(struct json_writer *to, const struct comparison *item,
		     const struct compare_input *input, unsigned int keys)
{
	char text[COLUMN_TEXT_MAX];
	struct column_list columns;
	struct column_scope scope;
	const struct group *group = comparison_group(item, input, keys, &scope);

	columns_of_keys(keys, &columns);
	for (size_t i = 0; i < columns.count; i++) {
		bool known = column_text(columns.columns[i], &scope, group, text);

		json_put_text(to, columns.columns[i]->field, known ? text : NULL);
	}
}

static void put_groups(struct json_writer *to, const struct compare_input *input,
		       const struct compare_part *part)
{
	for (size_t i = 0; i < part->shown; i++) {
		const struct comparison *item = &part->list.items[i];

		json_put_object(to, NULL);
		put_keys(to, item, input, part->list.keys);
		json_put_bool(to, "waiting", part->rule.waiting);
		put_figures(to, item);
		put_regressions(to, part, item);
		json_put_end(to);
	}
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
	for (int half = 0; half < NR_TABLE_HALF; half++)
		put_groups(&to, input, &view->parts[half]);
	return json_end(&to);
}
