// SPDX-License-Identifier: BSD-2-Clause
/*
 * flood WHAT SECONDS [MAKERS]: as much as goes, from one process for each CPU if not said otherwise.
 *
 *   calls   each process is pinned to its CPU, and counts in a register; one call in a thousand fails
 *   starts  of processes: a child shares its maker's memory, as after vfork, makes one call and ends
 */
#include "table.h"

#define BATCH 1000

static void flood_calls(uint64_t end)
{
	uint64_t batches = 0;

	for (; clock_ns(CLOCK_MONOTONIC) < end; batches++) {
		for (int i = 1; i < BATCH; i++)
			raw_call(SYS_getppid);
		raw_call(SYS_close, -1);
	}
	table_add_many(SYS_getppid, 0, END_OK, batches * (BATCH - 1));
	table_add_many(SYS_close, -EBADF, END_OK, batches);
}

static void flood_starts(uint64_t end)
{
	uint64_t made = 0;

	for (; clock_ns(CLOCK_MONOTONIC) < end; made++) {
		long pid = raw_call(SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD);

		/* The child is on its maker's stack: it must leave that as it is. */
		if (!pid) {
			raw_call(SYS_getppid);
			raw_call(SYS_exit_group, 0);
		}
		if (pid < 0 || raw_call(SYS_wait4, pid, 0, 0, 0) != pid)
			abort();
	}
	table_add_many(SYS_clone, 0, END_OK, made);
	table_add_many(SYS_wait4, 0, END_OK, made);
	/* The row is of any of the children. */
	table_pid = 0;
	table_add_many(SYS_getppid, 0, END_OK, made);
	table_add_many(SYS_exit_group, 0, END_NO_RETURN, made);
}

/* Takes the first of some CPUs. */
static cpu_set_t cpu_take(cpu_set_t *cpus)
{
	cpu_set_t first;
	int cpu = 0;

	while (cpu < CPU_SETSIZE - 1 && !CPU_ISSET(cpu, cpus))
		cpu++;
	CPU_CLR(cpu, cpus);
	CPU_ZERO(&first);
	CPU_SET(cpu, &first);
	return first;
}

int main(int argc, char **argv)
{
	int makers;
	cpu_set_t cpus;

	if (sched_getaffinity(0, sizeof(cpus), &cpus))
		return 1;
	table_start(&argc, &argv);
	makers = arg_number(argc, argv, 3, CPU_COUNT(&cpus));
	for (int i = 0; i < makers; i++) {
		uint64_t end = clock_ns(CLOCK_MONOTONIC) + atoi(argv[2]) * 1000000000ULL;
		cpu_set_t cpu = cpu_take(&cpus);

		if (counted_fork())
			continue;
		if (!strcmp(argv[1], "starts")) {
			flood_starts(end);
		} else {
			counted_call(SYS_sched_setaffinity, 0, sizeof(cpu), &cpu);
			flood_calls(end);
		}
		counted_exit(SYS_exit_group, 0);
	}
	counted_waits(makers);
	table_finish(0);
}
