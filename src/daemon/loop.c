/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the epoll instance. */
#include "daemon/loop.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/mem.h"

int loop_open(struct loop *loop)
{
	loop->fd = epoll_create1(EPOLL_CLOEXEC);
	return loop->fd < 0 ? -errno : 0;
}

void loop_done(struct loop *loop)
{
	closep(&loop->fd);
	loop->fd = -1;
}

int loop_add(struct loop *loop, int fd, void (*ready)(void *closure), void *closure)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = (uint32_t)loop->nr_sources };

	if (loop->nr_sources == LOOP_MAX_SOURCES)
		return -ENOSPC;
	if (epoll_ctl(loop->fd, EPOLL_CTL_ADD, fd, &event))
		return -errno;
	loop->sources[loop->nr_sources++] = (struct loop_source){ fd, ready, closure };
	return 0;
}

int loop_replace(struct loop *loop, int old_fd, int new_fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	for (int i = 0; i < loop->nr_sources; i++) {
		if (loop->sources[i].fd != old_fd)
			continue;
		event.data.u32 = (uint32_t)i;
		epoll_ctl(loop->fd, EPOLL_CTL_DEL, old_fd, NULL);
		loop->sources[i].fd = new_fd;
		return epoll_ctl(loop->fd, EPOLL_CTL_ADD, new_fd, &event) ? -errno : 0;
	}
	return -ENOENT;
}

int loop_wait(struct loop *loop, int patience_ms)
{
	struct epoll_event events[LOOP_MAX_SOURCES];
	int count = epoll_wait(loop->fd, events, LOOP_MAX_SOURCES, patience_ms);

	if (count < 0)
		return errno == EINTR ? 0 : -errno;
	for (int i = 0; i < count; i++) {
		const struct loop_source *source = &loop->sources[events[i].data.u32];

		source->ready(source->closure);
	}
	return 0;
}
