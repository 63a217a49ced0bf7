// SPDX-License-Identifier: BSD-2-Clause
/*
 * contend CPU CALLS PREEMPTORS: the main thread makes CALLS calls on one CPU without a pause. That
 * many others, each at a higher real-time priority than the one before, take the CPU away from it
 * and from each other, make calls there and sleep. They wait for nobody who waits for them: each
 * keeps numbers of its own. Exits with 77 where nobody lets it have such a priority.
 */
#include "table.h"

#define MAX_PREEMPTORS 4
#define BURST          32

static struct thread threads[MAX_PREEMPTORS];
static uint64_t rounds[MAX_PREEMPTORS];
static volatile int over;

static int preempt(void *arg)
{
	const struct thread *self = arg;

	while (!over) {
		raw_calls(BURST, SYS_getuid);
		/* The threads are not in step with each other, nor with a tick. */
		raw_sleep_ns(700000 + 171000 * self->index);
		rounds[self->index]++;
	}
	raw_exit();
}

static void run_at(int policy, int priority)
{
	struct sched_param param = { .sched_priority = priority };

	if (counted_call(SYS_sched_setscheduler, 0, policy, &param))
		abort();
}

static bool may_preempt(int cpu)
{
	struct sched_param param = { .sched_priority = 1 }, none = { .sched_priority = 0 };
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	return !sched_setaffinity(0, sizeof(cpus), &cpus) &&
	       !sched_setscheduler(0, SCHED_FIFO, &param) &&
	       !sched_setscheduler(0, SCHED_OTHER, &none);
}

static void be_preempted(int calls, int number)
{
	for (int i = 0; i < number; i++) {
		/* Each is made with the priority that it is to have. */
		run_at(SCHED_FIFO, 10 + i);
		thread_start(&threads[i], i, preempt);
		table_add(SYS_clone, 1, END_OK);
	}
	run_at(SCHED_OTHER, 0);
	raw_calls(calls, SYS_getppid);
	over = 1;
	threads_join(threads, number);
	table_add_many(SYS_getppid, 0, END_OK, calls);
	for (int i = 0; i < number; i++) {
		table_add_many(SYS_getuid, 0, END_OK, rounds[i] * BURST);
		table_add_many(SYS_nanosleep, 0, END_OK, rounds[i]);
		table_add_many(SYS_exit, 0, END_NO_RETURN, 1);
	}
}

int main(int argc, char **argv)
{
	bool wait = table_init(&argc, &argv);
	int number = arg_number(argc, argv, 3, 1);

	if (number > MAX_PREEMPTORS || !wait)
		return 1;
	if (!may_preempt(arg_number(argc, argv, 1, 0)))
		return table_refuse();
	table_barrier();
	be_preempted(arg_number(argc, argv, 2, 100003), number);
	table_finish(0);
}
