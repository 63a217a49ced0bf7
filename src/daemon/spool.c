/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes, lists and removes the files of requests. A file gets its name when it is whole. */
#include "daemon/spool.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/text.h"
#include "store/history.h"

#define FOLDER   "otlp"
#define NEW_NAME ".new"
#define ENDPOINT "endpoint" /* the file that names it */

/* More files than that are not listed: nobody can have made them in earnest. */
#define MAX_FILES 100000

void spool_init(struct spool *spool)
{
	*spool = (struct spool){ .folder = -1 };
}

void spool_done(struct spool *spool)
{
	closep(&spool->folder);
	free(spool->files);
	spool_init(spool);
}

void spool_name(const struct spool_file *file, char buf[SPOOL_NAME_BYTES])
{
	snprintf(buf, SPOOL_NAME_BYTES, "%020" PRId64 "%s", file->time_ns,
		 file->is_logs ? POST_LOGS_SUFFIX : POST_METRICS_SUFFIX);
}

/* Whether a name is one of ours: it is what its time and kind make of it. */
static bool name_parse(const char *name, struct spool_file *ret)
{
	const char *suffix = strchr(name, '.');
	char ours[SPOOL_NAME_BYTES];

	if (!suffix || suffix == name || strspn(name, "0123456789") != (size_t)(suffix - name))
		return false;
	ret->time_ns = (int64_t)strtoll(name, NULL, 10);
	ret->is_logs = !strcmp(suffix, POST_LOGS_SUFFIX);
	spool_name(ret, ours);
	return !strcmp(name, ours);
}

