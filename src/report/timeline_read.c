/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns reading a timeline back from JSON. Invariant: it comes out whole or not at all, its steps
 * and gaps in order of time.
 */
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "report/json_place.h"
#include "report/json_values.h"
#include "report/report.h"
#include "report/timeline.h"

/* The reader of reports takes text; stacks, which would have to live elsewhere, are dropped. */
static int read_snapshot(const struct json_place *place, struct snapshot **ret)
{
	struct stack_table *stacks __cleanup(stack_table_freep) = NULL;
	struct snapshot *snapshot __cleanup(snapshot_freep) = NULL;
	char *text __cleanup(freep) = NULL;
	const json_t *object = NULL;
	int err = json_read_part(place, "snapshot", JSON_OBJECT, FIELD_NULL, &object);

	if (err || !object)
		return err;
	text = json_dumps(object, JSON_COMPACT);
	if (!text)
		return -ENOMEM;
	err = report_json_read(text, strlen(text), &snapshot, &stacks, place->d);
	if (err)
		return err;
	snapshot->stacks = NULL;
	for (size_t i = 0; i < snapshot->nr_rows; i++)
		snapshot->rows[i]->nr_stacks = 0;
	*ret = steal_ptr(&snapshot);
	return 0;
}

/* after_ns is where what came before ends. */
static int read_span(const struct json_place *place, int64_t after_ns, int64_t *start_ns,
		     int64_t *end_ns)
{
	int err = json_read_time(place, "start", start_ns);

	err = err ?: json_read_time(place, "end", end_ns);
	if (!err && (*start_ns > *end_ns || *start_ns < after_ns))
		return json_refuse(place, "start is not in order");
	return err;
}

static int read_step(const struct json_place *place, int64_t after_ns, struct timeline_step *step)
{
	int err = read_span(place, after_ns, &step->start_ns, &step->end_ns);

	err = err ?: json_read_number(place, "covered_ns", FIELD_REQUIRED, &step->covered_ns);
	return err ?: read_snapshot(place, &step->sum);
}

static int read_steps(const struct json_place *whole, struct timeline *timeline)
{
	const json_t *list = NULL;
	int64_t after_ns = INT64_MIN;
	int err = json_read_part(whole, "steps", JSON_ARRAY, FIELD_REQUIRED, &list);

	if (!err && json_array_size(list) > TIMELINE_MAX_STEPS)
		return json_refuse(whole, "more than %d steps", TIMELINE_MAX_STEPS);
	timeline->steps = calloc(json_array_size(list) + 1, sizeof(*timeline->steps));
	if (!timeline->steps)
		return -ENOMEM;
	for (size_t i = 0; i < json_array_size(list) && !err; i++) {
		struct timeline_step *step = &timeline->steps[timeline->nr_steps++];
		struct json_place place;

		err = json_read_element(whole, list, i, "step", &place);
		err = err ?: read_step(&place, after_ns, step);
		after_ns = step->start_ns;
	}
	return err;
}

static int read_reason(const struct json_place *place, enum gap_reason *ret)
{
	const char *word = "";
	int err = json_read_string(place, "reason", FIELD_REQUIRED, &word);

	for (int i = 0; i < NR_GAP_REASON && !err; i++) {
		if (strcmp(word, gap_reason_names[i]) != 0)
			continue;
		*ret = (enum gap_reason)i;
		return 0;
	}
	return err ?: json_refuse(place, "reason is none that this version knows");
}

static int read_gaps(const struct json_place *whole, struct timeline *timeline)
{
	const json_t *list = NULL;
	int64_t after_ns = INT64_MIN;
	int err = json_read_part(whole, "gaps", JSON_ARRAY, FIELD_REQUIRED, &list);

	timeline->gaps = calloc(json_array_size(list) + 1, sizeof(*timeline->gaps));
	if (!timeline->gaps)
		return -ENOMEM;
	for (size_t i = 0; i < json_array_size(list) && !err; i++) {
		struct timeline_gap *gap = &timeline->gaps[timeline->nr_gaps++];
		struct json_place place;

		err = json_read_element(whole, list, i, "gap", &place);
		err = err ?: read_span(&place, after_ns, &gap->start_ns, &gap->end_ns);
		err = err ?: read_reason(&place, &gap->reason);
		after_ns = gap->start_ns;
	}
	return err;
}

static int read_whole(const struct json_place *whole, struct timeline *timeline)
{
	uint64_t schema = 0;
	int err;

	if (!json_is_object(whole->object))
		return json_refuse(whole, "not an object");
	err = json_read_number(whole, "schema", FIELD_REQUIRED, &schema);
	if (!err && schema != JSON_SCHEMA)
		return json_refuse(whole, "schema is not %d: another version can read it",
				   JSON_SCHEMA);
	err = err ?: read_steps(whole, timeline);
	return err ?: read_gaps(whole, timeline);
}

int report_timeline_json_read(const char *text, size_t size, struct timeline *ret, struct diag *d)
{
	struct timeline timeline __cleanup(timeline_done) = { .nr_steps = 0 };
	json_error_t error;
	json_t *json __cleanup(json_freep) = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
	const struct json_place whole = { .object = json, .d = d };
	int err;

	if (!json && json_error_code(&error) == json_error_out_of_memory)
		return diag_oom(d);
	if (!json)
		return json_refuse(&whole, "line %d, column %d is not JSON", error.line,
				   error.column);
	err = read_whole(&whole, &timeline);
	if (err == -ENOMEM)
		return diag_oom(d);
	if (err)
		return err;
	*ret = timeline;
	timeline = (struct timeline){ .nr_steps = 0 };
	return 0;
}
