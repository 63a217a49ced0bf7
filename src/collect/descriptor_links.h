/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads from /proc what a descriptor is, for a struct descriptor_source. The answer holds for the
 * moment of reading, and for the process that has the pid then.
 */
#pragma once

#include <sys/types.h>

#include "base/mem.h"

/* /proc/PID/fd/FD, or /proc/PID/cwd if fd is AT_FDCWD; with a NUL. The length or -errno; -ESRCH: it is gone. */
ssize_t descriptor_link_read(void *context, uint32_t pid, int fd, char *buf, size_t size);

/* The inode that it is open on. 0 or -errno. */
int descriptor_inode_read(void *context, uint32_t pid, int fd, uint64_t *ret);

/* "TCP 127.0.0.1:80->127.0.0.1:4711", as far as the kernel tells; see sockets.c. */
ssize_t socket_describe(void *context, uint32_t pid, int fd, uint64_t inode, char *buf,
			size_t size);

/* Whether a process is in our own pid namespace. */
bool process_sees_our_pids(void *context, uint32_t pid);

/* Whether who has a pid now had it at a moment (CLOCK_MONOTONIC), up to a hundredth of a second. */
bool process_is_so_old(uint32_t pid, uint64_t mono_ns);
