// SPDX-License-Identifier: BSD-2-Clause
/*
 * threads NUMBER CALLS: half of the threads exist before counting and sleep in read, half are
 * made after it. Each makes CALLS good calls and an eleventh of that bad ones.
 *
 * threads new: makes threads without a pause, some that end at once and some that stay, until the test
 * says go and more than ten stay: whoever attaches must find each of them. Then these make their calls.
 *
 * threads alike NUMBER CALLS: all of them exist before counting. Then each makes ten different
 * calls, one of them CALLS times.
 */
#include "table.h"

#define MAX_THREADS 400
#define MAX_ALIKE   30000

static struct thread *threads, passing, maker;
static int start_pipe[2];
static int calls, nr_staying;
static volatile bool stop;

static __attribute__((noreturn)) void work(void)
{
	repeat_call(calls, SYS_getppid, 0);
	repeat_call(calls / 11, SYS_close, -1);
	counted_exit(SYS_exit, 0);
}

static int run_early(void *arg)
{
	raw_wait(start_pipe[0]);
	table_add(SYS_read, 1, END_UNTIMED);
	work();
}

static int run_late(void *arg)
{
	work();
}

static int run_passing(void *arg)
{
	raw_call(SYS_getuid);
	raw_exit();
}

static int run_maker(void *arg)
{
	while (!stop) {
		thread_start(&passing, 0, run_passing);
		thread_join(&passing);
		if (nr_staying < MAX_THREADS)
			thread_start(&threads[nr_staying++], 0, run_early);
		burn_us(50);
	}
	raw_exit();
}

static __attribute__((noreturn)) void release(void)
{
	close(start_pipe[1]);
	threads_join(threads, nr_staying);
	table_finish(0);
}

static void make_new(void)
{
	calls = 101;
	thread_start(&maker, 0, run_maker);
	table_barrier();
	while (__atomic_load_n(&nr_staying, __ATOMIC_RELAXED) <= 10)
		;
	stop = true;
	thread_join(&maker);
	release();
}

static int run_alike(void *arg)
{
	static const int others[] = { SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid,
				      SYS_gettid, SYS_getpid,  SYS_umask };

	raw_wait(start_pipe[0]);
	for (int i = 0; i < COUNT(others); i++)
		raw_call(others[i], 022);
	raw_calls(calls, SYS_getppid);
	raw_exit();
}

int main(int argc, char **argv)
{
	bool wait = table_init(&argc, &argv);
	const char *how = arg_text(argc, argv, 1);
	const int alike = !strcmp(how, "alike");
	int number = arg_number(argc, argv, 1 + alike, 8), early = number / 2;

	calls = arg_number(argc, argv, 2 + alike, 1009);
	if (number > (alike ? MAX_ALIKE : MAX_THREADS) || !wait || pipe(start_pipe))
		return 1;
	/* No more than it takes: a machine of little memory gives no room for all. */
	threads = calloc(alike ? number : MAX_THREADS, sizeof(*threads));
	if (!strcmp(how, "new"))
		make_new();
	if (alike) {
		threads_start(threads, nr_staying = number, run_alike);
		table_barrier();
		release();
	}
	threads_start(threads, early, run_early);
	for (int i = 0; i < early; i++)
		thread_await_in(&threads[i], SYS_read, false);
	table_barrier();
	counted_call(SYS_write, start_pipe[1], threads, early);
	counted_threads(threads + early, early, number - early, run_late);
	threads_join(threads, number);
	table_finish(0);
}
