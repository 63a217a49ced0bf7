/* SPDX-License-Identifier: BSD-2-Clause */
/* Sorts all stacks by what they look like, and numbers them. Invariant: a stack is in the list once for each snapshot. */
#include "model/merge_stacks.h"

#include "base/text.h"
#include "model/label.h"

/* A stack of one snapshot. */
struct member {
	size_t snapshot;
	uint64_t id, merged_id;
	const struct stack *stack;
};

struct merged_stacks {
	struct member *members; /* owned, by snapshot and id */
	size_t count;
	struct stack_table *table; /* owned */
};

static int compare_ids(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	return compare_u64(x->snapshot, y->snapshot) ?: compare_u64(x->id, y->id);
}

static int compare_looks(const void *a, const void *b)
{
	return stack_compare(((const struct member *)a)->stack, ((const struct member *)b)->stack);
}

/* Lists the stacks of all rows, some of them more than once. */
static int list_stacks(struct merged_stacks *stacks, const struct snapshot *snapshot, size_t index)
{
	for (size_t i = 0; snapshot->stacks && i < snapshot->nr_rows; i++) {
		const struct row *row = snapshot->rows[i];

		for (size_t j = 0; j < row->nr_stacks; j++) {
			const uint64_t id = row->stacks[j].id;
			const struct stack *stack =
				id == STACK_OTHERS ? NULL : stack_table_find(snapshot->stacks, id);

			if (!stack)
				continue;
			if (!array_grow(&stacks->members, stacks->count, sizeof(struct member)))
				return -ENOMEM;
			stacks->members[stacks->count++] =
				(struct member){ index, id, STACK_OTHERS, stack };
		}
	}
	return 0;
}

static void drop_doubles(struct merged_stacks *stacks)
{
	size_t kept = 0;

	for (size_t i = 0; i < stacks->count; i++) {
		if (!kept || compare_ids(&stacks->members[kept - 1], &stacks->members[i]))
			stacks->members[kept++] = stacks->members[i];
	}
	stacks->count = kept;
}

/* Puts a stack with strings of the table's own. */
static int put_stack(struct stack_table *table, const struct stack *stack, uint64_t id)
{
	struct stack copy = { .id = id, .end = stack->end, .nr_frames = stack->nr_frames };
	struct stack_frame *frames __cleanup(freep) = calloc(stack->nr_frames + 1, sizeof(*frames));

	if (!frames)
		return -ENOMEM;
	for (size_t i = 0; i < stack->nr_frames; i++) {
		frames[i] = stack->frames[i];
		if (stack_table_intern(table, stack->frames[i].module, &frames[i].module) ||
		    stack_table_intern(table, stack->frames[i].symbol, &frames[i].symbol))
			return -ENOMEM;
	}
	copy.frames = frames;
	return stack_table_put(table, &copy);
}

static int number_stacks(struct merged_stacks *stacks)
{
	uint64_t id = STACK_OTHERS;

	for (size_t i = 0; i < stacks->count; i++) {
		struct member *member = &stacks->members[i];

		if (!i || compare_looks(member - 1, member)) {
			if (put_stack(stacks->table, member->stack, ++id))
				return -ENOMEM;
		}
		member->merged_id = id;
	}
	return 0;
}

static void sort(struct merged_stacks *stacks, int (*compare)(const void *a, const void *b))
{
	if (stacks->count)
		qsort(stacks->members, stacks->count, sizeof(struct member), compare);
}

int merged_stacks_new(const struct snapshot *const *snapshots, size_t count,
		      struct merged_stacks **ret)
{
	struct merged_stacks *stacks __cleanup(merged_stacks_freep) = calloc(1, sizeof(*stacks));
	bool any = false;

	if (!stacks)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		any |= snapshots[i]->stacks != NULL;
		if (list_stacks(stacks, snapshots[i], i))
			return -ENOMEM;
	}
	sort(stacks, compare_ids);
	drop_doubles(stacks);
	sort(stacks, compare_looks);
	if (any && (stack_table_new(&stacks->table) || number_stacks(stacks)))
		return -ENOMEM;
	sort(stacks, compare_ids);
	*ret = steal_ptr(&stacks);
	return 0;
}

void merged_stacks_free(struct merged_stacks *stacks)
{
	if (!stacks)
		return;
	stack_table_free(stacks->table);
	free(stacks->members);
	free(stacks);
}

uint64_t merged_stacks_id(const struct merged_stacks *stacks, size_t snapshot, uint64_t id)
{
	const struct member key = { .snapshot = snapshot, .id = id };
	const struct member *found = stacks->count ? bsearch(&key, stacks->members, stacks->count,
							     sizeof(key), compare_ids)
						   : NULL;

	return found ? found->merged_id : STACK_OTHERS;
}

struct stack_table *merged_stacks_take(struct merged_stacks *stacks)
{
	return steal_ptr(&stacks->table);
}
