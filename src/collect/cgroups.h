/* SPDX-License-Identifier: BSD-2-Clause */
/* The version 2 cgroup tree: from paths to ids and back. */
#ifndef BPFTRUSS_CGROUPS_H
#define BPFTRUSS_CGROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The id (inode) of a cgroup, by its path from the root of the tree or its path on the file system. */
int cgroup_find_path(const char *path, uint64_t *ret);

/* Whether some cgroup has this name. */
bool cgroup_name_exists(const char *name);

/* The least memory.max of the cgroup of this process and those above it; UINT64_MAX: none has any. */
uint64_t cgroup_memory_limit(void);

/* What is to be done with each cgroup; path is from the root of the tree. 0, or what ends the walk. */
typedef int (*cgroup_visit)(void *closure, uint64_t id, const char *path);

/*
 * Visits all cgroups that can be looked at. 0 (also when the tree is not mounted), what ended the
 * walk, or -EMFILE, -ENFILE, -ENOMEM for want of what looking at it takes.
 */
int cgroup_walk(cgroup_visit visit, void *closure);

#endif
