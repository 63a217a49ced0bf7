// SPDX-License-Identifier: BSD-2-Clause
/* crowd NUMBER: children that all exist at the same time, each with forty different calls. */
#include "table.h"

static char buf[1024];

/* Calls that do no harm: with arguments of 0; with a buffer first, or second; that fail. */
static const int plain[] = {
	SYS_getpid, SYS_getppid, SYS_getuid, SYS_getgid,      SYS_geteuid,   SYS_getegid,
	SYS_gettid, SYS_getpgid, SYS_getsid, SYS_getpriority, SYS_getgroups, SYS_umask,
};
static const int plain_too[] = {
	SYS_sched_yield,
	SYS_sched_getscheduler,
	SYS_sched_get_priority_max,
	SYS_sched_get_priority_min,
};
static const int filling[] = {
	SYS_uname, SYS_sysinfo, SYS_times, SYS_gettimeofday, SYS_set_tid_address,
};
static const int filling_second[] = {
	SYS_getrusage, SYS_getitimer, SYS_clock_gettime, SYS_clock_getres, SYS_sigaltstack,
};
static const int failing[] = {
	SYS_close,     SYS_dup,   SYS_fsync,  SYS_fchdir, SYS_lseek,
	SYS_ftruncate, SYS_readv, SYS_writev, SYS_fcntl,  SYS_ioctl,
};

static void call_all(const int *calls, int count, long a, long b)
{
	for (int i = 0; i < count; i++)
		counted_call(calls[i], a, b, 0);
}

/* Thirty-eight calls on no file, then one that waits for all others, and the exit. */
static void child(int start)
{
	char byte;

	call_all(plain, COUNT(plain), 0, 0);
	call_all(plain_too, COUNT(plain_too), 0, 0);
	call_all(filling, COUNT(filling), (long)buf, 0);
	counted_call(SYS_getcwd, buf, sizeof(buf));
	counted_call(SYS_rt_sigpending, buf, 8);
	call_all(filling_second, COUNT(filling_second), 0, (long)buf);
	call_all(failing, COUNT(failing), -1, 0);
	counted_call(SYS_read, start, &byte, 1);
	counted_exit(SYS_exit_group, 0);
}

WORKLOAD(argc, argv)
{
	int start[2], number = arg_number(argc, argv, 1, 10);

	counted_call(SYS_pipe2, start, 0);
	for (int i = 0; i < number; i++) {
		if (!counted_fork()) {
			/* All share one row per call: which one it was does not matter. */
			table_pid = 0;
			raw_call(SYS_close, start[1]);
			table_add(SYS_close, 0, END_OK);
			child(start[0]);
		}
	}
	counted_call(SYS_close, start[1]);
	counted_waits(number);
}
