// SPDX-License-Identifier: BSD-2-Clause
/*
 * lingers UID CALLS [HOW]: makes so many calls of getppid, becomes that user without an execve, makes
 * as many again, says "changed", and stays until the test writes another line.
 *
 *   fork     a child does it, as workers of servers do; the parent waits for it
 *   back     it first becomes the user by each other way, and root again
 *   thread   another thread of it becomes somebody, too, for itself
 */
#include "table.h"

#define SOMEBODY 65533

static struct thread other;

#define OLD_SETRESUID 208

static void change_and_return(int uid)
{
	raw_call(SYS_setresuid, -1, uid, 0);
	raw_call(SYS_setreuid, -1, 0);
	raw_call(SYS_setreuid, -1, uid);
	raw_call(SYS_setresuid, -1, 0, 0);
	raw_i386(OLD_SETRESUID, -1, uid, 0);
	raw_call(SYS_setuid, 0);
	raw_call(SYS_setresuid, 0, 0, 0);
}

static int run_other(void *arg)
{
	raw_call(SYS_setresuid, SOMEBODY, SOMEBODY, SOMEBODY);
	raw_exit();
}

WORKLOAD(argc, argv)
{
	const char *how = arg_text(argc, argv, 3);
	int uid = arg_number(argc, argv, 1, 0), calls = arg_number(argc, argv, 2, 10), child = 0;

	if (!strcmp(how, "fork"))
		child = counted_fork();
	if (child) {
		counted_wait(child);
		return;
	}
	if (!strcmp(how, "back"))
		change_and_return(uid);
	if (!strcmp(how, "thread")) {
		thread_start(&other, 0, run_other);
		thread_join(&other);
	}
	repeat_call(calls, SYS_getppid, 0);
	raw_call(SYS_setuid, uid);
	repeat_call(calls, SYS_getppid, 0);
	raw_call(SYS_write, STDOUT_FILENO, "changed\n", 8);
	counted_line(END_OK);
}
