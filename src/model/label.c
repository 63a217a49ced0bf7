/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names rows and processes; looks stacks up, compares and spells them. Invariant: the samples of a row
 * add up to the row, whatever its list of stacks lacks.
 */
#include "model/label.h"

#include <ctype.h>

#include "syscalls/names.h"

void row_call_name(const struct row *row, char *buf, size_t size)
{
	if (row->nr == ROW_NR_OTHER)
		snprintf(buf, size, "[other]");
	else
		syscall_name(row->abi, (int)row->nr, buf, size);
}

void row_label(const struct row *row, char *buf, size_t size)
{
	const bool is_native = row->abi == LABEL_NATIVE_ABI;
	char name[SYSCALL_NAME_MAX];

	row_call_name(row, name, sizeof(name));
	snprintf(buf, size, "%s%s%s", name, is_native ? "" : "/",
		 is_native ? "" : abi_name(row->abi));
}

void process_label(const struct process *process, char buf[PROCESS_LABEL_MAX])
{
	if (process_is_any_name(process))
		text_escape_visible(process->comm, PROCESS_COMM_SIZE, buf);
	else
		text_escape_name(process->comm, PROCESS_COMM_SIZE, buf);
}

void row_comm(const struct snapshot *snapshot, const struct row *row, char buf[PROCESS_LABEL_MAX])
{
	const struct process *process = snapshot_process_of(snapshot, row);

	if (!process)
		strcpy(buf, "[overflow]");
	else if (*process->comm)
		process_label(process, buf);
	else
		strcpy(buf, "[unnamed]");
}

void argument_label(const char *text, size_t length, char buf[ARGUMENT_LABEL_MAX])
{
	text_escape_name(text, min_u64(length, ARGUMENT_BYTES_MAX), buf);
	if (!*buf)
		strcpy(buf, "[empty]");
}

const char *argument_unknown(enum call_split split, enum argument_key why)
{
	static const char *const paths[NR_ARGUMENT_KEY] = {
		[ARGUMENT_OTHERS] = "[other paths]", [ARGUMENT_UNKNOWN] = "[unreadable]"
	};
	static const char *const files[NR_ARGUMENT_KEY] = {
		[ARGUMENT_OTHERS] = "[other files]", [ARGUMENT_UNKNOWN] = "[not open]"
	};

	return (split == SPLIT_FILE ? files : paths)[why] ?: "";
}

/* --- stacks ------------------------------------------------------------------------------------- */

bool stack_sample_at(const struct snapshot *snapshot, const struct row *row, size_t index,
		     struct stack_sample *ret)
{
	struct stack_count sum = { .id = STACK_OTHERS };
	const struct stack *stack = NULL;

	ret->view = (struct stack){ .end = (enum stack_end)VIEW_OTHERS };
	if (index < row->nr_stacks) {
		ret->count = row->stacks[index];
		if (ret->count.id != STACK_OTHERS && snapshot->stacks)
			stack = stack_table_find(snapshot->stacks, ret->count.id);
		if (stack)
			ret->view = *stack;
		else if (ret->count.id != STACK_OTHERS)
			ret->view.end = STACK_FRAMES_LOST;
		return true;
	}
	/* Adds what the row has in none of its stacks, as rows of calls that found no room do. */
	for (size_t i = 0; i < row->nr_stacks; i++)
		stack_count_add(&sum, &row->stacks[i]);
	ret->count = (struct stack_count){
		.id = STACK_OTHERS,
		.calls = above(row->calls, sum.calls),
		.errors = above(row->errors, sum.errors),
		.wall_ns = above(row->wall_ns, sum.wall_ns),
		.off_ns = above(row->off_ns, sum.off_ns),
		.runq_ns = above(row->runq_ns, sum.runq_ns),
		.max_ns = row->max_ns,
	};
	return index == row->nr_stacks && ret->count.calls;
}

static uint64_t sample_weight(const struct stack_count *count, enum stack_weight weight)
{
	const uint64_t weights[NR_STACK_WEIGHT] = {
		[STACK_WEIGHT_CALLS] = count->calls,
		[STACK_WEIGHT_TIME] = count->wall_ns,
		[STACK_WEIGHT_CPU] = above(count->wall_ns, count->off_ns),
		[STACK_WEIGHT_ERRORS] = count->errors,
	};

	return weights[weight];
}

int samples_list(const struct snapshot *snapshot, struct row *const *rows, size_t nr_rows,
		 enum stack_weight weight, struct sample_list *ret)
{
	size_t count = 0, most = 1;
	struct stack_sample *samples;

