// SPDX-License-Identifier: BSD-2-Clause
/*
 * A process with a thread that the kernel made for its io_uring: that thread polls for work and
 * never makes a call. Says "none" where there is no io_uring.
 */
#include <linux/io_uring.h>

#include "table.h"

int main(int argc, char **argv)
{
	struct io_uring_params params = { .flags = IORING_SETUP_SQPOLL, .sq_thread_idle = 60000 };
	bool wait = table_init(&argc, &argv);

	if (raw_call(SYS_io_uring_setup, 4, &params) < 0)
		return table_refuse();
	if (wait)
		table_barrier();
	repeat_call(31, SYS_getppid, 0);
	table_finish(0);
}
