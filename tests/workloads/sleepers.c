// SPDX-License-Identifier: BSD-2-Clause
/*
 * Three threads that sleep for good, in nanosleep (two) and in read. The table is printed before:
 * the calls they sleep in are for the test to judge. "sleepers alone" is one thread in nanosleep.
 */
#include "table.h"

static struct thread threads[2];
static int never[2];

static int run_sleep(void *arg)
{
	raw_sleep_ns(1000 * 1000000000UL);
	return 0;
}

static int run_read(void *arg)
{
	raw_call(SYS_read, never[0], never, 1);
	return 0;
}

int main(int argc, char **argv)
{
	table_start(&argc, &argv);
	repeat_call(31, SYS_getppid, 0);
	if (argc < 2 || strcmp(argv[1], "alone")) {
		counted_call(SYS_pipe2, never, 0);
		thread_start(&threads[0], 0, run_sleep);
		thread_start(&threads[1], 1, run_read);
		table_add(SYS_clone, 1, END_OK);
		table_add(SYS_clone, 1, END_OK);
	}
	table_print();
	return run_sleep(NULL);
}
