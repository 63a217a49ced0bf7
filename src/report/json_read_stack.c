/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the stacks of rows that are read back. Each gets an id of its own, in the order of the
 * document. Invariant: a row's stacks and their remainder add up as the writer added them up.
 */
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "report/frames.h"
#include "report/json_read.h"

/* null: no number of a document is so large. */
#define UNKNOWN UINT64_MAX

/* One stack as it stands there. */
struct sample {
	struct stack_count count;
	uint64_t cpu_ns, sleep_ns;
	unsigned int end;           /* as of a struct stack_view */
	bool remainder;             /* calls that are in none of the row's stacks */
	struct stack_frame *frames; /* owned, with their names */
	size_t nr_frames;
};

static void sample_done(struct sample *sample)
{
	for (size_t i = 0; i < sample->nr_frames; i++) {
		free((char *)sample->frames[i].module);
		free((char *)sample->frames[i].symbol);
	}
	free(sample->frames);
}

/* --- frames ------------------------------------------------------------------------------------- */

static int read_frame(const struct json_reader *reader, const struct json_place *place,
		      struct stack_frame *frame)
{
	char *module = NULL, *symbol = NULL;
	int err = json_read_untrusted(place, "module", FIELD_NULL, &module);

	frame->module = module;
	err = err ?: json_read_untrusted(place, "symbol", FIELD_NULL, &symbol);
	frame->symbol = symbol;
	err = err ?: json_read_number(place, "offset", FIELD_SIGNED, &frame->offset);
	err = err ?: json_read_bool(place, "inlined", &frame->inlined);
	/* Older versions did not say it. */
	if (!reader->lists_processes)
		frame->kernel = module && !strcmp(module, "[kernel]");
	return err ?: json_read_bool(place, "kernel", &frame->kernel);
}

static int read_frames(const struct json_reader *reader, const struct json_place *place,
		       struct sample *sample)
{
	const json_t *list = NULL;
	int err = json_read_part(place, "frames", JSON_ARRAY, FIELD_REQUIRED, &list);

	if (err)
		return err;
	sample->frames = calloc(json_array_size(list) + 1, sizeof(*sample->frames));
	if (!sample->frames)
		return -ENOMEM;
	for (size_t i = 0; i < json_array_size(list) && !err; i++) {
		struct json_place frame;

		err = json_read_element(place, list, i, "frame", &frame);
		err = err ?: read_frame(reader, &frame, &sample->frames[sample->nr_frames++]);
	}
	return err;
}

static int read_end(const struct json_place *place, unsigned int *ret)
{
	char word[VIEW_END_WORD_MAX];
	const char *told = NULL;
	int err = json_read_string(place, "end", FIELD_REQUIRED, &told);

	if (err)
		return err;
	for (unsigned int end = 0; end < NR_VIEW_END; end++) {
		view_end_word(end, word);
		if (!strcmp(word, told)) {
			*ret = end;
			return 0;
		}
	}
	return json_refuse(place, "end is none that is known");
}

/* --- numbers ------------------------------------------------------------------------------------ */

static int check_times(const struct json_reader *reader, const struct json_place *place,
		       const struct row *row, struct sample *sample)
{
	struct stack_count *count = &sample->count;
	bool timed = row_timed(row) > 0, runq = timed && reader->snapshot->has_runq;

	if ((count->wall_ns != UNKNOWN) != timed || (sample->cpu_ns != UNKNOWN) != timed ||
	    (count->max_ns != UNKNOWN) != timed || (count->runq_ns != UNKNOWN) != runq ||
	    (sample->sleep_ns != UNKNOWN) != runq)
		return json_refuse(place, "has other times than its row");
	if (!runq)
		count->runq_ns = 0;
	if (!timed) {
		count->wall_ns = count->max_ns = 0;
		return 0;
	}
	if (sample->cpu_ns > count->wall_ns)
		return json_refuse(place, "cpu_ns is more than wall_ns");
	count->off_ns = count->wall_ns - sample->cpu_ns;
	if (runq && count->runq_ns + sample->sleep_ns != count->off_ns)
		return json_refuse(place, "cpu_ns, runq_ns and sleep_ns do not add up to wall_ns");
	return 0;
}

