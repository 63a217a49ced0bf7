/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns looking at the cgroup file system. Reads only. */
#include "collect/cgroups.h"

#include <errno.h>
#include <fts.h>
#include <limits.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"

void cgroup_mount(char *buf, size_t size)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct mntent *entry;

	*buf = 0;
	while (mounts && (entry = getmntent(mounts))) {
		if (!strcmp(entry->mnt_type, "cgroup2")) {
			snprintf(buf, size, "%s", entry->mnt_dir);
			break;
		}
	}
	if (mounts)
		endmntent(mounts);
}

int cgroup_find_path(const char *path, uint64_t *ret)
{
	char mount[PATH_MAX], full[PATH_MAX * 2];
	struct stat st;

	cgroup_mount(mount, sizeof(mount));
	if (!*mount)
		return -ENOTSUP;
	if (!strncmp(path, mount, strlen(mount)) && strchr("/", path[strlen(mount)]))
		snprintf(full, sizeof(full), "%s", path);
	else
		snprintf(full, sizeof(full), "%s/%s", mount, path);
	if (stat(full, &st))
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	*ret = st.st_ino;
	return 0;
}

/* Walks all cgroups until one is the wanted: by name, or by id when name is NULL. */
static FTSENT *cgroup_walk(FTS *tree, const char *name, uint64_t id)
{
	FTSENT *entry;

	while ((entry = fts_read(tree))) {
		if (entry->fts_info != FTS_D)
			continue;
		if (name ? !strcmp(entry->fts_name, name) : entry->fts_statp->st_ino == id)
			return entry;
	}
	return NULL;
}

static FTS *cgroup_open_tree(char mount[PATH_MAX])
{
	char *roots[] = { mount, NULL };

	cgroup_mount(mount, PATH_MAX);
	return *mount ? fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL) : NULL;
}

bool cgroup_name_exists(const char *name)
{
	char mount[PATH_MAX];
	FTS *tree = cgroup_open_tree(mount);
	bool found = tree && cgroup_walk(tree, name, 0);

	if (tree)
		fts_close(tree);
	return found;
}

char *cgroup_find_id(uint64_t id)
{
	char mount[PATH_MAX], *path = NULL;
	FTS *tree = cgroup_open_tree(mount);
	FTSENT *found = tree ? cgroup_walk(tree, NULL, id) : NULL;

	if (found)
		path = strdup(found->fts_path[strlen(mount)] ? found->fts_path + strlen(mount)
							     : "/");
	if (tree)
		fts_close(tree);
	return path;
}
