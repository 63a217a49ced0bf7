// SPDX-License-Identifier: BSD-2-Clause
/*
 * dozers THREADS ROUNDS: threads that sleep 50 ms again and again. The table is of all of them. Prints
 * how long the kernel says that they had a CPU: {"run_ns"}.
 */
#include "table.h"

#define MAX_THREADS 1000

static struct thread threads[MAX_THREADS];
static int rounds;
static uint64_t run_ns;

/* The thread's own, by the clock that schedstat has. */
static int run(void *arg)
{
	struct timespec used;

	for (int i = 0; i < rounds; i++)
		raw_sleep_ns(50000000);
	raw_call(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &used);
	__atomic_fetch_add(&run_ns, used.tv_sec * 1000000000UL + used.tv_nsec, __ATOMIC_RELAXED);
	raw_exit();
}

int main(int argc, char **argv)
{
	int number;

	table_start(&argc, &argv);
	number = arg_number(argc, argv, 1, 300);
	rounds = arg_number(argc, argv, 2, 40);
	if (number > MAX_THREADS)
		return 1;
	threads_start(threads, number, run);
	/* thread_join() would keep a CPU busy. */
	for (int i = 0; i < number; i++) {
		while (__atomic_load_n(&threads[i].running, __ATOMIC_ACQUIRE))
			usleep(10000);
	}
	table_add_many(SYS_nanosleep, 0, END_OK, (uint64_t)number * rounds);
	printf("{\"run_ns\":%lu}\n", run_ns);
	fflush(stdout);
	table_finish(0);
}
