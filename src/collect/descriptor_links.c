/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads links of /proc/PID, and looks sockets up. */
#include "collect/descriptor_links.h"

#include "base/process.h"
#include "collect/call_facts.h"

static ssize_t link_read(void *context, uint32_t pid, int fd, char *buf, size_t size)
{
	char path[64];
	ssize_t got;

	(void)context;
	if (fd == DESCRIPTOR_CWD)
		snprintf(path, sizeof(path), "/proc/%u/cwd", pid);
	else
		snprintf(path, sizeof(path), "/proc/%u/fd/%d", pid, fd);
	got = readlink(path, buf, size);
	/* The link is not there either if the process is not. */
	if (got < 0 && errno == ENOENT && process_has_ended((pid_t)pid))
		return -ESRCH;
	if (got < 0)
		return -errno;
	return (size_t)got < size ? got : -ENAMETOOLONG;
}

static ssize_t socket_read(void *context, uint32_t pid, int fd, uint64_t inode, char *buf,
			   size_t size)
{
	int got = socket_describe(pid, fd, inode, buf, size);

	(void)context;
	return got < (int)size ? got : -ENAMETOOLONG;
}

/* A process in a namespace of its own gives other numbers to its children. */
static bool pids_are_ours(void *context, uint32_t pid)
{
	char path[64], ours[64], theirs[64];
	ssize_t length, other;

	(void)context;
	snprintf(path, sizeof(path), "/proc/%u/ns/pid", pid);
	length = readlink("/proc/self/ns/pid", ours, sizeof(ours));
	other = readlink(path, theirs, sizeof(theirs));
	return length > 0 && length == other && !memcmp(ours, theirs, (size_t)length);
}

const struct descriptor_source descriptor_links = {
	.read_link = link_read,
	.read_socket = socket_read,
	.sees_our_pids = pids_are_ours,
};
