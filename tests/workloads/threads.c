// SPDX-License-Identifier: BSD-2-Clause
/*
 * threads NUMBER CALLS: half of the threads exist before counting and sleep in read, half are
 * made after it. Each makes CALLS good calls and an eleventh of that bad ones.
 *
 * threads new: makes threads without a pause, some that end at once and some that stay, until the test
 * says go: whoever attaches must find each of them. Then every thread that stayed makes its calls.
 */
#include "table.h"

#define MAX_THREADS 400

static struct thread threads[MAX_THREADS], passing, maker;
static int start_pipe[2];
static int calls, nr_staying;
static volatile bool stop;

static __attribute__((noreturn)) void work(void)
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
}

static int run_late(void *arg)
{
	work();
}

static int run_passing(void *arg)
{
	raw_call(SYS_getuid);
	raw_exit();
}

static int run_maker(void *arg)
{
	while (!stop) {
		thread_start(&passing, 0, run_passing);
		thread_join(&passing);
		if (nr_staying < MAX_THREADS)
			thread_start(&threads[nr_staying++], 0, run_early);
		burn_us(50);
	}
	raw_exit();
}

static void make_new(void)
{
	calls = 101;
	thread_start(&maker, 0, run_maker);
	table_barrier();
	stop = true;
	thread_join(&maker);
	close(start_pipe[1]);
	threads_join(threads, nr_staying);
	table_finish(0);
}

int main(int argc, char **argv)
{
	bool wait = table_init(&argc, &argv);
	int number = arg_number(argc, argv, 1, 8), early = number / 2;

	calls = arg_number(argc, argv, 2, 1009);
	if (number > MAX_THREADS || !wait || pipe(start_pipe))
		return 1;
	if (argc > 1 && !strcmp(argv[1], "new"))
		make_new();
	threads_start(threads, early, run_early);
	table_barrier();
	counted_call(SYS_write, start_pipe[1], threads, early);
	counted_threads(threads + early, early, number - early, run_late);
	threads_join(threads, number);
	table_finish(0);
}
