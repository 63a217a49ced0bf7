/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns stacks and their strings. Invariant: equal strings are one, so frames compare by pointer. */
#include "model/stack.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

struct stack_table {
	void *stacks;  /* tree of struct stack, by id */
	void *strings; /* tree of char * */
	size_t count;
};

static int compare_stacks(const void *a, const void *b)
{
	uint64_t x = ((const struct stack *)a)->id, y = ((const struct stack *)b)->id;

	return (x > y) - (x < y);
}

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

/* The table's own copy of a string. */
static int intern(struct stack_table *table, const char **string)
{
	char **found, *copy;

	if (!*string)
		return 0;
	found = tfind(*string, &table->strings, compare_strings);
	if (!found) {
		copy = strdup(*string);
		found = copy ? tsearch(copy, &table->strings, compare_strings) : NULL;
		if (!found) {
			free(copy);
			return -ENOMEM;
		}
	}
	*string = *found;
	return 0;
}

static struct stack *stack_copy(struct stack_table *table, const struct stack *from)
{
	struct stack *copy = malloc(sizeof(*copy));

	if (!copy)
		return NULL;
	*copy = *from;
	copy->frames = calloc(from->nr_frames + 1, sizeof(*copy->frames));
	if (!copy->frames) {
		free(copy);
		return NULL;
	}
	for (size_t i = 0; i < from->nr_frames; i++) {
		struct stack_frame *frame = &copy->frames[i];

		*frame = from->frames[i];
		if (intern(table, &frame->module) || intern(table, &frame->symbol)) {
			free_stack(copy);
			return NULL;
		}
	}
	return copy;
}

int stack_table_add(struct stack_table *table, const struct stack *stack)
{
	struct stack *copy;

	if (stack_table_find(table, stack->id))
		return 0;
	copy = stack_copy(table, stack);
	if (!copy)
		return -ENOMEM;
	if (!tsearch(copy, &table->stacks, compare_stacks)) {
		free_stack(copy);
		return -ENOMEM;
	}
	table->count++;
	return 0;
}

int stack_table_put(struct stack_table *table, const struct stack *stack)
{
	struct stack *const *found = tfind(stack, &table->stacks, compare_stacks);
	struct stack *copy, old;

	if (!found)
		return stack_table_add(table, stack);
	copy = stack_copy(table, stack);
	if (!copy)
		return -ENOMEM;
	old = **found;
	**found = *copy;
	*copy = old;
	free_stack(copy);
	return 0;
}

const struct stack *stack_table_find(const struct stack_table *table, uint64_t id)
{
	struct stack key = { .id = id };
	struct stack *const *found = tfind(&key, &table->stacks, compare_stacks);

	return found ? *found : NULL;
}

size_t stack_table_count(const struct stack_table *table)
{
	return table->count;
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
