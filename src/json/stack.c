/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes the frames of a stack, and why there are no more. */
#include "json/stack.h"

#include "model/label.h"

static void put_frame(struct json_writer *to, const struct stack_frame *frame)
{
	json_put_object(to, NULL);
	json_put_text(to, "module", frame->module);
	json_put_text(to, "symbol", frame->symbol);
	json_put_number(to, "offset", frame->offset);
	json_put_bool(to, "inlined", frame->inlined);
	/* A file may be called [kernel], too. */
	if (frame->kernel)
		json_put_bool(to, "kernel", true);
	json_put_end(to);
}

void json_put_stack(struct json_writer *to, const struct stack *stack)
{
	char end[VIEW_END_WORD_MAX];

	json_put_list(to, "frames");
	for (size_t i = 0; i < stack->nr_frames; i++)
		put_frame(to, &stack->frames[i]);
	json_put_end(to);
	view_end_word(stack->end, end);
	json_put_word(to, "end", end);
}