static int read_sample(const struct json_reader *reader, const struct json_place *place,
		       const struct row *row, struct sample *sample)
{
	static const struct json_field fields[] = {
		{ "calls", offsetof(struct sample, count.calls), FIELD_REQUIRED },
		{ "errors", offsetof(struct sample, count.errors), FIELD_REQUIRED },
		{ "wall_ns", offsetof(struct sample, count.wall_ns), FIELD_NULL },
		{ "cpu_ns", offsetof(struct sample, cpu_ns), FIELD_NULL },
		{ "runq_ns", offsetof(struct sample, count.runq_ns), FIELD_NULL },
		{ "sleep_ns", offsetof(struct sample, sleep_ns), FIELD_NULL },
		{ "max_ns", offsetof(struct sample, count.max_ns), FIELD_NULL },
	};
	int err = json_read_numbers(place, fields, ARRAY_SIZE(fields), sample);

	err = err ?: check_times(reader, place, row, sample);
	err = err ?: read_end(place, &sample->end);
	err = err ?: read_frames(reader, place, sample);
	err = err ?: json_read_bool(place, "remainder", &sample->remainder);
	if (!err && sample->end == VIEW_OTHERS && sample->nr_frames)
		return json_refuse(place, "frames of other_stacks");
	return err;
}

/* What the writer adds is made anew by whoever looks at the row, and has to be the same. */
static int check_remainder(const struct json_reader *reader, const struct json_place *place,
			   const struct row *row, const struct sample *sample)
{
	struct stack_sample rest;

	if (!stack_sample_at(reader->snapshot, row, row->nr_stacks, &rest))
		return sample ? json_refuse(place, "a remainder where nothing remains") : 0;
	if (!sample)
		return json_refuse(place, "stacks do not add up to the row");
	if (rest.count.calls != sample->count.calls || rest.count.errors != sample->count.errors ||
	    rest.count.wall_ns != sample->count.wall_ns ||
	    rest.count.off_ns != sample->count.off_ns ||
	    rest.count.runq_ns != sample->count.runq_ns ||
	    rest.count.max_ns != sample->count.max_ns)
		return json_refuse(place, "stacks and remainder do not add up to the row");
	return 0;
}

static int check_sum(const struct json_reader *reader, const struct json_place *place,
		     const struct row *row)
{
	struct stack_count sum = { 0 };

	/* Rows that were read while they changed may lack what their stacks have. */
	if (reader->snapshot->losses.count[LOSS_TORN_READ])
		return 0;
	for (size_t i = 0; i < row->nr_stacks; i++) {
		stack_count_add(&sum, &row->stacks[i]);
		if (sum.calls > row->calls || sum.errors > row->errors ||
		    sum.wall_ns > row->wall_ns || sum.off_ns > row->off_ns ||
		    sum.runq_ns > row->runq_ns)
			return json_refuse(place, "stacks have more than the row");
	}
	return 0;
}

static int add_sample(struct json_reader *reader, const struct json_place *place, struct row *row,
		      struct sample *sample)
{
	const struct stack stack = {
		.id = ++reader->nr_stack_ids,
		.end = (enum stack_end)sample->end,
		.nr_frames = sample->nr_frames,
		.frames = sample->frames,
	};

	if (sample->end == VIEW_OTHERS && row->nr_stacks)
		return json_refuse(place, "other_stacks is not the first of the row");
	sample->count.id = sample->end == VIEW_OTHERS ? STACK_OTHERS : stack.id;
	if (row_add_stack(row, &sample->count))
		return -ENOMEM;
	return sample->end == VIEW_OTHERS ? 0 : stack_table_add(reader->stacks, &stack);
}

static int read_stack(struct json_reader *reader, const struct json_place *place, struct row *row,
		      bool is_last, bool *has_remainder)
{
	struct sample sample __cleanup(sample_done) = {
		.count = { .wall_ns = UNKNOWN, .runq_ns = UNKNOWN, .max_ns = UNKNOWN },
		.cpu_ns = UNKNOWN,
		.sleep_ns = UNKNOWN,
	};
	int err = read_sample(reader, place, row, &sample);

	if (err)
		return err;
	/* Older versions did not mark it. */
	if (!reader->lists_processes && sample.end == VIEW_OTHERS && is_last && row->nr_stacks)
		sample.remainder = true;
	if (!sample.remainder)
		return add_sample(reader, place, row, &sample);
	if (!is_last || sample.end != VIEW_OTHERS)
		return json_refuse(place, "a remainder that is not the last, or not other_stacks");
	*has_remainder = true;
	return check_remainder(reader, place, row, &sample);
}

int json_read_stacks(struct json_reader *reader, const struct json_place *place, struct row *row)
{
	const json_t *list = NULL;
	bool has_remainder = false;
	size_t count;
	int err = json_read_part(place, "stacks", JSON_ARRAY, 0, &list);

	if (err || !list)
		return err;
	if (!reader->stacks)
		return json_refuse(place, "stacks, but has_stacks is false");
	count = json_array_size(list);
	for (size_t i = 0; i < count && !err; i++) {
		struct json_place stack;

		err = json_read_element(place, list, i, "stack", &stack);
		err = err ?: read_stack(reader, &stack, row, i + 1 == count, &has_remainder);
	}
	err = err ?: check_sum(reader, place, row);
	return err || has_remainder ? err : check_remainder(reader, place, row, NULL);
}
