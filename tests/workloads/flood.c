// SPDX-License-Identifier: BSD-2-Clause
/*
 * flood SECONDS: as many calls as go, on every CPU that it may use at the same time: a process is
 * pinned to each, and counts in a register. One call in a thousand fails.
 */
#include "table.h"

#define BATCH 1000

static void flood(int cpu, int seconds)
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + seconds * 1000000000ULL, batches = 0;
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	counted_call(SYS_sched_setaffinity, 0, sizeof(cpus), &cpus);
	for (; clock_ns(CLOCK_MONOTONIC) < end; batches++) {
		for (int i = 1; i < BATCH; i++)
			raw_call(SYS_getppid);
		raw_call(SYS_close, -1);
	}
	table_add_many(SYS_getppid, 0, END_OK, batches * (BATCH - 1));
	table_add_many(SYS_close, -EBADF, END_OK, batches);
	counted_exit(SYS_exit_group, 0);
}

int main(int argc, char **argv)
{
	int seconds, children = 0;
	cpu_set_t cpus;

	if (sched_getaffinity(0, sizeof(cpus), &cpus))
		return 1;
	table_start(&argc, &argv);
	seconds = arg_number(argc, argv, 1, 1);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &cpus))
			continue;
		if (!counted_fork())
			flood(cpu, seconds);
		children++;
	}
	counted_waits(children);
	table_finish(0);
}
