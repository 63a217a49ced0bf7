/* SPDX-License-Identifier: BSD-2-Clause */
/* Deals with the directory of the history: nobody else may have a hand in it, and one writes at a time. */
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>

#include "store/history.h"
#include "store/history_private.h"

#define FILE_NAME  "history.db"
#define LOG_NAME   FILE_NAME "-wal"
#define INDEX_NAME FILE_NAME "-shm"

static int check_directory(int fd, const char *dir, struct diag *d)
{
	struct stat status;

	if (fstat(fd, &status))
		return diag_set(d, DIAG_FAILED, errno, "history: %.200s: %s", dir, strerror(errno));
	if (status.st_uid != geteuid())
		return diag_set(d, DIAG_FAILED, EPERM,
				"history: %.200s belongs to another user: use a directory of your "
				"own",
				dir);
	if (status.st_mode & 077)
		return diag_set(d, DIAG_FAILED, EPERM,
				"history: other users may access %.200s: run chmod 700 on it", dir);
	return 0;
}

/* A descriptor, if it is ours alone. */
static int open_directory(const char *dir, struct diag *d)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int err = fd < 0 ? errno : 0;
	char target[1];

	if (err == ENOTDIR && readlink(dir, target, sizeof(target)) > 0)
		return diag_set(d, DIAG_FAILED, err,
				"history: %.200s is a symbolic link: give the directory that it "
				"leads to",
				dir);
	if (err)
		return diag_set(d, DIAG_FAILED, err, "history: cannot open directory %.200s: %s",
				dir, strerror(err));
	err = check_directory(fd, dir, d);
	if (err)
		close(fd);
	return err ?: fd;
}

static int lock_directory(int fd, const char *dir, struct diag *d)
{
	if (flock(fd, LOCK_EX | LOCK_NB))
		return diag_set(d, DIAG_FAILED, EBUSY,
				"history: another bpftruss writes to %.200s: stop it first", dir);
	return 0;
}

int history_make_place(const char *dir, struct diag *d)
{
	int fd __cleanup(closep) = -1;

	if (mkdir(dir, 0700) && errno != EEXIST)
		return diag_set(d, DIAG_FAILED, errno, "history: cannot make directory %.200s: %s",
				dir, strerror(errno));
	fd = open_directory(dir, d);
	if (fd < 0)
		return fd;
	/* A file system may become writable while the daemon runs; permissions do not. */
	if (faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) && errno != EROFS)
		return diag_set(d, DIAG_FAILED, errno, "history: cannot write to %.200s: %s", dir,
				strerror(errno));
	return 0;
}

int history_check_unused(const char *dir, struct diag *d)
{
	int fd __cleanup(closep) = open_directory(dir, d);

	return fd < 0 ? fd : lock_directory(fd, dir, d);
}

int place_open(struct history *history, const char *dir, struct diag *d)
{
	char link[64];

	history->dir_fd = open_directory(dir, d);
	if (history->dir_fd < 0)
		return history->dir_fd;
	/* SQLite wants a path without a link; it must lead to what was checked. */
	snprintf(link, sizeof(link), "/proc/self/fd/%d", history->dir_fd);
	history->dir = realpath(link, NULL);
	if (!history->dir)
		return diag_set(d, DIAG_FAILED, errno, "history: cannot resolve %.200s: %s", dir,
				strerror(errno));
	if (asprintf(&history->path, "%s/" FILE_NAME, history->dir) < 0) {
		history->path = NULL;
		return diag_oom(d);
	}
	return history->options.read_only ? 0 : lock_directory(history->dir_fd, dir, d);
}

int place_make_file(const struct history *history, struct diag *d)
{
	int fd __cleanup(closep) =
		openat(history->dir_fd, FILE_NAME,
		       O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	struct stat status;

	if (fd < 0)
		return diag_set(d, DIAG_FAILED, errno, "history: cannot write %.250s: %s",
				history->path, strerror(errno));
	if (fstat(fd, &status) || !S_ISREG(status.st_mode))
		return diag_set(d, DIAG_FAILED, EINVAL,
				"history: %.250s is not a regular file: remove it", history->path);
	return 0;
}

static uint64_t size_of(const struct history *history, const char *name)
{
	struct stat status;

	if (fstatat(history->dir_fd, name, &status, AT_SYMLINK_NOFOLLOW))
		return 0;
	return (uint64_t)status.st_size;
}

uint64_t place_bytes(const struct history *history)
{
	return size_of(history, FILE_NAME) + size_of(history, LOG_NAME) +
	       place_baseline_bytes(history);
}

uint64_t place_baseline_bytes(const struct history *history)
{
	int fd = openat(history->dir_fd, HISTORY_BASELINES,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	struct stat status;
	uint64_t bytes = 0;

	if (!dir) {
		closep(&fd);
		return 0;
	}
	while ((entry = readdir(dir))) {
		if (!fstatat(fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) &&
		    S_ISREG(status.st_mode))
			bytes += (uint64_t)status.st_size;
	}
	closedir(dir);
	return bytes;
}

bool place_is_frozen(const struct history *history)
{
	struct statvfs status;

	return !fstatvfs(history->dir_fd, &status) && (status.f_flag & ST_RDONLY) &&
	       !size_of(history, LOG_NAME);
}

int64_t place_changed_ns(const struct history *history)
{
	struct stat status;

	if (fstatat(history->dir_fd, FILE_NAME, &status, AT_SYMLINK_NOFOLLOW))
		return clock_real_ns();
	return status.st_mtim.tv_sec * (int64_t)NS_PER_SEC + status.st_mtim.tv_nsec;
}

/* A name that is free, for the file; the log's has -wal behind it, as SQLite wants it. */
static void name_aside(const struct history *history, char *name, size_t size)
{
	time_t now = (time_t)(clock_real_ns() / (int64_t)NS_PER_SEC);
	char stamp[32] = "unknown";
	struct tm utc;

	if (gmtime_r(&now, &utc))
		strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", &utc);
	snprintf(name, size, FILE_NAME ".damaged-%s", stamp);
	for (int i = 2; !faccessat(history->dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW); i++)
		snprintf(name, size, FILE_NAME ".damaged-%s-%d", stamp, i);
}

/*
 * The log first: with it gone, the new file cannot be taken for the one that it belongs to. An empty
 * one tells nothing.
 */
int place_set_aside(const struct history *history, char **ret)
{
	char name[128], log_name[160];
	int dir = history->dir_fd;

	name_aside(history, name, sizeof(name));
	snprintf(log_name, sizeof(log_name), "%s-wal", name);
	if (!size_of(history, LOG_NAME))
		unlinkat(dir, LOG_NAME, 0);
	else if (renameat(dir, LOG_NAME, dir, log_name))
		return -errno;
	unlinkat(dir, INDEX_NAME, 0);
	if (renameat(dir, FILE_NAME, dir, name)) {
		int err = -errno;

		/* It is opened again, with all that is in its log. */
		renameat(dir, log_name, dir, LOG_NAME);
		return err;
	}
	fsync(dir);
	if (asprintf(ret, "%s/%s", history->dir, name) < 0) {
		*ret = NULL;
		return -ENOMEM;
	}
	return 0;
}
