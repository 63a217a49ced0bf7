/* SPDX-License-Identifier: BSD-2-Clause */
/* Starts the client that writes a file, gives that its name, and removes old ones. */
#include "daemon/saves.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/text.h"
#include "daemon/log.h"
#include "store/history.h"

#define FOLDER   "recorder"
#define NEW_NAME ".new"
#define SUFFIX   ".txt"

/*
 * The shortest time between two files: writing one takes work, and any user can make a call fail.
 */
#define PAUSE_NS (10 * NS_PER_SEC)

#define SAVE_SECONDS 60
#define SAVE_NICE    10

void saves_init(struct saves *saves, const char *state_dir, const char *socket)
{
	*saves = (struct saves){ .state_dir = state_dir, .socket = socket, .child = NO_CHILD };
}

void saves_done(struct saves *saves)
{
	child_done(&saves->child);
}

bool saves_are_idle(const struct saves *saves, uint64_t now_ns)
{
	return !saves->child.pid && now_ns >= saves->pause_ns;
}

/* Makes it if need be; -1 if it cannot be used, which is said. */
static int folder_open(const struct saves *saves)
{
	int state __cleanup(closep) = -1, folder;
	struct diag d;

	if (history_make_place(saves->state_dir, &d)) {
		log_line(LOG_ERR, "recorded calls cannot be saved: %s", d.text);
		return -1;
	}
	state = open(saves->state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (state >= 0)
		mkdirat(state, FOLDER, 0700);
	folder = openat(state, FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0)
		log_line(LOG_ERR, "recorded calls cannot be saved: cannot open %s/" FOLDER ": %s",
			 saves->state_dir, strerror(errno));
	return folder;
}

static void save_failed(struct saves *saves, const char *why)
{
	saves->failed++;
	log_line(LOG_ERR, "recorded calls were not saved in %s/" FOLDER "/%s (%s): %s",
		 saves->state_dir, saves->name, saves->reason, why);
}

/* --- files ------------------------------------------------------------------------------------ */

struct save_file {
	char name[NAME_MAX + 1];
	uint64_t bytes;
};

static int save_compare(const void *a, const void *b)
{
	return strcmp(((const struct save_file *)a)->name, ((const struct save_file *)b)->name);
}

static bool name_is_ours(const char *name)
{
	size_t length = strlen(name), suffix = strlen(SUFFIX);

	return *name != '.' && length > suffix && !strcmp(name + length - suffix, SUFFIX);
}

/* Lists the saves, the oldest first: a name begins with a time. The list is to be freed. */
static size_t files_list(int folder, struct save_file **ret)
{
	DIR *dir = fdopendir(dup(folder));
	struct dirent *entry;
	struct stat found;
	size_t count = 0;

	*ret = NULL;
	if (dir)
		rewinddir(dir);
	while (dir && (entry = readdir(dir))) {
		if (!name_is_ours(entry->d_name) ||
		    fstatat(folder, entry->d_name, &found, AT_SYMLINK_NOFOLLOW) ||
		    !array_grow(ret, count, sizeof(**ret)))
			continue;
		strcpy((*ret)[count].name, entry->d_name);
		(*ret)[count++].bytes = (uint64_t)found.st_size;
	}
	if (dir)
		closedir(dir);
	if (count)
		qsort(*ret, count, sizeof(**ret), save_compare);
	return count;
}

/* The newest stays, which is no larger than all may be. */
static void files_limit(struct saves *saves, int folder, uint64_t max_bytes)
{
	struct save_file *files __cleanup(freep) = NULL;
	size_t count = files_list(folder, &files);
	uint64_t bytes = 0;

	for (size_t i = 0; i < count; i++)
		bytes += files[i].bytes;
	for (size_t i = 0; i + 1 < count && (bytes > max_bytes || count - i > MAX_SAVES); i++) {
		if (!unlinkat(folder, files[i].name, 0))
			saves->removed++;
		bytes -= files[i].bytes;
	}
}

/* --- the child -------------------------------------------------------------------------------- */

/* When memory runs out, what is recorded matters less than what counts. */
static void die_first(void)
{
	int fd __cleanup(closep) = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0 && write(fd, "1000", 4) < 0)
		return;
}

