/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps baselines as files. A file appears under its name only when it is complete and on the disk,
 * so that a crash leaves the old one or the new one.
 */
#include "daemon/baselines.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/moment.h"
#include "daemon/log.h"
#include "report/json_read.h"
#include "report/report.h"
#include "store/history.h"

#define SUFFIX     ".json"
#define NEW_NAME   ".new" /* no valid name begins with a dot */
#define FILE_BYTES 128    /* of a name with its suffix */

/* A larger file would take too long to write and to read while the daemon counts. */
#define MAX_FILE_BYTES (8 << 20)

#define MAX_FILES 100

/* A list reads these bytes of a file: where and when it was counted comes first. */
#define HEAD_BYTES 4096

/* An entry of the list, true as long as the file is the same. */
struct baseline_entry {
	struct baseline baseline;
	ino_t inode;
	bool is_read; /* else it could not be, and the log has said so */
};

void baselines_done(struct baselines *baselines)
{
	free(baselines->listed);
}

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
		return diag_set(d, DIAG_USAGE, EINVAL,
				"\"%.100s\" is no name for a baseline: it means a time to compare",
				name);
	if (baseline_name_is_valid(name))
		return 0;
	return diag_set(d, DIAG_USAGE, EINVAL,
			"\"%.100s\" is no name for a baseline: up to 64 letters, digits, '.', '-' "
			"and '_', and no '.' in front",
			name);
}

