// SPDX-License-Identifier: BSD-2-Clause
/*
 * legion NUMBER CALLS: so many threads, which exist before it says ready. Then each makes ten different
 * calls, one of them CALLS times.
 */
#include "table.h"

#define MAX_THREADS 30000

static struct thread threads[MAX_THREADS];
static int start_pipe[2];
static int calls;

static const int others[] = { SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid,
			      SYS_gettid, SYS_getpid,  SYS_umask };

static int run(void *arg)
{
	raw_wait(start_pipe[0]);
	for (int i = 0; i < COUNT(others); i++)
		raw_call(others[i], 022);
	raw_calls(calls, SYS_getppid);
	raw_exit();
}

int main(int argc, char **argv)
{
	bool wait = table_init(&argc, &argv);
	int number = arg_number(argc, argv, 1, 0);

	calls = arg_number(argc, argv, 2, 0);
	if (!wait || number < 1 || number > MAX_THREADS || pipe(start_pipe))
		return 1;
	threads_start(threads, number, run);
	table_barrier();
	close(start_pipe[1]);
	threads_join(threads, number);
	table_finish(0);
}
