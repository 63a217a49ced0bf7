// SPDX-License-Identifier: BSD-2-Clause
/*
 * awake WHERE: says ready and runs on until SIGUSR1, whose return is its next call: in user mode ("user"), in
 * a call that takes seconds of CPU time ("readv"), or first in a shorter one ("kernel").
 */
#include <sys/uio.h>

#include "table.h"

#define LONG_CALL_BYTES (256 << 20)
#define PART_BYTES      (8 << 20)
#define PARTS           255 /* of less than the 2 GiB that a call may move */

static char buf[LONG_CALL_BYTES];
static volatile int signalled;

static void on_signal(int signal)
{
	table_add(SYS_rt_sigreturn, 0, END_OK);
	signalled = 1;
}

int main(int argc, char **argv)
{
	int fd = open("/dev/urandom", O_RDONLY);
	struct iovec iov[PARTS];

	if (!table_init(&argc, &argv) || argc < 2)
		return 1;
	for (int i = 0; i < PARTS; i++)
		iov[i] = (struct iovec){ buf, PART_BYTES };
	signal_handle(SIGUSR1, on_signal);
	raw_call(SYS_write, STDOUT_FILENO, "ready\n", 6);
	if (!strcmp(argv[1], "kernel"))
		table_add(SYS_getrandom, raw_call(SYS_getrandom, buf, sizeof(buf), 0), END_UNTIMED);
	else if (!strcmp(argv[1], "readv"))
		table_add(SYS_readv, raw_call(SYS_readv, fd, iov, PARTS), END_UNTIMED);
	while (strcmp(argv[1], "readv") && !signalled)
		;
	repeat_call(31, SYS_getppid, 0);
	table_finish(0);
}
