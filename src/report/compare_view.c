/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns what reports of a comparison have in common: its two halves, and what of them counts. */
#include <errno.h>

#include "report/compare.h"

static void part_count(struct compare_view *view, struct compare_part *part)
{
	struct regressions found;

	view->groups += part->list.count;
	view->left_out += part->list.count - part->shown;
	for (size_t i = 0; i < part->list.count; i++) {
		const struct comparison *item = &part->list.items[i];

		view->words[item->word]++;
		if (part->rule.limit > 0)
			view->failed +=
				comparison_regressions(&part->list, item, &part->rule, &found);
	}
}

int compare_view_make(const struct compare_input *input, const struct table_options *options,
		      struct compare_view *ret)
{
	const struct row_test tests[NR_TABLE_HALF] = {
		[TABLE_WORKING] = { row_is_working, options },
		[TABLE_WAITING] = { row_is_waiting, options },
	};
	unsigned int keys = options->keys ?: (unsigned int)GROUP_SYSCALL;
	struct compare_view view = { .groups = 0 };
	int err = 0;

	for (int i = 0; i < NR_TABLE_HALF && !err; i++) {
		struct compare_part *part = &view.parts[i];

		err = snapshot_compare(input->a.snapshot, input->b.snapshot, keys, &tests[i],
				       &part->list);
		part->rule = (struct regression_rule){ input->fail_over, i == TABLE_WAITING };
		part->shown = part->list.count;
		if (options->top && options->top < part->shown)
			part->shown = options->top;
		if (!err)
			part_count(&view, part);
	}
	if (err)
		compare_view_done(&view);
	else
		*ret = view;
	return err;
}

void compare_view_done(struct compare_view *view)
{
	for (int i = 0; i < NR_TABLE_HALF; i++)
		comparison_list_done(&view->parts[i].list);
}

const struct group *comparison_group(const struct comparison *item,
				     const struct compare_input *input, unsigned int keys,
				     struct column_scope *ret)
{
	*ret = (struct column_scope){
		.snapshot = item->b.present ? input->b.snapshot : input->a.snapshot,
		.keys = keys,
	};
	return item->b.present ? &item->b.group : &item->a.group;
}