/* Becomes a client that writes to a file, what it says at the end, too. */
static void saver_child(const struct saves *saves, int file, uint64_t span_ns, uint64_t max_bytes)
{
	const struct rlimit limit = { max_bytes, max_bytes };
	char span[32],
		*argv[] = { "bpftruss", "recorder", "dump",      "--socket",  (char *)saves->socket,
			    "--since",  span,       "--threads", "--elapsed", NULL };
	char *environment[] = { NULL };

	snprintf(span, sizeof(span), "%" PRIu64 "ms", (uint64_t)(span_ns / NS_PER_MS) + 1);
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	die_first();
	setpriority(PRIO_PROCESS, 0, SAVE_NICE);
	setrlimit(RLIMIT_FSIZE, &limit);
	dup2(file, STDOUT_FILENO);
	dup2(file, STDERR_FILENO);
	child_become("/proc/self/exe", argv, environment);
	_exit(127);
}

/* 20261124T181107.250Z.txt */
static void saves_set_name(struct saves *saves)
{
	int64_t now_ns = clock_real_ns();
	time_t seconds = now_ns / (int64_t)NS_PER_SEC;
	struct tm utc;
	size_t length;

	gmtime_r(&seconds, &utc);
	length = strftime(saves->name, sizeof(saves->name), "%Y%m%dT%H%M%S", &utc);
	snprintf(saves->name + length, sizeof(saves->name) - length, ".%03dZ" SUFFIX,
		 (int)(now_ns / (int64_t)NS_PER_MS % 1000));
}

void saves_begin(struct saves *saves, uint64_t span_ns, uint64_t max_bytes, const char *reason)
{
	int folder __cleanup(closep) = folder_open(saves), file __cleanup(closep) = -1;
	pid_t pid;

	saves->pause_ns = clock_mono_ns() + PAUSE_NS;
	if (folder < 0) {
		saves->failed++;
		return;
	}
	saves_set_name(saves);
	snprintf(saves->reason, sizeof(saves->reason), "%s", reason);
	unlinkat(folder, NEW_NAME, 0);
	file = openat(folder, NEW_NAME, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
	pid = file < 0 ? -1 : fork();
	if (pid == 0)
		saver_child(saves, file, span_ns, max_bytes);
	if (pid < 0)
		save_failed(saves, strerror(errno));
	else if (child_adopt(&saves->child, pid, SAVE_SECONDS))
		child_stop(&saves->child);
}

/* Whether it has ended; one that takes too long is killed. */
static bool saver_has_ended(struct saves *saves)
{
	struct pollfd end = { .fd = saves->child.pidfd, .events = POLLIN };

	if (!child_timeout_ms(&saves->child))
		child_stop(&saves->child);
	return saves->child.is_stopped || poll(&end, 1, 0) > 0;
}

/* Holds the last line that the client printed, if any. */
static void last_line(int folder, char *buf, size_t size)
{
	int file __cleanup(closep) = openat(folder, NEW_NAME, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	off_t end = lseek(file, 0, SEEK_END),
	      from = end > (off_t)size - 1 ? end - (off_t)size + 1 : 0;
	ssize_t got = pread(file, buf, size - 1, from);
	char *line;

	buf[got > 0 ? got : 0] = 0;
	buf[strlen(buf) - (got > 0 && buf[got - 1] == '\n')] = 0;
	line = strrchr(buf, '\n');
	if (line)
		memmove(buf, line + 1, strlen(line));
}

/* Renames the file that the client has written, or removes it. */
static void save_finish(struct saves *saves, int folder, int status)
{
	char said[256];

	if (!status && renameat(folder, NEW_NAME, folder, saves->name))
		status = -errno;
	if (!status) {
		saves->written++;
		log_line(LOG_NOTICE, "recorded calls were saved in %s/" FOLDER "/%s (%s)",
			 saves->state_dir, saves->name, saves->reason);
		return;
	}
	last_line(folder, said, sizeof(said));
	unlinkat(folder, NEW_NAME, 0);
	save_failed(saves, status == -EPROTO      ? "its client was killed; larger than save-size?"
			   : status == -ETIMEDOUT ? "it took too long"
			   : status < 0           ? strerror(-status)
						  : said);
}

void saves_follow(struct saves *saves, uint64_t max_bytes)
{
	int folder __cleanup(closep) = -1, status;

	if (!saves->child.pid || !saver_has_ended(saves))
		return;
	status = child_reap(&saves->child);
	child_done(&saves->child);
	saves->pause_ns = clock_mono_ns() + PAUSE_NS;
	folder = folder_open(saves);
	if (folder < 0) {
		saves->failed++;
		return;
	}
	save_finish(saves, folder, status);
	files_limit(saves, folder, max_bytes);
}
