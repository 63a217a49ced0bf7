// SPDX-License-Identifier: BSD-2-Clause
/*
 * crew NUMBER: threads of which the first makes one call and one bad one, the second two of each,
 * and so on. Then all sleep in read, the first thread too, until the test writes another line.
 */
#include "table.h"

#define MAX_THREADS 64

static struct thread threads[MAX_THREADS];
static int end_pipe[2], done;

static int run(void *arg)
{
	const struct thread *thread = arg;
	char byte;

	repeat_call(thread->index, SYS_sched_yield, 0);
	repeat_call(thread->index, SYS_close, -1);
	__atomic_add_fetch(&done, 1, __ATOMIC_RELEASE);
	counted_call(SYS_read, end_pipe[0], &byte, 1);
	counted_exit(SYS_exit, 0);
}

int main(int argc, char **argv)
{
	bool wait = table_init(&argc, &argv);
	int number = arg_number(argc, argv, 1, 7);

	if (!wait || number > MAX_THREADS || pipe(end_pipe))
		return 1;
	table_barrier();
	counted_threads(threads, 1, number, run);
	while (__atomic_load_n(&done, __ATOMIC_ACQUIRE) < number)
		;
	counted_line(END_OK);
	counted_call(SYS_write, end_pipe[1], threads, number);
	threads_join(threads, number);
	table_finish(0);
}
