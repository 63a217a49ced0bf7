/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens foreign paths. No path is walked twice: what was looked at is what is opened. */
#include "base/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"

/* The kernel gives up when directories move while it walks. */
#define MAX_TRIES 8

/* The file without opening it: what it is decides whether it may be. */
static int path_find(int root_fd, const char *path, int flags)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | flags,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int fd = -1;

	for (int i = 0; i < MAX_TRIES; i++) {
		fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	return fd < 0 ? -errno : fd;
}

static int file_check(int found_fd, uint64_t max_bytes, struct stat *status)
{
	if (fstat(found_fd, status))
		return -errno;
	if (!S_ISREG(status->st_mode))
		return -EINVAL;
	return (uint64_t)status->st_size > max_bytes ? -EFBIG : 0;
}

int regular_file_find(int root_fd, const char *path, int flags, uint64_t max_bytes,
		      struct stat *status)
{
	int found = path_find(root_fd, path, flags);
	int err = found < 0 ? found : file_check(found, max_bytes, status);

	if (!err)
		return found;
	closep(&found);
	return err;
}

int regular_file_reopen(int found_fd, uint64_t max_bytes, struct stat *status)
{
	int err = file_check(found_fd, max_bytes, status), fd;
	char self[32];

	if (err)
		return err;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", found_fd);
	fd = open(self, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

int regular_file_open(int root_fd, const char *path, int flags, uint64_t max_bytes,
		      struct stat *status)
{
	int found __cleanup(closep) = path_find(root_fd, path, flags);

	return found < 0 ? found : regular_file_reopen(found, max_bytes, status);
}

int regular_file_read(const char *path, int flags, uint64_t max_bytes, char **ret, size_t *ret_size)
{
	/* Opening a FIFO would wait for whoever writes to it. */
	int fd __cleanup(closep) = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | flags);
	char *text __cleanup(freep) = NULL;
	struct stat status = { 0 };
	size_t size = 0;
	ssize_t got = 1;
	int err = fd < 0 ? -errno : file_check(fd, max_bytes, &status);

	if (err)
		return err;
	text = malloc((size_t)status.st_size + 1);
	if (!text)
		return -ENOMEM;
	for (; size < (size_t)status.st_size && got > 0; size += (size_t)got) {
		got = read(fd, text + size, (size_t)status.st_size - size);
		if (got < 0)
			return -errno;
	}
	*ret = steal_ptr(&text);
	*ret_size = size;
	return 0;
}

/* Whoever may put a file there by a mount of his own learns no secret of root's by it. */
static bool file_is_trusted(const struct stat *status, uid_t user)
{
	if (status->st_mode & S_IWOTH)
		return false;
	return status->st_uid == user || (!status->st_uid && status->st_mode & S_IROTH);
}

int regular_file_find_trusted(int root_fd, const char *path, int flags, uint64_t max_bytes,
			      uid_t user)
{
	struct stat status;
	int fd = regular_file_find(root_fd, path, flags, max_bytes, &status);

	if (fd < 0 || file_is_trusted(&status, user))
		return fd;
	close(fd);
	return -EPERM;
}
