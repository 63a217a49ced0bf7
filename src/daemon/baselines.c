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
#include "report/report.h"
#include "store/history.h"

#define SUFFIX     ".json"
#define NEW_NAME   ".new" /* no valid name begins with a dot */
#define FILE_BYTES 128    /* of a name with its suffix */

/* What is larger could not be answered, or read back. */
#define MAX_FILE_BYTES (32 << 20)

/* What a list tells of a file, as long as that is the same file. */
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

/* Writes a file of any name in a folder, and waits until the disk has it. */
static int write_new(int folder, const struct snapshot *snapshot)
{
	int fd = openat(folder, NEW_NAME, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
			0600);
	FILE *file __cleanup(fclosep) = fd < 0 ? NULL : fdopen(fd, "w");
	int err;

	if (!file) {
		err = -errno;
		closep(&fd);
		return err;
	}
	err = report_json(snapshot, file);
	if (err)
		return err;
	if (fflush(file) || fsync(fd))
		return -errno;
	return ftello(file) > MAX_FILE_BYTES ? -EFBIG : 0;
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

	if (err)
		return err;
	if (!step_has_calls(step))
		return diag_set(d, DIAG_FAILED, ENODATA,
				"no call was counted in that time: choose another span");
	if (!replace && exists(baselines, file_of(name, file)))
		return diag_set(d, DIAG_FAILED, EEXIST,
				"a baseline \"%s\" exists: replace it with --replace, or choose "
				"another name",
				name);
	err = save(baselines, file_of(name, file), step->sum);
	if (err == -EFBIG)
		return diag_set(d, DIAG_FAILED, E2BIG,
				"too much for a baseline: choose a shorter span");
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
		return -EBADMSG;
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

/* Fills an entry, whose name is known, from its file; no file, no entry. */
static bool entry_fill(const struct baselines *baselines, int folder, const char *file,
		       struct baseline_entry *entry)
{
	struct snapshot *snapshot __cleanup(snapshot_freep) = NULL;
	const char *name = entry->baseline.name;
	const struct baseline_entry *listed;
	__cleanup(freep) char *text = NULL;
	struct stat status;
	struct diag why = { .text = "it is no file of a snapshot" };
	size_t size;

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
	entry->is_read =
		!read_text(folder, file, &text, &size) && !parse(text, size, &snapshot, &why);
	if (!entry->is_read) {
		log_line(LOG_WARNING, "the baseline \"%s\" cannot be read: %s", name, why.text);
		return true;
	}
	entry->baseline.start_ns = snapshot->start_ns;
	entry->baseline.end_ns = snapshot->end_ns;
	entry->baseline.covered_ns = snapshot->elapsed_ns;
	return true;
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
