/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes timelines as JSON, see bpftruss-history(8), and reads them back, whole or not at all. */
#include "json/documents.h"
#include "json/json.h"

static void put_span(struct json_writer *to, int64_t start_ns, int64_t end_ns)
{
	json_put_object(to, NULL);
	json_put_time(to, "start", start_ns);
	json_put_time(to, "end", end_ns);
}

int report_timeline_json(const struct timeline *timeline, FILE *out)
{
	struct json_writer to;

	json_begin(&to, out);
	json_put_document(&to, NULL);
	json_put_list(&to, "steps");
	for (size_t i = 0; i < timeline->nr_steps; i++) {
		const struct timeline_step *step = &timeline->steps[i];

		put_span(&to, step->start_ns, step->end_ns);
		json_put_number(&to, "covered_ns", step->covered_ns);
		if (step->sum)
			json_put_snapshot(&to, "snapshot", step->sum);
		else
			json_put_null(&to, "snapshot");
		json_put_end(&to);
	}
	json_put_end(&to);
	json_put_list(&to, "gaps");
	for (size_t i = 0; i < timeline->nr_gaps; i++) {
		const struct timeline_gap *gap = &timeline->gaps[i];

		put_span(&to, gap->start_ns, gap->end_ns);
		json_put_word(&to, "reason", gap_reason_names[gap->reason]);
		json_put_end(&to);
	}
	return json_end(&to);
}

static void read_steps(const struct json_place *whole, struct timeline *timeline)
{
	const json_t *list = json_get_list(whole, "steps");
	struct json_place at;

	if (json_array_size(list) > TIMELINE_MAX_STEPS)
		json_refuse(whole, "more than %d steps", TIMELINE_MAX_STEPS);
	timeline->steps = calloc(json_array_size(list) + 1, sizeof(*timeline->steps));
	if (!timeline->steps)
		json_check(whole, -ENOMEM);
	for (size_t i = 0; json_get_element(whole, list, i, &at); i++) {
		struct stack_table *stacks __cleanup(stack_table_freep) = NULL;
		struct timeline_step *step = &timeline->steps[timeline->nr_steps++];
		struct json_place sum;

		step->start_ns = json_get_time(&at, "start");
		step->end_ns = json_get_time(&at, "end");
		step->covered_ns = json_get_number(&at, "covered_ns", 0, 0);
		sum = json_get_object(&at, "snapshot", JSON_OR_NULL);
		step->sum = sum.object ? json_get_snapshot(&sum, &stacks) : NULL;
		/* Stacks, which would have to live elsewhere, are dropped. */
		if (step->sum)
			step->sum->stacks = NULL;
		for (size_t j = 0; step->sum && j < step->sum->nr_rows; j++)
			step->sum->rows[j]->nr_stacks = 0;
	}
}

int report_timeline_json_read(const char *text, size_t size, struct timeline *ret, struct diag *d)
{
	struct timeline timeline __cleanup(timeline_done) = { .nr_steps = 0 };
	struct json_document document __cleanup(json_close);
	const struct json_place whole = json_open(&document, text, size, d);
	const json_t *gaps = json_get_list(&whole, "gaps");
	struct json_place at;

	read_steps(&whole, &timeline);
	timeline.gaps = calloc(json_array_size(gaps) + 1, sizeof(*timeline.gaps));
	if (!timeline.gaps)
		json_check(&whole, -ENOMEM);
	for (size_t i = 0; json_get_element(&whole, gaps, i, &at); i++) {
		struct timeline_gap *gap = &timeline.gaps[timeline.nr_gaps++];
		const char *reason = json_get_word(&at, "reason", 0) ?: "";

		gap->start_ns = json_get_time(&at, "start");
		gap->end_ns = json_get_time(&at, "end");
		while (gap->reason < NR_GAP_REASON &&
		       strcmp(gap_reason_names[gap->reason], reason) != 0)
			gap->reason++;
		if (gap->reason == NR_GAP_REASON)
			json_refuse(&at, "reason is none that this version knows");
	}
	if (document.err)
		return document.err;
	*ret = timeline;
	timeline = (struct timeline){ .nr_steps = 0 };
	return 0;
}
