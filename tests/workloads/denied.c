// SPDX-License-Identifier: BSD-2-Clause
/*
 * Calls that seccomp refuses: with an errno, with errno 0 (a false success), with a SIGSYS that is
 * handled, and by killing the thread that made it.
 */
#include <fcntl.h>

#include "filter.h"

static struct thread victim;

static const struct filtered refused[] = {
	{ SYS_getppid, SECCOMP_RET_ERRNO | EACCES },
	{ SYS_getuid, SECCOMP_RET_ERRNO | 0 },
	{ SYS_getgid, SECCOMP_RET_TRAP },
	{ SYS_getpgid, SECCOMP_RET_KILL_THREAD },
};

static void on_trap(int signal)
{
	(void)signal;
	table_add(SYS_rt_sigreturn, 0, END_OK);
}

static void call_denied(int times, int nr, long result)
{
	for (int i = 0; i < times; i++) {
		/* What a trapped call finds in the register of its result is no error. */
		raw_call(nr, AT_FDCWD);
		table_add(nr, result, END_DENIED);
	}
}

static int run_victim(void *arg)
{
	(void)arg;
	repeat_call(41, SYS_geteuid, 0);
	raw_call(SYS_getpgid, 0);
	abort();
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_trap };
	bool wait = table_init(&argc, &argv);

	sigaction(SIGSYS, &action, NULL);
	filter_install(refused, sizeof(refused) / sizeof(*refused), 0);
	if (wait)
		table_barrier();
	call_denied(37, SYS_getppid, -EACCES);
	call_denied(11, SYS_getuid, 0);
	call_denied(5, SYS_getgid, 0);
	repeat_call(23, SYS_geteuid, 0);
	thread_start(&victim, 0, run_victim);
	table_add(SYS_clone, 1, END_OK);
	thread_join(&victim);
	table_finish(0);
}
