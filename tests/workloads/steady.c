// SPDX-License-Identifier: BSD-2-Clause
/*
 * steady ROUNDS CALLS: works for a while, at an even pace. Each round of two milliseconds makes
 * CALLS calls, a thread that lives for three rounds, and a child that lives for one.
 */
#include "table.h"

#define ALIVE 3

static struct thread threads[ALIVE];
static int calls;

static int run(void *arg)
{
	repeat_call(calls, SYS_getuid, 0);
	burn_us(100);
	repeat_call(3, SYS_close, -1);
	counted_exit(SYS_exit, 0);
}

static void round_of_work(struct thread *thread)
{
	int pid = counted_fork();

	if (!pid) {
		repeat_call(calls, SYS_getgid, 0);
		repeat_call(1, SYS_dup, -1);
		counted_exit(SYS_exit_group, 0);
	}
	thread_join(thread);
	table_add(SYS_clone, 1, END_OK);
	thread_start(thread, 0, run);
	repeat_call(calls, SYS_getppid, 0);
	repeat_call(5, SYS_close, -1);
	burn_us(2000);
	counted_wait(pid);
}

WORKLOAD(argc, argv)
{
	calls = arg_number(argc, argv, 2, 101);
	for (int i = arg_number(argc, argv, 1, 100); i > 0; i--)
		round_of_work(&threads[i % ALIVE]);
	threads_join(threads, ALIVE);
}
