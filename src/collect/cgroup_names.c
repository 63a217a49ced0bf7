/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the memory of cgroup names. Invariant: known is sorted by id, and none stands there twice. */
#include "collect/cgroup_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "collect/cgroups.h"

/* Where an id is or would have to be. */
static size_t known_place(const struct cgroup_names *names, uint64_t id)
{
	size_t low = 0, high = names->nr_known;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (names->known[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Takes over the path. Ids are never used again, so what is known stays right. */
static int known_add(struct cgroup_names *names, uint64_t id, char *path)
{
	size_t at = known_place(names, id);
	struct id_name *grown;

	if (at < names->nr_known && names->known[at].id == id) {
		free(path);
		return 0;
	}
	grown = path ? reallocarray(names->known, names->nr_known + 1, sizeof(*grown)) : NULL;
	if (!grown) {
		free(path);
		return -ENOMEM;
	}
	memmove(&grown[at + 1], &grown[at], (names->nr_known - at) * sizeof(*grown));
	grown[at] = (struct id_name){ id, path };
	names->known = grown;
	names->nr_known++;
	return 0;
}

static int visit_known(void *closure, uint64_t id, const char *path)
{
	return known_add(closure, id, strdup(path));
}

int cgroup_names_learn(struct cgroup_names *names)
{
	return cgroup_walk(visit_known, names);
}

void cgroup_names_made(struct cgroup_names *names, uint64_t id, const char *path)
{
	struct id_name *slot;

	if (!names->recent)
		names->recent = calloc(RECENT_CGROUPS, sizeof(*names->recent));
	if (!names->recent)
		return;
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
	size_t at = known_place(names, id);
	char *path;

	if (at < names->nr_known && names->known[at].id == id)
		return names->known[at].name;
	path = recent_take(names, id);
	if (path ? known_add(names, id, path) : cgroup_names_learn(names))
		return NULL;
	/* Still unknown: it is gone. Not to be looked for again. */
	if (!path && known_add(names, id, strdup("")))
		return NULL;
	return names->known[known_place(names, id)].name;
}

void cgroup_names_prune(struct cgroup_names *names,
			bool (*in_use)(const void *closure, uint64_t id), const void *closure)
{
	size_t kept = 0;

	for (size_t i = 0; i < names->nr_known; i++) {
		if (in_use(closure, names->known[i].id))
			names->known[kept++] = names->known[i];
		else
			free(names->known[i].name);
	}
	names->nr_known = kept;
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
