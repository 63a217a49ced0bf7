/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes the section of call stacks below a table. Invariant: what is printed for a group, with
 * what it says it left out, adds up to that group's row of the table.
 */
#include "report/stacks.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"

#define FRAME_INDENT 14 /* as DTrace has it, and its counts end in column 17 */
#define COUNT_WIDTH  17

struct section {
	const struct snapshot *snapshot;
	const struct stack_options *options;
	const struct time_scale *scale;
	struct table_part parts[NR_TABLE_HALF];
	uint64_t calls[NR_VIEW_END]; /* of all groups, by end of their stacks */
	FILE *out;
};

static void section_done(struct section *section)
{
	for (int i = 0; i < NR_TABLE_HALF; i++)
		table_part_done(&section->parts[i]);
}

/* --- the stacks of a group, merged and in order --- */

static int compare_views(const void *x, const void *y)
{
	const struct stack_sample *a = x, *b = y;

	return stack_view_compare(&a->view, &b->view);
}

/* The lightest first; equal ones by what they look like, so that a report is always the same. */
static int compare_weights(const void *x, const void *y)
{
	const struct stack_sample *a = x, *b = y;

	return compare_u64(a->weight, b->weight) ?: stack_view_compare(&a->view, &b->view);
}

/* Merges equal stacks, and puts them in order. */
static void samples_merge(struct sample_list *list)
{
	size_t kept = 0;

	qsort(list->samples, list->count, sizeof(*list->samples), compare_views);
	for (size_t i = 0; i < list->count; i++) {
		struct stack_sample *last = kept ? &list->samples[kept - 1] : NULL;

		if (last && !compare_views(last, &list->samples[i])) {
			stack_count_add(&last->count, &list->samples[i].count);
			last->weight += list->samples[i].weight;
		} else {
			list->samples[kept++] = list->samples[i];
		}
	}
	list->count = kept;
	qsort(list->samples, list->count, sizeof(*list->samples), compare_weights);
}

/* --- printing --- */

static void print_time(const struct section *section, const char *title, uint64_t ns)
{
	char text[SCALED_MAX];

	scale_format(section->scale, ns, text, sizeof(text));
	fprintf(section->out, "%s%s %s", title, text, section->scale->unit);
}

static void print_count(const struct section *section, const struct stack_count *count)
{
	char text[SCALED_MAX];

	if (section->options->weight == STACK_WEIGHT_CALLS) {
		fprintf(section->out, "%*" PRIu64 "\n", COUNT_WIDTH, count->calls);
		return;
	}
	scale_format(section->scale, count->wall_ns, text, sizeof(text));
	fprintf(section->out, "%*s %s in %" PRIu64 " call%s: ", COUNT_WIDTH, text,
		section->scale->unit, count->calls, plural(count->calls));
	/* What keeps no run-queue times cannot tell the two apart. */
	if (section->snapshot->has_runq) {
		print_time(section, "sleep ", count->off_ns - count->runq_ns);
		print_time(section, ", runq ", count->runq_ns);
	} else {
		print_time(section, "off the CPU ", count->off_ns);
	}
	print_time(section, ", cpu ", count->wall_ns - count->off_ns);
	fputc('\n', section->out);
}

static int print_stack(const struct section *section, const struct stack_sample *sample)
{
	const char *end = view_end_name(sample->view.end);

	fputc('\n', section->out);
	for (size_t i = 0; i < sample->view.nr_frames; i++) {
		char *label __cleanup(freep) = frame_label(&sample->view.frames[i], FRAME_EXACT);

		if (!label)
			return -ENOMEM;
		fprintf(section->out, "%*s%s\n", FRAME_INDENT, "", label);
	}
	if (end)
		fprintf(section->out, "%*s%s\n", FRAME_INDENT, "", end);
	print_count(section, &sample->count);
	return 0;
}

