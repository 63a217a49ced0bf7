/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens the file of a mapping. Whoever runs the process may change the mapping at any
 * moment: so all that is said of the file is read from one descriptor.
 */
#include "collect/mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/process.h"

/* Without what the kernel adds to the path of a file that is gone. */
static char *file_path(int fd)
{
	static const char gone[] = " (deleted)";
	char link[32], path[PATH_MAX];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path) - 1);
	if (length <= 0)
		return NULL;
	path[length] = 0;
	if ((size_t)length > strlen(gone) && !strcmp(path + length - strlen(gone), gone))
		path[length - (ssize_t)strlen(gone)] = 0;
	return strdup(path);
}

/*
 * Where it is, and what it is called: as the process sees it. But if that is not as root has arranged
 * it, debug files of root's files are looked for where we see them, and names are those in the file
 * system itself.
 */
static int place_read(int process, const char *name, struct opened_code *file)
{
	bool is_arranged;

	file->path = file_path(file->fd);
	file->root = openat(process, "root", O_PATH | O_CLOEXEC | O_DIRECTORY);
	/* In this order: there is no way back from a namespace to ours. */
	is_arranged = !process_is_of_our_users(process);
	if (is_arranged && !file->owner && file->root >= 0) {
		close(file->root);
		file->root = open("/", O_PATH | O_CLOEXEC | O_DIRECTORY);
	}
	if (!is_arranged)
		name = file->path ? basename(file->path) : "";
	file->name = *name ? strdup(name) : NULL;
	return *name && !file->name ? -ENOMEM : 0;
}

static int mapping_find(int process, uint64_t start, uint64_t end)
{
	char link[64];
	int fd;

	snprintf(link, sizeof(link), "map_files/%lx-%lx", start, end);
	fd = openat(process, link, O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* All that can be said of what cannot be opened: a FUSE of another user tells its device, and no inode. */
static int device_read(int found, struct inode_key *ret)
{
	struct statx status;

	if (statx(found, "", AT_EMPTY_PATH, 0, &status))
		return -errno;
	*ret = (struct inode_key){
		.dev = status.stx_dev_major << 20 | status.stx_dev_minor,
		.ino = status.stx_mask & STATX_INO ? status.stx_ino : 0,
	};
	return 0;
}

/* Whether such a failure says that a file must not be read, or is none: any other one may pass. */
static bool failure_lasts(int err)
{
	return err == -EACCES || err == -EPERM || err == -EINVAL;
}

/* The descriptor for reading is not kept: who closes one may have to wait for a server. */
static int file_read(const struct code_identity *identity, int process, int fd,
		     const struct stat *status, struct opened_code *file)
{
	struct file_identity found = { .name = "" };
	int err = code_identity_read(identity, fd, &found);

	if (err)
		return err;
	file->key = found.key;
	file->owner = status->st_uid;
	return place_read(process, found.name, file);
}

int mapped_file_open(const struct code_identity *identity, int process, uint64_t start,
		     uint64_t end, struct opened_code *ret)
{
	struct opened_code file __cleanup(opened_code_close) = NO_CODE;
	int found __cleanup(closep) = mapping_find(process, start, end);
	int fd __cleanup(closep) = -1, err;
	struct stat status;

	if (found < 0)
		return found;
	fd = regular_file_reopen(found, UINT64_MAX, &status);
	if (fd < 0 && !failure_lasts(fd))
		return fd;
	if (fd < 0) {
		err = device_read(found, &file.key);
	} else {
		file.fd = found;
		found = -1;
		err = file_read(identity, process, fd, &status, &file);
	}
	if (err)
		return err;
	*ret = file;
	file = NO_CODE;
	return 0;
}

int mapped_file_key(int process, const struct code_mapping *mapping, struct inode_key *ret)
{
	int found __cleanup(closep) = mapping_find(process, mapping->start, mapping->end);
	struct statx status;

	if (found < 0)
		return found;
	if (statx(found, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MTIME, &status))
		return -errno;
	*ret = (struct inode_key){
		.dev = mapping->dev,
		.ino = mapping->ino,
		.mtime_s = status.stx_mtime.tv_sec,
		.mtime_ns = status.stx_mtime.tv_nsec,
	};
	return 0;
}

int mapped_file_open_path(const struct code_identity *identity, const char *path,
			  struct opened_code *ret)
{
	struct opened_code file __cleanup(opened_code_close) = NO_CODE;
	struct file_identity found = { .name = "" };
	int fd __cleanup(closep) = -1, err;
	struct stat status;

	file.root = open("/", O_PATH | O_CLOEXEC | O_DIRECTORY);
	if (file.root < 0)
		return -errno;
	file.fd = regular_file_find(file.root, path, 0, UINT64_MAX, &status);
	fd = file.fd < 0 ? file.fd : regular_file_reopen(file.fd, UINT64_MAX, &status);
	err = fd < 0 ? fd : code_identity_read(identity, fd, &found);
	if (err)
		return err;
	file.key = found.key;
	file.owner = status.st_uid;
	file.path = strdup(path);
	*ret = file;
	file = NO_CODE;
	return 0;
}
