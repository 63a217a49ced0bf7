// SPDX-License-Identifier: BSD-2-Clause
/*
 * emulated [NUMBER ANSWER]: calls that a tracer keeps from the kernel and answers itself, by
 * PTRACE_SYSEMU, as user-mode kernels have it. The tracer is a child that was made before counting.
 * Says "none" where one process may not trace another.
 */
#include <sys/ptrace.h>
#include <sys/user.h>

#include "table.h"

#ifndef PTRACE_SYSEMU
#define PTRACE_SYSEMU 31
#endif

#define EMULATED 11

static int number = SYS_getppid;
static long answer = 4711;

/* Where the tracer is, in memory that both share. */
enum { STARTED, REFUSED, WAITING, WANTED, TRACING };

static volatile int *state;

static void stop(int pid, int request)
{
	int status;

	if (ptrace(request, pid, 0, 0) || waitpid(pid, &status, __WALL) != pid)
		_exit(1);
}

static void trace(int pid)
{
	*state = ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_EXITKILL) ? REFUSED : WAITING;
	if (*state == REFUSED)
		_exit(0);
	while (*state != WANTED)
		usleep(1000);
	stop(pid, PTRACE_INTERRUPT);
	*state = TRACING;
	for (int i = 0; i < EMULATED; i++) {
		stop(pid, PTRACE_SYSEMU);
#if defined(__x86_64__)
		ptrace(PTRACE_POKEUSER, pid, offsetof(struct user_regs_struct, rax), answer);
#endif
	}
	ptrace(PTRACE_DETACH, pid, 0, 0);
	_exit(0);
}

static void tracer_start(void)
{
	int pid = getpid(), tracer;

	state = shared_make(sizeof(*state));
	tracer = fork();
	if (tracer == 0)
		trace(pid);
	if (tracer < 0)
		abort();
	while (*state == STARTED)
		;
}

static void call_emulated(void)
{
	long result = raw_call(number);

#if defined(__x86_64__)
	if (result != answer)
		abort();
#endif
	table_add(number, result, END_DENIED);
}

int main(int argc, char **argv)
{
	bool wait = table_init(&argc, &argv);

	if (!wait)
		return 1;
	number = arg_number(argc, argv, 1, number);
	answer = arg_number(argc, argv, 2, answer);
	tracer_start();
	if (*state == REFUSED)
		return table_refuse();
	table_barrier();
	*state = WANTED;
	while (*state != TRACING)
		;
	for (int i = 0; i < EMULATED; i++)
		call_emulated();
	repeat_call(7, SYS_getppid, 0);
	table_finish(0);
}
