// SPDX-License-Identifier: BSD-2-Clause
/*
 * starts SECONDS [MAKERS]: starts processes as fast as it can, from one process for each CPU if not
 * said otherwise. A child shares its maker's memory, as after vfork: it makes one call and ends.
 */
#include <sys/sysinfo.h>

#include "table.h"

static void make_children(int seconds)
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + seconds * 1000000000ULL, made = 0;

	for (; clock_ns(CLOCK_MONOTONIC) < end; made++) {
		long pid = raw_call(SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD);

		/* On its maker's stack: it must leave that as it is. */
		if (!pid) {
			raw_call(SYS_getppid);
			raw_call(SYS_exit_group, 0);
		}
		if (pid < 0 || raw_call(SYS_wait4, pid, 0, 0, 0) != pid)
			abort();
	}
	table_add_many(SYS_clone, 0, END_OK, made);
	table_add_many(SYS_wait4, 0, END_OK, made);
	/* Of the children, whichever. */
	table_pid = 0;
	table_add_many(SYS_getppid, 0, END_OK, made);
	table_add_many(SYS_exit_group, 0, END_NO_RETURN, made);
	counted_exit(SYS_exit_group, 0);
}

int main(int argc, char **argv)
{
	int seconds, makers = get_nprocs();

	table_start(&argc, &argv);
	seconds = arg_number(argc, argv, 1, 1);
	makers = arg_number(argc, argv, 2, makers);
	for (int i = 0; i < makers; i++) {
		if (!counted_fork())
			make_children(seconds);
	}
	counted_waits(makers);
	table_finish(0);
}
