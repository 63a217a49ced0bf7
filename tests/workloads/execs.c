// SPDX-License-Identifier: BSD-2-Clause
/*
 * execs HOW [stay]: runs itself again, from the leader ("leader"), from another thread while a third one
 * sleeps ("thread"), from a vfork child ("vfork"), or not at all because the file is missing
 * ("missing"). Each image prints its own table, the first one before it is replaced. With "stay" the
 * second one then sleeps in read until the test writes a line.
 */

#include "table.h"

static char *again[] = { "execs", "again", NULL, NULL };
static struct thread sleeper, caller;

static __attribute__((noreturn)) void exec_again(void)
{
	repeat_call(7, SYS_getppid, 0);
	table_add(SYS_execve, 0, END_OK);
	table_print();
	raw_call(SYS_execve, "/proc/self/exe", again, environ);
	abort();
}

static int run_sleeper(void *arg)
{
	raw_call(SYS_ppoll, 0, 0, 0, 0);
	return 0;
}

static int run_caller(void *arg)
{
	repeat_call(11, SYS_getuid, 0);
	exec_again();
}

/* The C library turns vfork() into this. */
#if defined(SYS_vfork)
#define VFORK_CALL SYS_vfork
#else
#define VFORK_CALL SYS_clone
#endif

/* The child borrows the parent's memory: what it enters in the table stays. */
static void exec_from_vfork(void)
{
	int parent = table_pid, pid, status;

	pid = vfork();
	if (!pid) {
		table_pid = 0;
		repeat_call(3, SYS_getppid, 0);
		table_add(SYS_execve, 0, END_OK);
		raw_call(SYS_execve, "/proc/self/exe", again, environ);
		abort();
	}
	table_pid = parent;
	table_add(VFORK_CALL, pid, END_OK);
	status = counted_wait(pid);
	table_finish(status ? 1 : 0);
}

static void exec_from_thread(void)
{
	thread_start(&sleeper, 0, run_sleeper);
	table_add(SYS_clone, 1, END_OK);
	/* The other thread's exec kills this one: the call ends, but not for its caller. */
	table_add(SYS_ppoll, 0, END_INTERRUPTED);
	thread_await_in(&sleeper, SYS_ppoll, true);
	/* Entered first: the caller prints the table, perhaps before this one goes on. */
	table_add(SYS_clone, 1, END_OK);
	thread_start(&caller, 1, run_caller);
	for (;;)
		;
}

WORKLOAD(argc, argv)
{
	const char *how = arg_text(argc, argv, 1);

	again[2] = argc > 2 ? argv[2] : NULL;
	if (!strcmp(how, "again")) {
		repeat_call(19, SYS_getppid, 0);
		if (argc > 2)
			counted_line(END_OK);
		table_finish(0);
	}
	if (!strcmp(how, "vfork"))
		exec_from_vfork();
	if (!strcmp(how, "thread"))
		exec_from_thread();
	if (!strcmp(how, "leader"))
		exec_again();
	for (int i = 0; i < 5; i++)
		counted_call(SYS_execve, "/nonexistent/bpftruss", again, environ);
}
