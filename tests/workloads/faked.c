// SPDX-License-Identifier: BSD-2-Clause
/*
 * faked HOW CALLS: calls that somebody else answers in place of the kernel, and that look like
 * something else.
 *
 *   seccomp  forks of every kind, answered with 0, by a process and by a child of its own
 *   notify   the same, answered by a supervisor while they sleep
 *   sigsys   refused with EPERM while a SIGSYS is blocked and pending
 */
#include <sys/ioctl.h>

#include "filter.h"

/* glibc's own calls must go through: only these numbers are answered. */
static const int forks[] = {
#ifdef SYS_fork
	SYS_fork,
	SYS_vfork,
#endif
	SYS_clone3,
};

#define NR_FORKS COUNT(forks)

static struct thread supervisor;
static int listener;

/* Answers forks so, with 0, and refuses getppid. */
static int answer_forks(unsigned int action, unsigned int flags)
{
	struct filtered calls[NR_FORKS + 1] = { { SYS_getppid, SECCOMP_RET_ERRNO | EPERM } };

	for (int i = 0; i < NR_FORKS; i++)
		calls[i + 1] = (struct filtered){ (unsigned int)forks[i], action };
	return filter_install(calls, NR_FORKS + 1, flags);
}

static void fork_in_vain(int times)
{
	for (int i = 0; i < times; i++) {
		int nr = forks[i % NR_FORKS];

		if (raw_call(nr, 0))
			abort();
		table_add(nr, 0, END_DENIED);
	}
}

static int run_supervisor(void *arg)
{
	int times = ((struct thread *)arg)->index;

	for (int i = 0; i < times; i++) {
		struct seccomp_notif asked = { 0 };
		struct seccomp_notif_resp answer = { 0 };

		if (counted_call(SYS_ioctl, listener, SECCOMP_IOCTL_NOTIF_RECV, &asked))
			abort();
		answer.id = asked.id;
		if (counted_call(SYS_ioctl, listener, SECCOMP_IOCTL_NOTIF_SEND, &answer))
			abort();
	}
	counted_exit(SYS_exit, 0);
}

static void sigsys(int times)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGSYS);
	counted_call(SYS_rt_sigprocmask, SIG_BLOCK, &set, 0, 8);
	counted_call(SYS_tkill, table_pid, SIGSYS);
	for (int i = 0; i < times; i++) {
		raw_call(SYS_getppid, 0);
		table_add(SYS_getppid, -EPERM, END_DENIED);
	}
}

int main(int argc, char **argv)
{
	bool wait = table_init(&argc, &argv);
	const char *how = argv[1];
	int times = arg_number(argc, argv, 2, 1000), child;

	if (!strcmp(how, "notify"))
		listener = answer_forks(SECCOMP_RET_USER_NOTIF, SECCOMP_FILTER_FLAG_NEW_LISTENER);
	else
		answer_forks(SECCOMP_RET_ERRNO, 0);
	if (wait)
		table_barrier();
	if (!strcmp(how, "notify")) {
		thread_start(&supervisor, times, run_supervisor);
		table_add(SYS_clone, 1, END_OK);
		fork_in_vain(times);
		thread_join(&supervisor);
	} else if (!strcmp(how, "sigsys")) {
		sigsys(times);
	} else {
		fork_in_vain(times);
		child = counted_fork();
		if (!child) {
			fork_in_vain(times);
			counted_exit(SYS_exit_group, 0);
		}
		counted_wait(child);
	}
	table_finish(0);
}
