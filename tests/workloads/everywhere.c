// SPDX-License-Identifier: BSD-2-Clause
/*
 * everywhere CALLS: a thread for each CPU, which exists before it says ready. In each of four
 * rounds all of them bind themselves to a CPU, see that they run there, and make CALLS good
 * calls and CALLS bad ones. In the third and the fourth that is their own CPU, so that in the
 * last one nobody comes from another. Then all sleep in read, the first thread too, which stays
 * on the first CPU, until the test writes another line. Then a child is made on each CPU and
 * does the same there. Nobody waits in user mode for what another CPU is to do, as an emulator
 * may have one processor for all of them: so it is the first thread alone that adds up.
 */
#include "table.h"

#define MAX_CPUS CPU_SETSIZE
#define ROUNDS   4

static struct thread threads[MAX_CPUS];
static int cpus[MAX_CPUS], nr_cpus;
/* A quick child would read from a pipe that is used twice what is for another. */
static int start_pipes[ROUNDS][2], done_pipe[2], end_pipe[2];
static int calls;

static void list_cpus(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set))
		abort();
	for (int i = 0; i < MAX_CPUS; i++) {
		if (CPU_ISSET(i, &set))
			cpus[nr_cpus++] = i;
	}
}

/* Two calls: there are no others in it. */
static bool move_to(int cpu)
{
	cpu_set_t set;
	unsigned int here;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return !raw_call(SYS_sched_setaffinity, 0, sizeof(set), &set) &&
	       !raw_call(SYS_getcpu, &here, NULL, NULL) && (int)here == cpu;
}

static bool call_on(int cpu)
{
	if (!move_to(cpu))
		return false;
	for (int i = 0; i < calls; i++) {
		raw_call(SYS_getppid);
		raw_call(SYS_close, -1);
	}
	return true;
}

static void add_calls_on(int visits)
{
	table_add_many(SYS_sched_setaffinity, 0, END_OK, visits);
	table_add_many(SYS_getcpu, 0, END_OK, visits);
	table_add_many(SYS_getppid, 0, END_OK, (uint64_t)visits * calls);
	table_add_many(SYS_close, -EBADF, END_OK, (uint64_t)visits * calls);
}

static int run(void *arg)
{
	const struct thread *self = arg;

	for (int round = 0; round < ROUNDS; round++) {
		int away = round < ROUNDS - 2 ? ROUNDS - 2 - round : 0;

		raw_wait(start_pipes[round][0]);
		if (!call_on(cpus[(self->index + away) % nr_cpus]))
			raw_call(SYS_exit_group, 1);
		raw_call(SYS_write, done_pipe[1], "", 1);
	}
	raw_wait(end_pipe[0]);
	raw_exit();
}

static void run_threads(void)
{
	char byte;

	for (int round = 0; round < ROUNDS; round++) {
		counted_call(SYS_write, start_pipes[round][1], threads, nr_cpus);
		for (int i = 0; i < nr_cpus; i++) {
			counted_call(SYS_read, done_pipe[0], &byte, 1);
			table_add(SYS_read, 1, round ? END_OK : END_UNTIMED);
			table_add(SYS_write, 1, END_OK);
		}
	}
	counted_line(END_OK);
	for (int i = 0; i < nr_cpus; i++)
		table_add(SYS_read, 1, END_OK);
	table_add_many(SYS_exit, 0, END_NO_RETURN, nr_cpus);
	add_calls_on(ROUNDS * nr_cpus);
}

static int run_child(int cpu)
{
	int parent = table_pid, child;

	if (!move_to(cpu))
		abort();
	table_add_many(SYS_sched_setaffinity, 0, END_OK, 1);
	table_add_many(SYS_getcpu, 0, END_OK, 1);
	child = counted_fork();
	if (!child)
		raw_call(SYS_exit_group, !call_on(cpu));
	table_pid = child;
	add_calls_on(1);
	table_add(SYS_exit_group, 0, END_NO_RETURN);
	table_pid = parent;
	return child;
}

static int run_children(void)
{
	static int children[MAX_CPUS];
	int status = 0;

	for (int i = 0; i < nr_cpus; i++)
		children[i] = run_child(cpus[i]);
	for (int i = 0; i < nr_cpus; i++)
		status |= counted_wait(children[i]);
	return status;
}

int main(int argc, char **argv)
{
	bool wait = table_init(&argc, &argv);
	int status;

	calls = arg_number(argc, argv, 1, 101);
	list_cpus();
	for (int i = 0; i < ROUNDS; i++) {
		if (pipe(start_pipes[i]))
			return 1;
	}
	if (!wait || pipe(done_pipe) || pipe(end_pipe) || !move_to(cpus[0]))
		return 1;
	threads_start(threads, nr_cpus, run);
	table_barrier();
	run_threads();
	status = run_children();
	counted_call(SYS_write, end_pipe[1], threads, nr_cpus);
	threads_join(threads, nr_cpus);
	table_finish(status ? 1 : 0);
}
