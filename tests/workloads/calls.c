// SPDX-License-Identifier: BSD-2-Clause
/*
 * calls [uring]: plain calls of one thread, prime numbers of successes and of errors, and known bytes.
 * With "uring" there is a thread that the kernel made for the io_uring of this process: that one polls
 * for work and never makes a call. Then it says "none" where there is no io_uring.
 */
#include <linux/io_uring.h>
#include <sys/uio.h>

#include "table.h"

#define BAD_FD -1

int main(int argc, char **argv)
{
	static char buf[4096];
	struct io_uring_params params = { .flags = IORING_SETUP_SQPOLL, .sq_thread_idle = 60000 };
	struct iovec part = { buf, 211 };
	bool wait = table_init(&argc, &argv);
	int pipe_fds[2];

	if (argc > 1 && raw_call(SYS_io_uring_setup, 4, &params) < 0)
		return table_refuse();
	if (wait)
		table_barrier();
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
