/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the memory of cgroup names. Invariant: known is sorted by id, and none stands there twice. */
#include "collect/cgroup_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "collect/cgroups.h"

static int compare_ids(const void *a, const void *b)
{
	return compare_u64(*(const uint64_t *)a, *(const uint64_t *)b);
}

/* NULL: it is not known. */
static struct id_name *known_find(const struct cgroup_names *names, uint64_t id)
{
	return names->nr_known ? bsearch(&id, names->known, names->nr_known, sizeof(*names->known),
					 compare_ids)
			       : NULL;
}

bool cgroup_names_know(const struct cgroup_names *names, uint64_t id)
{
	return known_find(names, id);
}

/* Ids are never used again: what is known stays right, but for "". */
static int known_add(void *closure, uint64_t id, const char *path)
{
	struct cgroup_names *names = closure;
	struct id_name *known = known_find(names, id);
	char *copy;

	if (!known)
		return id_names_add(&names->known, &names->nr_known, id, path);
	if (*known->name)
		return 0;
	copy = strdup(path);
	if (!copy)
		return -ENOMEM;
	free(known->name);
	known->name = copy;
	return 0;
}

int cgroup_names_learn(struct cgroup_names *names)
{
	int err = cgroup_walk(known_add, names);

	names->learned = true;
	names->incomplete = err == -EMFILE || err == -ENFILE;
	return names->incomplete ? 0 : err;
}

void cgroup_names_begin(struct cgroup_names *names)
{
	names->learned = false;
}

void cgroup_names_made(struct cgroup_names *names, uint64_t id, const char *path)
{
	struct id_name *slot;

	if (!names->recent)
		names->recent = calloc(RECENT_CGROUPS, sizeof(*names->recent));
	if (!names->recent)
		return;
	if (cgroup_names_know(names, id)) {
		/* Asked for before this was heard of. */
		known_add(names, id, path);
		return;
	}
	slot = &names->recent[names->nr_made++ % RECENT_CGROUPS];
	free(slot->name);
	*slot = (struct id_name){ id, strdup(path) };
}

/* Takes a name out of the ring. */
static char *recent_take(struct cgroup_names *names, uint64_t id)
{
	for (size_t i = 0; names->recent && i < RECENT_CGROUPS; i++) {
		if (names->recent[i].id == id && names->recent[i].name)
			return steal_ptr(&names->recent[i].name);
	}
	return NULL;
}

const char *cgroup_names_find(struct cgroup_names *names, uint64_t id)
{
	char *path __cleanup(freep) = NULL;
	int err = 0;

	if (known_find(names, id))
		return known_find(names, id)->name;
	path = recent_take(names, id);
	if (path)
		err = known_add(names, id, path);
	else if (!names->learned)
		err = cgroup_names_learn(names);
	if (err)
		return NULL;
	/* Still unknown: it is gone, unless it was us who could not look. */
	if (!known_find(names, id) && names->incomplete)
		return "";
	return known_add(names, id, "") ? NULL : known_find(names, id)->name;
}

bool cgroup_names_are_many(const struct cgroup_names *names)
{
	return names->nr_known > (names->prune_at ?: RECENT_CGROUPS);
}

void cgroup_names_prune(struct cgroup_names *names, uint64_t *in_use, size_t count)
{
	size_t kept = 0;

	qsort(in_use, count, sizeof(*in_use), compare_ids);
	for (size_t i = 0; i < names->nr_known; i++) {
		struct id_name *name = &names->known[i];

		if (bsearch(&name->id, in_use, count, sizeof(*in_use), compare_ids))
			names->known[kept++] = *name;
		else
			free(name->name);
	}
	names->nr_known = kept;
	names->prune_at = kept + RECENT_CGROUPS;
}

void cgroup_names_done(struct cgroup_names *names)
{
	for (size_t i = 0; i < names->nr_known; i++)
		free(names->known[i].name);
	for (size_t i = 0; names->recent && i < RECENT_CGROUPS; i++)
		free(names->recent[i].name);
	free(names->known);
	free(names->recent);
}
