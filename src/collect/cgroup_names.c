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

bool cgroup_names_know(const struct cgroup_names *names, uint64_t id)
{
	size_t at = known_place(names, id);

	return at < names->nr_known && names->known[at].id == id;
}

/* Takes over the path. Ids are never used again: what is known stays right, but for "". */
static int known_add(struct cgroup_names *names, uint64_t id, char *path)
{
	size_t at = known_place(names, id);
	struct id_name *grown;

	if (path && cgroup_names_know(names, id)) {
		if (*names->known[at].name) {
			free(path);
			return 0;
		}
		free(names->known[at].name);
		names->known[at].name = path;
		names->known_bytes += strlen(path);
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
	names->known_bytes += strlen(path) + 1;
	return 0;
}

static int visit_known(void *closure, uint64_t id, const char *path)
{
	return known_add(closure, id, strdup(path));
}

int cgroup_names_learn(struct cgroup_names *names)
{
	int err = cgroup_walk(visit_known, names);

	names->learned = true;
	names->incomplete = err == -EMFILE || err == -ENFILE;
	return names->incomplete ? 0 : err;
}

void cgroup_names_begin(struct cgroup_names *names)
{
	names->learned = false;
}

/* Takes a name out of a slot of the ring. */
static char *recent_steal(struct cgroup_names *names, struct id_name *slot)
{
	if (slot->name)
		names->recent_bytes -= strlen(slot->name) + 1;
	return steal_ptr(&slot->name);
}

/* Takes over the path; NULL: nothing. The oldest make room. */
static void recent_add(struct cgroup_names *names, uint64_t id, char *path)
{
	if (!path)
		return;
	names->recent_bytes += strlen(path) + 1;
	while (names->nr_made - names->nr_forgotten >= RECENT_CGROUPS ||
	       (names->recent_bytes > RECENT_CGROUP_BYTES && names->nr_forgotten < names->nr_made))
		free(recent_steal(names, &names->recent[names->nr_forgotten++ % RECENT_CGROUPS]));
	names->recent[names->nr_made++ % RECENT_CGROUPS] = (struct id_name){ id, path };
}

void cgroup_names_made(struct cgroup_names *names, uint64_t id, const char *path)
{

	if (!names->recent)
		names->recent = calloc(RECENT_CGROUPS, sizeof(*names->recent));
	if (!names->recent)
		return;
	if (cgroup_names_know(names, id)) {
		/* Asked for before this was heard of. */
		known_add(names, id, strdup(path));
		return;
	}
	recent_add(names, id, strdup(path));
}

/* Takes a name out of the ring. */
static char *recent_take(struct cgroup_names *names, uint64_t id)
{
	for (size_t i = 0; names->recent && i < RECENT_CGROUPS; i++) {
		if (names->recent[i].id == id && names->recent[i].name)
			return recent_steal(names, &names->recent[i]);
	}
	return NULL;
}

const char *cgroup_names_find(struct cgroup_names *names, uint64_t id)
{
	char *path = cgroup_names_know(names, id) ? NULL : recent_take(names, id);
	int err = path ? known_add(names, id, path) : 0;

	if (!err && !cgroup_names_know(names, id) && !names->learned)
		err = cgroup_names_learn(names);
	/* Still unknown: it is gone, unless it was us who could not look. */
	if (!err && !cgroup_names_know(names, id) && names->incomplete)
		return "";
	if (!err && !cgroup_names_know(names, id))
		err = known_add(names, id, strdup(""));
	return err ? NULL : names->known[known_place(names, id)].name;
}

bool cgroup_names_are_many(const struct cgroup_names *names)
{
	return names->nr_known > (names->prune_at ?: RECENT_CGROUPS) ||
	       names->known_bytes > (names->prune_bytes_at ?: RECENT_CGROUP_BYTES);
}

static int compare_ids(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

void cgroup_names_prune(struct cgroup_names *names, uint64_t *in_use, size_t count)
{
	size_t kept = 0, bytes = 0;

	qsort(in_use, count, sizeof(*in_use), compare_ids);
	for (size_t i = 0; i < names->nr_known; i++) {
		struct id_name *name = &names->known[i];

		if (!bsearch(&name->id, in_use, count, sizeof(*in_use), compare_ids)) {
			free(name->name);
			continue;
		}
		bytes += strlen(name->name) + 1;
		names->known[kept++] = *name;
	}
	names->nr_known = kept;
	names->known_bytes = bytes;
	names->prune_bytes_at = bytes + RECENT_CGROUP_BYTES;
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
