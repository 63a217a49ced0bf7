/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes the slowest calls of each row below the wide table, as truss writes calls. */
#include "report/exemplars.h"

#include <time.h>

#include "base/clock.h"
#include "base/text.h"
#include "calls/truss.h"
#include "json/exemplars.h"
#include "report/report.h"

#define INDENT "                "

void line_put_time_of_day(struct line *line, int64_t real_ns)
{
	const time_t seconds = (time_t)(real_ns / (int64_t)NS_PER_SEC);
	char text[32];
	struct tm tm;

	if (!localtime_r(&seconds, &tm) || !strftime(text, sizeof(text), "%H:%M:%S.", &tm))
		return;
	line_put_word(line, text);
	line_put_digits(line, (uint64_t)(real_ns % (int64_t)NS_PER_SEC) / 1000, 6);
}

static void put_below(struct line *line, const char *text, const char *indent)
{
	line_put_word(line, indent);
	line_put_word(line, text);
	line_put_char(line, '\n');
}

void report_put_stack(struct line *line, const struct stack *stack, const char *indent)
{
	for (size_t i = 0; i < stack->nr_frames; i++) {
		char *text __cleanup(freep) = frame_label(&stack->frames[i], FRAME_EXACT);

		put_below(line, text ?: "", indent);
	}
	if (stack_end_name(stack->end))
		put_below(line, stack_end_name(stack->end), indent);
}

void exemplar_put_call(struct line *line, const struct snapshot *snapshot,
		       const struct exemplar *exemplar)
{
	static const struct truss_options options = { .start_ns = 0 };

	truss_put_call(exemplars_decoder(snapshot->exemplars, exemplar), exemplar->record, &options,
		       0, line);
}

static void put_call(struct line *line, const struct snapshot *snapshot, const char *title,
		     const struct exemplar *exemplar)
{
	const struct call_record *record = exemplar->record;
	const struct stack *stack;
	char age[AGE_MAX];

	format_age(record->wall_ns, age, sizeof(age));
	line_put_word(line, title);
	line_put_word(line, age);
	line_put_word(line, " at ");
	line_put_time_of_day(line, exemplar_real_ns(snapshot->exemplars, exemplar));
	line_put_word(line, " in thread ");
	line_put_natural(line, record->tid);
	line_put_word(line, ": ");
	exemplar_put_call(line, snapshot, exemplar);
	stack = snapshot->stacks ? stack_table_find(snapshot->stacks, record->stack_id) : NULL;
	if (stack)
		report_put_stack(line, stack, INDENT);
}

static void put_group(struct line *line, const struct snapshot *snapshot, const struct group *group)
{
	const struct exemplar *list[EXEMPLARS_MAX];
	size_t count = exemplars_choose(snapshot->exemplars, group->slowest, GROUP_SLOWEST, list);
	/* In an interval the maximum may be a bound. */
	bool is_known = count &&
			(list[0]->record->wall_ns == group->sum.max_ns || !group->sum.max_start_ns);
	char age[AGE_MAX];

	if (!is_known) {
		format_age(group->sum.max_ns, age, sizeof(age));
		line_put_word(line, "    slowest: ");
		line_put_word(line, age);
		line_put_word(line, ", of which no more is known\n");
	}
	for (size_t i = 0; i < count; i++)
		put_call(line, snapshot,
			 is_known && !i ? "    slowest: " : "    also:    ", list[i]);
}

void print_missing_exemplars(const struct exemplars *exemplars, FILE *out)
{
	const struct exemplar_counts counts = exemplars_count(exemplars);

	if (counts.lost)
		fprintf(out,
			"of %" PRIu64
			" slow call%s no more is known: the kernel had no room for %s\n",
			counts.lost, plural(counts.lost), counts.lost == 1 ? "it" : "them");
	if (counts.forgotten)
		fprintf(out, "%" PRIu64 " slow call%s forgotten for want of room\n",
			counts.forgotten, counts.forgotten == 1 ? " was" : "s were");
}

void report_exemplars(const struct snapshot *snapshot, const struct table_part parts[NR_TABLE_HALF],
		      FILE *out)
{
	struct line line __cleanup(line_done) = { 0 };
	char title[COLUMN_TEXT_MAX];
	bool has_any = false;

	if (!snapshot->exemplars)
		return;
	for (size_t i = 0; i < NR_TABLE_HALF; i++) {
		for (size_t j = 0; j < parts[i].list.nr_groups && !ferror(out); j++) {
			const struct group *group = &parts[i].list.groups[j];

			if (group->nr_merged || !group->sum.max_ns)
				continue;
			table_group_title(&parts[i], group, title);
			fprintf(out, "%s%s:\n", has_any ? "" : "\n", title);
			line_clear(&line);
			put_group(&line, snapshot, group);
			fwrite(line.bytes, 1, line.used, out);
			has_any = true;
		}
	}
	if (line.has_late)
		fputs(LINE_LATE_LEGEND "\n", out);
	print_missing_exemplars(snapshot->exemplars, out);
}
