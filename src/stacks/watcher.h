/* SPDX-License-Identifier: BSD-2-Clause */
/* Waiting for many descriptors at once. */
#ifndef BPFTRUSS_WATCHER_H
#define BPFTRUSS_WATCHER_H

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/epoll.h>

#include "base/clock.h"

/* Until it is closed. 0 or -errno. */
static inline int watcher_add(int epoll, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

/* Whether a descriptor is readable now. */
static inline bool fd_is_ready(int fd)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };

	return poll(&pollfd, 1, 0) > 0;
}

/* Until a moment, as poll() takes it. */
static inline int until_ms(uint64_t ns)
{
	uint64_t now_ns = clock_mono_ns(), left_ms;

	if (ns == UINT64_MAX)
		return -1;
	left_ms = now_ns < ns ? (ns - now_ns) / NS_PER_MS + 1 : 0;
	return left_ms < 3600000 ? (int)left_ms : 3600000;
}

#endif
