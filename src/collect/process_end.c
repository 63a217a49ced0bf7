/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the question whether a process has ended. */
#include "collect/process_end.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>

#include "base/mem.h"

bool process_has_ended(pid_t pid)
{
	int fd __cleanup(closep) = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	if (fd < 0)
		return errno == ESRCH;
	/* Readable once its last thread has ended, although it may be a zombie. */
	return poll(&poll_fd, 1, 0) == 1;
}

bool pid_is_free(pid_t pid)
{
	return kill(pid, 0) && errno == ESRCH;
}