	for (size_t i = 0; i < nr_rows; i++)
		most += rows[i]->nr_stacks + 1;
	samples = calloc(most, sizeof(*samples));
	if (!samples)
		return -ENOMEM;
	for (size_t i = 0; i < nr_rows; i++) {
		const struct row *row = rows[i];
		const struct process *process = snapshot_process_of(snapshot, row);

		for (size_t j = 0; stack_sample_at(snapshot, row, j, &samples[count]); j++) {
			struct stack_sample *sample = &samples[count++];

			sample->row = row;
			sample->process = process;
			sample->weight = sample_weight(&sample->count, weight);
		}
	}
	*ret = (struct sample_list){ samples, count };
	return 0;
}

static int compare_views(const void *x, const void *y)
{
	const struct stack_sample *a = x, *b = y;

	return (int)a->row->abi - (int)b->row->abi
		       ?: (a->row->nr > b->row->nr) - (a->row->nr < b->row->nr)
		       ?: stack_compare(&a->view, &b->view);
}

/* Equal ones by what they look like, so that a report is always the same. */
static int compare_weights(const void *x, const void *y)
{
	const struct stack_sample *a = x, *b = y;

	return compare_u64(b->weight, a->weight) ?: compare_views(x, y);
}

void samples_merge(struct sample_list *list)
{
	size_t kept = 0;

	if (!list->count)
		return;
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
	qsort(list->samples, kept, sizeof(*list->samples), compare_weights);
}

void samples_done(struct sample_list *list)
{
	free(list->samples);
}

int stack_compare(const struct stack *a, const struct stack *b)
{
	size_t both = a->nr_frames < b->nr_frames ? a->nr_frames : b->nr_frames;
	int order = 0;

	for (size_t i = 0; i < both && !order; i++)
		order = frame_compare(&a->frames[i], &b->frames[i], FRAME_EXACT);
	order = order ?: (a->nr_frames > b->nr_frames) - (a->nr_frames < b->nr_frames);
	return order ?: (a->end > b->end) - (a->end < b->end);
}

const char *view_end_name(unsigned int end)
{
	return end == VIEW_OTHERS ? "[other stacks]" : stack_end_name((enum stack_end)end);
}

void view_end_word(unsigned int end, char buf[VIEW_END_WORD_MAX])
{
	const char *name = view_end_name(end) ?: "complete";
	size_t used = 0;

	for (; *name && used + 1 < VIEW_END_WORD_MAX; name++) {
		if (*name != '[' && *name != ']')
			buf[used++] = isalnum((unsigned char)*name) ? *name : '_';
	}
	buf[used] = '\0';
}

const char *frame_module(const struct stack_frame *frame)
{
	if (frame->kernel && (!frame->module || !strcmp(frame->module, "[kernel]")))
		return "kernel";
	return frame->module ?: "";
}

/* NULL when unknown. Untrusted bytes. */
static const char *frame_symbol(const struct stack_frame *frame)
{
	/* No name is none that is empty. */
	return frame->symbol && *frame->symbol ? frame->symbol : NULL;
}

int frame_compare(const struct stack_frame *a, const struct stack_frame *b, enum frame_form form)
{
	int order = (int)a->kernel - (int)b->kernel;

	order = order ?: strcmp(frame_module(a), frame_module(b));
	order = order ?: strcmp(frame_symbol(a) ?: "", frame_symbol(b) ?: "");
	order = order ?: (int)a->inlined - (int)b->inlined;
	if (order || (frame_symbol(a) && form != FRAME_EXACT))
		return order;
	return (a->offset > b->offset) - (a->offset < b->offset);
}

char *frame_label(const struct stack_frame *frame, enum frame_form form)
{
	char *module __cleanup(freep) = text_visible(frame_module(frame));
	char *symbol __cleanup(freep) = text_visible(frame_symbol(frame) ?: "");
	bool named = frame_symbol(frame) != NULL;
	bool has_module = *frame_module(frame) && (form != FRAME_NAME || !named);
	bool has_offset = !named || (form == FRAME_EXACT && frame->offset);
	char offset[24] = "", *label;

	if (!module || !symbol)
		return NULL;
	if (has_offset)
		snprintf(offset, sizeof(offset), "%s0x%" PRIx64, named ? "+" : "", frame->offset);
	if (asprintf(&label, "%s%s%s%s%s", has_module ? module : "", has_module ? "`" : "", symbol,
		     offset, frame->inlined && form == FRAME_EXACT ? " [inlined]" : "") < 0)
		return NULL;
	return label;
}
