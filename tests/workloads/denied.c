// SPDX-License-Identifier: BSD-2-Clause
/*
 * denied [registers]: calls that seccomp refuses: with an errno, with errno 0 (a false success),
 * with a SIGSYS that is handled, and by killing the thread that made it. With "registers" calls
 * that it turns into a signal, and that leave in the register of their result what looks like
 * bytes that were moved, or like an error: the number of the call or its first argument.
 */

#include "filter.h"

#define NO_CALL (-ENODEV)

static struct thread victim;

static const struct filtered refused[] = {
	{ SYS_getppid, SECCOMP_RET_ERRNO | EACCES },
	{ SYS_getuid, SECCOMP_RET_ERRNO | 0 },
	{ SYS_getgid, SECCOMP_RET_TRAP },
	{ SYS_getpgid, SECCOMP_RET_KILL_THREAD },
	{ SYS_pread64, SECCOMP_RET_TRAP },
	{ (unsigned int)NO_CALL, SECCOMP_RET_TRAP },
};

static void on_trap(int signal)
{
	table_add(SYS_rt_sigreturn, 0, END_OK);
}

static void call_denied(int times, int nr, long a, long result)
{
	for (int i = 0; i < times; i++) {
		/* The register of a trapped call's result may hold anything: this is no error. */
		raw_call(nr, a);
		table_add(nr, result, END_DENIED);
	}
}

static int run_victim(void *arg)
{
	repeat_call(41, SYS_geteuid, 0);
	raw_call(SYS_getpgid, 0);
	abort();
}

int main(int argc, char **argv)
{
	bool wait = table_init(&argc, &argv);

	signal_handle(SIGSYS, on_trap);
	filter_install(refused, COUNT(refused), 0);
	if (wait)
		table_barrier();
	if (argc > 1) {
		call_denied(7, SYS_pread64, 12345, 0);
		call_denied(5, NO_CALL, -ENODEV, 0);
		table_finish(0);
	}
	call_denied(37, SYS_getppid, AT_FDCWD, -EACCES);
	call_denied(11, SYS_getuid, AT_FDCWD, 0);
	call_denied(5, SYS_getgid, AT_FDCWD, 0);
	repeat_call(23, SYS_geteuid, 0);
	thread_start(&victim, 0, run_victim);
	table_add(SYS_clone, 1, END_OK);
	thread_join(&victim);
	table_finish(0);
}
