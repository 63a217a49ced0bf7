/* SPDX-License-Identifier: BSD-2-Clause */
/* The version 2 cgroup tree: from paths to ids and back. */
#ifndef BPFTRUSS_CGROUPS_H
#define BPFTRUSS_CGROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where the tree is mounted; empty when it is not. */
void cgroup_mount(char *buf, size_t size);

/* The id (inode) of a cgroup, by its path from the root of the tree or its path on the file system. */
int cgroup_find_path(const char *path, uint64_t *ret);

/* Whether some cgroup has this name. */
bool cgroup_name_exists(const char *name);

/* Path of a cgroup from the root, to be freed; NULL when no cgroup has that id any more. */
char *cgroup_find_id(uint64_t id);

#endif