/* The directory of the files: a descriptor, or -errno; -ENOENT also means that there are none. */
static int folder_open(const struct baselines *baselines)
{
	int state __cleanup(closep) =
		open(baselines->state_dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int folder;

	if (state < 0)
		return -errno;
	folder = openat(state, HISTORY_BASELINES, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return folder < 0 ? -errno : folder;
}

static int folder_make(const struct baselines *baselines)
{
	int state __cleanup(closep) =
		open(baselines->state_dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (state < 0 || (mkdirat(state, HISTORY_BASELINES, 0700) && errno != EEXIST))
		return -errno;
	return fsync(state) ? -errno : folder_open(baselines);
}

static int explain(const struct baselines *baselines, const char *what, const char *name, int err,
		   struct diag *d)
{
	return diag_set(d, DIAG_FAILED, -err,
			"cannot %s the baseline \"%.64s\" in %.200s/" HISTORY_BASELINES ": %s",
			what, name, baselines->state_dir, strerror(-err));
}

static int no_baseline(const char *name, struct diag *d)
{
	return diag_set(d, DIAG_FAILED, ENOENT,
			"no baseline is called \"%.64s\": the verb baseline lists those there are",
			name);
}

/* The name of a file; what is no name of a baseline is no name of a file either. */
static const char *file_of(const char *name, char file[FILE_BYTES])
{
	if (!baseline_name_is_valid(name))
		return "";
	snprintf(file, FILE_BYTES, "%.64s" SUFFIX, name);
	return file;
}

static bool step_has_calls(const struct timeline_step *step)
{
	for (size_t i = 0; step->sum && i < step->sum->nr_rows; i++) {
		if (step->sum->rows[i]->calls)
			return true;
	}
	return false;
}

/* A file that is being written. */
struct output {
	int fd; /* owned */
	size_t size;
	int err; /* the first */
};

/* The callback of fopencookie(), which wants 0 for an error. */
static ssize_t output_write(void *closure, const char *bytes, size_t size)
{
	struct output *output = closure;
	size_t done = 0;
	ssize_t written;

	if (!output->err && size > MAX_FILE_BYTES - output->size)
		output->err = -EFBIG;
	while (!output->err && done < size) {
		written = write(output->fd, bytes + done, size - done);
		if (written < 0)
			output->err = -errno;
		else
			done += (size_t)written;
	}
	output->size += done;
	return output->err ? 0 : (ssize_t)size;
}

static void output_done(struct output *output)
{
	closep(&output->fd);
}

/* Writes the new file in a folder, as far as it may go, and waits until the disk has it. */
static int write_new(int folder, const struct snapshot *snapshot)
{
	static const cookie_io_functions_t functions = { .write = output_write };
	struct output output __cleanup(output_done) = {
		.fd = openat(folder, NEW_NAME,
			     O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600),
	};
	FILE *file = output.fd < 0 ? NULL : fopencookie(&output, "w", functions);
	int err;

	if (!file)
		return -errno;
	err = report_json(snapshot, file);
	if (fclose(file) && !err)
		err = -EIO;
	err = output.err ?: err;
	return err ?: fsync(output.fd) ? -errno : 0;
}

static int save(const struct baselines *baselines, const char *file,
		const struct snapshot *snapshot)
{
	int folder __cleanup(closep) = folder_make(baselines);
	int err;

	if (folder < 0)
		return folder;
	err = write_new(folder, snapshot);
	if (!err && renameat(folder, NEW_NAME, folder, file))
		err = -errno;
	if (err)
		unlinkat(folder, NEW_NAME, 0);
	return err ?: fsync(folder) ? -errno : 0;
}

/* The name that a file has as a baseline. */
static bool name_of(const char *file, char *name, size_t size)
{
	size_t length = strlen(file), suffix = strlen(SUFFIX);

	if (length <= suffix || length - suffix >= size || strcmp(file + length - suffix, SUFFIX))
		return false;
	memcpy(name, file, length - suffix);
	name[length - suffix] = 0;
	return baseline_name_is_valid(name);
}

/* How many there are. */
static size_t count_files(const struct baselines *baselines)
{
	int folder = folder_open(baselines);
	DIR *dir = folder < 0 ? NULL : fdopendir(folder);
	char name[FILE_BYTES];
	struct dirent *file;
	size_t count = 0;

	if (!dir) {
		closep(&folder);
		return 0;
	}
	while ((file = readdir(dir)))
		count += name_of(file->d_name, name, sizeof(name));
	closedir(dir);
	return count;
}

static bool exists(const struct baselines *baselines, const char *file)
{
	int folder __cleanup(closep) = folder_open(baselines);

	return folder >= 0 && !faccessat(folder, file, F_OK, AT_SYMLINK_NOFOLLOW);
}

int baselines_save(const struct baselines *baselines, const char *name,
		   const struct timeline_step *step, bool replace, struct diag *d)
{
	char file[FILE_BYTES];
	int err = baseline_check_name(name, d);
	bool is_there;

	if (err)
		return err;
	if (!step_has_calls(step))
		return diag_set(d, DIAG_FAILED, ENODATA,
				"no call was counted in that time: choose another span");
	is_there = exists(baselines, file_of(name, file));
	if (!is_there && count_files(baselines) >= MAX_FILES)
		return diag_set(d, DIAG_FAILED, E2BIG,
				"%d baselines are kept, and no more: remove one with baseline rm",
				MAX_FILES);
	if (!replace && is_there)
		return diag_set(d, DIAG_FAILED, EEXIST,
				"a baseline \"%s\" exists: replace it with --replace, or choose "
				"another name",
				name);
	err = save(baselines, file, step->sum);
	if (err == -EFBIG)
		return diag_set(
			d, DIAG_FAILED, E2BIG,
			"too much for a baseline: choose a shorter span, or fewer processes "
			"(PUT with name=, user=, unit= or cgroup=)");
	return err ? explain(baselines, "save", name, err, d) : 0;
}

static int no_snapshot(const char *name, const char *why, struct diag *d)
{
	return diag_set(d, DIAG_FAILED, EBADMSG,
			"the baseline \"%.64s\" cannot be read: save it again: %.300s", name, why);
}

/* The text of a file in a folder. 0 or -errno, -EBADMSG for what is no file of a snapshot. */
static int read_text(int folder, const char *file, char **ret_text, size_t *ret_size)
{
	int fd __cleanup(closep) =
		openat(folder, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	__cleanup(freep) char *text = NULL;
	struct stat status;
	size_t size = 0;
	ssize_t got;

	if (fd < 0 || fstat(fd, &status))
		return -errno;
	if (!S_ISREG(status.st_mode) || status.st_size > MAX_FILE_BYTES)
		return S_ISREG(status.st_mode) ? -EFBIG : -EBADMSG;
	text = malloc((size_t)status.st_size + 1);
	if (!text)
		return -ENOMEM;
	while (size < (size_t)status.st_size) {
		got = read(fd, text + size, (size_t)status.st_size - size);
		if (got <= 0)
			return got ? -errno : -EBADMSG;
		size += (size_t)got;
	}
	*ret_text = steal_ptr(&text);
	*ret_size = size;
	return 0;
}

/* Stacks are in no history, and so in no baseline. */
static int parse(const char *text, size_t size, struct snapshot **ret, struct diag *d)
{
	struct stack_table *stacks __cleanup(stack_table_freep) = NULL;
	struct snapshot *snapshot __cleanup(snapshot_freep) = NULL;
	int err = report_json_read(text, size, &snapshot, &stacks, d);

	if (err)
		return err;
	if (stacks)
		return diag_set(d, DIAG_FAILED, EINVAL, "it has call stacks");
	*ret = steal_ptr(&snapshot);
	return 0;
}

int baselines_read(const struct baselines *baselines, const char *name, char **ret_text,
		   size_t *ret_size, struct diag *d)
{
	int folder __cleanup(closep) = folder_open(baselines);
	char file[FILE_BYTES];
	int err = folder;

	if (folder >= 0)
		err = read_text(folder, file_of(name, file), ret_text, ret_size);
	if (err == -ENOENT)
		return no_baseline(name, d);
	if (err == -EBADMSG)
		return no_snapshot(name, "it is no file of a snapshot", d);
	if (err == -EFBIG)
		return diag_set(
			d, DIAG_FAILED, EFBIG,
			"the baseline \"%.64s\" has more than %d MiB: remove it, and save a "
			"shorter span, or fewer processes",
			name, MAX_FILE_BYTES >> 20);
	return err ? explain(baselines, "read", name, err, d) : 0;
}

int baselines_load(const struct baselines *baselines, const char *name, struct snapshot **ret,
		   struct diag *d)
{
	__cleanup(freep) char *text = NULL;
	struct diag why;
	size_t size;
	int err = baselines_read(baselines, name, &text, &size, d);

	if (err)
		return err;
	err = parse(text, size, ret, &why);
	return err ? no_snapshot(name, why.text, d) : 0;
}

int baselines_remove(const struct baselines *baselines, const char *name, struct diag *d)
{
	int folder __cleanup(closep) = folder_open(baselines);
	char file[FILE_BYTES];
	int err = folder < 0 ? folder : 0;

	if (!err && unlinkat(folder, file_of(name, file), 0))
		err = -errno;
	if (err == -ENOENT)
		return no_baseline(name, d);
	if (!err && fsync(folder))
		err = -errno;
	return err ? explain(baselines, "remove", name, err, d) : 0;
}

/* A file that was listed before, and is the same still; NULL: it is to be read. */
static const struct baseline_entry *find_listed(const struct baselines *baselines,
						const struct baseline_entry *entry)
{
	for (size_t i = 0; i < baselines->nr_listed; i++) {
		const struct baseline_entry *listed = &baselines->listed[i];

		if (listed->inode == entry->inode &&
		    listed->baseline.saved_ns == entry->baseline.saved_ns &&
		    !strcmp(listed->baseline.name, entry->baseline.name))
			return listed;
	}
	return NULL;
}

/* Reads when a baseline was counted from the first bytes of its file. 0, or -errno with d filled. */
static int read_head(int folder, const char *file, struct baseline *ret, struct diag *d)
{
	int fd __cleanup(closep) =
		openat(folder, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct json_document document __cleanup(json_close) = { 0 };
	char head[HEAD_BYTES + 1];
	ssize_t size = fd < 0 ? -1 : read(fd, head, HEAD_BYTES);
	struct json_place at;
	char *rest;

	if (size < 0)
		return diag_set(d, DIAG_FAILED, errno, "%s", strerror(errno));
	head[size] = 0;
	/* In a text, quotes have a backslash in front. */
	rest = strstr(head, ",\"targets\":");
	if (!rest)
		return diag_set(d, DIAG_FAILED, EINVAL, "it is no file of a snapshot");
	*rest = '}';
	at = json_open(&document, head, (size_t)(rest + 1 - head), d);
	ret->start_ns = json_get_time(&at, "start");
	ret->end_ns = json_get_time(&at, "end");
	ret->covered_ns = json_get_number(&at, "elapsed_ns", 0, 0);
	return document.err;
}

/* Fills an entry, whose name is known, from its file; no file, no entry. */
static bool entry_fill(const struct baselines *baselines, int folder, const char *file,
		       struct baseline_entry *entry)
{
	const struct baseline_entry *listed;
	struct stat status;
	struct diag why = { 0 };

	if (fstatat(folder, file, &status, AT_SYMLINK_NOFOLLOW))
		return false;
	entry->inode = status.st_ino;
	entry->baseline.saved_ns =
		status.st_mtim.tv_sec * (int64_t)NS_PER_SEC + status.st_mtim.tv_nsec;
	listed = find_listed(baselines, entry);
	if (listed) {
		*entry = *listed;
		return true;
	}
	entry->is_read = !read_head(folder, file, &entry->baseline, &why);
	if (!entry->is_read)
		log_line(LOG_WARNING, "the baseline \"%s\" cannot be read: %s",
			 entry->baseline.name, why.text);
	return true;
}

/* Reads all files in a folder again that are not the same as before. Closes the folder. */
static int list_again(struct baselines *baselines, int folder)
{
	struct baseline_entry *entries __cleanup(freep) = NULL, *grown;
	DIR *dir = fdopendir(folder);
	struct dirent *file;
	size_t count = 0;

	if (!dir) {
		closep(&folder);
		return -ENOMEM;
	}
	while ((file = readdir(dir))) {
		struct baseline_entry entry = { 0 };

		if (!name_of(file->d_name, entry.baseline.name, sizeof(entry.baseline.name)) ||
		    !entry_fill(baselines, folder, file->d_name, &entry))
			continue;
		grown = reallocarray(entries, count + 1, sizeof(*grown));
		if (!grown) {
			closedir(dir);
			return -ENOMEM;
		}
		entries = grown;
		entries[count++] = entry;
	}
	closedir(dir);
	free(baselines->listed);
	baselines->listed = steal_ptr(&entries);
	baselines->nr_listed = count;
	return 0;
}

static int compare_saved(const void *a, const void *b)
{
	const struct baseline *x = a, *y = b;
	int order = (x->saved_ns > y->saved_ns) - (x->saved_ns < y->saved_ns);

	return order ?: strcmp(x->name, y->name);
}

int baselines_list(struct baselines *baselines, struct baseline **ret, size_t *ret_count,
		   struct diag *d)
{
	int folder = folder_open(baselines);
	int err = folder < 0 ? folder : list_again(baselines, folder);
	struct baseline *list;
	size_t count = 0;

	if (err && err != -ENOENT)
		return diag_set(d, DIAG_FAILED, -err,
				"cannot list the baselines in %.200s/" HISTORY_BASELINES ": %s",
				baselines->state_dir, strerror(-err));
	list = calloc(baselines->nr_listed + 1, sizeof(*list));
	if (!list)
		return diag_oom(d);
	for (size_t i = 0; !err && i < baselines->nr_listed; i++) {
		if (baselines->listed[i].is_read)
			list[count++] = baselines->listed[i].baseline;
	}
	qsort(list, count, sizeof(*list), compare_saved);
	*ret = list;
	*ret_count = count;
	return 0;
}
