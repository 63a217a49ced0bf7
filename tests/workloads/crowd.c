// SPDX-License-Identifier: BSD-2-Clause
/* crowd NUMBER: children that all exist at the same time, each with forty different calls. */
#include "table.h"

static char buf[1024];

/* Calls that do no harm; the last ten fail. */
static const struct {
	int nr;
	long a, b, c;
} calls[] = {
	{ SYS_getpid, 0, 0, 0 },
	{ SYS_getppid, 0, 0, 0 },
	{ SYS_getuid, 0, 0, 0 },
	{ SYS_getgid, 0, 0, 0 },
	{ SYS_geteuid, 0, 0, 0 },
	{ SYS_getegid, 0, 0, 0 },
	{ SYS_gettid, 0, 0, 0 },
	{ SYS_getpgid, 0, 0, 0 },
	{ SYS_getsid, 0, 0, 0 },
	{ SYS_getpriority, 0, 0, 0 },
	{ SYS_sched_yield, 0, 0, 0 },
	{ SYS_sched_getscheduler, 0, 0, 0 },
	{ SYS_sched_get_priority_max, 0, 0, 0 },
	{ SYS_sched_get_priority_min, 0, 0, 0 },
	{ SYS_getgroups, 0, 0, 0 },
	{ SYS_umask, 022, 0, 0 },
	{ SYS_uname, (long)buf, 0, 0 },
	{ SYS_sysinfo, (long)buf, 0, 0 },
	{ SYS_times, (long)buf, 0, 0 },
	{ SYS_gettimeofday, (long)buf, 0, 0 },
	{ SYS_getcwd, (long)buf, sizeof(buf), 0 },
	{ SYS_rt_sigpending, (long)buf, 8, 0 },
	{ SYS_getrusage, 0, (long)buf, 0 },
	{ SYS_getitimer, 0, (long)buf, 0 },
	{ SYS_clock_gettime, 0, (long)buf, 0 },
	{ SYS_clock_getres, 0, (long)buf, 0 },
	{ SYS_sigaltstack, 0, (long)buf, 0 },
	{ SYS_set_tid_address, (long)buf, 0, 0 },
	{ SYS_close, -1, 0, 0 },
	{ SYS_dup, -1, 0, 0 },
	{ SYS_fsync, -1, 0, 0 },
	{ SYS_fchdir, -1, 0, 0 },
	{ SYS_lseek, -1, 0, 0 },
	{ SYS_ftruncate, -1, 0, 0 },
	{ SYS_readv, -1, 0, 0 },
	{ SYS_writev, -1, 0, 0 },
	{ SYS_fcntl, -1, 0, 0 },
	{ SYS_ioctl, -1, 0, 0 },
};

#define NR_CALLS (int)(sizeof(calls) / sizeof(calls[0]))

/* Thirty-eight calls on no file, then one that waits for all others, and the exit. */
static void child(int start)
{
	char byte;

	for (int i = 0; i < NR_CALLS; i++)
		counted_call(calls[i].nr, calls[i].a, calls[i].b, calls[i].c);
	counted_call(SYS_read, start, &byte, 1);
	counted_exit(SYS_exit_group, 0);
}

int main(int argc, char **argv)
{
	int start[2], number;

	table_start(&argc, &argv);
	number = arg_number(argc, argv, 1, 10);
	counted_call(SYS_pipe2, start, 0);
	for (int i = 0; i < number; i++) {
		if (!counted_fork()) {
			/* One row a call, for all of them: which one it was does not matter. */
			table_pid = 0;
			raw_call(SYS_close, start[1]);
			table_add(SYS_close, 0, END_OK);
			child(start[0]);
		}
	}
	counted_call(SYS_close, start[1]);
	counted_waits(number);
	table_finish(0);
}
