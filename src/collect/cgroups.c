/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns looking at the cgroup file system. Reads only. */
#include "collect/cgroups.h"

#include <errno.h>
#include <fts.h>
#include <limits.h>
#include <linux/magic.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

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
	struct statfs fs;
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
	/* A path with .. in it may lead elsewhere. */
	if (statfs(full, &fs) || fs.f_type != CGROUP2_SUPER_MAGIC)
		return -EXDEV;
	*ret = st.st_ino;
	return 0;
}

int cgroup_walk(cgroup_visit visit, void *closure)
{
	char mount[PATH_MAX], *roots[] = { mount, NULL };
	FTSENT *entry;
	FTS *tree;
	int err = 0;

	cgroup_mount(mount, sizeof(mount));
	tree = *mount ? fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL) : NULL;
	while (tree && !err && (entry = fts_read(tree))) {
		const char *path = entry->fts_path + strlen(mount);

		if (entry->fts_info == FTS_D)
			err = visit(closure, entry->fts_statp->st_ino, *path ? path : "/");
	}
	if (tree)
		fts_close(tree);
	return err;
}

struct wanted {
	const char *name;
};

static int visit_wanted(void *closure, uint64_t id, const char *path)
{
	const struct wanted *wanted = closure;

	(void)id;
	return !strcmp(strrchr(path, '/') + 1, wanted->name);
}

bool cgroup_name_exists(const char *name)
{
	struct wanted wanted = { name };

	return cgroup_walk(visit_wanted, &wanted) == 1;
}