/* In place of the first stacks, which are too light. */
static void print_left_out(const struct section *section, const struct sample_list *list,
			   size_t left_out)
{
	bool by_time = section->options->weight == STACK_WEIGHT_TIME;
	struct stack_count sum = { 0 };

	for (size_t i = 0; i < left_out; i++)
		stack_count_add(&sum, &list->samples[i].count);
	if (left_out) {
		fprintf(section->out, "\n%*s(%zu %sstack%s%s)\n", FRAME_INDENT, "", left_out,
			by_time ? "" : "rarer ", plural(left_out), by_time ? " of less time" : "");
		print_count(section, &sum);
	}
}

static void print_heading(const struct section *section, const struct table_part *part,
			  const struct group *group, size_t nr_stacks)
{
	char title[COLUMN_TEXT_MAX];

	table_group_title(part, group, title);
	fprintf(section->out, "\n%s: ", title);
	if (section->options->weight == STACK_WEIGHT_TIME) {
		print_time(section, "", group->sum.wall_ns);
		fputs(" in ", section->out);
	}
	fprintf(section->out, "%" PRIu64 " call%s, %zu stack%s\n", group->sum.calls,
		plural(group->sum.calls), nr_stacks, plural(nr_stacks));
}

static int print_group(struct section *section, const struct table_part *part,
		       const struct group *group)
{
	struct sample_list list __cleanup(samples_done) = { .samples = NULL };
	size_t top = section->options->top, left_out = 0;
	struct row *row = (struct row *)&group->sum;
	int err = samples_list(section->snapshot, &row, 1, section->options->weight, &list);

	if (err)
		return err;
	samples_merge(&list);
	if (top && list.count > top)
		left_out = list.count - top;
	print_heading(section, part, group, list.count);
	print_left_out(section, &list, left_out);
	for (size_t i = left_out; i < list.count && !err; i++)
		err = print_stack(section, &list.samples[i]);
	for (size_t i = 0; i < list.count; i++)
		section->calls[list.samples[i].view.end] += list.samples[i].count.calls;
	return err;
}

static int print_part(struct section *section, int which)
{
	const struct table_part *part = &section->parts[which];
	int err = 0;

	if (which == TABLE_WAITING && part->sum.sum.calls)
		fputs("\nwaiting for work:\n", section->out);
	for (size_t i = 0; i < part->list.nr_groups && !err && !ferror(section->out); i++) {
		if (part->list.groups[i].sum.calls)
			err = print_group(section, part, &part->list.groups[i]);
	}
	return err;
}

/* Only if any is not. */
static void print_completeness(const struct section *section)
{
	uint64_t all = 0, incomplete = 0;
	const char *separator = ":";

	for (unsigned int end = 0; end < NR_VIEW_END; end++) {
		all += section->calls[end];
		incomplete += end == STACK_COMPLETE ? 0 : section->calls[end];
	}
	if (!incomplete)
		return;
	fprintf(section->out, "\n%" PRIu64 " of %" PRIu64 " call%s without a complete stack",
		incomplete, all, plural(all));
	for (unsigned int end = STACK_COMPLETE + 1; end < NR_VIEW_END; end++) {
		if (!section->calls[end])
			continue;
		fprintf(section->out, "%s %" PRIu64 " %s", separator, section->calls[end],
			view_end_name(end));
		separator = ",";
	}
	fputc('\n', section->out);
}

int report_stacks(const struct snapshot *snapshot, const struct table_options *options,
		  const struct stack_options *stack_options, FILE *out)
{
	struct section section __cleanup(section_done) = {
		.snapshot = snapshot,
		.options = stack_options,
		.out = out,
	};
	uint64_t most = 0;
	int err;

	if (!snapshot->stacks)
		return 0;
	err = table_halves_make(snapshot, options, section.parts);
	/* One unit for the whole section, that of its longest time. */
	for (int i = 0; i < NR_TABLE_HALF; i++) {
		for (size_t j = 0; j < section.parts[i].list.nr_groups; j++)
			most = max_u64(most, section.parts[i].list.groups[j].sum.wall_ns);
	}
	section.scale = scale_for_sums(most);
	for (int i = 0; i < NR_TABLE_HALF && !err; i++)
		err = print_part(&section, i);
	if (err)
		return err;
	print_completeness(&section);
	return ferror(out) ? -EIO : 0;
}
