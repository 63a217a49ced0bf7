/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps the list of parts. */
#include "model/origin.h"

#include "base/text.h"

int origins_new(struct origins **ret)
{
	struct origins *origins = calloc(1, sizeof(*origins));

	if (!origins)
		return -ENOMEM;
	origins->refs = 1;
	*ret = origins;
	return 0;
}

struct origins *origins_ref(struct origins *origins)
{
	if (origins)
		origins->refs++;
	return origins;
}

static void origin_done(struct origin *origin)
{
	free(origin->host);
	free(origin->boot_id);
	free(origin->kernel);
	free(origin->version);
}

void origins_free(struct origins *origins)
{
	if (!origins || --origins->refs)
		return;
	for (size_t i = 0; i < origins->count; i++)
		origin_done(&origins->items[i]);
	free(origins->items);
	free(origins);
}

int origins_add(struct origins *origins, const struct origin *origin)
{
	struct origin copy = *origin;

	copy.host = strdup(origin->host ?: "");
	copy.boot_id = strdup(origin->boot_id ?: "");
	copy.kernel = strdup(origin->kernel ?: "");
	copy.version = strdup(origin->version ?: "");
	if (!copy.host || !copy.boot_id || !copy.kernel || !copy.version ||
	    !array_grow(&origins->items, origins->count, sizeof(*origins->items))) {
		origin_done(&copy);
		return -ENOMEM;
	}
	origins->items[origins->count++] = copy;
	return 0;
}

bool origin_same_boot(const struct origin *a, const struct origin *b)
{
	return !strcmp(a->host, b->host) && !strcmp(a->boot_id, b->boot_id);
}

static int compare_boots(const struct origin *a, const struct origin *b)
{
	const int order = strcmp(a->boot_id, b->boot_id);

	return order || *a->boot_id ? order : strcmp(a->host, b->host);
}

bool origin_same_clock(const struct origin *a, const struct origin *b)
{
	return !compare_boots(a, b);
}

int origin_compare_clocks(const struct origin *a, const struct origin *b)
{
	return compare_boots(a, b) ?: compare_u64(a->end_mono_ns, b->end_mono_ns)
				  ?: compare_u64(a->elapsed_ns, b->elapsed_ns);
}

int origin_compare(const struct origin *a, const struct origin *b)
{
	return strcmp(a->host, b->host)
		       ?: strcmp(a->boot_id, b->boot_id)
		       ?: compare_u64(a->end_mono_ns, b->end_mono_ns)
		       ?: compare_u64(a->elapsed_ns, b->elapsed_ns);
}

uint64_t origin_start_mono_ns(const struct origin *origin)
{
	return above(above(origin->end_mono_ns, origin->elapsed_ns), origin->paused_ns);
}
