// SPDX-License-Identifier: BSD-2-Clause
/*
 * naps THREADS ROUNDS: threads that sleep in read. In each round, of 60 ms, every seventh of them wakes
 * up, makes some calls and sleeps again; in the last one all do, and end.
 */
#include "table.h"

#define MAX_THREADS 256
#define GROUPS      7

static struct thread threads[MAX_THREADS];
static int wake_up[MAX_THREADS][2];

static int run(void *arg)
{
	const struct thread *thread = arg;
	char byte = 0;

	while (byte != 'e') {
		counted_call(SYS_read, wake_up[thread->index][0], &byte, 1);
		repeat_call(1 + thread->index % 5, SYS_sched_yield, 0);
		repeat_call(1, SYS_close, -1);
	}
	counted_exit(SYS_exit, 0);
}

int main(int argc, char **argv)
{
	const struct timespec pause = { .tv_nsec = 60000000 };
	bool wait = table_init(&argc, &argv);
	int number = arg_number(argc, argv, 1, 7), rounds = arg_number(argc, argv, 2, 7);

	if (!wait || number > MAX_THREADS)
		return 1;
	for (int i = 0; i < number; i++) {
		if (pipe(wake_up[i]))
			return 1;
	}
	table_barrier();
	counted_threads(threads, 0, number, run);
	for (int round = 0; round < rounds; round++) {
		counted_call(SYS_nanosleep, &pause, NULL);
		for (int i = round % GROUPS; i < number; i += GROUPS)
			counted_call(SYS_write, wake_up[i][1], "w", 1);
	}
	for (int i = 0; i < number; i++)
		counted_call(SYS_write, wake_up[i][1], "e", 1);
	threads_join(threads, number);
	table_finish(0);
}
