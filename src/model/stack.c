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

const char *stack_table_string(const struct stack_table *table, const char *string)
{
	char *const *found = tfind(string, &table->strings, compare_strings);

	return found ? *found : NULL;
}

int stack_table_intern(struct stack_table *table, const char *string, const char **ret)
{
	const char *found = stack_table_string(table, string);
	char *copy;

	if (!found) {
		copy = strdup(string);
		if (!copy || !tsearch(copy, &table->strings, compare_strings)) {
			free(copy);
			return -ENOMEM;
		}
		found = copy;
	}
	*ret = found;
	return 0;
}

static int intern(struct stack_table *table, const char **string)
{
	return *string ? stack_table_intern(table, *string, string) : 0;
}

/* With the strings of the original. */
static struct stack *stack_copy_own(const struct stack *from)
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
	if (from->nr_frames)
		memcpy(copy->frames, from->frames, from->nr_frames * sizeof(*copy->frames));
	return copy;
}

static struct stack *stack_copy(struct stack_table *table, const struct stack *from)
{
	struct stack *copy = stack_copy_own(from);

	for (size_t i = 0; copy && i < copy->nr_frames; i++) {
		struct stack_frame *frame = &copy->frames[i];

		if (intern(table, &frame->module) || intern(table, &frame->symbol)) {
			free_stack(copy);
			return NULL;
		}
	}
	return copy;
}

/* Takes the copy. */
static int stack_insert(struct stack_table *table, struct stack *copy)
{
	if (!copy)
		return -ENOMEM;
	if (!tsearch(copy, &table->stacks, compare_stacks)) {
		free_stack(copy);
		return -ENOMEM;
	}
	table->count++;
	return 0;
}

int stack_table_add(struct stack_table *table, const struct stack *stack)
{
	if (stack_table_find(table, stack->id))
		return 0;
	return stack_insert(table, stack_copy(table, stack));
}

/* Where one of its id is, it stays. */
int stack_table_put(struct stack_table *table, const struct stack *stack)
{
	struct stack *copy = stack_copy_own(stack), *const * found, old;

	found = copy ? tfind(copy, &table->stacks, compare_stacks) : NULL;
	if (!found)
		return stack_insert(table, copy);
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
