// SPDX-License-Identifier: BSD-2-Clause
/*
 * Makes threads without a pause, some that end at once and some that stay, until the test says go:
 * whoever attaches must find each of them. Then every thread that stayed makes its calls.
 */
#include "table.h"

#define MAX_STAYING 400
#define CALLS       101

static struct thread staying[MAX_STAYING], passing, maker;
static int nr_staying;
static int start_pipe[2];
static int stop;

static int run_staying(void *arg)
{
	raw_wait(start_pipe[0]);
	repeat_call(CALLS, SYS_getppid, 0);
	raw_exit();
}

static int run_passing(void *arg)
{
	raw_call(SYS_getuid);
	raw_exit();
}

static int run_maker(void *arg)
{
	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
		thread_start(&passing, 0, run_passing);
		thread_join(&passing);
		if (nr_staying < MAX_STAYING)
			thread_start(&staying[nr_staying++], 0, run_staying);
		burn_us(50);
	}
	raw_exit();
}

int main(int argc, char **argv)
{
	bool wait = table_init(&argc, &argv);

	if (!wait || pipe(start_pipe))
		return 1;
	thread_start(&maker, 0, run_maker);
	table_barrier();
	stop = 1;
	thread_join(&maker);
	close(start_pipe[1]);
	threads_join(staying, nr_staying);
	table_finish(0);
}
