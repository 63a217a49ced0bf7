/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns stacks and their strings. Invariant: equal strings are one, so frames compare by pointer. */
#include "model/stack.h"

#include "base/text.h"

struct stack_table {
	void *stacks;  /* tree of struct stack, by id */
	void *strings; /* tree of char * */
};

static int compare_strings(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void free_stack(void *node)
{
	struct stack *stack = node;

	free(stack->frames);
	free(stack);
}

int stack_table_new(struct stack_table **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void stack_table_free(struct stack_table *table)
{
	if (!table)
		return;
	tdestroy(table->stacks, free_stack);
	tdestroy(table->strings, free);
	free(table);
}

const char *stack_table_string(const struct stack_table *table, const char *string)
{
	char *const *found = tfind(string, &table->strings, compare_strings);

	return found ? *found : NULL;
}

int stack_table_intern(struct stack_table *table, const char *string, const char **ret)
{
	const char *found = string ? stack_table_string(table, string) : NULL;

	if (string && !found)
		found = tree_add(&table->strings, string, strlen(string) + 1, compare_strings);
	if (string && !found)
		return -ENOMEM;
	*ret = found;
	return 0;
}

/* A stack of the same id stays where it is: it only gets other frames. */
int stack_table_put(struct stack_table *table, const struct stack *stack)
{
	struct stack_frame *frames = calloc(stack->nr_frames + 1, sizeof(*frames));
	struct stack **found, *copy = calloc(1, sizeof(*copy));

	if (copy)
		copy->id = stack->id;
	found = frames && copy ? tsearch(copy, &table->stacks, compare_first_u64) : NULL;
	if (!found || *found != copy)
		free(copy);
	if (!found) {
		free(frames);
		return -ENOMEM;
	}
	if (stack->nr_frames)
		memcpy(frames, stack->frames, stack->nr_frames * sizeof(*frames));
	free((*found)->frames);
	**found = *stack;
	(*found)->frames = frames;
	return 0;
}

const struct stack *stack_table_find(const struct stack_table *table, uint64_t id)
{
	struct stack key = { .id = id };
	struct stack *const *found = tfind(&key, &table->stacks, compare_first_u64);

	return found ? *found : NULL;
}

const char *stack_end_name(enum stack_end end)
{
	static const char *const names[NR_STACK_END] = {
		[STACK_TRUNCATED] = "[truncated]",      [STACK_TABLE_PENDING] = "[table pending]",
		[STACK_NO_RULE] = "[no frame pointer]", [STACK_UNSUPPORTED] = "[unsupported rule]",
		[STACK_PAGED_OUT] = "[paged out]",      [STACK_MM_BUSY] = "[address space busy]",
		[STACK_32_BIT] = "[32-bit process]",    [STACK_KILLED] = "[killed in the call]",
		[STACK_FRAMES_LOST] = "[frames lost]",
	};

	return names[end];
}
