/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads links of /proc. Nothing is opened: a look leaves no trace in the process. */
#include "collect/descriptor_links.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/process.h"

ssize_t descriptor_link_read(__attribute__((unused)) void *context, uint32_t pid, int fd, char *buf,
			     size_t size)
{
	char path[64];
	ssize_t length;
	int err;

	if (fd == AT_FDCWD)
		snprintf(path, sizeof(path), "/proc/%u/cwd", pid);
	else
		snprintf(path, sizeof(path), "/proc/%u/fd/%d", pid, fd);
	length = readlink(path, buf, size - 1);
	if (length >= 0) {
		buf[length] = 0;
		return length;
	}
	err = errno;
	if (err != ENOENT)
		return -err;
	/* The process may have gone, or have ended, with its files. */
	snprintf(path, sizeof(path), "/proc/%u/exe", pid);
	return readlink(path, buf, 1) < 0 ? -ESRCH : -ENOENT;
}

int descriptor_inode_read(__attribute__((unused)) void *context, uint32_t pid, int fd,
			  uint64_t *ret)
{
	char path[64];
	struct stat st = { 0 };
	int err;

	snprintf(path, sizeof(path), "/proc/%u/fd/%d", pid, fd);
	err = file_status_known(AT_FDCWD, path, &st);
	*ret = st.st_ino;
	return err;
}

bool process_sees_our_pids(__attribute__((unused)) void *context, uint32_t pid)
{
	struct stat ours, theirs;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/ns/pid", pid);
	return !stat("/proc/self/ns/pid", &ours) && !stat(path, &theirs) &&
	       ours.st_ino == theirs.st_ino && ours.st_dev == theirs.st_dev;
}

bool process_is_so_old(uint32_t pid, uint64_t mono_ns)
{
	uint64_t tick_ns = NS_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK), ticks;
	FILE *file __cleanup(fclosep) = NULL;
	struct timespec boot;
	char path[64], line[1024];
	size_t length;
	const char *end;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	file = fopen(path, "re");
	length = file ? fread(line, 1, sizeof(line) - 1, file) : 0;
	line[length] = 0;
	/* A name may have blanks and parentheses. The start is the 20th number behind it. */
	end = strrchr(line, ')');
	if (!end || clock_gettime(CLOCK_BOOTTIME, &boot) ||
	    sscanf(end,
		   ") %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
		   "%*s %" SCNu64,
		   &ticks) != 1)
		return false;
	/* Since the host booted, with the time for which it was suspended. */
	mono_ns += (uint64_t)boot.tv_sec * NS_PER_SEC + (uint64_t)boot.tv_nsec - clock_mono_ns();
	return ticks * tick_ns <= mono_ns + tick_ns;
}
