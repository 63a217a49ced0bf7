// SPDX-License-Identifier: BSD-2-Clause
/*
 * Calls that seccomp refuses: with an errno, with errno 0 (a false success), with a SIGSYS that is
 * handled, and by killing the thread that made it.
 */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

#include "table.h"

static struct thread victim;

#define refuse(call, action) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 1), BPF_STMT(BPF_RET | BPF_K, (action))

static void install_filter(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		refuse(SYS_getppid, SECCOMP_RET_ERRNO | EACCES),
		refuse(SYS_getuid, SECCOMP_RET_ERRNO | 0),
		refuse(SYS_getgid, SECCOMP_RET_TRAP),
		refuse(SYS_getpgid, SECCOMP_RET_KILL_THREAD),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof(code) / sizeof(*code), .filter = code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		abort();
}

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
	install_filter();
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
