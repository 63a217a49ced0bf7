// SPDX-License-Identifier: BSD-2-Clause
/*
 * becomes WHAT ARGUMENT THREADS CALLS: a process that changes while it runs, and makes CALLS calls
 * in each of its threads before the change and twice as many after it. Only getppid is counted.
 *
 *   name NAME      renames itself        user UID     changes its user
 *   nothing -      waits for a second line on stdin instead: the test changes it
 */

#include "table.h"

#define MAX_THREADS 32

static struct thread threads[MAX_THREADS];
static int before_pipe[2], after_pipe[2], done_pipe[2];
static int calls;

static int run(void *arg)
{
	raw_wait(before_pipe[0]);
	raw_calls(calls, SYS_getppid);
	raw_call(SYS_write, done_pipe[1], "", 1);
	raw_wait(after_pipe[0]);
	repeat_call(2 * calls, SYS_getppid, 0);
	raw_exit();
}

static void change(const char *what, const char *argument)
{
	if (!strcmp(what, "name"))
		raw_call(SYS_prctl, PR_SET_NAME, argument);
	else if (!strcmp(what, "user"))
		raw_call(SYS_setresuid, atoi(argument), atoi(argument), atoi(argument));
	else
		raw_wait(0);
}

int main(int argc, char **argv)
{
	static char bytes[MAX_THREADS];
	bool wait = table_init(&argc, &argv);
	int number = arg_number(argc, argv, 3, 7);

	calls = arg_number(argc, argv, 4, 1009);
	if (!wait || argc < 3 || number > MAX_THREADS || pipe(before_pipe) || pipe(after_pipe) ||
	    pipe(done_pipe))
		return 1;
	threads_start(threads, number, run);
	table_barrier();
	raw_call(SYS_write, before_pipe[1], bytes, number);
	for (int i = 0; i < number; i++)
		raw_wait(done_pipe[0]);
	change(argv[1], argv[2]);
	raw_call(SYS_write, after_pipe[1], bytes, number);
	repeat_call(2 * calls, SYS_getppid, 0);
	threads_join(threads, number);
	table_finish(0);
}
