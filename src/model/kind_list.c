/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps a sorted list of kinds, each once. */
#include "model/kind_list.h"

#include "base/text.h"
#include "model/group.h"

unsigned int kind_fields_unused(unsigned int keys)
{
	static const struct {
		unsigned int keys, fields;
	} needs[] = {
		{ GROUP_PID | GROUPS_OF_THREADS, KIND_FIELDS },
		{ GROUP_COMM, KIND_FIELD_COMM },
		{ GROUP_USER, KIND_FIELD_USER },
		{ GROUP_UNIT | GROUP_CGROUP | GROUP_CONTAINER | GROUP_POD, KIND_FIELD_CGROUP },
	};
	unsigned int unused = KIND_FIELDS;

	for (size_t i = 0; i < ARRAY_SIZE(needs); i++)
		unused &= keys & needs[i].keys ? ~needs[i].fields : KIND_FIELDS;
	return unused;
}

void kind_list_done(struct kind_list *list)
{
	free(list->items);
	*list = (struct kind_list){ 0 };
}

static int compare_kinds(const void *a, const void *b)
{
	const struct process *x = a, *y = b;

	return strncmp(x->comm, y->comm, sizeof(x->comm))
		       ?: compare_u64(x->uid, y->uid)
		       ?: (int)x->any_user - (int)y->any_user
		       ?: compare_u64(x->cgroup_id, y->cgroup_id);
}

int kind_list_add(struct kind_list *list, const struct process *process)
{
	if (!array_grow(&list->items, list->count, sizeof(*list->items)))
		return -ENOMEM;
	list->items[list->count++] = *process;
	return 0;
}

void kind_list_sort(struct kind_list *list)
{
	size_t kept = 0;

	if (list->count)
		qsort(list->items, list->count, sizeof(*list->items), compare_kinds);
	for (size_t i = 0; i < list->count; i++) {
		if (!kept || compare_kinds(&list->items[kept - 1], &list->items[i]))
			list->items[kept++] = list->items[i];
	}
	list->count = kept;
}

uint64_t kind_list_number(const struct kind_list *list, const struct process *process)
{
	const struct process *found =
		bsearch(process, list->items, list->count, sizeof(*process), compare_kinds);

	return FOLDED_FIRST + (uint64_t)(found - list->items);
}
