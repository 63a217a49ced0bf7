// SPDX-License-Identifier: BSD-2-Clause
/*
 * threads NUMBER CALLS: half of the threads exist before counting and sleep in read, half are
 * made after it. Each makes CALLS good calls and an eleventh of that bad ones.
 */
#include "table.h"

#define MAX_THREADS 64

static struct thread threads[MAX_THREADS];
static int start_pipe[2];
static int calls;

static void work(void)
{
	repeat_call(calls, SYS_getppid, 0);
	repeat_call(calls / 11, SYS_close, -1);
	counted_exit(SYS_exit, 0);
}

static int run_early(void *arg)
{
	raw_wait(start_pipe[0]);
	table_add(SYS_read, 1, END_UNTIMED);
	work();
	return 0;
}

static int run_late(void *arg)
{
	work();
	return 0;
}

int main(int argc, char **argv)
{
	bool wait = table_init(&argc, &argv);
	int number = arg_number(argc, argv, 1, 8), early = number / 2;

	calls = arg_number(argc, argv, 2, 1009);
	if (number > MAX_THREADS || !wait || pipe(start_pipe))
		return 1;
	threads_start(threads, early, run_early);
	table_barrier();
	counted_call(SYS_write, start_pipe[1], threads, early);
	counted_threads(threads + early, early, number - early, run_late);
	threads_join(threads, number);
	table_finish(0);
}
