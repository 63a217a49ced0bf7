/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps baselines as files. A file appears under its name only when it is complete and on the disk,
 * so that a crash leaves the old one or the new one.
 */
#include "daemon/baselines.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/process.h"
#include "base/text.h"
#include "daemon/log.h"
#include "json/json.h"
#include "report/report.h"
#include "store/history_options.h"

#define FOLDER   "%s/" HISTORY_BASELINES
#define SUFFIX   ".json"
#define NEW_NAME ".new" /* no valid name begins with a dot */

/* A larger file would take too long to write and to read while the daemon counts. */
#define MAX_FILE_BYTES (8 << 20)

#define MAX_FILES 100

/* A list reads these bytes of a file: where and when it was counted comes first. */
#define HEAD_BYTES 4096

bool baseline_name_is_valid(const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < length; i++) {
		if (!isascii((unsigned char)name[i]) ||
		    (!isalnum((unsigned char)name[i]) && !strchr(".-_", name[i])))
			return false;
	}
	return length > 0 && length < sizeof(((struct baseline *)NULL)->name) && *name != '.';
}

int baseline_check_name(const char *name, struct diag *d)
{
	uint64_t span_ns;

	if (!strcmp(name, "now") || span_is(name) || !duration_parse("", name, &span_ns, NULL))
		return diag_set(
			d, DIAG_USAGE, EINVAL,
			"\"%.100s\" is not a name for a baseline: it means a time to compare",
			name);
	if (baseline_name_is_valid(name))
		return 0;
	return diag_set(
		d, DIAG_USAGE, EINVAL,
		"\"%.100s\" is not a name for a baseline: up to 64 letters, digits, '.', '-' "
		"and '_', and no '.' in front",
		name);
}

/* The path of a file; what is no name of a baseline is no path either. */
static const char *path_of(const char *state_dir, const char *name, char path[PATH_MAX])
{
	if (!baseline_name_is_valid(name) ||
	    snprintf(path, PATH_MAX, FOLDER "/%s" SUFFIX, state_dir, name) >= PATH_MAX)
		return "";
	return path;
}

static int explain(const char *state_dir, const char *what, const char *name, int err,
		   struct diag *d)
{
	return diag_set(d, DIAG_FAILED, -err, "cannot %s the baseline \"%.64s\" in %.200s: %s",
			what, name, state_dir, strerror(-err));
}

static int no_baseline(const char *name, struct diag *d)
{
	return diag_set(d, DIAG_FAILED, ENOENT,
			"there is no baseline \"%.64s\": 'bpftruss baseline list' lists them",
			name);
}

static int folder_sync(const char *folder)
{
	int fd __cleanup(closep) = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 || fsync(fd) ? -errno : 0;
}

/* Writes the new file, and waits until the disk has it. */
static int snapshot_write(const char *path, const struct snapshot *snapshot)
{
	char *text __cleanup(freep) = NULL;
	int fd __cleanup(closep) = -1;
	size_t size, done = 0;
	FILE *memory = open_memstream(&text, &size);
	int err = memory ? report_json(snapshot, memory) : -ENOMEM;
	ssize_t written;

	if (memory && fclose(memory))
		return -ENOMEM;
	if (err || size > MAX_FILE_BYTES)
		return err ?: -EFBIG;
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	for (; fd >= 0 && done < size; done += (size_t)written) {
		written = write(fd, text + done, size - done);
		if (written < 0)
			return -errno;
	}
	return fd < 0 || fsync(fd) ? -errno : 0;
}

static int save(const char *state_dir, const char *path, const struct snapshot *snapshot)
{
	char folder[PATH_MAX], new[PATH_MAX + sizeof(NEW_NAME)];
	int err;

	snprintf(folder, sizeof(folder), FOLDER, state_dir);
	snprintf(new, sizeof(new), "%s/" NEW_NAME, folder);
	if (mkdir(folder, 0700) && errno != EEXIST)
		return -errno;
	err = folder_sync(state_dir);
	if (err)
		return err;
	err = snapshot_write(new, snapshot);
	if (!err && !rename(new, path))
		return folder_sync(folder);
	err = err ?: -errno;
	unlink(new);
	return err;
}

int baselines_save(const char *state_dir, const char *name, const struct snapshot *snapshot,
		   bool replace, struct diag *d)
{
	struct baseline *list __cleanup(freep) = NULL;
	char path[PATH_MAX];
	size_t count, row = 0;
	int err = baseline_check_name(name, d);
	bool is_there;

	if (err)
		return err;
	while (row < snapshot->nr_rows && !snapshot->rows[row]->calls)
		row++;
	if (row == snapshot->nr_rows)
		return diag_set(d, DIAG_FAILED, ENODATA,
				"no call was counted in that time: choose another span");
	err = baselines_list(state_dir, &list, &count, d);
	if (err)
		return err;
	is_there = !faccessat(AT_FDCWD, path_of(state_dir, name, path), F_OK, AT_SYMLINK_NOFOLLOW);
	if (!is_there && count >= MAX_FILES)
		return diag_set(
			d, DIAG_FAILED, E2BIG,
			"there are already %d baselines: remove one with 'bpftruss baseline rm'",
			MAX_FILES);
	if (!replace && is_there)
		return diag_set(d, DIAG_FAILED, EEXIST,
				"a baseline \"%s\" exists: replace it with --replace, or choose "
				"another name",
				name);
	err = save(state_dir, path, snapshot);
	if (err == -EFBIG)
		return diag_set(
			d, DIAG_FAILED, E2BIG,
			"too much for a baseline: choose a shorter span, or fewer processes "
			"(PUT with name=, user=, unit= or cgroup=)");
	return err ? explain(state_dir, "save", name, err, d) : 0;
}

