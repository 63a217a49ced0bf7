// SPDX-License-Identifier: BSD-2-Clause
/* Plain calls of one thread: prime numbers of successes and of errors, and known bytes. */
#include <fcntl.h>
#include <sys/uio.h>

#include "table.h"

#define BAD_FD -1

int main(int argc, char **argv)
{
	static char buf[4096];
	struct iovec part = { buf, 211 };
	int pipe_fds[2];

	table_start(&argc, &argv);
	repeat_call(1009, SYS_getppid, 0);
	repeat_call(101, SYS_getuid, 0);
	repeat_call(13, SYS_close, BAD_FD);
	for (int i = 0; i < 7; i++)
		counted_call(SYS_openat, AT_FDCWD, "/nonexistent/bpftruss", O_RDONLY);
	for (int i = 0; i < 5; i++)
		counted_call(SYS_openat, AT_FDCWD, "/dev/null/below", O_RDONLY);
	counted_call(SYS_pipe2, pipe_fds, 0);
	for (int i = 0; i < 17; i++) {
		counted_call(SYS_write, pipe_fds[1], buf, 3 + i);
		counted_call(SYS_read, pipe_fds[0], buf, sizeof(buf));
	}
	for (int i = 0; i < 3; i++)
		counted_call(SYS_read, BAD_FD, buf, sizeof(buf));
	counted_call(SYS_writev, pipe_fds[1], &part, 1);
	counted_call(SYS_readv, pipe_fds[0], &part, 1);
	counted_call(SYS_close, pipe_fds[0]);
	counted_call(SYS_close, pipe_fds[1]);
	table_finish(0);
}
