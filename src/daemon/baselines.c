/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps baselines as files. A file appears under its name only when it is complete and on the disk,
 * so that a crash leaves the old one or the new one.
 */
#include "daemon/baselines.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/moment.h"
#include "base/process.h"
#include "base/text.h"
#include "json/json.h"
#include "report/report.h"
#include "store/history_options.h"

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

/* Room for the longest name of a file; what is no name of a baseline is none of a file either. */
struct file_name {
	char text[sizeof(((struct baseline *)NULL)->name) + sizeof(SUFFIX)];
};

static const char *file_of(const char *name, struct file_name *ret)
{
	if (!baseline_name_is_valid(name))
		return "";
	snprintf(ret->text, sizeof(ret->text), "%s" SUFFIX, name);
	return ret->text;
}

/* The folder of baselines, through no symbolic link; made if it is not there and is wanted. */
static int folder_open(const char *state_dir, bool make)
{
	int fd, state __cleanup(closep) =
			open(state_dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (state < 0)
		return -errno;
	if (make && mkdirat(state, HISTORY_BASELINES, 0700) && errno != EEXIST)
		return -errno;
	if (make && fsync(state))
		return -errno;
	fd = openat(state, HISTORY_BASELINES, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
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

struct new_file {
	int fd;
	size_t size;
	int err;
};

/* stdio takes 0 for an error. */
static ssize_t new_file_write(void *cookie, const char *bytes, size_t size)
{
	struct new_file *file = cookie;
	ssize_t written;

	if (file->size + size > MAX_FILE_BYTES) {
		file->err = -EFBIG;
		return 0;
	}
	written = write(file->fd, bytes, size);
	if (written < 0) {
		file->err = -errno;
		return 0;
	}
	file->size += (size_t)written;
	return written;
}

/* Writes the new file, and waits until the disk has it. */
static int snapshot_write(int folder, const struct snapshot *snapshot)
{
	int fd __cleanup(closep) = openat(
		folder, NEW_NAME, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	struct new_file file = { .fd = fd };
	FILE *out;
	int err;

	if (fd < 0)
		return -errno;
	out = fopencookie(&file, "w", (cookie_io_functions_t){ .write = new_file_write });
	if (!out)
		return -ENOMEM;
	err = report_json(snapshot, out);
	if (fclose(out) && !err)
		err = -EIO;
	err = file.err ?: err;
	return err ?: (fsync(fd) ? -errno : 0);
}

static int save(int folder, const char *file, const struct snapshot *snapshot)
{
	int err = snapshot_write(folder, snapshot);

	if (!err && !renameat(folder, NEW_NAME, folder, file))
		return fsync(folder) ? -errno : 0;
	err = err ?: -errno;
	unlinkat(folder, NEW_NAME, 0);
	return err;
}

int baselines_save(const char *state_dir, const char *name, const struct snapshot *snapshot,
		   bool replace, struct diag *d)
{
	struct baseline *list __cleanup(freep) = NULL;
	int folder __cleanup(closep) = -1, err = baseline_check_name(name, d);
	struct file_name file;
	size_t count, row = 0;
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
	folder = folder_open(state_dir, true);
	if (folder < 0)
		return explain(state_dir, "save", name, folder, d);
	is_there = !faccessat(folder, file_of(name, &file), F_OK, AT_SYMLINK_NOFOLLOW);
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
	err = save(folder, file.text, snapshot);
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
	int folder __cleanup(closep) = folder_open(state_dir, false), err = folder;
	struct file_name file;

	if (folder >= 0)
		err = regular_file_read(folder, file_of(name, &file), O_NOFOLLOW, MAX_FILE_BYTES,
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
	int folder __cleanup(closep) = folder_open(state_dir, false), err = folder;
	struct file_name file;

	if (folder >= 0)
		err = unlinkat(folder, file_of(name, &file), 0) || fsync(folder) ? -errno : 0;
	if (err == -ENOENT)
		return no_baseline(name, d);
	return err ? explain(state_dir, "remove", name, err, d) : 0;
}

/* Reads when a baseline was counted from the first bytes of its file. */
static int read_head(int folder, const char *file, struct baseline *ret)
{
	int fd __cleanup(closep) =
		openat(folder, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct json_document document __cleanup(json_close) = { 0 };
	char head[HEAD_BYTES + 1];
	ssize_t size = fd < 0 ? -1 : read(fd, head, HEAD_BYTES);
	struct json_place at;
	struct stat status;
	struct diag d;
	char *rest;

	if (size < 0 || fstat(fd, &status))
		return -errno;
	ret->saved_ns = status.st_mtim.tv_sec * (int64_t)NS_PER_SEC + status.st_mtim.tv_nsec;
	head[size] = 0;
	/* Quotes in a text have a backslash before them. */
	rest = strstr(head, ",\"targets\":");
	if (!rest)
		return -EINVAL;
	*rest = '}';
	at = json_open(&document, head, (size_t)(rest + 1 - head), &d);
	ret->start_ns = json_get_time(&at, "start");
	ret->end_ns = json_get_time(&at, "end");
	ret->covered_ns = json_get_number(&at, "elapsed_ns", 0, 0);
	return document.err;
}

/* Adds what is in a file, if that is a baseline. Returns 0 or -ENOMEM. */
static int list_add(int folder, const char *file, struct baseline **list, size_t *count)
{
	struct baseline baseline = { 0 };
	size_t length = strlen(file), suffix = strlen(SUFFIX);

	if (length <= suffix || length - suffix >= sizeof(baseline.name) ||
	    strcmp(file + length - suffix, SUFFIX))
		return 0;
	memcpy(baseline.name, file, length - suffix);
	if (!baseline_name_is_valid(baseline.name))
		return 0;
	baseline.is_damaged = read_head(folder, file, &baseline) != 0;
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
	int folder = folder_open(state_dir, false), err = 0;
	DIR *dir = folder < 0 ? NULL : fdopendir(folder);
	struct dirent *file;
	size_t count = 0;

	if (folder < 0 && folder != -ENOENT)
		return diag_set(d, DIAG_FAILED, -folder, "cannot list the baselines in %.200s: %s",
				state_dir, strerror(-folder));
	if (folder >= 0 && !dir) {
		close(folder);
		return diag_oom(d);
	}
	while (dir && !err && (file = readdir(dir)))
		err = list_add(folder, file->d_name, &list, &count);
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