static int compare_files(const void *a, const void *b)
{
	const struct spool_file *x = a, *y = b;

	return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

/* 0 or -ENOMEM. */
static int file_add(struct spool *spool, const struct spool_file *file)
{
	if (!array_grow(&spool->files, spool->nr_files, sizeof(*spool->files)))
		return -ENOMEM;
	spool->files[spool->nr_files++] = *file;
	spool->bytes += file->bytes;
	return 0;
}

static int files_list(struct spool *spool)
{
	const int copy = dup(spool->folder);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;
	int err = dir ? 0 : -errno;

	if (!dir) {
		if (copy >= 0)
			close(copy);
		return err;
	}
	rewinddir(dir);
	while (!err && spool->nr_files < MAX_FILES && (entry = readdir(dir))) {
		struct spool_file file;
		struct stat status;

		if (!name_parse(entry->d_name, &file) ||
		    fstatat(spool->folder, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(status.st_mode))
			continue;
		file.bytes = (uint64_t)status.st_size;
		err = file_add(spool, &file);
	}
	closedir(dir);
	if (spool->nr_files)
		qsort(spool->files, spool->nr_files, sizeof(*spool->files), compare_files);
	return err;
}

/* --- files -------------------------------------------------------------------------------------- */

static void file_remove(struct spool *spool, size_t index)
{
	char name[SPOOL_NAME_BYTES];

	spool_name(&spool->files[index], name);
	unlinkat(spool->folder, name, 0);
	spool->bytes -= spool->files[index].bytes;
	spool->nr_files--;
	memmove(&spool->files[index], &spool->files[index + 1],
		(spool->nr_files - index) * sizeof(*spool->files));
}

/* The index of the file of a time; nr_files: none. */
static size_t file_find(const struct spool *spool, int64_t time_ns)
{
	size_t i = 0;

	while (i < spool->nr_files && spool->files[i].time_ns != time_ns)
		i++;
	return i;
}

void spool_remove(struct spool *spool, int64_t time_ns)
{
	const size_t index = file_find(spool, time_ns);

	if (index < spool->nr_files)
		file_remove(spool, index);
}

bool spool_has(const struct spool *spool, int64_t time_ns)
{
	return file_find(spool, time_ns) < spool->nr_files;
}

static int text_write(int fd, const char *text, size_t size)
{
	while (size) {
		const ssize_t done = write(fd, text, size);

		if (done < 0 && errno != EINTR)
			return -errno;
		text += done > 0 ? done : 0;
		size -= done > 0 ? (size_t)done : 0;
	}
	return 0;
}

/* A file that has its name is on the disk: a host that crashes does not leave an empty one. */
static int file_write(const struct spool *spool, const char *name, const char *text, size_t size)
{
	int fd __cleanup(closep) =
		openat(spool->folder, NEW_NAME,
		       O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	int err = fd < 0 ? -errno : text_write(fd, text, size);

	if (!err && (fsync(fd) || renameat(spool->folder, NEW_NAME, spool->folder, name)))
		err = -errno;
	if (err)
		unlinkat(spool->folder, NEW_NAME, 0);
	return err;
}

int spool_put(struct spool *spool, bool is_logs, const char *text, size_t size, uint64_t max_bytes,
	      struct diag *d)
{
	struct spool_file file = { clock_real_ns(), size, is_logs };
	char name[SPOOL_NAME_BYTES];
	int err;

	if (size > min_u64(max_bytes, POST_MAX_BYTES)) {
		spool->dropped++;
		return 0;
	}
	/* The clock may have been set back: what came later stays later. */
	if (spool->nr_files && file.time_ns <= spool->files[spool->nr_files - 1].time_ns)
		file.time_ns = spool->files[spool->nr_files - 1].time_ns + 1;
	while (spool->nr_files && spool->bytes + size > max_bytes) {
		file_remove(spool, 0);
		spool->dropped++;
	}
	spool_name(&file, name);
	err = file_write(spool, name, text, size) ?: file_add(spool, &file);
	if (!err)
		return 0;
	return diag_set(d, DIAG_FAILED, -err,
			"cannot write into the folder " FOLDER " of the state directory: %s",
			strerror(-err));
}

/* --- opening ------------------------------------------------------------------------------------ */

/* Opens the folder, and lists what is there. 0 or -errno. */
static int folder_open(struct spool *spool, const char *state_dir, bool is_made)
{
	int state __cleanup(closep) = open(state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (state >= 0 && is_made)
		mkdirat(state, FOLDER, 0700);
	spool->folder = openat(state, FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return spool->folder < 0 ? -errno : files_list(spool);
}

static void all_remove(struct spool *spool)
{
	spool->nr_removed = spool->nr_files;
	while (spool->nr_files)
		file_remove(spool, spool->nr_files - 1);
}

/* Whether what is there is for this endpoint. */
static bool is_for(const struct spool *spool, const char *endpoint)
{
	int fd __cleanup(closep) =
		openat(spool->folder, ENDPOINT, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	const size_t length = strlen(endpoint);
	char *text __cleanup(freep) = malloc(length + 2);
	ssize_t got = fd >= 0 && text ? read(fd, text, length + 2) : -1;

	/* An administrator who has edited it may have ended the line. */
	if (got == (ssize_t)length + 1 && text[length] == '\n')
		got--;
	return got == (ssize_t)length && !memcmp(text, endpoint, length);
}

int spool_open(struct spool *spool, const char *state_dir, const char *endpoint, struct diag *d)
{
	int err = history_make_place(state_dir, d);

	if (err)
		return err;
	err = folder_open(spool, state_dir, true);
	if (!err && !is_for(spool, endpoint)) {
		all_remove(spool);
		err = file_write(spool, ENDPOINT, endpoint, strlen(endpoint));
	}
	if (!err)
		return 0;
	spool_done(spool);
	return diag_set(d, DIAG_FAILED, -err, "cannot use %s/" FOLDER ": %s", state_dir,
			strerror(-err));
}

size_t spool_clear(const char *state_dir)
{
	struct spool spool __cleanup(spool_done);

	spool_init(&spool);
	if (!folder_open(&spool, state_dir, false))
		all_remove(&spool);
	return spool.nr_removed;
}
