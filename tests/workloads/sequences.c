// SPDX-License-Identifier: BSD-2-Clause
/*
 * sequences THREADS CALLS [MICROSECONDS]: each thread makes CALLS calls, whose arguments say whose they are and
 * the how manieth: lseek(100 + THREAD, NUMBER), write(200 + THREAD, …, NUMBER), which fails, and getppid,
 * which says nothing, in turn. With MICROSECONDS each makes a hundred calls in this time, and waits in user
 * mode for the next turn. Prints after its table how many turns it came to too late: {"late":3}.
 */
#include "table.h"

#define MAX_THREADS 16
#define TURN        100

static struct thread threads[MAX_THREADS];
static int calls, turn_us, late;
static char text[] = "sequence";

static void wait_for_turn(uint64_t start_ns, int number)
{
	uint64_t turn_ns = turn_us * 1000ULL, begin_ns = start_ns + number / TURN * turn_ns;

	if (clock_ns(CLOCK_MONOTONIC) > begin_ns + turn_ns)
		__atomic_fetch_add(&late, 1, __ATOMIC_RELAXED);
	while (clock_ns(CLOCK_MONOTONIC) < begin_ns)
		;
}

static int make_calls(void *closure)
{
	const struct thread *thread = closure;
	uint64_t start_ns = clock_ns(CLOCK_MONOTONIC);

	for (int i = 0; i < calls; i++) {
		if (turn_us && i % TURN == 0)
			wait_for_turn(start_ns, i);
		if (i % 3 == 0)
			raw_call(SYS_lseek, 100 + thread->index, i, SEEK_SET);
		else if (i % 3 == 1)
			raw_call(SYS_write, 200 + thread->index, text, i);
		else
			raw_call(SYS_getppid, 0);
	}
	table_add_many(SYS_lseek, 0, END_OK, (calls + 2) / 3);
	table_add_many(SYS_write, -EBADF, END_OK, (calls + 1) / 3);
	table_add_many(SYS_getppid, 1, END_OK, calls / 3);
	counted_exit(SYS_exit, 0);
}

int main(int argc, char **argv)
{
	bool wait = table_init(&argc, &argv);
	int number = arg_number(argc, argv, 1, 2), fd = memfd_create("sequences", 0);
	char line[64];

	calls = arg_number(argc, argv, 2, 1000);
	turn_us = arg_number(argc, argv, 3, 0);
	for (int i = 0; i < number; i++) {
		if (dup2(fd, 100 + i) < 0)
			return 1;
	}
	if (wait)
		table_barrier();
	counted_threads(threads, 0, number, make_calls);
	threads_join(threads, number);
	table_print();
	table_add(SYS_write, 0, END_OK);
	snprintf(line, sizeof(line), "{\"late\":%d}\n", late);
	raw_call(SYS_write, STDOUT_FILENO, line, strlen(line));
	for (;;)
		raw_call(SYS_exit_group, 0);
}
