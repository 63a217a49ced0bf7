// SPDX-License-Identifier: BSD-2-Clause
/*
 * Makes one call that takes seconds of CPU time, unless SIGUSR1 ends it: it is under way when the test
 * attaches.
 */
#include <fcntl.h>
#include <sys/uio.h>

#include "table.h"

#define PART_BYTES (8 << 20)
#define PARTS      255 /* of less than the 2 GiB that a call may move */

static char part[PART_BYTES];

static void on_signal(int signal)
{
	(void)signal;
	table_add(SYS_rt_sigreturn, 0, END_OK);
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct iovec iov[PARTS];
	int fd = open("/dev/urandom", O_RDONLY);

	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < PARTS; i++)
		iov[i] = (struct iovec){ part, sizeof(part) };
	if (table_init(&argc, &argv))
		raw_call(SYS_write, STDOUT_FILENO, "ready\n", 6);
	table_add(SYS_readv, raw_call(SYS_readv, fd, iov, PARTS), END_UNTIMED);
	table_finish(0);
}
