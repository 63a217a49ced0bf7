/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Orders the parts of what is merged. Parts of one boot are compared by the clock of their host, boots of one host by
 * the time of day.
 */
#include "model/merge_parts.h"

#include "base/clock.h"
#include "base/text.h"

void merge_parts_done(struct merge_parts *parts)
{
	free(parts->list);
	*parts = (struct merge_parts){ NULL, 0 };
}

bool merge_is_empty(const struct snapshot *snapshot)
{
	return !snapshot->nr_rows && !snapshot->nr_processes;
}

size_t merge_count_parts(const struct snapshot *snapshot)
{
	return snapshot->origins ? snapshot->origins->count : 1;
}

static struct origin origin_of(const struct snapshot *snapshot, size_t index)
{
	struct origin origin;

	if (snapshot->origins)
		return snapshot->origins->items[index];
	origin = (struct origin){ .host = snapshot->host ?: "",
				  .boot_id = snapshot->boot_id ?: "",
				  .kernel = snapshot->kernel,
				  .version = snapshot->version,
				  .start_ns = snapshot->start_ns,
				  .end_ns = snapshot->end_ns,
				  .elapsed_ns = snapshot->elapsed_ns,
				  .paused_ns = snapshot->paused_ns,
				  .end_mono_ns = snapshot->end_mono_ns,
				  .is_exact = snapshot_is_exact(snapshot) };
	return origin;
}

int merge_parts_add(struct merge_parts *parts, size_t input, const struct merge_input *given)
{
	for (size_t i = 0; i < merge_count_parts(given->snapshot); i++) {
		if (!array_grow(&parts->list, parts->count, sizeof(*parts->list)))
			return -ENOMEM;
		parts->list[parts->count++] = (struct merge_part){
			.origin = origin_of(given->snapshot, i),
			.given = given,
			.input = input,
			.index = (uint32_t)i,
		};
	}
	return 0;
}

static int compare_parts(const void *a, const void *b)
{
	const struct merge_part *x = a, *y = b;

	return origin_compare(&x->origin, &y->origin) ?: compare_u64(x->input, y->input);
}

static int compare_clocks(const void *a, const void *b)
{
	const struct merge_part *x = *(struct merge_part *const *)a;
	const struct merge_part *y = *(struct merge_part *const *)b;

	/* The list that these are of is sorted already. */
	return origin_compare_clocks(&x->origin, &y->origin)
		       ?: compare_u64(x->input, y->input)
		       ?: (x > y) - (x < y);
}

/* --- parts of one boot --------------------------------------------------------------------------- */

static int refuse_overlap(const struct merge_part *a, const struct merge_part *b,
			  uint64_t overlap_ns, struct diag *d)
{
	return diag_set(d, DIAG_FAILED, EINVAL,
			"%.100s and %.100s both have %.1f s of %.64s: its calls would count twice; "
			"leave one of them out",
			a->given->name, b->given->name, (double)overlap_ns / (double)NS_PER_SEC,
			a->origin.host);
}

/* Checks the parts of one boot, by the end of each on the clock of their host. */
static int check_overlaps(struct merge_part *const *list, size_t count, struct diag *d)
{
	const struct merge_part *before = NULL;

	for (size_t i = 0; i < count; i++) {
		const struct merge_part *part = list[i];
		uint64_t start_ns = origin_start_mono_ns(&part->origin);

		if (!part->origin.elapsed_ns)
			continue;
		if (before && before->input != part->input && start_ns < before->origin.end_mono_ns)
			return refuse_overlap(before, part, before->origin.end_mono_ns - start_ns,
					      d);
		before = part;
	}
	return 0;
}

/* All parts of the last input that has anything of a boot are its latest. */
static void find_latest(struct merge_part *const *list, size_t count)
{
	size_t latest = SIZE_MAX;

	for (size_t i = 0; i < count; i++) {
		if (!merge_is_empty(list[i]->given->snapshot))
			latest = list[i]->input;
	}
	for (size_t i = 0; i < count; i++)
		list[i]->is_latest = list[i]->input == latest;
}

static int settle_boots(struct merge_parts *parts, struct diag *d)
{
	struct merge_part **list __cleanup(freep) = calloc(parts->count + 1, sizeof(*list));
	int err = 0;

	if (!list)
		return diag_oom(d);
	for (size_t i = 0; i < parts->count; i++)
		list[i] = &parts->list[i];
	qsort(list, parts->count, sizeof(*list), compare_clocks);
	for (size_t first = 0, end; first < parts->count && !err; first = end) {
		for (end = first; end < parts->count &&
				  origin_same_clock(&list[first]->origin, &list[end]->origin);)
			end++;
		err = check_overlaps(&list[first], end - first, d);
		find_latest(&list[first], end - first);
	}
	return err;
}

/* --- boots of one host --------------------------------------------------------------------------- */

struct boot {
	size_t first, end; /* parts of it in the list of its host */
	int64_t start_ns, end_ns;
};

static struct boot boot_at(const struct merge_part *list, size_t count, size_t first)
{
	struct boot boot = { first, first, INT64_MAX, INT64_MIN };

	while (boot.end < count && origin_same_boot(&list[first].origin, &list[boot.end].origin)) {
		const struct origin *origin = &list[boot.end++].origin;

		boot.start_ns = origin->start_ns < boot.start_ns ? origin->start_ns : boot.start_ns;
		boot.end_ns = origin->end_ns > boot.end_ns ? origin->end_ns : boot.end_ns;
	}
	return boot;
}

static bool boot_has_input(const struct merge_part *list, const struct boot *boot, size_t input)
{
	for (size_t i = boot->first; i < boot->end; i++) {
		if (list[i].input == input)
			return true;
	}
	return false;
}

/*
 * Nothing of a boot is in flight once its host was booted again. An input that has both knows that already: its sums
 * have only what the newer boot has. Boots of one name at the same time are of two hosts.
 */
static void end_boots(struct merge_part *list, size_t count)
{
	struct boot newest = boot_at(list, count, 0), boot;

	for (size_t at = 0; at < count; at = boot.end) {
		boot = boot_at(list, count, at);
		if (boot.start_ns > newest.start_ns)
			newest = boot;
	}
	for (size_t at = 0; at < count; at = boot.end) {
		boot = boot_at(list, count, at);
		if (boot.first == newest.first || boot.end_ns > newest.start_ns)
			continue;
		for (struct merge_part *part = &list[boot.first]; part < &list[boot.end]; part++)
			part->is_latest = boot_has_input(list, &newest, part->input);
	}
}

static void settle_hosts(struct merge_parts *parts)
{
	struct merge_part *list = parts->list;

	for (size_t first = 0, end; first < parts->count; first = end) {
		for (end = first;
		     end < parts->count && !strcmp(list[first].origin.host, list[end].origin.host);)
			end++;
		end_boots(&list[first], end - first);
	}
}

int merge_parts_settle(struct merge_parts *parts, struct diag *d)
{
	int err;

	if (parts->count)
		qsort(parts->list, parts->count, sizeof(*parts->list), compare_parts);
	err = settle_boots(parts, d);
	if (!err)
		settle_hosts(parts);
	return err;
}
