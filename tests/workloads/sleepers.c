// SPDX-License-Identifier: BSD-2-Clause
/*
 * sleepers [WHAT NUMBER ROUNDS]: threads that sleep. If nothing is said, three sleep for good, two in
 * nanosleep and one in read. The table is printed before: the calls they sleep in are for the test to
 * judge.
 *
 *   alone   one of these, in nanosleep
 *   crew    NUMBER threads, of which the first makes one call and one bad one, the second two of each,
 *           and so on. Then all sleep in read, the first thread too, until the test writes a line
 *   naps    NUMBER threads sleep in read. In each round, of 60 ms, every seventh of them wakes up,
 *           makes some calls and sleeps again; in the last one all do, and end
 *   dozers  NUMBER threads sleep 50 ms in each round. The table is of all of them. Prints how long the
 *           kernel says that they had a CPU: {"run_ns"}
 */
#include "table.h"

#define MAX_THREADS 1000
#define GROUPS      7

static struct thread threads[MAX_THREADS];
static int pipes[MAX_THREADS][2];
static int number, rounds, done;
static uint64_t run_ns;

static int run_sleep(void *arg)
{
	raw_sleep_ns(1000 * 1000000000UL);
	return 0;
}

static int run_read(void *arg)
{
	raw_wait(pipes[0][0]);
	return 0;
}

static int sleep_for_good(bool alone)
{
	repeat_call(31, SYS_getppid, 0);
	if (!alone) {
		counted_threads(threads, 0, 1, run_sleep);
		counted_threads(threads + 1, 1, 1, run_read);
	}
	table_print();
	return run_sleep(NULL);
}

static int run_crew(void *arg)
{
	const struct thread *thread = arg;
	char byte;

	repeat_call(thread->index, SYS_sched_yield, 0);
	repeat_call(thread->index, SYS_close, -1);
	__atomic_add_fetch(&done, 1, __ATOMIC_RELEASE);
	counted_call(SYS_read, pipes[0][0], &byte, 1);
	counted_exit(SYS_exit, 0);
}

static void be_crew(void)
{
	counted_threads(threads, 1, number, run_crew);
	while (__atomic_load_n(&done, __ATOMIC_ACQUIRE) < number)
		;
	counted_line(END_OK);
	counted_call(SYS_write, pipes[0][1], threads, number);
}

static int run_nap(void *arg)
{
	const struct thread *thread = arg;
	char byte = 0;

	while (byte != 'e') {
		counted_call(SYS_read, pipes[thread->index][0], &byte, 1);
		repeat_call(1 + thread->index % 5, SYS_sched_yield, 0);
		repeat_call(1, SYS_close, -1);
	}
	counted_exit(SYS_exit, 0);
}

static void take_naps(void)
{
	counted_threads(threads, 0, number, run_nap);
	for (int round = 0; round < rounds; round++) {
		table_add(SYS_nanosleep, raw_sleep_ns(60000000), END_OK);
		for (int i = round % GROUPS; i < number; i += GROUPS)
			counted_call(SYS_write, pipes[i][1], "w", 1);
	}
	for (int i = 0; i < number; i++)
		counted_call(SYS_write, pipes[i][1], "e", 1);
}

/* The thread's own time, by the clock that schedstat has. */
static int run_doze(void *arg)
{
	struct timespec used;

	for (int i = 0; i < rounds; i++)
		raw_sleep_ns(50000000);
	raw_call(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &used);
	__atomic_fetch_add(&run_ns, used.tv_sec * 1000000000UL + used.tv_nsec, __ATOMIC_RELAXED);
	raw_exit();
}

static void doze(void)
{
	threads_start(threads, number, run_doze);
	/* thread_join() would keep a CPU busy. */
	for (int i = 0; i < number; i++) {
		while (__atomic_load_n(&threads[i].running, __ATOMIC_ACQUIRE))
			usleep(10000);
	}
	table_add_many(SYS_nanosleep, 0, END_OK, (uint64_t)number * rounds);
	printf("{\"run_ns\":%lu}\n", run_ns);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	bool wait = table_init(&argc, &argv);
	const char *what = arg_text(argc, argv, 1);

	number = arg_number(argc, argv, 2, 1);
	rounds = arg_number(argc, argv, 3, 1);
	for (int i = 0; i < number; i++) {
		if (number > MAX_THREADS || pipe(pipes[i]))
			return 1;
	}
	if (wait)
		table_barrier();
	if (!strcmp(what, "crew"))
		be_crew();
	else if (!strcmp(what, "naps"))
		take_naps();
	else if (!strcmp(what, "dozers"))
		doze();
	else
		return sleep_for_good(!strcmp(what, "alone"));
	threads_join(threads, number);
	table_finish(0);
}
