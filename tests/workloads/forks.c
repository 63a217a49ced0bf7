// SPDX-License-Identifier: BSD-2-Clause
/*
 * forks KIND NUMBER [HOW]: children made by fork, clone or clone3, one after the other; all at the
 * same time if HOW is "together"; from another thread than the first if it is "thread". The very
 * first thing that a child does is a call under test.
 */
#include <linux/sched.h>

#include "table.h"

static long make_child(const char *kind, int *nr)
{
	struct clone_args args = { .exit_signal = SIGCHLD };

	if (!strcmp(kind, "clone3"))
		return raw_call(*nr = SYS_clone3, &args, sizeof(args));
#ifdef SYS_fork
	if (!strcmp(kind, "fork"))
		return raw_call(*nr = SYS_fork);
#endif
	return raw_call(*nr = SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

/* Its calls come before the table is touched: no page fault or other delay in front of them. */
static void child(int index)
{
	raw_call(SYS_getppid);
	raw_call(SYS_close, -1);
	table_pid = 0;
	table_add(SYS_getppid, 1, END_OK);
	table_add(SYS_close, -EBADF, END_OK);
	if (index % 3 == 0)
		repeat_call(5, SYS_getuid, 0);
	counted_exit(SYS_exit_group, index % 64);
}

static const char *kind = "clone", *how;
static int number;
static struct thread maker;

static __attribute__((noreturn)) void make_children(void)
{
	bool together = !strcmp(how, "together");
	int nr = SYS_clone;
	long pid;

	for (int i = 0; i < number; i++) {
		pid = make_child(kind, &nr);
		if (!pid)
			child(i);
		table_add(nr, pid, END_OK);
		if (!together)
			counted_wait(pid);
	}
	counted_waits(together ? number : 0);
	table_finish(0);
}

static int run_maker(void *arg)
{
	make_children();
}

WORKLOAD(argc, argv)
{
	if (argc > 1)
		kind = argv[1];
	how = arg_text(argc, argv, 3);
	number = arg_number(argc, argv, 2, 7);
	if (strcmp(how, "thread"))
		make_children();
	table_add(SYS_clone, 1, END_OK);
	thread_start(&maker, 0, run_maker);
	for (;;)
		;
}
