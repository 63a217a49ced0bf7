/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns looking at the cgroup file system. Reads only. */
#include "collect/cgroups.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/mem.h"

/* Where the tree is mounted; empty when it is not. 0, or -errno when that cannot be read. */
static int cgroup_mount(char *buf, size_t size)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct mntent *entry;

	*buf = 0;
	if (!mounts)
		return -errno;
	while ((entry = getmntent(mounts))) {
		if (!strcmp(entry->mnt_type, "cgroup2")) {
			snprintf(buf, size, "%s", entry->mnt_dir);
			break;
		}
	}
	endmntent(mounts);
	return 0;
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

/* The path of our own cgroup from the root of the tree, "" if there is none. */
static void own_cgroup(char *buf, size_t size)
{
	FILE *file __cleanup(fclosep) = fopen("/proc/self/cgroup", "re");
	char line[PATH_MAX + 8];

	*buf = 0;
	while (file && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = 0;
		if (!strncmp(line, "0::/", 4))
			snprintf(buf, size, "%s", line + 3);
	}
}

static uint64_t read_limit(const char *path)
{
	FILE *file __cleanup(fclosep) = fopen(path, "re");
	uint64_t limit;

	return file && fscanf(file, "%" SCNu64, &limit) == 1 ? limit : UINT64_MAX;
}

uint64_t cgroup_memory_limit(void)
{
	char mount[PATH_MAX], path[PATH_MAX], file[2 * PATH_MAX + 16], *end;
	uint64_t limit, least = UINT64_MAX;

	own_cgroup(path, sizeof(path));
	if (cgroup_mount(mount, sizeof(mount)) || !*mount)
		return least;
	/* What is the root of a namespace may have a limit, too. */
	do {
		snprintf(file, sizeof(file), "%s%s/memory.max", mount, path);
		limit = read_limit(file);
		least = limit < least ? limit : least;
		end = strrchr(path, '/');
		if (end)
			*end = 0;
	} while (end);
	return least;
}

struct walk {
	cgroup_visit visit;
	void *closure;
};

static void closedirp(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

/* A process that is gone, or not ours to look into, is passed over; a lack of our own is an error. */
static int want_of(int err)
{
	return err == EMFILE || err == ENFILE || err == ENOMEM ? -err : 0;
}

/* One cgroup and all below it. Its file system tells id and type with the name: nothing is stat'ed. */
static int walk_below(int parent, const char *name, char *path, size_t length,
		      const struct walk *walk)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir __cleanup(closedirp) = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int err = dir ? 0 : want_of(errno);

	while (dir && !err && (entry = readdir(dir))) {
		int added;

		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		added = snprintf(path + length, PATH_MAX - length, "/%s", entry->d_name);
		if (added < 0 || (size_t)added >= PATH_MAX - length)
			continue;
		err = walk->visit(walk->closure, entry->d_ino, path)
			      ?: walk_below(dirfd(dir), entry->d_name, path, length + (size_t)added,
					    walk);
	}
	return err;
}

int cgroup_walk(cgroup_visit visit, void *closure)
{
	struct walk walk = { visit, closure };
	char mount[PATH_MAX], path[PATH_MAX] = "";
	struct stat st;
	int err = cgroup_mount(mount, sizeof(mount));

	if (err || !*mount || stat(mount, &st))
		return want_of(-err);
	err = visit(closure, st.st_ino, "/");
	return err ?: walk_below(AT_FDCWD, mount, path, 0, &walk);
}

static int visit_wanted(void *closure, uint64_t id, const char *path)
{
	(void)id;
	return !strcmp(strrchr(path, '/') + 1, closure);
}

bool cgroup_name_exists(const char *name)
{
	return cgroup_walk(visit_wanted, (void *)name) == 1;
}
