/* SPDX-License-Identifier: BSD-2-Clause */
/* Which groups of a list a report shows, and in what order: --sort, --top, --min-calls. */
#ifndef BPFTRUSS_SELECT_H
#define BPFTRUSS_SELECT_H

#include "model/group.h"

struct group_filter {
	uint64_t min_calls;
	bool errors_only;
	size_t top; /* 0: all */
	/* Orders groups; of equal ones the earlier stays first. NULL keeps the order of the list. */
	int (*compare)(const struct group *a, const struct group *b, const void *closure);
	const void *closure;
};

/*
 * Sorts the list and cuts it. Groups that are left out are added up in one last group with
 * nr_merged set, so that the sum of the list stays the same; only groups without any call, ended
 * or in flight, go without trace. Returns 0 or -ENOMEM; the list is then as it was.
 */
int group_list_select(struct group_list *list, const struct group_filter *filter);

#endif
