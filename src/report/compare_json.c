/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the JSON object of a comparison: bpftruss(8), Compare. */
#include <errno.h>
#include <math.h>

#include "base/mem.h"
#include "report/compare.h"
#include "report/json_values.h"

/* What is not known, or no number, is null. */
static json_t *real_json(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static json_t *source_json(const struct compare_source *source)
{
	const struct snapshot *snapshot = source->snapshot;
	json_t *to = json_object();
	int err = json_object_set_new(to, "label", json_untrusted_text(source->label));

	err |= json_object_set_new(to, "host", json_untrusted_text(snapshot->host));
	err |= json_object_set_new(to, "boot_id", json_untrusted_text(snapshot->boot_id));
	err |= json_object_set_new(to, "kernel", json_untrusted_text(snapshot->kernel));
	err |= json_object_set_new(to, "start", json_time(snapshot->start_ns));
	err |= json_object_set_new(to, "end", json_time(snapshot->end_ns));
	err |= json_object_set_new(to, "elapsed_ns", json_number(snapshot->elapsed_ns));
	err |= json_object_set_new(to, "exact", json_boolean(snapshot_is_exact(snapshot)));
	err |= json_object_set_new(to, "losses", json_losses(&snapshot->losses));
	err |= json_object_set_new(
		to, "slower_than_ns",
		json_number_if(snapshot->slower_than_ns != 0, snapshot->slower_than_ns));
	return json_unless(err, to);
}

static json_t *side_json(const struct compare_side *side)
{
	const struct row *row = &side->group.sum;
	bool timed = row_timed(row) > 0;
	json_t *to;
	int err = 0;

	if (!side->present)
		return json_null();
	to = json_object();
	err |= json_object_set_new(to, "calls", json_number(row->calls));
	err |= json_object_set_new(to, "errors", json_number(row->errors));
	err |= json_object_set_new(to, "wall_ns", json_number_if(timed, row->wall_ns));
	err |= json_object_set_new(to, "calls_per_s", real_json(side->calls_per_s));
	err |= json_object_set_new(to, "errors_per_s", real_json(side->errors_per_s));
	err |= json_object_set_new(to, "seconds_per_s", real_json(side->seconds_per_s));
	err |= json_object_set_new(to, "mean_ns", json_number_if(timed, side->mean_ns));
	err |= json_object_set_new(to, "p50_ns", json_number_if(timed, side->p50_ns));
	err |= json_object_set_new(to, "p99_ns", json_number_if(timed, side->p99_ns));
	return json_unless(err, to);
}

/* By part: 0.5 is a rise by half; null is a rise from nothing. */
static json_t *regressions_json(const struct compare_part *part, const struct comparison *item)
{
	json_t *to = json_object();
	struct regressions found;
	int err = 0;

	if (part->rule.limit > 0 &&
	    comparison_regressions(&part->list, item, &part->rule, &found)) {
		for (int kind = 0; kind < NR_REGRESSION_KIND; kind++) {
			if (found.rise[kind] > 0)
				err |= json_object_set_new(to, regression_names[kind],
							   real_json(found.rise[kind]));
		}
	}
	return json_unless(err, to);
}

/* What both a group and the sum of all have. */
static int add_figures(json_t *to, const struct comparison *item)
{
	int err = 0;

	err |= json_object_set_new(to, "a", side_json(&item->a));
	err |= json_object_set_new(to, "b", side_json(&item->b));
	err |= json_object_set_new(to, "latency", json_string(compare_words[item->word]));
	err |= json_object_set_new(to, "distance", real_json(item->distance));
	err |= json_object_set_new(to, "probability", real_json(item->probability));
	err |= json_object_set_new(to, "tail", json_integer(item->tail));
	return err;
}

static int add_keys(json_t *to, const struct comparison *item, const struct compare_input *input,
		    unsigned int keys)
{
	char text[COLUMN_TEXT_MAX];
	struct column_list columns;
	struct column_scope scope;
	const struct group *group = comparison_group(item, input, keys, &scope);
	int err = 0;

	columns_of_keys(keys, &columns);
	for (size_t i = 0; i < columns.count; i++) {
		bool known = column_text(columns.columns[i], &scope, group, text);

		err |= json_object_set_new(to, columns.columns[i]->field,
					   known ? json_string(text) : json_null());
	}
	return err;
}

static json_t *item_json(const struct compare_part *part, const struct comparison *item,
			 const struct compare_input *input)
{
	json_t *to = json_object();
	int err = add_keys(to, item, input, part->list.keys);

	err |= json_object_set_new(to, "waiting", json_boolean(part->rule.waiting));
	err |= add_figures(to, item);
	err |= json_object_set_new(to, "regressions", regressions_json(part, item));
	return json_unless(err, to);
}

static json_t *groups_json(const struct compare_input *input, const struct compare_view *view)
{
	json_t *groups = json_array();
	int err = 0;

	for (int half = 0; half < NR_COMPARE_HALF; half++) {
		const struct compare_part *part = &view->parts[half];

		for (size_t i = 0; i < part->shown && !err; i++)
			err = json_array_append_new(groups,
						    item_json(part, &part->list.items[i], input));
	}
	return json_unless(err, groups);
}

static json_t *total_json(const struct compare_part *part)
{
	json_t *to = json_object();

	return json_unless(add_figures(to, &part->list.total), to);
}

static json_t *comparison_json(const struct compare_input *input, const struct compare_view *view)
{
	double limit = input->fail_over > 0 ? input->fail_over : NAN;
	json_t *to = json_object();
	int err = json_object_set_new(to, "schema", json_integer(JSON_SCHEMA));

	err |= json_object_set_new(to, "version", json_string(BPFTRUSS_VERSION));
	err |= json_object_set_new(to, "a", source_json(&input->a));
	err |= json_object_set_new(to, "b", source_json(&input->b));
	err |= json_object_set_new(to, "fail_over", real_json(limit));
	err |= json_object_set_new(to, "failed", json_number(view->failed));
	err |= json_object_set_new(to, "left_out", json_number(view->left_out));
	err |= json_object_set_new(to, "working", total_json(&view->parts[COMPARE_WORKING]));
	err |= json_object_set_new(to, "waiting", total_json(&view->parts[COMPARE_WAITING]));
	err |= json_object_set_new(to, "groups", groups_json(input, view));
	return json_unless(err, to);
}

int report_comparison_json(const struct compare_input *input, const struct compare_view *view,
			   FILE *out)
{
	json_t *json __cleanup(json_freep) = comparison_json(input, view);

	return json ? json_write_line(json, out) : -ENOMEM;
}