static int no_snapshot(const char *name, const char *why, struct diag *d)
{
	return diag_set(d, DIAG_FAILED, EBADMSG,
			"the baseline \"%.64s\" cannot be read: save it again: %.300s", name, why);
}

int baselines_read(const char *state_dir, const char *name, char **ret_text, size_t *ret_size,
		   struct diag *d)
{
	char path[PATH_MAX];
	int err = regular_file_read(path_of(state_dir, name, path), O_NOFOLLOW, MAX_FILE_BYTES,
				    ret_text, ret_size);

	if (err == -ENOENT)
		return no_baseline(name, d);
	if (err == -EINVAL)
		return no_snapshot(name, "it is not the file of a snapshot", d);
	if (err == -EFBIG)
		return diag_set(
			d, DIAG_FAILED, EFBIG,
			"the baseline \"%.64s\" has more than %d MiB: remove it, and save a "
			"shorter span, or fewer processes",
			name, MAX_FILE_BYTES >> 20);
	return err ? explain(state_dir, "read", name, err, d) : 0;
}

int baselines_load(const char *state_dir, const char *name, struct snapshot **ret, struct diag *d)
{
	struct stack_table *stacks __cleanup(stack_table_freep) = NULL;
	struct snapshot *snapshot __cleanup(snapshot_freep) = NULL;
	char *text __cleanup(freep) = NULL;
	struct diag why;
	size_t size;
	int err = baselines_read(state_dir, name, &text, &size, d);

	if (err)
		return err;
	if (report_json_read(text, size, &snapshot, &stacks, &why))
		return no_snapshot(name, why.text, d);
	/* Stacks are in no history, and so in no baseline. */
	if (stacks)
		return no_snapshot(name, "it has call stacks", d);
	*ret = steal_ptr(&snapshot);
	return 0;
}

int baselines_remove(const char *state_dir, const char *name, struct diag *d)
{
	char path[PATH_MAX], folder[PATH_MAX];
	int err;

	snprintf(folder, sizeof(folder), FOLDER, state_dir);
	if (unlink(path_of(state_dir, name, path)))
		return errno == ENOENT ? no_baseline(name, d)
				       : explain(state_dir, "remove", name, -errno, d);
	err = folder_sync(folder);
	return err ? explain(state_dir, "remove", name, err, d) : 0;
}

/* Reads when a baseline was counted from the first bytes of its file. 0, or -errno with d filled. */
static int read_head(const char *path, struct baseline *ret, struct diag *d)
{
	int fd __cleanup(closep) = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct json_document document __cleanup(json_close) = { 0 };
	char head[HEAD_BYTES + 1];
	ssize_t size = fd < 0 ? -1 : read(fd, head, HEAD_BYTES);
	struct json_place at;
	struct stat status;
	char *rest;

	if (size < 0 || fstat(fd, &status))
		return diag_set(d, DIAG_FAILED, errno, "%s", strerror(errno));
	head[size] = 0;
	/* In a text, quotes have a backslash in front. */
	rest = strstr(head, ",\"targets\":");
	if (!rest)
		return diag_set(d, DIAG_FAILED, EINVAL, "it is not the file of a snapshot");
	*rest = '}';
	at = json_open(&document, head, (size_t)(rest + 1 - head), d);
	ret->saved_ns = status.st_mtim.tv_sec * (int64_t)NS_PER_SEC + status.st_mtim.tv_nsec;
	ret->start_ns = json_get_time(&at, "start");
	ret->end_ns = json_get_time(&at, "end");
	ret->covered_ns = json_get_number(&at, "elapsed_ns", 0, 0);
	return document.err;
}

/* Adds what is in a file, if that is a baseline. Returns 0 or -ENOMEM. */
static int list_add(const char *state_dir, const char *file, struct baseline **list, size_t *count)
{
	struct baseline baseline = { 0 };
	size_t length = strlen(file), suffix = strlen(SUFFIX);
	char path[PATH_MAX];
	struct diag why;

	if (length <= suffix || length - suffix >= sizeof(baseline.name) ||
	    strcmp(file + length - suffix, SUFFIX))
		return 0;
	memcpy(baseline.name, file, length - suffix);
	if (!baseline_name_is_valid(baseline.name))
		return 0;
	if (read_head(path_of(state_dir, baseline.name, path), &baseline, &why)) {
		log_line(LOG_WARNING, "the baseline \"%s\" cannot be read: %s", baseline.name,
			 why.text);
		return 0;
	}
	if (!array_grow(list, *count, sizeof(**list)))
		return -ENOMEM;
	(*list)[(*count)++] = baseline;
	return 0;
}

static int compare_saved(const void *a, const void *b)
{
	const struct baseline *x = a, *y = b;

	return compare_u64((uint64_t)x->saved_ns, (uint64_t)y->saved_ns)
		       ?: strcmp(x->name, y->name);
}

int baselines_list(const char *state_dir, struct baseline **ret, size_t *ret_count, struct diag *d)
{
	struct baseline *list __cleanup(freep) = NULL;
	char folder[PATH_MAX];
	struct dirent *file;
	size_t count = 0;
	int err = 0;
	DIR *dir;

	snprintf(folder, sizeof(folder), FOLDER, state_dir);
	dir = opendir(folder);
	if (!dir && errno != ENOENT)
		return diag_set(d, DIAG_FAILED, errno, "cannot list the baselines in %.200s: %s",
				state_dir, strerror(errno));
	while (dir && !err && (file = readdir(dir)))
		err = list_add(state_dir, file->d_name, &list, &count);
	if (dir)
		closedir(dir);
	if (err)
		return diag_oom(d);
	if (count)
		qsort(list, count, sizeof(*list), compare_saved);
	*ret = steal_ptr(&list);
	*ret_count = count;
	return 0;
}
