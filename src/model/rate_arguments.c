/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes lines of paths, directories or files from the rows of an interval that are split by these. */
#include "model/rates.h"

#include "base/text.h"

static const struct {
	enum group_key key;
	enum call_split split;
} kinds[NR_RATE_BY] = {
	[RATE_BY_PATH] = { GROUP_PATH, SPLIT_PATH },
	[RATE_BY_DIR] = { GROUP_DIR, SPLIT_PATH },
	[RATE_BY_FILE] = { GROUP_FILE, SPLIT_FILE },
};

enum call_split rate_by_split(enum rate_by by)
{
	return kinds[by].split;
}

static void rate_set_argument(struct rate *rate, const struct snapshot *diff, enum rate_by by,
			      const struct row *row)
{
	const char *text = snapshot_argument(diff, row, kinds[by].split, &rate->argument_key);

	rate->argument = text;
	rate->argument_length = text ? strlen(text) : 0;
	if (!text || by != RATE_BY_DIR)
		return;
	rate->argument_length = path_folder_length(text);
	if (!rate->argument_length) {
		rate->argument = ".";
		rate->argument_length = 1;
	}
}

bool rate_has_argument(const struct rate *rate)
{
	return rate->argument || rate->argument_key != ARGUMENT_ABSENT;
}

int rate_compare_arguments(const struct rate *a, const struct rate *b)
{
	size_t shared =
		a->argument_length < b->argument_length ? a->argument_length : b->argument_length;
	int order = (a->argument != NULL) - (b->argument != NULL);

	if (!order && a->argument)
		order = memcmp(a->argument, b->argument, shared)
				?: compare_u64(a->argument_length, b->argument_length);
	else if (!order)
		order = (int)a->argument_key - (int)b->argument_key;
	return order;
}

bool rate_has_argument_of(const struct rates *rates, const struct rate *rate, const struct row *row)
{
	struct rate other = { 0 };

	rate_set_argument(&other, rates->diff, rates->by, row);
	return !rate_compare_arguments(rate, &other);
}

int rates_arguments(const struct rates *rates, enum rate_by by, struct rate **ret,
		    size_t *ret_count)
{
	struct group_list groups __cleanup(group_list_done) = { 0 };

	if (snapshot_group(rates->diff, kinds[by].key, NULL, &groups))
		return -ENOMEM;
	*ret = calloc(groups.nr_groups + 1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	*ret_count = 0;
	for (size_t i = 0; i < groups.nr_groups; i++) {
		struct rate *line = &(*ret)[*ret_count];

		rate_set_argument(line, rates->diff, by, &groups.groups[i].sum);
		if (!rate_has_argument(line))
			continue;
		rate_of_calls(rates, &groups.groups[i].sum, line);
		line->bytes = groups.groups[i].bytes;
		++*ret_count;
	}
	return 0;
}
