/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The version 2 cgroup tree: from paths to ids and back. A cgroup may be gone before anybody asks for the
 * name of a process that was in it: so all that exist are learned at the start, and new ones as they are
 * made.
 */
#pragma once

#include "base/nearest.h"
#include "bpftruss/abi.h"
#include "model/snapshot.h"

/* The id (inode) of a cgroup, by its path from the root of the tree or its path on the file system. */
int cgroup_find_path(const char *path, uint64_t *ret);

/*
 * Whether some cgroup has this name. Otherwise near is one that it may be meant for, without .service, or
 * empty.
 */
bool cgroup_name_exists(const char *name, char near[NEAREST_WORD_MAX]);

/*
 * The cgroup of the container that a text means, as container_is_meant() tells: its id, and its name, which is
 * empty when it does not fit or says nothing by itself. -ENOENT: none; -ENOTUNIQ: there are several.
 */
int cgroup_find_container(const char *text, bool by_name, char name[SELECTOR_NAME_SIZE],
			  uint64_t *ret);

/* The least memory.max of the cgroup of this process and those above it; UINT64_MAX: none has any. */
uint64_t cgroup_memory_limit(void);

/* Made since, and not yet asked for: so many at most are remembered, with paths of so many bytes. */
#define RECENT_CGROUPS      4096
#define RECENT_CGROUP_BYTES (2u << 20)

struct cgroup_names {
	struct id_name *known; /* by id */
	size_t nr_known;
	size_t known_bytes;     /* of their paths */
	struct id_name *recent; /* a ring; NULL until the first */
	size_t nr_made;         /* so far, also those that the ring has forgotten */
	size_t nr_forgotten;
	size_t recent_bytes;
	bool learned;           /* the tree was looked at in this round: false begins a new one */
	bool incomplete;        /* not all of the tree could be looked at */
	uint64_t rest_until_ns; /* CLOCK_MONOTONIC before which the tree is not looked at again */
	size_t prune_at;        /* so many known ones are too many */
	size_t prune_bytes_at;  /* so are so many bytes of their paths */
};

/* Learns all that exist now, as far as there are descriptors for it. 0 or -ENOMEM. */
int cgroup_names_learn(struct cgroup_names *names);

/* Notes that one was made; without memory it is looked for later. */
void cgroup_names_made(struct cgroup_names *names, uint64_t id, const char *path);

bool cgroup_names_know(const struct cgroup_names *names, uint64_t id);

/*
 * The path from the root of the hierarchy, "" when it cannot be known any more, or not in this
 * round; NULL: no memory. The process pid was in it last.
 * Looks at the tree at most once a round, and, as that takes long where there are many, not again before ten
 * times as long has passed.
 */
const char *cgroup_names_find(struct cgroup_names *names, uint64_t id, uint32_t pid);

/* Whether so many are known that it is time to forget some. */
bool cgroup_names_are_many(const struct cgroup_names *names);

/* Forgets those that are not among these ids, which it sorts. */
void cgroup_names_prune(struct cgroup_names *names, uint64_t *in_use, size_t count);

void cgroup_names_done(struct cgroup_names *names);
