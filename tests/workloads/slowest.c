// SPDX-License-Identifier: BSD-2-Clause
/*
 * slowest: prints no table, but a line with the thread that sleeps and the inode of a pipe. A thread sleeps a
 * hundred times for a millisecond, each time a little longer, and once in between for 300 ms and 17 ns. The
 * main thread reads twenty times at once, 1 to 20 bytes, and then waits as long for five bytes from the pipe,
 * of 77. It removes a file whose name is none. Then it leaves the pipe open for a second.
 */
#include <sys/stat.h>

#include "table.h"

#define SLEEPS  100
#define LONG_NS 300000000L

static struct thread sleeper, writer;
static int pipe_ends[2];
static long sleeper_tid;

/* This is not the call that is looked at. */
static void wait_ns(long ns)
{
	const struct timespec time = { ns / 1000000000, ns % 1000000000 };

	raw_call(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, (long)&time, 0);
}

static int run_sleeper(void *arg)
{
	sleeper_tid = raw_call(SYS_gettid);
	for (long i = 0; i < SLEEPS; i++) {
		raw_sleep_ns(1000000 + i);
		if (i == SLEEPS / 2)
			raw_sleep_ns(LONG_NS + 17);
	}
	return 0;
}

static int run_writer(void *arg)
{
	wait_ns(LONG_NS);
	raw_call(SYS_write, pipe_ends[1], (long)"hello", 5);
	return 0;
}

WORKLOAD(argc, argv)
{
	int zero = open("/dev/zero", O_RDONLY);
	struct stat st;
	char buf[128];

	raw_call(SYS_pipe2, (long)pipe_ends, 0);
	thread_start(&sleeper, 1, run_sleeper);
	thread_start(&writer, 2, run_writer);
	for (long i = 0; i < 20; i++)
		raw_call(SYS_read, zero, (long)buf, i + 1);
	raw_call(SYS_read, pipe_ends[0], (long)buf, 77);
	raw_call(SYS_unlinkat, AT_FDCWD, (long)"/no/such\n\033[31m\"name\377", 0);
	wait_ns(1000000000);
	thread_join(&sleeper);
	thread_join(&writer);
	fstat(pipe_ends[0], &st);
	printf("%ld %lu\n", sleeper_tid, (unsigned long)st.st_ino);
	fflush(stdout);
	raw_call(SYS_exit_group, 0);
}
