/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes timelines as JSON, bpftruss(8), History, and reads them back, whole or not at all.
 */
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "report/json.h"
#include "report/timeline.h"

static void put_span(struct json_writer *to, int64_t start_ns, int64_t end_ns)
{
	json_put_object(to, NULL);
	json_put_time(to, "start", start_ns);
	json_put_time(to, "end", end_ns);
}

static void put_step(struct json_writer *to, const struct timeline_step *step)
{
	put_span(to, step->start_ns, step->end_ns);
	json_put_number(to, "covered_ns", step->covered_ns);
	if (step->sum)
		json_put_snapshot(to, "snapshot", step->sum);
	else
		json_put_null(to, "snapshot");
	json_put_end(to);
}

static void put_gap(struct json_writer *to, const struct timeline_gap *gap)
{
	put_span(to, gap->start_ns, gap->end_ns);
	json_put_word(to, "reason", gap_reason_names[gap->reason]);
	json_put_end(to);
}

int report_timeline_json(const struct timeline *timeline, FILE *out)
{
	struct json_writer to;

	json_begin(&to, out);
	json_put_document(&to, NULL);
	json_put_list(&to, "steps");
	for (size_t i = 0; i < timeline->nr_steps; i++)
		put_step(&to, &timeline->steps[i]);
	json_put_end(&to);
	json_put_list(&to, "gaps");
	for (size_t i = 0; i < timeline->nr_gaps; i++)
		put_gap(&to, &timeline->gaps[i]);
	return json_end(&to);
}

/* --- reading ------------------------------------------------------------------------------------ */

/* Stacks, which would have to live elsewhere, are dropped. */
static struct snapshot *read_snapshot(const struct json_place *step)
{
	struct stack_table *stacks __cleanup(stack_table_freep) = NULL;
	const struct json_place at = json_get_object(step, "snapshot", JSON_OR_NULL);
	struct snapshot *snapshot = at.object ? json_get_snapshot(&at, &stacks) : NULL;

	if (!snapshot)
		return NULL;
	snapshot->stacks = NULL;
	for (size_t i = 0; i < snapshot->nr_rows; i++)
		snapshot->rows[i]->nr_stacks = 0;
	return snapshot;
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
		struct timeline_step *step = &timeline->steps[timeline->nr_steps++];

		step->start_ns = json_get_time(&at, "start");
		step->end_ns = json_get_time(&at, "end");
		step->covered_ns = json_get_number(&at, "covered_ns", 0, 0);
		step->sum = read_snapshot(&at);
	}
}

static enum gap_reason read_reason(const struct json_place *at)
{
	const char *word = json_get_word(at, "reason", 0);

	for (int i = 0; word && i < NR_GAP_REASON; i++) {
		if (!strcmp(word, gap_reason_names[i]))
			return (enum gap_reason)i;
	}
	json_refuse(at, "reason is none that this version knows");
	return 0;
}

static void read_gaps(const struct json_place *whole, struct timeline *timeline)
{
	const json_t *list = json_get_list(whole, "gaps");
	struct json_place at;

	timeline->gaps = calloc(json_array_size(list) + 1, sizeof(*timeline->gaps));
	if (!timeline->gaps)
		json_check(whole, -ENOMEM);
	for (size_t i = 0; json_get_element(whole, list, i, &at); i++) {
		struct timeline_gap *gap = &timeline->gaps[timeline->nr_gaps++];

		gap->start_ns = json_get_time(&at, "start");
		gap->end_ns = json_get_time(&at, "end");
		gap->reason = read_reason(&at);
	}
}

int report_timeline_json_read(const char *text, size_t size, struct timeline *ret, struct diag *d)
{
	struct timeline timeline __cleanup(timeline_done) = { .nr_steps = 0 };
	struct json_document document __cleanup(json_close);
	const struct json_place whole = json_open(&document, text, size, d);

	read_steps(&whole, &timeline);
	read_gaps(&whole, &timeline);
	if (document.err)
		return document.err;
	*ret = timeline;
	timeline = (struct timeline){ .nr_steps = 0 };
	return 0;
}
