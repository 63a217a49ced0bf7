/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the files of /proc/PID, where names may hold anything, asks whether a process has ended, and opens
 * foreign paths. No path is walked twice: what was looked at is what is opened.
 */
#include "base/process.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/openat2.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "base/clock.h"

int process_open(uint32_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u", pid);
	return open(path, O_PATH | O_CLOEXEC | O_DIRECTORY);
}

FILE *process_file(int process, const char *name)
{
	int fd = openat(process, name, O_RDONLY | O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

	if (fd >= 0 && !file)
		close(fd);
	return file;
}

bool process_call_read(int process, uint32_t tid, struct process_call *ret)
{
	FILE *file __cleanup(fclosep) = NULL;
	uint64_t *a = ret->arguments;
	char path[64];

	snprintf(path, sizeof(path), "task/%u/syscall", tid);
	file = process_file(process, path);
	return file && fscanf(file,
			      "%d %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64
			      " %" SCNx64 " %" SCNx64,
			      &ret->nr, &a[0], &a[1], &a[2], &a[3], &a[4], &a[5], &ret->sp) == 8;
}

#define STAT_STARTED     22 /* fields, as proc(5) counts them */
#define STAT_STACK_START 28

/* The numbers that stand behind the name. */
static bool stat_read(int process, uint64_t *started_ticks, uint64_t *stack_start)
{
	FILE *stat __cleanup(fclosep) = process_file(process, "stat");
	char text[1024], *field;
	size_t length = stat ? fread(text, 1, sizeof(text) - 1, stat) : 0;

	text[length] = 0;
	field = strrchr(text, ')');
	for (int number = 2; field && number < STAT_STACK_START; field = strchr(field + 1, ' ')) {
		if (number++ == STAT_STARTED)
			*started_ticks = strtoull(field, NULL, 10);
	}
	if (field)
		*stack_start = strtoull(field, NULL, 10);
	return field;
}

bool process_is(int process, const struct process_id *id)
{
	uint64_t tick_ns = NS_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t started_ticks = 0, stack_start = 0;

	return process >= 0 && stat_read(process, &started_ticks, &stack_start) &&
	       started_ticks == id->started_ns / tick_ns && stack_start == id->stack_start;
}

bool process_identify(int process, uint32_t pid, struct process_id *ret)
{
	uint64_t tick_ns = NS_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t started_ticks = 0, stack_start = 0;

	if (process < 0 || !stat_read(process, &started_ticks, &stack_start))
		return false;
	*ret = (struct process_id){
		.pid = pid,
		.started_ns = started_ticks * tick_ns,
		.stack_start = stack_start,
	};
	return true;
}

bool process_has_executed(int process, const struct process_id *id)
{
	uint64_t started_ticks = 0, stack_start = 0;

	return stat_read(process, &started_ticks, &stack_start) && stack_start &&
	       stack_start != id->stack_start;
}

bool process_is_of_our_users(int process)
{
	struct stat theirs, ours;

	return !fstatat(process, "ns/user", &theirs, 0) && !stat("/proc/self/ns/user", &ours) &&
	       theirs.st_ino == ours.st_ino;
}

bool process_status(int process, pid_t *ret_pid, uid_t *ret_user)
{
	FILE *status __cleanup(fclosep) = process_file(process, "status");
	int found = 0;
	char line[512];

	while (status && fgets(line, sizeof(line), status)) {
		line[strcspn(line, "\n")] = 0;
		found += sscanf(line, "Uid:\t%*u\t%u", ret_user) == 1;
		/* The last of them. */
		if (!strncmp(line, "NStgid:", 7)) {
			*ret_pid = atoi(strrchr(line, '\t') + 1);
			found++;
		}
	}
	return found == 2;
}

/* --- the lines of its maps -------------------------------------------------------------------- */

static bool line_parse(const char *line, struct code_mapping *ret)
{
	unsigned int major, minor;
	char write, exec;

	if (sscanf(line, "%lx-%lx %*c%c%c%*c %lx %x:%x %lu", &ret->start, &ret->end, &write, &exec,
		   &ret->offset, &major, &minor, &ret->ino) != 8)
		return false;
	ret->dev = major << 20 | minor;
	ret->exec = exec == 'x';
	ret->write = write == 'w';
	return true;
}

/* Leaves out what the kernel adds to the path of a file that is gone. */
static void name_parse(char *line, struct code_mapping_name *ret)
{
	static const char gone[] = " (deleted)";
	const char *slash = strrchr(line, '/');
	size_t length = slash ? strcspn(slash + 1, "\n") : 0;

	if (length > strlen(gone) &&
	    !strncmp(slash + 1 + length - strlen(gone), gone, strlen(gone)))
		length -= strlen(gone);
	if (length >= sizeof(ret->text))
		length = 0;
	if (length)
		memcpy(ret->text, slash + 1, length);
	ret->text[length] = 0;
}

bool process_maps_next(FILE *maps, struct code_mapping *ret, struct code_mapping_name *name)
{
	char *line __cleanup(freep) = NULL;
	size_t size = 0;

	while (getline(&line, &size, maps) >= 0) {
		if (!line_parse(line, ret))
			continue;
		if (name)
			name_parse(line, name);
		return true;
	}
	return false;
}

bool process_maps_find_own(uint64_t start, struct code_mapping *ret)
{
	FILE *maps __cleanup(fclosep) = fopen("/proc/self/maps", "re");

	while (maps && process_maps_next(maps, ret, NULL)) {
		if (ret->start == start)
			return true;
	}
	return false;
}

bool process_has_ended(pid_t pid)
{
	int fd __cleanup(closep) = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	if (fd < 0)
		return errno == ESRCH;
	/* Readable once its last thread has ended, although it may be a zombie. */
	return poll(&poll_fd, 1, 0) == 1;
}

bool thread_is_gone(pid_t pid, pid_t tid)
{
	return syscall(SYS_tgkill, pid, tid, 0) && errno == ESRCH;
}

bool pid_is_free(pid_t pid)
{
	return kill(pid, 0) && errno == ESRCH;
}

/* --- files at foreign paths ------------------------------------------------------------------- */

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

int file_status_known(int root_fd, const char *path, struct stat *status)
{
	struct statx known;

	if (statx(root_fd, path, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_TYPE | STATX_INO,
		  &known))
		return -errno;
	*status = (struct stat){
		.st_dev = makedev(known.stx_dev_major, known.stx_dev_minor),
		.st_ino = known.stx_ino,
		.st_mode = known.stx_mode,
	};
	return 0;
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

int regular_file_read(int root_fd, const char *path, int flags, uint64_t max_bytes, char **ret,
		      size_t *ret_size)
{
	/* Opening a FIFO would wait for whoever writes to it. */
	int fd __cleanup(closep) = openat(root_fd, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | flags);
	char *text __cleanup(freep) = NULL;
	struct stat status = { 0 };
	size_t size = 0;
	ssize_t got;
	int err = fd < 0 ? -errno : file_check(fd, max_bytes, &status);

	if (err)
		return err;
	text = malloc((size_t)status.st_size + 1);
	if (!text)
		return -ENOMEM;
	for (; size < (size_t)status.st_size; size += (size_t)got) {
		got = read(fd, text + size, (size_t)status.st_size - size);
		/* It has become shorter. */
		if (got <= 0)
			return got ? -errno : -EINVAL;
	}
	*ret = steal_ptr(&text);
	*ret_size = size;
	return 0;
}

/* A user who can put a file there by a mount of their own must not learn root's secrets. */
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

int process_become(const struct passwd *user)
{
	if (initgroups(user->pw_name, user->pw_gid) || setgid(user->pw_gid) ||
	    setuid(user->pw_uid) || setenv("HOME", user->pw_dir, 1) ||
	    setenv("USER", user->pw_name, 1) || setenv("LOGNAME", user->pw_name, 1))
		return errno;
	return 0;
}
